"""dg.path over="quantile": the weights for every quantile at once, exactly."""

from __future__ import annotations

import dataclasses
import warnings
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.drive.limits import Limits, Status
from dualgap.drive.run import Outcome
from dualgap.errors import DataError, NoSolverError, NotCertifiedWarning
from dualgap.fitting.one_problem import fit_one
from dualgap.fitting.options import read_inside
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import told
from dualgap.linalg.quantile_vertex import ProgramRows
from dualgap.losses import Quantile
from dualgap.paths.path import GOOD, Path
from dualgap.paths.quantile_walk import independent_columns, walked
from dualgap.problem.problem import Problem
from dualgap.proof.check import Checked

SAME = 1e-8  # share of the largest weight: vertices nearer than that are one, for ties were moved by 1e-10
STILL = 1e-13  # a column whose spread is less than this share of its mean is constant but for rounding


class QuantilePath(Path):
    """Weights as a function of the quantile: `coefs[k]` for q from `quantiles[k]` to `quantiles[k + 1]`.

    `quantiles` begins with 0 and ends with 1; between two of them the weights do not change.
    """

    exact = True
    breakpoints = True
    inverse = False
    constant = True
    form = "penalised"

    def __init__(self, reading: Reading, limits: Limits) -> None:
        self._reading, self._limits, self._solver = reading, limits, "auto"
        self._scaled = _Scaled(_problem(reading, 0.5))
        self._vertices = walked(self._scaled.rows, limits)
        v = self._vertices.weights()
        breaks = self._vertices.breaks
        size = np.abs(v).max(initial=0.0)
        new = np.concatenate([[True], np.abs(np.diff(v, axis=0)).max(axis=1, initial=0.0) > SAME * size])
        self.quantiles: Vector = np.append(breaks[:-1][new], breaks[-1])
        self._pieces = self._scaled.weights(v[new])

    # -- the points ----------------------------------------------------------------------------------

    @property
    def stopped(self) -> bool:
        return not self._vertices.complete

    @property
    def status(self) -> str:
        if not self.stopped:
            return "All quantiles are there."
        low, high = self.quantiles[[0, -1]]
        return f"The time limit came first: there are quantiles from {low:.4g} to {high:.4g}."

    def take_time(self, limits: Limits) -> None:
        self._limits = limits

    @cached_property
    def lams(self) -> Vector:
        """The strength, the same for every quantile; 0 without a penalty."""
        return np.full(len(self), self.terms.lam or 0.0)

    @property
    def coefs(self) -> Matrix:
        return self._pieces[0]

    @property
    def intercepts(self) -> Vector:
        return self._pieces[1]

    @cached_property
    def budgets(self) -> Vector:
        return np.array([self.size(w) for w in self.coefs])

    def size(self, coef: Vector) -> float:
        return float(np.abs(self.terms.factors * self.terms.scale * coef).sum())

    @cached_property
    def gaps(self) -> Vector:
        """The proven relative duality gap in the middle of every piece; a fit's work for each."""
        middle = 0.5 * (self.quantiles[:-1] + self.quantiles[1:])
        return np.array([self.solution(quantile=float(q)).relative_gap for q in middle])

    @cached_property
    def risks(self) -> Vector:
        """The mean loss in the middle of every piece."""
        middle = 0.5 * (self.quantiles[:-1] + self.quantiles[1:])
        problems = (_problem(self._reading, float(q)) for q in middle)
        weights = self._scaled.points(*self._pieces)
        return np.array([one.risk(one.predict(w)) for one, w in zip(problems, weights, strict=True)])

    # -- anywhere ------------------------------------------------------------------------------------

    def _piece(self, quantile: Any) -> tuple[float, int]:
        q = read_inside("quantile", quantile)
        if not self.quantiles[0] <= q <= self.quantiles[-1]:
            raise DataError(f"There is no quantile {q:g} on this path. {self.status}")
        return q, int(np.clip(np.searchsorted(self.quantiles, q, side="right") - 1, 0, len(self) - 1))

    def coef(self, *, quantile: float) -> NDArray[np.float64]:  # type: ignore[override]
        """The weights at a quantile; at a breakpoint those above it."""
        return np.asarray(self.coefs[self._piece(quantile)[1]])

    def intercept(self, *, quantile: float) -> float:  # type: ignore[override]
        """The intercept at a quantile."""
        return float(self.intercepts[self._piece(quantile)[1]])

    def solution(self, *, quantile: float) -> Solution:  # type: ignore[override]
        """A Solution of that quantile with its certificate."""
        q, k = self._piece(quantile)
        reading = dataclasses.replace(
            self._reading, terms=dataclasses.replace(self._reading.terms, loss=Quantile(q))
        )
        problem = _problem(reading, q)
        w = self._scaled.points(self.coefs[k : k + 1], self.intercepts[k : k + 1])[0]
        found = problem.judged(w, self._vertices.theta(q), GOOD)
        if problem.relative(found.gap, found.primal) <= GOOD:
            return told(reading, problem, _walked(found), self._limits.tolerance)
        start = self.coefs[k], self.intercepts[k]
        return fit_one(reading, reading.targets(), self._solver, self._limits, start)

    def budget(self, lam: float) -> float:
        raise DataError("This path goes over quantiles at one strength; path.budgets has a budget for each.")

    def lam(self, budget: float) -> float:
        raise DataError("This path goes over quantiles at one strength; use dg.path without over=.")

    def criterion(self, name: str) -> Vector:
        raise DataError("Quantiles are not chosen by AIC or BIC: they answer different questions.")

    def decision_functions(self, X: Any, offset: Any = None) -> Matrix:
        """Xw + b on every piece, one row each: the conditional quantiles of these rows."""
        return super().decision_functions(X, offset)

    def plot(
        self, *, x: str = "quantile", ax: Any = None, test: Any = None, names: Any = None, top: int = 12
    ) -> Any:
        """Weights against the quantile; see `dualgap.paths.plot.draw_quantiles`."""
        from dualgap.paths.plot import draw_quantiles

        if x != "quantile" or test is not None:
            raise DataError("A path over quantiles is drawn against them, and without test rows.")
        return draw_quantiles(self, ax=ax, names=names, top=top)

    def __len__(self) -> int:
        return len(self._pieces[1])

    def __repr__(self) -> str:
        ends = f"from {self.quantiles[0]:.4g} to {self.quantiles[-1]:.4g}"
        return f"QuantilePath({self.terms.penalty}: {len(self)} pieces, exact everywhere, quantiles {ends})"


