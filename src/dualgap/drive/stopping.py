"""When to stop, as objects that combine with | and &.

dg.stopping.Seconds(2) | (dg.stopping.ObjectiveChange(1e-8) & dg.stopping.Iterations(100))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.trace import Record


@dataclass(frozen=True, eq=False)
class Moment:
    """What a rule may look at: the record, and the weights (intercept last) in the asked coordinates."""

    record: Record
    w: Vector
    relative_gap: float


Watch: TypeAlias = Callable[[Moment], bool]


class Stop(ABC):
    """A rule. `watch()` starts a fresh run of it, so that one rule can serve many fits."""

    @abstractmethod
    def watch(self) -> Watch:
        """A function that says at each moment whether to stop."""

    def __or__(self, other: Stop) -> Stop:
        return Either(self, other)

    def __and__(self, other: Stop) -> Stop:
        return Both(self, other)


@dataclass(frozen=True)
class Either(Stop):
    """Stop when one of them says so."""

    first: Stop
    second: Stop

    def watch(self) -> Watch:
        one, other = self.first.watch(), self.second.watch()
        return lambda moment: bool(np.any([one(moment), other(moment)]))


@dataclass(frozen=True)
class Both(Stop):
    """Stop when both say so at the same moment."""

    first: Stop
    second: Stop

    def watch(self) -> Watch:
        one, other = self.first.watch(), self.second.watch()
        return lambda moment: bool(np.all([one(moment), other(moment)]))


@dataclass(frozen=True)
class Iterations(Stop):
    """After so many iterations."""

    count: int

    def watch(self) -> Watch:
        return lambda moment: moment.record.iteration >= self.count


@dataclass(frozen=True)
class Seconds(Stop):
    """After so much time."""

    limit: float

    def watch(self) -> Watch:
        return lambda moment: moment.record.seconds >= self.limit


@dataclass(frozen=True)
class Gap(Stop):
    """When the relative duality gap is proven this small."""

    tolerance: float

    def watch(self) -> Watch:
        return lambda moment: moment.relative_gap <= self.tolerance


@dataclass(frozen=True)
class ObjectiveChange(Stop):
    """When the objective has moved by less than a share `tolerance`, `patience` times in a row."""

    tolerance: float
    patience: int = 1

    def watch(self) -> Watch:
        def small(before: Moment, now: Moment) -> bool:
            was = before.record.objective
            return abs(now.record.objective - was) <= self.tolerance * abs(was)

        return _calm(small, self.patience)


@dataclass(frozen=True)
class ParameterChange(Stop):
    """When the weights have moved by less than `tolerance` (Euclidean), `patience` times in a row."""

    tolerance: float
    patience: int = 1

    def watch(self) -> Watch:
        def small(before: Moment, now: Moment) -> bool:
            return float(np.linalg.norm(now.w - before.w)) <= self.tolerance

        return _calm(small, self.patience)


def _calm(small: Callable[[Moment, Moment], bool], patience: int) -> Watch:
    """Has so little happened between one moment and the next, so many times in a row?"""
    last: list[Moment] = []
    calm = 0

    def quiet(moment: Moment) -> bool:
        nonlocal calm
        calm = calm + 1 if last and small(last[0], moment) else 0
        last[:] = [replace(moment, w=moment.w.copy())]
        return calm >= patience

    return quiet


@dataclass(frozen=True, eq=False)
class HeldOutPlateau(Stop):
    """When `score(w, b)` on data held out has not fallen for `patience` moments in a row.

    `score` is any function of the weights and the intercept, lower is better; `held_out_loss` makes one.
    """

    score: Callable[[Vector, float], float]
    patience: int = 5
    fit_intercept: bool = True

    def watch(self) -> Watch:
        best, waited = [np.inf], [0]

        def flat(moment: Moment) -> bool:
            w, b = (moment.w[:-1], float(moment.w[-1])) if self.fit_intercept else (moment.w, 0.0)
            value = self.score(w, b)
            waited[0] = 0 if value < best[0] else waited[0] + 1
            best[0] = min(best[0], value)
            return waited[0] >= self.patience

        return flat


def held_out_loss(X: Any, y: Any, loss: Any) -> Callable[[Vector, float], float]:
    """The mean of a loss (an object of `dg.losses`) on rows held out; labels must be ±1."""
    targets = np.asarray(y, dtype=np.float64)
    return lambda w, b: float(np.mean(loss.value(targets, np.asarray(X @ w + b))))
