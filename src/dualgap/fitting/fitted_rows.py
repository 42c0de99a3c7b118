"""What an answer says of the rows it was fitted to, for losses that are zero behind a margin or in a tube.

Nothing here looks at the columns: targets, predictions and θ, one number of each per row, tell all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Mask, Vector
from dualgap.errors import DataError
from dualgap.traits import Trait

if TYPE_CHECKING:
    from dualgap.fitting.objective import Objective
    from dualgap.fitting.solution import Solution

# Choices, all far above rounding (1e-14) and far below what a picture shows.
ON_EDGE = 1e-7  # of the mean distance from the edge: rows nearer than that lie on it
FAR = 1e-3  # of the largest prediction: counts as that mean where it is more, for its rounding is in all rows
NOTHING = 1e-10  # of the largest θ that a row can have: less is rounding
LITTLE = 1e-7  # as NOTHING, where θ alone must tell: it has the digits of the gap


@dataclass(frozen=True, eq=False)
class ProblemRows:
    """The rows of one problem: numbers, or one class against the other or the rest."""

    terms: Objective
    norm: float  # ‖w‖
    theta: Vector | None  # None where a search proved the bound
    y: Vector | None  # what the loss sees: numbers or ±1
    prediction: Vector | None  # y and this are None where the rows are gone, as in a model that was loaded

    @property
    def classes(self) -> bool:
        """Is y ±1?"""
        return Trait.CLASSIFICATION in self.terms.loss.traits

    @cached_property
    def margins(self) -> Vector:
        """y f(x) of classes."""
        y, prediction = self._known()
        return y * prediction

    @cached_property
    def past(self) -> Vector:
        """How far each row is past the edge of the margin or the tube; below zero it costs nothing."""
        return self.terms.loss.past_edge(*self._known())

    @cached_property
    def slack(self) -> Vector:
        """How far a row is past the edge, if it is."""
        return np.maximum(self.past, 0.0)

    @cached_property
    def free(self) -> Mask:
        """Rows that cost nothing and could be left out.

        A row that is not on the edge has a θ of 0 or the largest one. Short of an exact answer neither its
        distance to the edge nor that of θ to such an end is quite 0: the larger of the two, each beside its
        own unit, says where the row belongs.
        """
        if self.prediction is None:
            return self._share <= LITTLE
        return self._distance < -np.maximum(self._share, self._edge)

    @cached_property
    def paying(self) -> Mask:
        """Rows inside the margin, on the wrong side, or outside the tube."""
        if self.prediction is None:
            return self._bounded & (self._share >= 1.0 - LITTLE)
        room = np.where(self._bounded & (self._limits > 0.0), 1.0 - self._share, 0.0)
        return self._distance > np.maximum(room, self._edge)

    @cached_property
    def holding(self) -> Mask:
        """Rows that hold the answer in place: without them it would be another."""
        if self.theta is None:
            raise DataError("A search proved this bound: it has no dual point, and no row supports it.")
        return ~self.free & (self._share > NOTHING)

    @cached_property
    def dual_coef(self) -> Vector:
        """α, which is the θ of the proof in other units: w = Σ α y x of classes, Σ α x of numbers."""
        unit = self.terms.dual_unit
        if unit is None or self.theta is None:
            raise DataError("Dual coefficients are there with the l2 penalty and lam or C.")
        theta = np.where(self._share > NOTHING, self.theta, 0.0)
        return unit * (np.abs(theta) if self.classes else theta)

    @cached_property
    def kind(self) -> NDArray[np.str_]:
        """Where each row is, in words."""
        if self.classes:
            inside = np.where(self.margins <= 0.0, "misclassified", "inside")
            return np.where(self.free, "outside", np.where(self.paying, inside, "on the margin"))
        return np.where(self.free, "inside", np.where(self.paying, "outside", "on the tube"))

    def _known(self) -> tuple[Vector, Vector]:
        if self.y is None or self.prediction is None:
            raise DataError("The rows of this answer are gone: fit again, or ask decision_function(X).")
        return self.y, self.prediction

    @cached_property
    def _limits(self) -> Vector:
        """The largest |θ| of every row."""
        return self.terms.dual_limits()

    @cached_property
    def _bounded(self) -> Mask:
        return np.isfinite(self._limits)

    @cached_property
    def _share(self) -> Vector:
        """|θ| beside the largest it can be; where there is no end to that, beside the largest of all rows."""
        if self.theta is None:
            return np.zeros(len(self._limits))
        size = np.abs(self.theta)
        most = np.where(self._bounded, self._limits, size.max(initial=0.0))
        return np.divide(size, most, out=np.zeros_like(size), where=most > 0.0)

    @cached_property
    def _unit(self) -> float:
        return float(np.abs(self.past).mean()) or 1.0

    @property
    def _distance(self) -> Vector:
        return self.past / self._unit

    @property
    def _edge(self) -> float:
        """How near is on it."""
        _, prediction = self._known()
        return ON_EDGE * max(1.0, FAR * float(np.abs(prediction).max(initial=0.0)) / self._unit)


@dataclass(frozen=True, eq=False)
class FittedRows:
    """An entry per row of the X that was fitted; beyond two classes a row of them per class."""

    problems: tuple[ProblemRows, ...]

    @property
    def dual_coef(self) -> NDArray[np.float64]:
        """α of every row: w = Σ α y x with labels ±1 (Σ α x for numbers). Behind the margin, or in the tube,
        it is 0 to the digits of the gap.
        """
        return self._stacked(lambda one: one.dual_coef)

    @property
    def support(self) -> Index:
        """The rows that hold the answer in place, in any class."""
        return np.flatnonzero(np.atleast_2d(self._stacked(lambda one: one.holding)).any(axis=0))

    @property
    def slack(self) -> NDArray[np.float64]:
        """ξ of every row: 1 − y f(x), or |f(x) − y| − ε, where that is positive."""
        return self._stacked(lambda one: one.slack)

    @property
    def margin(self) -> Any:
        """1/‖w‖: from the plane to the margin."""
        with np.errstate(divide="ignore"):
            found = np.divide(1.0, [one.norm for one in self.problems])
        return float(found[0]) if len(found) == 1 else found

    @property
    def geometric_margins(self) -> NDArray[np.float64]:
        """y f(x)/‖w‖ of every row: its distance from the plane, negative on the wrong side."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._stacked(lambda one: one.margins / one.norm)

    @property
    def kind(self) -> NDArray[np.str_]:
        """Of classes "outside" the margin, "on the margin", "inside" it on the right side or "misclassified";
        of numbers "inside" the tube, "on the tube" or "outside".
        """
        return self._stacked(lambda one: one.kind)

    @property
    def tube(self) -> float:
        """ε, half the width of the tube."""
        return -float(self.problems[0].terms.loss.past_edge(np.zeros(1), np.zeros(1))[0])

    def _stacked(self, tell: Callable[[ProblemRows], NDArray[Any]]) -> NDArray[Any]:
        found = [tell(one) for one in self.problems]
        return found[0] if len(found) == 1 else np.array(found)


def rows_of(solution: Solution) -> FittedRows:
    """The rows that a solution was fitted to."""
    terms = solution.terms
    if Trait.LEAVES_ROWS_OUT not in terms.loss.traits or solution.certificate is None:
        raise DataError(
            f"The {terms.loss} loss needs all rows alike: slack and support are there after a fit with "
            "hinge, squared_hinge, epsilon_insensitive or squared_epsilon_insensitive."
        )
    if solution.parts:
        return FittedRows(tuple(one for part in solution.parts for one in rows_of(part).problems))
    if solution.scans:
        raise DataError("The rows of this fit are elsewhere, and its θ is a rule: no list of them is kept.")
    y, prediction = solution.fitted or (None, None)
    norm = float(np.linalg.norm(solution.coef))
    return FittedRows((ProblemRows(terms, norm, solution.certificate.theta, y, prediction),))
