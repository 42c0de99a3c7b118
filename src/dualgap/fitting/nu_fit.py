"""ν-machines fitted: pairs of classes, numbers, or rows of one class. As `fit`: read, state, solve, tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Vector
from dualgap.drive.limits import Limits
from dualgap.drive.turns import one_by_one
from dualgap.errors import DataError
from dualgap.fitting.kernel_fit import (
    KernelShape,
    KernelStrength,
    MachineFit,
    gram_asked,
    kernel_strength,
    kernel_width,
    on_support,
    warn_above,
)
from dualgap.fitting.options import read_limits
from dualgap.kernel_machines.answer import KernelSolution, together, told
from dualgap.kernel_machines.level_solver import solve_levels
from dualgap.kernel_machines.levels import LevelProblem
from dualgap.kernels.gram import symmetric
from dualgap.proof.certificate import Certificate
from dualgap.proof.check import Checked
from dualgap.proof.kernel import Entries
from dualgap.proof.levels import LevelStatement, check_levels

FULL = 1e-12  # of the weights: a ν this little above what a class allows is rounding of the same number
FLAT = 1e-8  # of the size of the kernel beside the mass: a function this small is zero, the best there is


@dataclass(eq=False, repr=False)
class NuAsked(KernelShape, KernelStrength):
    """What is asked of a ν-machine beside its rows: the keywords of the estimators."""

    nu: float = field(kw_only=True)

    def checked(self) -> Limits:
        """When to stop; what no machine can do is refused before any row is read."""
        nu = self.nu
        number = isinstance(nu, (int, float, np.integer, np.floating)) and not isinstance(nu, bool)
        if not number or not 0.0 < nu <= 1.0:
            raise DataError(
                f"nu is the share of rows that may be errors, a number above 0 and up to 1, not {nu!r}."
            )
        return read_limits(self.tol, self.max_iter, self.max_time, None)

    def strength(self, weights: Vector) -> float:
        """λ beside the mean loss; without lam and C that of libsvm, ½‖f‖² beside the sum."""
        if self.lam is None and self.C is None:
            return float(0.5 / weights.sum())
        return kernel_strength(self, weights)


@dataclass(frozen=True, eq=False)
class LevelTask:
    """A problem on the rows that count, β and θ given for all rows."""

    problem: LevelStatement
    used: Mask
    tolerance: float

    def judged(self, w: Vector, theta: Any) -> Checked:
        """What the proof's kernel says; a coefficient of a row that does not count is not the problem's."""
        beta, levels = w[:-2], w[-2:]
        if beta[~self.used].any():
            beta = np.full(len(beta), np.nan)
        return check_levels(self.problem, beta[self.used], levels, theta[self.used], self.tolerance)


@dataclass(frozen=True, eq=False)
class LevelSides:
    """The problem but for its kernel: the rows that count, centres, weights, and who is on which side."""

    used: Mask
    c: Vector
    a: Vector
    upper: Mask
    lower: Mask
    mass: float
    lam: float


@dataclass(frozen=True, eq=False)
class NuTerms:
    """What was asked, but for the kernel and the targets."""

    nu: float
    lam: float
    sample_weight: Vector
    kind: str  # "classes", "numbers" or "one class"
    fit_intercept: bool = True  # the levels stand for it

    def sides(self, y: Any, pair: tuple[Any, Any] | None = None) -> LevelSides:
        """The problem for these targets: numbers, ±1 or a pair of classes among more."""
        weights = self.sample_weight
        if pair is not None:
            weights = np.where(np.isin(y, pair), weights, 0.0)
            y = np.where(y == pair[1], 1.0, -1.0)
        used = weights > 0
        a = weights[used] / weights[used].sum()
        every, none = np.ones(len(a), dtype=bool), np.zeros(len(a), dtype=bool)
        lam = self.lam * self.sample_weight.sum() / weights.sum()  # C is what all problems share
        if self.kind == "one class":
            return LevelSides(used, np.zeros(len(a)), a, every, none, min(self.nu, 1.0), lam)
        half = 0.5 * self.nu
        if self.kind == "numbers":
            return LevelSides(used, np.asarray(y, dtype=np.float64)[used], a, every, every, half, lam)
        up = np.asarray(y)[used] > 0
        least = min(float(a[up].sum()), float(a[~up].sum()))
        return LevelSides(used, np.zeros(len(a)), a, up, ~up, min(half, least), lam)

    def tasks(self, certificate: Certificate, K: Any, y: Any) -> Sequence[LevelTask]:
        """The problem stated again on K, the matrix of all pairs of rows, and the targets."""
        K, n = np.asarray(K, dtype=np.float64), len(self.sample_weight)
        if K.shape != (n, n) or (y is not None and np.shape(y) != (n,)):
            raise DataError(f"This certificate is for {n} rows; K has shape {K.shape}, y {np.shape(y)}.")
        pairs = [None] if certificate.classes is None else list(combinations(certificate.classes, 2))
        found = []
        for pair in pairs:
            one = self.sides(None if y is None else np.asarray(y), pair)
            part = symmetric(K[np.ix_(one.used, one.used)])
            top = float(np.abs(np.diagonal(part)).max())
            problem = LevelStatement(
                Entries.held(part), top, one.c, one.a, one.upper, one.lower, one.mass, one.lam
            )
            found.append(LevelTask(problem, one.used, certificate.tolerance))
        return found


def fit_nu(
    asked: NuAsked,
    X: Any,
    y: NDArray[Any] | None,
    weights: Vector,
    kind: str,
    classes: NDArray[Any] | None = None,
    *,
    whole_numbers: bool = False,
) -> MachineFit:
    """The machine for rows that are read; of classes y holds these, and every pair of them is a problem."""
    limits = asked.checked()
    terms = NuTerms(float(asked.nu), asked.strength(weights), weights, kind)
    tied = kind != "one class"
    labels = None if classes is None else tuple(classes.tolist())
    pairs: list[Any] = [None] if labels is None else list(combinations(labels, 2))
    shape, kernel = _fixed(asked, X, weights), None

    def one(k: int, own: Limits) -> KernelSolution:
        nonlocal kernel
        sides = terms.sides(y, pairs[k])
        if labels is not None:
            _refuse_crowded(terms, y, pairs[k])
        gram, kernel = gram_asked(
            shape, X, np.where(sides.used, weights, 0.0), tied=tied, centred=tied, whole_numbers=whole_numbers
        )
        problem = LevelProblem(gram, sides.c, sides.a, sides.upper, sides.lower, sides.mass, sides.lam)
        return _told(terms, labels, sides, problem, own)

    if len(pairs) == 1:
        solution = one(0, limits)
    else:
        half = replace(limits, tolerance=0.5 * limits.tolerance)
        solution = together(one_by_one(len(pairs), half, one), limits.tolerance, "one_vs_one")
    warn_above(solution, asked.tol)
    return MachineFit(asked, solution, kernel, *on_support(solution, kernel, X))


def _fixed(asked: NuAsked, X: Any, weights: Vector) -> NuAsked:
    """The same with γ as a number: one kernel for all pairs of classes."""
    if not isinstance(asked.kernel, str) or asked.kernel in ("linear", "precomputed"):
        return asked
    used = weights > 0
    return replace(asked, gamma=kernel_width(asked.gamma, X[used], weights[used]))


def _refuse_crowded(terms: NuTerms, y: Any, pair: tuple[Any, Any]) -> None:
    """ν/2 of the weight must fit into either class."""
    weight = [float(terms.sample_weight[y == label].sum()) for label in pair]
    few = int(np.argmin(weight))
    most = 2.0 * weight[few] / sum(weight)
    if terms.nu > most * (1.0 + FULL):
        raise DataError(
            f"nu={terms.nu:g} is too large: class {pair[few]!r} has a share of {0.5 * most:.4g} of "
            f"the rows of {pair[0]!r} and {pair[1]!r}, and nu can be at most twice that, {most:.4g}."
        )


def _told(
    terms: NuTerms, labels: tuple[Any, ...] | None, sides: LevelSides, problem: LevelProblem, limits: Limits
) -> KernelSolution:
    outcome = solve_levels(problem, limits)
    found = outcome.bounds
    beta, theta = np.zeros(len(sides.used)), np.zeros(len(sides.used))
    beta[sides.used], theta[sides.used] = found.w[:-2], found.theta
    levels = found.w[-2:]
    if terms.kind != "numbers":
        _refuse_flat(terms, problem, found)
    certificate = Certificate(
        theta, beta, levels, found.primal, found.dual, terms, labels, tolerance=limits.tolerance
    )
    middle = float(levels[0]) if terms.kind == "one class" else 0.5 * float(levels.sum())
    return told(outcome, certificate, middle, problem.null, levels)


def _refuse_flat(terms: NuTerms, problem: LevelProblem, found: Checked) -> None:
    """Where the hulls that ν leaves meet, f = 0 is the best there is: no surface, whatever its length."""
    size = problem.mass**2 * problem.stated.top / problem.lam
    if found.dual < -FLAT * size or not np.isfinite(found.dual):
        return
    if terms.kind == "one class":
        raise DataError(
            f"nu={terms.nu:g} leaves no plane: the origin of the kernel's space is among the rows, and f = 0 "
            f"is the best (no objective is below {found.dual:.1e}). Use a larger nu, or a kernel such as rbf "
            "whose rows all lie on one side of the origin."
        )
    raise DataError(
        f"nu={terms.nu:g} is too small: classes shrunk by it still overlap, and f = 0 is the best (no "
        f"objective is below {found.dual:.1e}). Use a larger nu: at least the share of rows that cannot be "
        "told apart."
    )
