"""The functions that go with an array, wherever it lives, by the names of NumPy (and of SciPy's special)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from scipy.special import expit, logit, xlogy

NAMES = (
    *(
        "abs",
        "broadcast_to",
        "clip",
        "concatenate",
        "copysign",
        "exp",
        "full_like",
        "isfinite",
        "log",
        "log1p",
    ),
    *("maximum", "minimum", "ones_like", "sign", "sqrt", "where", "zeros_like"),
)
SPECIAL = {"expit": expit, "logit": logit, "xlogy": xlogy}
OF_THE_HOST = np.ndarray, np.generic, float


def _finite(x: Any) -> Any:
    return np.where(np.isfinite(x), x, 0.0)


def _softplus(x: Any) -> Any:
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0.0)


def _both(function: Callable[..., Any], first: Sequence[Any], second: Sequence[Any]) -> Any:
    """The function of each, added: one call for both, as calls cost more than rows."""
    xp, half = space(first[0]), len(first[0])
    found = function(*(xp.concatenate(pair) for pair in zip(first, second, strict=True)))
    return found[:half] + found[half:]


def _mended(values: Any, where: Any, function: Callable[..., Any], *parts: Any) -> Any:
    """What the function says instead, where it is true: seldom anywhere."""
    if where.any():
        values[where] = function(*(part[where] for part in parts))
    return values


OWN = {"finite": _finite, "softplus": _softplus, "both": _both, "mended": _mended}
HOST: Any = SimpleNamespace(**{name: getattr(np, name) for name in NAMES}, **SPECIAL, **OWN)


def space(array: Any) -> Any:
    """NumPy for what is NumPy's; else what array-api-compat finds for the array."""
    return HOST if isinstance(array, OF_THE_HOST) else _elsewhere(cast(Any, type(array)))(array)


@cache
def _elsewhere(kind: Any) -> Any:
    if hasattr(kind, "space"):  # it knows its own
        return lambda array: array.space
    spaces: dict[Any, DeviceSpace] = {}

    def made(array: Any) -> DeviceSpace:
        place = getattr(array, "device", None)
        if place not in spaces:
            from array_api_compat import array_namespace

            spaces[place] = DeviceSpace(array_namespace(array), place)
        return spaces[place]

    return made


class DeviceSpace:
    """A namespace of the array API with numbers of Python as 8-byte ones, and what it lacks."""

    def __init__(self, names: Any, place: Any) -> None:
        self.names, self.place = names, place
        self.both, self.mended = _both, _mended
        self.concatenate = names.concat
        special = getattr(names, "special", None)
        self._expit = getattr(special, "expit", None)
        # torch's own: a number goes along with the call, and is not made an array of the device first
        self._clamp = getattr(names, "clamp", None)
        self._where = names.where if self._clamp is None else sys.modules["torch"].where

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.names, name)
        setattr(self, name, found)  # the next time it is at hand
        return found

    def where(self, condition: Any, one: Any, other: Any) -> Any:
        """Two numbers of Python would make 4-byte ones."""
        if isinstance(one, float) and isinstance(other, float):
            one = self.names.full((), one, dtype=self.names.float64, device=self.place)
        return self._where(condition, one, other)

    def maximum(self, one: Any, other: Any) -> Any:
        """The greater of two."""
        if self._clamp is not None and isinstance(other, float):
            return self._clamp(one, min=other)
        return self.names.maximum(one, other)

    def minimum(self, one: Any, other: Any) -> Any:
        """The lesser of two."""
        if self._clamp is not None and isinstance(other, float):
            return self._clamp(one, max=other)
        return self.names.minimum(one, other)

    def clip(self, x: Any, low: Any, high: Any) -> Any:
        """x between bounds, both numbers or both arrays."""
        return self.names.clip(x, low, high) if self._clamp is None else self._clamp(x, low, high)

    def finite(self, x: Any) -> Any:
        """x, and 0 where it is no finite number."""
        if self._clamp is not None:
            return sys.modules["torch"].nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0)
        return self.where(self.names.isfinite(x), x, self.names.zeros_like(x))

    def softplus(self, x: Any) -> Any:
        """log(1 + eˣ)."""
        if self._clamp is not None:  # beyond 50 it is x, to less than a rounding
            return sys.modules["torch"].nn.functional.softplus(x, threshold=50.0)
        return self.names.log1p(self.names.exp(-self.names.abs(x))) + self.maximum(x, 0.0)

    def expit(self, x: Any) -> Any:
        """1/(1 + e^−x)."""
        if self._expit is not None:
            return self._expit(x)
        e = self.names.exp(-self.names.abs(x))
        return self.where(x >= 0.0, self.names.ones_like(e), e) / (1.0 + e)

    def xlogy(self, x: Any, y: Any) -> Any:
        """x log y, 0 where x is."""
        some = x != 0.0
        return self.where(some, x * self.names.log(self.where(some, y, self.names.ones_like(x))), x)

    def logit(self, x: Any) -> Any:
        """log(x/(1 − x))."""
        return self.names.log(x / (1.0 - x))
