"""squared + l2: one decomposition from the cheaper side, then any λ.

With A = √a X/√l2 and everything made orthogonal to the free columns, √l2 w = (AᵀA + λ)⁻¹ Aᵀ √a y.
An eigendecomposition of AᵀA (p × p) or of AAᵀ (n × n) gives every λ by a division.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dualgap.arrays import Matrix, Vector
from dualgap.paths.curve import SolutionCurve
from dualgap.paths.family import Pair
from dualgap.problem.problem import Problem

ROUNDS = 100  # of Newton towards a budget: it converges quadratically, this only ends what cannot
NEAR = 1e-14  # a λ that moves by less, relative, has settled to rounding
SPURIOUS = 1e-14  # eigenvalues below this share of the largest are rounding


class RidgeCurve(SolutionCurve):
    """Every ridge solution of one problem."""

    def __init__(self, problem: Problem, lams: Vector) -> None:
        elastic = problem.regulariser.gauge.elastic
        assert elastic is not None
        self.problem, self.lams = problem, lams
        self._free = np.flatnonzero(problem.free)
        self._priced = np.flatnonzero(~problem.free)
        self._root = np.sqrt(elastic.l2[self._priced])
        self._tie: Matrix = np.zeros((len(self._free), len(self._priced)))  # free weights are rest − tie · w
        self._rest: Vector = np.zeros(len(self._free))
        if len(self._priced) <= problem.n:
            self._from_columns()
        else:
            self._from_rows()

    # -- the decomposition ---------------------------------------------------------------------------

    def _from_columns(self) -> None:
        """Weights are basis · (share / (eigenvalue + λ))."""
        problem, free, priced = self.problem, self._free, self._priced
        gram = problem.design.weighted_gram(problem.a)
        right = problem.design.transpose_matvec(problem.a * problem.y)
        inner, pull = gram[np.ix_(priced, priced)], right[priced]
        if len(free):
            both = np.column_stack([gram[np.ix_(free, priced)], right[free]])
            solved = np.asarray(np.linalg.lstsq(gram[np.ix_(free, free)], both, rcond=1e-14)[0], np.float64)
            self._tie, self._rest = solved[:, :-1], solved[:, -1]
            inner = inner - gram[np.ix_(priced, free)] @ self._tie
            pull = pull - gram[np.ix_(priced, free)] @ self._rest
        inner = inner / self._root / self._root[:, None]
        sizes, basis = scipy.linalg.eigh(inner, overwrite_a=True, check_finite=False, driver="evd")
        self._sizes = np.maximum(sizes, 0.0)
        self._basis = basis / self._root[:, None]
        self._share = basis.T @ (pull / self._root)

    def _from_rows(self) -> None:
        """The same from the n × n side: weights are Xᵀ(√a · basis · share / (eigenvalue + λ)) / l2."""
        problem, free = self.problem, self._free
        root = np.sqrt(problem.a)
        inverse = np.zeros(problem.p)
        inverse[self._priced] = 1.0 / self._root**2
        outer = problem.design.weighted_outer(inverse) * root * root[:, None]
        target = root * problem.y
        if len(free):
            part = problem.design.columns(free).toarray() * root[:, None]
            left, sizes, _ = np.linalg.svd(part, full_matrices=False)
            away = left[:, sizes > 1e-12 * sizes.max(initial=0.0)]
            outer = _project(_project(outer, away).T, away)
            back = np.asarray(np.linalg.pinv(part, rcond=1e-12) * root, np.float64)
            self._tie = problem.design.transpose_matvecs(back)[:, self._priced]
            self._rest = back @ problem.y
            target = _project(target, away)
        sizes, basis = scipy.linalg.eigh(outer, overwrite_a=True, check_finite=False, driver="evd")
        alive = sizes > SPURIOUS * sizes.max(initial=0.0)
        self._sizes, basis = sizes[alive], basis[:, alive]
        self._share = basis.T @ target
        self._dual_basis = basis * root[:, None]
        self._inverse = inverse
        self._basis = np.zeros((0, 0))

    # -- any λ ---------------------------------------------------------------------------------------

    def _at(self, lams: Vector) -> Matrix:
        """Working weights, one row per λ."""
        with np.errstate(divide="ignore", invalid="ignore"):
            part = self._share / (self._sizes + lams[:, None])
        part = np.where(np.isfinite(part), part, 0.0)
        out = np.zeros((len(lams), self.problem.p))
        if self._basis.size:
            out[:, self._priced] = part @ self._basis.T
            out[:, self._free] = self._rest - out[:, self._priced] @ self._tie.T
            return out
        duals = part @ self._dual_basis.T
        out[:] = self._inverse * self.problem.design.transpose_matvecs(duals)
        if len(self._free):
            out[:, self._free] = self._rest - out[:, self._priced] @ self._tie.T
        return out

    def weights(self) -> Matrix:
        return self._at(self.lams)

    def degrees(self) -> Vector:
        """The trace of ∂(Xw)/∂y: Σ eigenvalue/(eigenvalue + λ), and one for every free column."""
        return np.asarray((self._sizes / (self._sizes + self.lams[:, None])).sum(axis=1) + len(self._free))

    def pair(self, lam: float) -> Pair:
        return Pair(self._at(np.array([lam]))[0], None)

    def pair_within(self, budget: float) -> tuple[Pair, float]:
        """h(λ) = Σ (share/(eigenvalue + λ))² falls and is convex: Newton on 1/√h climbs to the root."""
        square = self._share**2 if self._basis.size else self._share**2 * self._sizes
        alive = self._sizes > SPURIOUS * self._sizes.max(initial=0.0)
        sizes, square = self._sizes[alive], square[alive]
        if budget <= 0.0:
            return self.pair(np.inf), np.inf
        lam = 0.0
        if float((square / sizes**2).sum()) > budget:
            for _ in range(ROUNDS):
                h = float((square / (sizes + lam) ** 2).sum())
                steep = 2.0 * float((square / (sizes + lam) ** 3).sum())
                ahead = lam + 2.0 * h / steep * (np.sqrt(h / budget) - 1.0)
                if abs(ahead - lam) <= NEAR * ahead:
                    break
                lam = max(ahead, 0.0)
        return self.pair(lam), lam


def _project(part: Matrix, away: Matrix) -> Matrix:
    """What is orthogonal to some columns."""
    return np.asarray(part - away @ (away.T @ part))
