"""What dg.path returns: solutions for every strength, each with its proof."""

from __future__ import annotations

import dataclasses
import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgWarning

from dualgap.arrays import Matrix, Vector
from dualgap.design import Design
from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates
from dualgap.drive.run import Outcome, drive
from dualgap.drive.solver import Iterate, Solver
from dualgap.errors import DataError
from dualgap.fitting.inputs import read_table
from dualgap.fitting.objective import Objective
from dualgap.fitting.offsets import of_new_rows, read_offset
from dualgap.fitting.solution import Solution
from dualgap.fitting.targets import read_targets
from dualgap.paths.curve import SolutionCurve
from dualgap.paths.family import Family, Pair, as_outcome
from dualgap.paths.proofs import relative_gaps
from dualgap.problem.precondition import Working
from dualgap.proof.check import Checked

ROUNDING = 1e-13  # risks closer than this, relative, are the same
GOOD = 1e-9  # an exact answer with a relative gap above this is solved again


@dataclass(frozen=True, eq=False)
class Pareto:
    """The undominated pairs of penalty and risk along a path, penalty rising, risk falling."""

    budgets: Vector
    risks: Vector
    lams: Vector


class Path:
    """Solutions from the largest λ to the smallest.

    `lams` fall; `coefs[k]`, `intercepts[k]`, `budgets[k]` and `gaps[k]` belong to `lams[k]`. Where `exact` is
    true every answer at any λ is exact up to rounding; where `breakpoints` is true as well, the points are
    all the places where the path bends (a λ at which weights slide stands there twice).
    """

    def __init__(
        self, family: Family, curve: SolutionCurve, form: str, solver: str | Solver, limits: Limits
    ) -> None:
        self._family, self._curve, self.form = family, curve, form
        self._reading = family.reading
        self._solver, self._limits = solver, limits

    def take_time(self, limits: Limits) -> None:
        """What is asked for later has the time of a fit of its own, not what the making of the path left."""
        self._limits = limits
        self._curve.take_time(limits)

    @property
    def stopped(self) -> bool:
        """Was the time over before the last point? Those that are there are as proven as any."""
        return self._curve.stopped

    @property
    def status(self) -> str:
        """How the making of the path ended, as a sentence."""
        if not self.stopped:
            return "All points are there."
        return f"The time limit came first: there are no points below lam={self.lams[-1]:.4g}."

    # -- the points ----------------------------------------------------------------------------------

    @property
    def exact(self) -> bool:
        """Is the answer at every λ exact up to rounding?"""
        return self._curve.exact

    @property
    def breakpoints(self) -> bool:
        """Are the points all the breakpoints, the path being straight (in λ or 1/λ) or constant between?"""
        return self._curve.breaks

    @cached_property
    def lams(self) -> Vector:
        """The strengths, falling."""
        return self._curve.lams * self._family.unit

    @cached_property
    def _weights(self) -> Matrix:
        return self._curve.weights()

    @cached_property
    def _given(self) -> tuple[Matrix, Vector]:
        return self._family.weights(self._weights)

    @property
    def coefs(self) -> Matrix:
        """Weights on the scale of the X that was given, one row per point."""
        return self._given[0]

    @property
    def intercepts(self) -> Vector:
        """One per point."""
        return self._given[1]

    @cached_property
    def budgets(self) -> Vector:
        """h(w) at every point: the c for which the constrained problem has the same solution."""
        return np.array([self._family.value(w) for w in self._weights])

    @cached_property
    def n_nonzero(self) -> NDArray[np.int64]:
        """How many columns have a weight, point by point."""
        return np.asarray(np.count_nonzero(self.coefs, axis=1))

    @cached_property
    def gaps(self) -> Vector:
        """The proven relative duality gap of every point, recomputed on the data that were given.

        A point of an exact path whose gap is not tiny is solved again, so look here before you quote it.
        """
        gaps = relative_gaps(self._family, self._curve, self.form)
        if self.exact:
            for k in np.flatnonzero(~(gaps <= GOOD)):
                gaps[k] = self._mend(int(k))
        return gaps

    def _mend(self, k: int) -> float:
        """Solve point k again; its weights are replaced."""
        lam = float(self._curve.lams[k])
        working, found, _ = self._at(lam)
        self._weights[k] = self._family.working.coordinates(found.w)
        columns = self._given[0].shape[1]
        self._given[0][k], self._given[1][k] = found.w[:columns], found.w[columns:].sum()
        return working.asked.relative(found.gap, found.primal)

    @cached_property
    def risks(self) -> Vector:
        """The mean loss at every point."""
        problem = self._family.problem
        risks = [problem.risk(problem.predict(w)) for w in self._weights]
        return np.array(risks) * self._family.unit

    def decision_functions(self, X: Any, offset: Any = None) -> Matrix:
        """Xw + b at every point, one row each; a path with an offset needs and adds that of these rows."""
        design, shift = self._design(X, offset)
        return np.asarray(predictions(design, self.coefs, self.intercepts) + shift)

    def _design(self, X: Any, offset: Any) -> tuple[Design, Any]:
        recipe = self._reading.table.recipe
        X, offset = of_new_rows(self.terms, X, offset)
        design = read_table(X if recipe is None else recipe.read(X)).design
        shift = read_offset(offset, design.shape[0], self.terms.loss)
        return design, 0.0 if shift is None else shift

    def test_risks(self, X: Any, y: Any, offset: Any = None) -> Vector:
        """The mean loss of every point on other rows."""
        return self.risks_of(self.coefs, self.intercepts, X, y, offset)[1]

    def risks_of(
        self, coefs: Matrix, intercepts: Vector, X: Any, y: Any, offset: Any = None
    ) -> tuple[Vector, Vector]:
        """The mean loss of any weights, on the rows of the path and on other rows."""
        reading, loss = self._reading, self.terms.loss
        design, shift = self._design(X, offset)
        targets = read_targets(y, design.shape[0], reading.labels)
        share = self.terms.sample_weight / self.terms.sample_weight.sum()
        own = self.terms.shifted(predictions(reading.table.design, coefs, intercepts))
        here = loss.value(reading.targets(), own) @ share
        there = predictions(design, coefs, intercepts) + shift
        return here, np.asarray(loss.value(targets, there).mean(axis=1))

    # -- anywhere ------------------------------------------------------------------------------------

    def _at(self, lam: float) -> tuple[Working, Checked, Outcome | None]:
        """The proof at a working λ; an exact answer that is not proven is handed to the solvers."""
        working = self._family.at(lam)
        pair = self._curve.pair(lam)
        found = self._family.proof(working, pair)
        if not self.exact or working.asked.relative(found.gap, found.primal) <= GOOD:
            return working, found, None
        outcome = self._solved(working, pair)
        return working, outcome.bounds, outcome

    def _solved(self, working: Working, pair: Pair) -> Outcome:
        limits = dataclasses.replace(self._limits, tolerance=min(self._limits.tolerance, GOOD))
        start = Iterate(pair.w, pair.theta) if np.all(np.isfinite(pair.w)) else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)  # the next solver is tried then
            return drive(working, lambda: candidates(working.problem, self._solver), start, limits)

    def _within(self, budget: float) -> tuple[Working, Checked, Outcome | None, float]:
        working = self._family.within(budget)
        pair, lam = self._curve.pair_within(budget)
        found = self._family.proof(working, pair)
        if not self.exact or working.asked.relative(found.gap, found.primal) <= GOOD:
            return working, found, None, lam
        outcome = self._solved(working, pair)
        return working, outcome.bounds, outcome, lam

    def _answer(self, lam: Any, budget: Any) -> tuple[Working, Checked, Outcome | None]:
        name, value = one_of(lam, budget)
        if name == "lam":
            return self._at(value / self._family.unit)
        return self._within(value)[:3]

    def coef(self, *, lam: float | None = None, budget: float | None = None) -> Vector:
        """The weights at a strength, or under a budget; anywhere, not only at the points."""
        w = self._answer(lam, budget)[1].w
        return w[:-1] if self._family.asked.intercept else w

    def intercept(self, *, lam: float | None = None, budget: float | None = None) -> float:
        """The intercept at a strength, or under a budget."""
        w = self._answer(lam, budget)[1].w
        return float(w[-1]) if self._family.asked.intercept else 0.0

    def solution(self, *, lam: float | None = None, budget: float | None = None) -> Solution:
        """A Solution with its certificate, of the penalised or of the constrained problem."""
        began = time.perf_counter()
        working, found, outcome = self._answer(lam, budget)
        if outcome is None:
            tolerance = max(self._limits.tolerance, self._curve.promise)
            outcome = as_outcome(working, found, tolerance, "path", time.perf_counter() - began)
        return self._family.solution(working, outcome, self._limits.tolerance)

    def budget(self, lam: float) -> float:
        """The c whose constrained problem has the solution at λ."""
        _, value = one_of(lam, None)
        working, found, _ = self._at(value / self._family.unit)
        return working.asked.regulariser.gauge.value(found.w)

    def lam(self, budget: float) -> float:
        """The λ whose penalised problem has the solution under a budget; 0 where the budget does not bind."""
        _, value = one_of(None, budget)
        return self._within(value)[3] * self._family.unit

    def pareto(self) -> Pareto:
        """The points that no other point beats in both penalty and risk."""
        order = np.lexsort((self.risks, self.budgets))
        risks = self.risks[order]
        ahead = np.concatenate([[np.inf], np.minimum.accumulate(risks)[:-1]])
        best = order[risks < ahead - ROUNDING * np.abs(risks).max()]
        return Pareto(self.budgets[best], self.risks[best], self.lams[best])

    def criterion(self, name: str) -> Vector:
        """ "aic" or "bic" at every point, see `dualgap.paths.criterion`; the least is the best.

        >>> import dualgap as dg
        >>> from sklearn.datasets import load_diabetes
        >>> path = dg.path(*load_diabetes(return_X_y=True), loss="squared", penalty="l1")
        >>> int(path.n_nonzero[path.criterion("bic").argmin()])
        7
        """
        from dualgap.paths.criterion import criterion

        return criterion(self, name)

    def plot(
        self, *, x: str = "lam", ax: Any = None, test: Any = None, names: Any = None, top: int = 12
    ) -> Any:
        """Weights along the path; see `dualgap.paths.plot.draw`."""
        from dualgap.paths.plot import draw

        return draw(self, x=x, ax=ax, test=test, names=names, top=top)

    def size(self, coef: Vector) -> float:
        """h of weights on the scale of the X that was given."""
        w = np.append(coef, 0.0) if self._family.asked.intercept else coef
        return self._family.asked.regulariser.gauge.value(w)

    @property
    def inverse(self) -> bool:
        """Between breakpoints, are the weights linear in 1/λ, and not in λ?"""
        return self._curve.inverse

    @property
    def constant(self) -> bool:
        """Between breakpoints, do the weights stay as they are?"""
        return self._curve.constant

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, where X had any."""
        return self._reading.table.names

    @property
    def terms(self) -> Objective:
        """Loss, penalty and the weights of rows and columns."""
        return self._reading.terms

    def __len__(self) -> int:
        return len(self.lams)

    def __repr__(self) -> str:
        terms = self.terms
        kind = (
            "breakpoints, exact everywhere"
            if self.exact and self.breakpoints
            else ("points, exact at any λ" if self.exact else "points on a grid")
        )
        return (
            f"Path({terms.loss} + {terms.penalty}: {len(self)} {kind}, "
            f"lam from {self.lams[0]:.4g} to {self.lams[-1]:.4g}{', as far as the time went' * self.stopped})"
        )


def predictions(design: Design, coefs: Matrix, intercepts: Vector) -> Matrix:
    """Xw + b for many weights, one row each."""
    if design.shape[1] != coefs.shape[1]:
        raise DataError(f"X has {design.shape[1]} columns, the path {coefs.shape[1]}.")
    return np.array([design.matvec(w) + b for w, b in zip(coefs, intercepts, strict=True)])


def one_of(lam: Any, budget: Any) -> tuple[str, float]:
    """The strength that was given, checked."""
    given = {name: value for name, value in (("lam", lam), ("budget", budget)) if value is not None}
    if len(given) != 1:
        raise DataError("Give exactly one of lam= and budget=.")
    name, raw = next(iter(given.items()))
    try:
        value = float(raw)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be a number, not {raw!r}.") from None
    if not (np.isfinite(value) and value >= 0.0):
        raise DataError(f"{name} must be a finite number of at least 0, not {value!r}.")
    return name, value
