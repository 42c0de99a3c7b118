"""A JSON object read with suspicion: every value has a type, a size and a place that a refusal names."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualgap.errors import ModelFileError
from dualgap.files.store import Beside, array_of

MOST_ENTRIES = 1 << 31  # of an array: 16 GiB, beyond what one machine fits
MOST_TEXT = 100_000  # characters of a text: a name of a column or a sentence, with room
T = TypeVar("T")
NOT_FINITE = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
KINDS = {"<f8": np.dtype("<f8"), "|b1": np.dtype("|b1")}


class Fields:
    """An object of a model file, with the name of its place."""

    def __init__(self, values: Any, file: str, where: str = "", beside: Beside | None = None) -> None:
        self.file, self.where, self.beside = file, where, beside
        if not isinstance(values, dict):
            raise ModelFileError(f"{file}: {where or 'the whole'} should be an object, not {_shown(values)}.")
        self.values = values

    def refuse(self, name: str, expected: str) -> ModelFileError:
        """The sentence for a value that is not what it should be."""
        found = _shown(self.values[name]) if name in self.values else "nothing"
        return ModelFileError(f"{self.file}: {self.place(name)} should be {expected}, not {found}.")

    def place(self, name: str) -> str:
        """Where a value stands: certificate.theta."""
        return f"{self.where}.{name}" if self.where else name

    def has(self, name: str) -> bool:
        """Is there a value, and is it not null?"""
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        """A string of bounded length."""
        value = self.values.get(name)
        if not isinstance(value, str) or len(value) > MOST_TEXT:
            raise self.refuse(name, "a text")
        return value

    def one_of(self, name: str, known: Any) -> str:
        """One of some words."""
        value = self.text(name)
        if value not in known:
            raise self.refuse(name, f"one of {', '.join(known)}")
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.values.get(name)
        if not isinstance(value, bool):
            raise self.refuse(name, "true or false")
        return value

    def whole(self, name: str, low: int = 0) -> int:
        """A whole number, not huge."""
        value = self.values.get(name)
        if not _is_whole(value, low):
            raise self.refuse(name, f"a whole number from {low}")
        return int(value)  # type: ignore[arg-type]

    def optional(self, read: Callable[..., T], name: str, **asked: Any) -> T | None:
        """What `read` (one of the others) finds; None where the value is null or left out."""
        return read(name, **asked) if self.has(name) else None

    def line(self, name: str, row: Any, titles: tuple[str, ...], expected: str) -> Fields:
        """A list of values, one under each title: an object written short. `name` says where it stands."""
        if not isinstance(row, list) or len(row) != len(titles):
            raise self.refuse(name.partition("[")[0], expected)
        return Fields(dict(zip(titles, row, strict=True)), self.file, self.place(name))

    def number(self, name: str, *, finite: bool = True, low: float = -np.inf, nan: bool = False) -> float:
        """A number, at least `low`; NaN is none unless it may be."""
        value = _number(self.values.get(name))
        good = value is not None and (np.isfinite(value) or not finite) and (nan or value >= low)
        if value is None or not good:
            bound = f" of at least {low:g}" if np.isfinite(low) else ""
            raise self.refuse(name, f"a {'finite ' if finite else ''}number{bound}")
        return value

    def part(self, name: str) -> Fields:
        """The object of that name."""
        return Fields(self.values.get(name), self.file, self.place(name), self.beside)

    def parts(self, name: str) -> list[Fields]:
        """A list of objects."""
        found = self.items(name)
        return [
            Fields(one, self.file, f"{self.place(name)}[{k}]", self.beside) for k, one in enumerate(found)
        ]

    def items(self, name: str) -> list[Any]:
        """A list."""
        value = self.values.get(name)
        if not isinstance(value, list):
            raise self.refuse(name, "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        found = self.items(name)
        if not all(isinstance(one, str) and len(one) <= MOST_TEXT for one in found):
            raise self.refuse(name, "a list of texts")
        return tuple(found)

    def array(self, name: str, shape: tuple[int | None, ...], *, kind: str = "<f8") -> NDArray[Any]:
        """Finite numbers (or flags) of a shape; None stands for any length."""
        found = self._array(name, kind)
        fits = found.ndim == len(shape) and all(
            b in (None, a) for a, b in zip(found.shape, shape, strict=True)
        )
        if not fits:
            place = f"{self.file}: {self.place(name)}"
            raise ModelFileError(f"{place} should have the shape {_shape(shape)}, not {_shape(found.shape)}.")
        if not np.all(np.isfinite(found)):
            raise ModelFileError(f"{self.file}: {self.place(name)} holds NaN or infinity.")
        return found

    def length(self, name: str) -> int:
        """The number of rows of an array."""
        return len(self._array(name, "<f8"))

    def _array(self, name: str, kind: str) -> NDArray[Any]:
        value = self.values.get(name)
        if isinstance(value, list):
            return self._listed(name, value, kind)
        inner = self.part(name)
        if inner.text("dtype") != kind:
            raise inner.refuse("dtype", kind)
        shape = tuple(inner.items("shape"))
        lengths = 1 <= len(shape) <= 2 and all(map(_is_whole, shape))
        if not lengths or np.prod(shape, dtype=object) > MOST_ENTRIES:
            raise inner.refuse("shape", "one or two lengths, not huge")
        if inner.has("npz"):
            if self.beside is None:
                raise inner.refuse("npz", "left out, for the model names no file beside it")
            return self.beside.array(inner.text("npz"), shape, KINDS[kind])
        return _decoded(inner, shape, KINDS[kind])

    def _listed(self, name: str, value: list[Any], kind: str) -> NDArray[Any]:
        rows = value if value and all(isinstance(row, list) for row in value) else [value]
        flat = [one for row in rows for one in row]
        if kind == "|b1":
            right = all(isinstance(one, bool) for one in flat)
        else:
            right = all(isinstance(one, int | float) and not isinstance(one, bool) for one in flat)
        if not right or len({len(row) for row in rows}) > 1:
            raise self.refuse(name, "a list of numbers" if kind == "<f8" else "a list of true and false")
        try:
            return np.array(value, dtype=KINDS[kind])
        except OverflowError:
            raise self.refuse(name, "numbers that fit in 64 bits") from None


def _is_whole(value: Any, low: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= MOST_ENTRIES


def _decoded(inner: Fields, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    value = inner.values.get("base64")
    if not isinstance(value, str):
        raise inner.refuse("base64", "a text")
    try:
        content = base64.b64decode(value.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise inner.refuse("base64", "base64") from None
    if dtype.kind == "b" and set(content) - {0, 1}:
        raise inner.refuse("base64", "flags, 0 or 1 each")
    array = array_of(content, shape, dtype)
    if array is None:
        raise ModelFileError(f"{inner.file}: {inner.where} does not hold as many bytes as its shape needs.")
    return array


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return NOT_FINITE.get(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _shape(shape: tuple[int | None, ...]) -> str:
    return " × ".join("any" if length is None else str(length) for length in shape)


def _shown(value: Any) -> str:
    """A short look at what was found."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return repr(value[:40])
    return "null" if value is None else str(value)[:40] if isinstance(value, bool | float) else "a number"
