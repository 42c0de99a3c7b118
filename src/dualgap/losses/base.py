"""What a loss must answer. A loss is pointwise: it sees targets and predictions, never the matrix."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.device.spaces import space
from dualgap.errors import DataError
from dualgap.traits import Trait

NEAR = 0.5  # up to it log(1 + d) is had from d, beyond from 1 + d
LOST = 2.0**-47  # 64 roundings: expit and log1p are within 4 each
ROUNDING = 2.0**-52  # share of the slopes that their sum may be off by
FEW_STEPS = 20  # of Newton's towards the best constant, before secants and halves take over
TINY = 2.0**-1022  # the least number that has all its digits
FAINT = 2.0**-1000  # numbers above it have all their digits


@dataclass(frozen=True)
class Terms:
    """A loss by its slopes, as a sum over k of

        sup over lower ≤ d ≤ upper of   d·(z − kink) − softness·d²/2 − entropy·(s log s + (1 − s) log(1 − s)),

    s the place of d between its bounds, arrays of shape (n, K). Softness 0 is a kink, softness ½ the square
    t² cut off by its slopes. Only the logistic loss has an entropy; without it a loss is piecewise quadratic,
    and interior point, augmented Lagrangian and path engine read nothing else of it.
    """

    kink: Matrix
    lower: Matrix
    upper: Matrix
    softness: float
    entropy: float = 0.0


class Loss(ABC):
    """L(y, z), convex in z. Instances are frozen dataclasses: equal parameters, equal losses.

    `degree` is d in L(ty, tz) = t^d L(y, z) once parameters with units are scaled too
    (`rescaled`), and 0 for classification losses, whose targets are labels ±1 without a unit.
    """

    name: ClassVar[str]
    declared: ClassVar[Trait]
    degree: ClassVar[int] = 0
    translates: ClassVar[bool] = False  # L(y, z) = L(0, z − y)
    lowest: ClassVar[float] = -np.inf  # targets below or above these make no sense
    highest: ClassVar[float] = np.inf
    needs: ClassVar[str] = "numbers"  # as targets, in words
    link: ClassVar[str] = "identity"  # "log" or "logit" of a mean is z, where MEANS is declared
    dispersed: ClassVar[bool] = False  # has the variance of y around its mean a factor of its own?
    anywhere: ClassVar[bool] = True  # does it answer for vectors of any array library, or for NumPy's alone?
    slope_shape: ClassVar[int | None] = None  # see textbook/stochastic_passes.py, for losses without terms

    @property
    def traits(self) -> Trait:
        """Every fact that holds of this loss."""
        return self.declared.closure()

    @property
    def curvature(self) -> float:
        """The largest second derivative; infinite where there is none."""
        return np.inf

    @property
    def power(self) -> float | None:
        """p where L(y, z + o) = e^((2 − p)o) L(y e^−o, z): variances are like means to the power p."""
        return None

    @property
    def each(self) -> tuple[Loss, ...]:
        """The loss of each prediction, for those that ask for several of one target."""
        return ()

    @property
    def joint(self) -> bool:
        """Are these predictions tied to each other?"""
        return False

    @abstractmethod
    def value(self, y: Vector, z: Vector) -> Vector:
        """L(y, z), row by row."""

    @abstractmethod
    def derivative(self, y: Vector, z: Vector) -> Vector:
        """dL/dz; at a kink the subgradient nearest to zero."""

    @abstractmethod
    def conjugate(self, y: Vector, u: Vector) -> Vector:
        """sup over z of uz − L(y, z); `u` is inside `domain`."""

    @abstractmethod
    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        """The interval of slopes with a finite conjugate, row by row."""

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        """L(y, z) + L*(y, u) − uz ≥ 0, u inside `domain`, to a few roundings of itself and of L.

        A sum of products of distances, each ≥ 0: no large terms cancel in it, as they do in the three alone.
        Convex losses only.
        """
        raise NotImplementedError(f"{self.name} is not convex")

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        """d²L/dz² (one of the generalised ones at a bend). Smooth losses only."""
        raise NotImplementedError(f"{self.name} is not smooth")

    def bends(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        """dL/dz and d²L/dz², which may share an exponential. Smooth losses only."""
        return self.derivative(y, z), self.second_derivative(y, z)

    def terms(self, y: Vector) -> Terms:
        """The form above. Only where PIECEWISE_QUADRATIC or ENTROPIC is declared."""
        raise NotImplementedError(f"{self.name} has no terms")

    def past_edge(self, y: Vector, z: Vector) -> Vector:
        """How far z is past the point where the loss begins; below zero nothing is lost. Only where
        LEAVES_ROWS_OUT is declared.
        """
        raise NotImplementedError(f"{self.name} has no edge")

    def mean(self, z: Vector) -> Vector:
        """The mean of y that z speaks of: z itself, unless MEANS is declared."""
        return z

    def falls_towards(self, y: Vector) -> Vector:
        """The sign of the directions in which the loss falls for ever, 0 where it has a minimum. Only where
        ATTAINED is not declared.
        """
        return y

    def deviance(self, risks: Vector) -> Vector | None:
        """−2 log-likelihood of a row, on average, where these are the mean losses; None if there is none.

        exp(−loss/scale) must be a likelihood; the scale is the most likely one.
        """
        return None

    def rescaled(self, unit: float) -> Loss:
        """This loss for targets and predictions divided by `unit`."""
        return self

    def centred(self, y: Vector) -> tuple[Loss, Vector, tuple[Vector, ...]]:
        """(loss, targets, shifts) with L(y, z) = loss(targets, z + Σ shifts), for who adds them with care."""
        return (self, y - y, (-y,)) if self.translates else (self, y, ())

    def unshifted(self, y: Vector) -> tuple[Loss, Vector]:
        """(loss, targets) that are the same, to a rounding, with an offset of the rows inside the targets."""
        return self, y

    def best_constant(self, y: Vector, a: Vector) -> float:
        """The b that minimises Σ a L(y, b)."""
        return self._balance(y, a, float(y.min()) - 1.0, float(y.max()) + 1.0)

    def _balance(self, y: Vector, a: Vector, low: float, high: float) -> float:
        """The b at which Σ a L' is 0, looked for from between these."""

        def slope(b: float) -> float:
            return float(a @ self.derivative(y, np.full(len(y), b)))

        for _ in range(60):
            if slope(low) <= 0.0 <= slope(high):
                break
            low, high = 2 * low - high, 2 * high - low
        else:
            return low if slope(low) > 0 else high
        if slope(low) == 0.0:
            return low
        if slope(high) == 0.0:
            return high
        if Trait.BOUNDED_CURVATURE in self.traits:
            low, high = self._newton_bracket(y, a, low, high)
        return rising_root(slope, low, high) if low < high else low

    def _newton_bracket(self, y: Vector, a: Vector, low: float, high: float) -> tuple[float, float]:
        """Where Σ a L' changes its sign, made short by Newton's steps: quadratic pieces take a handful."""
        b, whole = 0.5 * (low + high), (low, high)
        if y.ndim == 1:  # no offset beside the targets
            b = min(max(float(a @ y) / float(a.sum()), low), high)
        for _ in range(FEW_STEPS):
            first, second = self.bends(y, np.full(len(y), b))
            slope, bend = float(a @ first), float(a @ second)
            if abs(slope) <= ROUNDING * float(a @ np.abs(first)):
                return (b, b) if bend > 0.0 else whole  # a flat stretch has many roots
            low, high = (b, high) if slope < 0.0 else (low, b)
            b = b - slope / bend if bend > 0.0 else 0.5 * (low + high)
            if not low < b < high:
                b = 0.5 * (low + high)
            if not low < b < high:
                break
        return low, high

    def check_targets(self, y: Vector) -> None:
        """Raise DataError if these targets make no sense for this loss."""
        if Trait.CLASSIFICATION in self.traits and not np.all(np.abs(y) == 1.0):
            raise DataError(f"The {self.name} loss needs labels -1 and +1.")
        if self.lowest == -np.inf and self.highest == np.inf:
            return
        beyond = np.flatnonzero((y < self.lowest) | (y > self.highest))
        if len(beyond):
            raise DataError(
                f"The {self.name} loss needs {self.needs}; y holds {y[beyond[0]]:g}"
                f"{f' and {len(beyond) - 1} more such numbers' if len(beyond) > 1 else ''}."
            )

    def __str__(self) -> str:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        if not fields:
            return self.name
        return f"{self.name}({', '.join(f'{getattr(self, f.name):g}' for f in fields)})"


