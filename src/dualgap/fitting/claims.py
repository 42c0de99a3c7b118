"""What a fitted model claims to have minimised, and its weights: what every reader of models returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Vector
from dualgap.errors import DataError
from dualgap.losses import Loss
from dualgap.penalties import L1, L2, L21, L21L2, ElasticNet, GroupLasso, Penalty, Unpenalised

SLOPE = 1e-3  # of a noise scale, per row: beyond this the scale is not the best one


@dataclass(frozen=True, eq=False)
class Claim:
    """times·Σ s_i L(y_i, z_i) + l1·Σ|w_j| + l2·Σ w_j², which a model says it has minimised.

    `per` says what the sum is divided by: nothing, the number of rows, or their weight.
    """

    loss: Loss
    l1: float = 0.0
    l2: float = 0.0
    times: float = 1.0
    per: Literal["nothing", "row", "weight"] = "nothing"
    class_weight: Any = None
    labels: bool = False  # targets ±1 of a regression loss, one problem per class
    shared_weights: bool = False  # class weights weigh the rows of every class's problem, not of its own
    balance_by_weight: bool = False  # "balanced" counts the rows by their sample_weight
    noise: tuple[float, float] | None = None  # (ε, σ) of a noise scale σ that was fitted too
    multiclass: str = "one_vs_rest"
    notes: tuple[str, ...] = ()
    intercept: bool = True  # can it have one at all?
    offset: Vector | None = None  # of the rows of its fit, where it keeps one
    columns_of_weights: bool = False  # l1 is a price of each column's weights in all outputs, as one length
    factors: Vector | None = None  # of the penalty of each column
    groups: Index | None = None  # a label for each column: l1 is the price of Σ_g √|g| ‖w_g‖

    def objective(self, sample_weight: Vector) -> tuple[Penalty, float | None]:
        """(penalty, λ) of mean loss + λ·penalty."""
        weight = float(sample_weight.sum())
        share = {"nothing": 1.0, "row": 1.0 / len(sample_weight), "weight": 1.0 / weight}[self.per]
        mean = self.times * share * weight  # what the mean loss is multiplied with
        l1, l2 = self.l1 / mean, self.l2 / mean
        if l1 == 0.0 and l2 == 0.0:
            return Unpenalised(), None
        if self.groups is not None:
            return GroupLasso(), l1
        if l1 == 0.0:
            return L2(), l2
        if self.columns_of_weights:
            return (L21(), l1) if l2 == 0.0 else (L21L2(l2 / l1), l1)
        return (L1(), l1) if l2 == 0.0 else (ElasticNet(l2 / l1), l1)

    def scale_notes(self, residual: Vector, sample_weight: Vector) -> tuple[str, ...]:
        """Says so if the objective still falls with the noise scale: its slope per row is not 0."""
        if self.noise is None:
            return ()
        epsilon, scale = self.noise
        reach = np.minimum(np.abs(residual) / scale, epsilon)
        slope = 1.0 - float(sample_weight @ (reach * reach)) / float(sample_weight.sum())
        if abs(slope) <= SLOPE:
            return ()
        return (
            f"that scale is not the best for these weights: the slope in it is {slope:.2g} per row, not 0",
        )


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model's weights with its claim.

    `seen` says how many rows it has passed over in fitting, in how many passes, where it remembers that.
    """

    name: str
    claim: Claim
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    fit_intercept: bool
    classes: NDArray[Any] | None
    names: tuple[str, ...] | None
    seen: tuple[int, int | None] | None
    constant: int | None = None  # where its own table has a column of ones
    zeros_elsewhere: bool = False  # columns beyond those it knows have the weight 0

    def on(self, p: int) -> Fitted:
        """As weights of so many columns: with the ones among them, or with columns that were never there."""
        if self.constant is not None and len(self.coef) == p - 1:
            full = np.insert(self.coef, self.constant, self.intercept[0])
            return replace(self, coef=full, intercept=np.zeros(1), fit_intercept=False, names=None)
        missing = p - self.coef.shape[-1]
        if self.zeros_elsewhere and missing > 0:
            return replace(self, coef=np.pad(self.coef, [(0, 0)] * (self.coef.ndim - 1) + [(0, missing)]))
        return self

    def check(self, n: int, names: tuple[str, ...] | None) -> None:
        """Refuse rows or columns that are not those of the fit."""
        if names is not None and self.names is not None and names != self.names:
            raise DataError(
                f"X has the columns {_few(names)}, the model was fitted on {_few(self.names)}: "
                "give the same columns in the same order."
            )
        if self.seen is None:
            return
        rows, passes = self.seen
        if rows % n or (passes is not None and rows != n * passes):
            said = f"{rows // passes} rows" if passes else f"{rows} rows in all, by partial_fit"
            raise DataError(
                f"This {self.name} was fitted on {said}, and X has {n}: give all the rows of its fit."
            )


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "")


def refuse(model: Any, reason: str) -> DataError:
    """The sentence for a model that is read and cannot be judged."""
    return DataError(f"This {type(model).__name__} is not certified: {reason}.")
