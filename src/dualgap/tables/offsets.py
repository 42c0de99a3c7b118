"""How a column that is an offset may be named: by its name, or as log(name) for one that holds exposures."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.errors import DataError
from dualgap.tables.columns import Numbers, RawTable

LOGARITHM = re.compile(r"\s*log\s*\((.+)\)\s*")


def column_behind(text: str, names: Any) -> str:
    """The column that an offset is made of: its own name, or the one inside log(…)."""
    found = LOGARITHM.fullmatch(text)
    return text if found is None or text in list(names) else found[1].strip()


def offset_values(text: str, column: str, values: Vector) -> Vector:
    """The offset that a column holds; the logarithms of exposures must be numbers."""
    if column == text:
        return values
    low = np.flatnonzero(values <= 0.0)
    if low.size:
        raise DataError(
            f"The exposure {column!r} is {values[low[0]]:g} in row {low[0]}, which has no logarithm; "
            "drop rows without exposure."
        )
    return np.log(values)


def offset_of(raw: RawTable, text: str, used: Mask) -> Vector:
    """The offset of some rows of a file."""
    name = column_behind(text, raw.names)
    column = raw.column(name)
    if not isinstance(column, Numbers):
        raise DataError(f"The offset {name!r} is not numbers.")
    gaps = used & np.isnan(column.values)
    if gaps.any():
        raise DataError(f"The offset {name!r} has no value in row {int(np.argmax(gaps)) + 1}.")
    return offset_values(text, name, column.values[used])