def rising_root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of a rising function between two points where it changes sign: secants with bisections.

    Every third step halves the bracket, so that kinks cannot slow it down. (scipy.optimize would do, at
    a tenth of a second of import time for every program that fits once.)
    """
    below, above = function(low), function(high)
    for k in range(300):
        middle = low - below * (high - low) / (above - below) if k % 3 else 0.5 * (low + high)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        value = function(middle)
        if value == 0.0:
            return middle
        if value < 0.0:
            low, below = middle, value
        else:
            high, above = middle, value
    return low if -below < above else high


def weighted_quantile(y: Vector, a: Vector, q: float) -> float:
    """The smallest y with at least a share q of the weight at or below it."""
    order = np.argsort(y, kind="stable")
    share = np.cumsum(a[order])
    where = int(np.searchsorted(share, q * share[-1] * (1 - 1e-12)))
    return float(y[order[min(where, len(y) - 1)]])


def class_weights(y: Vector, a: Vector) -> tuple[float, float]:
    """Total weight of the rows labelled +1 and −1."""
    plus = float(a[y > 0].sum())
    return plus, float(a[y <= 0].sum())


def log_odds_of_classes(y: Vector, a: Vector) -> float:
    """log of the weight of the rows labelled +1 over that of the others; large where one class has all."""
    plus, minus = class_weights(y, a)
    if min(plus, minus) > TINY:
        return math.log(plus / minus)
    return math.log(max(plus, TINY)) - math.log(max(minus, TINY))


def divergence(share: Vector, model: Vector, depth: Vector) -> Vector:
    """share·log(share/model) − share + model ≥ 0, from above; a share below 0 counts as 0.

    With d = (model − share)/share it is share·(d − log(1 + d)), where the last step loses some roundings of
    |model − share|: these are added, and so is what the model's own rounding moves. Near d = −1 little of the
    model is left in d, and the ratio is taken. `depth`, −log model or more, counts where that underflows.
    """
    xp, move = space(model), model - share
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d, ratio = move / share, model / share
        log = xp.where(xp.abs(d) < NEAR, xp.log1p(d), xp.log(ratio))
        some = share > 0.0
        value = xp.where(some & (ratio < np.inf), share * (d - log), move)  # else log(1 + d) ≥ 0 is left out
        faint = some & (xp.minimum(model, ratio) < FAINT)
        value = xp.mended(value, faint, _far_below, share, depth, move)
    return value + LOST * xp.abs(move)


def _far_below(share: Vector, depth: Vector, move: Vector) -> Vector:
    """`divergence` where the model is too small for its digits."""
    log = space(share).log(share)
    return share * (log + depth + LOST * (abs(log) + depth)) + move


def column(values: Vector | float, n: int) -> Matrix:
    """An (n, 1) array for `Terms`."""
    return np.broadcast_to(np.asarray(values, dtype=np.float64).reshape(-1, 1), (n, 1))


def pair(first: Vector, second: Vector) -> Matrix:
    """An (n, 2) array for `Terms`."""
    return np.column_stack([first, second])
