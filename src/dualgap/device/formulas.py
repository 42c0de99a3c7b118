"""Formulas of a row, written down: a function of arrays is followed once and becomes lines of C.

What follows it stands where an array would: losses answer for it as they do for NumPy's. Each line is one
operation of 8-byte numbers, rounded once, in the order in which NumPy would do it. What asks for values
(a branch, an index) cannot be followed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

PRELUDE = r"""
typedef unsigned long long bits;
#define INF __longlong_as_double(0x7ff0000000000000LL)
#define NONE __longlong_as_double(0x7ff8000000000000LL)
#define DG static __device__ __forceinline__ double
DG dg_max(double a, double b) { return a != a || b != b ? NONE : a > b ? a : b; }
DG dg_min(double a, double b) { return a != a || b != b ? NONE : a < b ? a : b; }
DG dg_clip(double x, double low, double high) { return dg_min(dg_max(x, low), high); }
DG dg_sign(double x) { return (double)((x > 0.0) - (x < 0.0)); }
DG dg_finite(double x) { return isfinite(x) ? x : 0.0; }
DG dg_softplus(double x) { return x > 50.0 ? x : log1p(exp(x)); }
DG dg_expit(double x) { return 1.0 / (1.0 + exp(-x)); }
DG dg_xlogy(double x, double y) { return x == 0.0 ? 0.0 : x * log(y); }
"""


class CannotFollowError(TypeError):
    """Some step of a function needs the values of an array."""


CANNOT = (TypeError, AttributeError, NotImplementedError)  # what a function raises that cannot be followed


class Tape:
    """The lines so far; what was worked out once is not worked out again."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.known: dict[str, Written] = {}

    def named(self, name: str) -> Written:
        """What the kernel has under a name."""
        return Written(self, name)

    def put(self, template: str, *parts: Any, truth: bool = False) -> Written:
        """One more line."""
        text = template.format(*(self.read(part) for part in parts))
        if text not in self.known:
            name = f"v{len(self.lines)}"
            self.lines.append(f"const {'bool' if truth else 'double'} {name} = {text};")
            self.known[text] = Written(self, name, truth=truth)
        return self.known[text]

    def read(self, part: Any) -> str:
        """A number, or the name of one."""
        if isinstance(part, Written):
            return part.name
        if not isinstance(part, (int, float, np.generic)):
            raise CannotFollowError(f"an array of {type(part).__name__} in a formula of rows")
        number = float(part)
        if math.isfinite(number):
            return f"({number!r})"
        return "NONE" if math.isnan(number) else "INF" if number > 0.0 else "(-INF)"


def _binary(sign: str, *, truth: bool = False) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def ahead(self: Written, other: Any) -> Any:
        return self.tape.put(f"{{}} {sign} {{}}", self.number(), other, truth=truth)

    def behind(self: Written, other: Any) -> Any:
        return self.tape.put(f"{{}} {sign} {{}}", other, self.number(), truth=truth)

    return ahead, behind


def _logical(sign: str) -> Callable[..., Any]:
    def found(self: Written, other: Any) -> Any:
        if not (isinstance(other, Written) and self.truth and other.truth):
            raise CannotFollowError("only truth values are joined")
        return self.tape.put(f"{{}} {sign} {{}}", self, other, truth=True)

    return found


class Written:
    """A number of the row, or a truth value, by its name."""

    __array_ufunc__ = None
    __hash__ = object.__hash__
    shape: ClassVar[tuple[int, ...]] = ()

    def __init__(self, tape: Tape, name: str, *, truth: bool = False) -> None:
        self.tape, self.name, self.truth = tape, name, truth

    @property
    def space(self) -> WrittenSpace:
        """The functions that go with it."""
        return WrittenSpace(self.tape)

    def number(self) -> Written:
        """Truth as 1 and 0."""
        return self.tape.put("(double){}", self) if self.truth else self

    __add__, __radd__ = _binary("+")
    __sub__, __rsub__ = _binary("-")
    __mul__, __rmul__ = _binary("*")
    __truediv__, __rtruediv__ = _binary("/")
    __lt__, __gt__ = _binary("<", truth=True)[0], _binary(">", truth=True)[0]
    __le__, __ge__ = _binary("<=", truth=True)[0], _binary(">=", truth=True)[0]
    __and__, __or__ = _logical("&&"), _logical("||")

    def __eq__(self, other: object) -> Any:
        return self.tape.put("{} == {}", self.number(), other, truth=True)

    def __ne__(self, other: object) -> Any:
        return self.tape.put("{} != {}", self.number(), other, truth=True)

    def __invert__(self) -> Written:
        return self.tape.put("!{}", self, truth=True)

    def __neg__(self) -> Written:
        return self.tape.put("-{}", self.number())

    def __abs__(self) -> Written:
        return self.tape.put("fabs({})", self.number())

    def __pow__(self, power: Any) -> Any:
        if power != 2:
            raise CannotFollowError("only squares are powers of a formula")
        return self * self

    def __bool__(self) -> bool:
        raise CannotFollowError("a branch depends on the values of an array")


NAMED = {
    "exp": ("exp({})", 1),
    "log": ("log({})", 1),
    "log1p": ("log1p({})", 1),
    "sqrt": ("sqrt({})", 1),
    "sign": ("dg_sign({})", 1),
    "finite": ("dg_finite({})", 1),
    "softplus": ("dg_softplus({})", 1),
    "expit": ("dg_expit({})", 1),
    "xlogy": ("dg_xlogy({}, {})", 2),
    "maximum": ("dg_max({}, {})", 2),
    "minimum": ("dg_min({}, {})", 2),
    "copysign": ("copysign({}, {})", 2),
    "clip": ("dg_clip({}, {}, {})", 3),
}


class WrittenSpace:
    """The functions of `spaces`, written down."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in NAMED:
            raise CannotFollowError(f"{name} is no function of a formula of rows")
        template, count = NAMED[name]

        def found(*parts: Any) -> Any:
            if len(parts) != count:
                raise CannotFollowError(f"{name} of {len(parts)} numbers")
            return self.tape.put(template, *(self._number(part) for part in parts))

        return found

    @staticmethod
    def _number(part: Any) -> Any:
        return part.number() if isinstance(part, Written) else part

    def abs(self, x: Any) -> Any:
        """|x|."""
        return abs(x)

    def isfinite(self, x: Any) -> Any:
        """Is it a finite number?"""
        return self.tape.put("(bool)isfinite({})", x, truth=True)

    def where(self, condition: Any, one: Any, other: Any) -> Any:
        """One of two."""
        return self.tape.put("{} ? {} : {}", condition, self._number(one), self._number(other))

    def logit(self, x: Any) -> Any:
        """log(x/(1 − x))."""
        return self.log(x / (1.0 - x))

    def full_like(self, x: Any, value: float) -> Any:
        """The number."""
        return self.tape.put("{}", value)

    def zeros_like(self, x: Any) -> Any:
        """0."""
        return self.full_like(x, 0.0)

    def ones_like(self, x: Any) -> Any:
        """1."""
        return self.full_like(x, 1.0)

    def broadcast_to(self, x: Any, shape: Any) -> Any:
        """The same number for every row."""
        return x if isinstance(x, Written) else self.tape.put("{}", x)

    def both(self, function: Callable[..., Any], first: Sequence[Any], second: Sequence[Any]) -> Any:
        """The function of each, added."""
        return operator.add(function(*first), function(*second))

    def mended(self, values: Any, where: Any, function: Callable[..., Any], *parts: Any) -> Any:
        """What the function says instead, where it is true."""
        return self.where(where, function(*parts), values)
