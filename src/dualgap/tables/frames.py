"""Data frames (pandas; polars and Arrow through it) as columns."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.errors import DataError, needed
from dualgap.tables.columns import Column, Dates, Numbers, RawTable, Words

DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ]\d{1,2}:\d{2}.*)?\s*"
)
LOOKED_AT = 200  # levels examined for the look of dates


def pandas() -> Any:
    """The pandas module, or the sentence that says how to get it."""
    return needed("pandas", "cli", "Reading tables")


def from_frame(frame: Any, source: str, notes: tuple[str, ...] = ()) -> RawTable:
    """The columns of a frame, each as numbers, words or dates."""
    if not hasattr(frame, "iloc"):
        frame = frame.to_pandas()
    names = tuple(str(name) for name in frame.columns)
    twice = [name for j, name in enumerate(names) if name in names[:j]]
    if twice:
        raise DataError(f"{source} has two columns named {twice[0]!r}; rename one.")
    columns = {name: read_column(frame.iloc[:, j]) for j, name in enumerate(names)}
    return RawTable(source, len(frame), names, columns, notes=notes)


def read_column(series: Any) -> Column:
    """A pandas column: what it stores says what it is."""
    kind = getattr(series.dtype, "kind", "O")
    if kind == "b":
        return Numbers(series.to_numpy(dtype=float, na_value=np.nan), boolean=True)
    if kind in "iuf" and str(series.dtype) != "category":
        return Numbers(series.to_numpy(dtype=float, na_value=np.nan))
    if kind in "mM":
        present = series.dropna()
        return Dates(str(present.iloc[0]) if len(present) else "", series.isna().to_numpy(dtype=bool))
    if kind == "c":
        raise DataError(f"Column {str(series.name)!r} holds complex numbers; split them into two columns.")
    return _words(series)


def _words(series: Any) -> Column:
    codes, found = pandas().factorize(series)
    if len(found) and all(isinstance(level, bool | np.bool_) for level in found):
        truth = np.array([*map(float, found), np.nan])
        return Numbers(truth[codes], boolean=True)
    levels, where = np.unique([str(level) for level in found], return_inverse=True)
    codes = np.append(where, -1)[codes].astype(np.intp)
    words = tuple(str(level) for level in levels)
    looked = words[:LOOKED_AT]
    if looked and all(DATE.fullmatch(level) for level in looked):
        first = int(np.argmax(codes >= 0))
        return Dates(words[codes[first]], np.asarray(codes < 0))
    return Words(codes, words)


def number_levels(words: Words) -> NDArray[np.bool_]:
    """Which levels read as numbers?"""
    return np.array([_reads_as_number(level) for level in words.levels], dtype=bool)


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
