"""The length of step k as a function of k."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Schedule: TypeAlias = Callable[[int], float]


@dataclass(frozen=True)
class Falling:
    """α/(β + k)^power for a k or an array of them; an object, so that a model holding one can be stored."""

    alpha: float
    beta: float = 0.0
    power: float = 1.0

    def __call__(self, k: Any) -> Any:
        return self.alpha / (self.beta + k) ** self.power
