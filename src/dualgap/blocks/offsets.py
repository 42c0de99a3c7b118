"""The offset of rows in blocks: which column it is made of, and what that holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.tables.offsets import column_behind

SHOWN = 8  # names in a sentence


def column_of(offset: Any, names: Iterable[str], where: str) -> str:
    """The column that an offset is made of, by its name or as log(name)."""
    names = list(names)
    if not isinstance(offset, str):
        raise DataError(
            f"These rows have named columns: their offset is a column of {where}, named as "
            'offset="log(exposure)" or offset="exposure".'
        )
    column = column_behind(offset, names)
    if column not in names:
        shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
        raise DataError(f"offset={offset!r} is not a column of {where}; there are {shown}.")
    return column


def values_of_offset(offset: str, column: str, values: Any) -> Vector:
    """What a block of that column makes: −∞ and NaN are for who knows the place of the rows to refuse."""
    numbers = np.asarray(values, dtype=np.float64)
    if column == offset:
        return numbers
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(numbers))