class _Scaled:
    """The problem with columns of spread one around zero, those left out that add nothing."""

    def __init__(self, problem: Problem) -> None:
        X = np.asarray(problem.design.toarray(), dtype=np.float64)
        self.intercept, self.p = problem.intercept, problem.p - problem.intercept
        X = X[:, : self.p]
        self.centre = problem.a @ X if self.intercept else np.zeros(self.p)
        X = X - self.centre
        spread = np.sqrt(problem.a @ X**2)
        elastic = problem.regulariser.gauge.elastic
        assert elastic is not None and not problem.regulariser.constrained
        price = problem.regulariser.strength * elastic.l1[: self.p]
        self.level = float(np.median(problem.y)) if self.intercept else 0.0
        live = np.flatnonzero(spread > STILL * np.abs(self.centre))
        self.scale, price = spread[live], price[live] / spread[live]
        X = np.column_stack([X[:, live] / self.scale] + [np.ones(len(X))] * self.intercept)
        price = np.append(price, 0.0) if self.intercept else price
        self.kept = independent_columns(X, price)
        self.live = live
        priced = np.flatnonzero(price[self.kept] > 0.0)
        rows = np.vstack([X[:, self.kept], np.eye(len(self.kept))[priced]])
        self.rows = ProgramRows(
            np.ascontiguousarray(rows),
            np.append(problem.y - self.level, np.zeros(len(priced))),
            np.append(problem.a, np.zeros(len(priced))),
            np.append(np.zeros(problem.n), price[self.kept][priced]),
        )

    def weights(self, v: Matrix) -> tuple[Matrix, Vector]:
        """Coefficients and intercepts as users see them."""
        whole = np.zeros((len(v), len(self.live) + self.intercept))
        whole[:, self.kept] = v
        coef = np.zeros((len(v), self.p))
        coef[:, self.live] = whole[:, : len(self.live)] / self.scale
        if not self.intercept:
            return coef, np.zeros(len(v))
        return coef, whole[:, -1] + self.level - coef @ self.centre

    def points(self, coefs: Matrix, intercepts: Vector) -> Matrix:
        """The same as the problem counts them."""
        return np.column_stack([coefs, intercepts]) if self.intercept else coefs


def _walked(found: Checked) -> Outcome:
    return Outcome(found, Status.CERTIFIED, "quantile_path", 0, 0.0)


def _problem(reading: Reading, q: float) -> Problem:
    terms = dataclasses.replace(reading.terms, loss=Quantile(q))
    return terms.problem(reading.table.design, reading.targets())


def quantiles_of(reading: Reading, limits: Limits) -> QuantilePath:
    """The path of data that have been read, with a warning where the time was over."""
    if reading.terms.loss.name != Quantile.name:
        raise DataError(f'over="quantile" is for loss="quantile", not {reading.terms.loss}.')
    regulariser = reading.terms.regulariser
    if reading.terms.bounds is not None or reading.terms.constraints is not None:
        raise NoSolverError("A path over quantiles has no bounds or constraints; fit one quantile at a time.")
    elastic = regulariser.gauge.elastic
    if regulariser.constrained or elastic is None or elastic.l2.any():
        raise NoSolverError(
            f'over="quantile" follows penalty="none", or "l1" with lam= or C=, not {reading.terms.penalty}: '
            "only with these the weights stay as they are between breakpoints; fit one quantile at a time."
        )
    found = QuantilePath(reading, limits)
    if found.stopped:
        warnings.warn(found.status, NotCertifiedWarning, stacklevel=3)
    return found
