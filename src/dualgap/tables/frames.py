"""Data frames (pandas; polars and Arrow through it) as columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.errors import DataError, needed
from dualgap.tables.columns import DAY, Column, Dates, Numbers, RawTable, Words
from dualgap.tables.written import understood


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
    notes += tuple(note for name, column in columns.items() for note in _reading(name, column))
    return RawTable(source, len(frame), names, columns, notes=notes)


def read_column(series: Any) -> Column:
    """A pandas column: what it stores says what it is."""
    kind = getattr(series.dtype, "kind", "O")
    if kind == "b":
        return Numbers(series.to_numpy(dtype=float, na_value=np.nan), boolean=True)
    if kind in "iuf" and str(series.dtype) != "category":
        return Numbers(series.to_numpy(dtype=float, na_value=np.nan))
    if kind == "M":
        local = series if getattr(series.dtype, "tz", None) is None else series.dt.tz_localize(None)
        return Dates(local.to_numpy(dtype="datetime64[s]"))
    if kind == "m":
        return Numbers(series.dt.total_seconds().to_numpy(dtype=float) / DAY)
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
    return understood(Words(codes, tuple(str(level) for level in levels)))


def _reading(name: str, column: Column) -> list[str]:
    """What a person should know of numbers that were written with more than digits."""
    if not isinstance(column, Numbers) or column.text is None:
        return []
    strange = next(k for k, level in enumerate(column.text.levels) if not level.strip().isdigit())
    i = int(np.argmax(column.text.codes == strange))
    return [f"{name!r} holds numbers: {column.text.levels[strange]!r} is read as {column.values[i]:.15g}"]
