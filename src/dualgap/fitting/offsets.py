"""Offsets as users hand them over: a number for each row, or the name of the column that holds them.

"log(exposure)" names the column exposure, whose logarithms are the offset.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.fitting.inputs import LARGEST, _floats, _is_frame, _one_dimensional
from dualgap.losses import Loss
from dualgap.tables.offsets import column_behind, offset_values

if TYPE_CHECKING:
    from dualgap.blocks.dataset import Dataset
    from dualgap.fitting.solution import Solution

MOST = 700.0  # e^709 is the largest power that is a number


def parted(X: Any, offset: Any) -> tuple[Any, Any, str | None]:
    """X without the column that the offset names, what is in that column, and its name."""
    if not isinstance(offset, str):
        return X, offset, None
    if not _is_frame(X):
        raise DataError(f"offset={offset!r} names a column, and X has no names; give the numbers themselves.")
    column = column_behind(offset, X.columns)
    if column not in list(X.columns):
        raise DataError(f"offset={offset!r} is not a column of X; there are {_listed(X)}.")
    given = X[column]
    if column != offset:
        numbers = _floats(_one_dimensional(given, len(X), f"The column {column!r}"), f"The column {column!r}")
        given = offset_values(offset, column, numbers)
    return without(X, offset), given, offset


def without(X: Any, name: str | None) -> Any:
    """X without the column of that offset, where it is a table that has it."""
    if name is None or not _is_frame(X):
        return X
    column = column_behind(name, X.columns)
    if column not in list(X.columns):
        return X
    return X.drop(columns=[column]) if hasattr(X, "iloc") else X.drop(column)


def read_offset(values: Any, n: int, loss: Loss, name: str | None = None) -> Vector | None:
    """A finite number for each row; None where there is none."""
    if values is None:
        return None
    if np.ndim(values) == 0 and not isinstance(values, str):
        values = np.full(n, values)
    called = "offset" if name is None else f"The offset column {name!r}"
    found = _floats(_one_dimensional(values, n, called), called)
    bad = np.flatnonzero(~(np.abs(found) <= LARGEST))
    if bad.size:
        raise DataError(
            f"{called} is {found[bad[0]]} in row {bad[0]}; offsets must be finite numbers"
            f"{' (the logarithm of an exposure of 0 is none: drop such rows)' if found[bad[0]] < 0 else ''}."
        )
    far = int(np.argmax(np.abs(found)))
    if loss.link == "log" and abs(found[far]) > MOST:
        raise DataError(
            f"{called} is {found[far]:g} in row {far}, and e to that power is no number; with the {loss} "
            "loss an offset is the logarithm of the exposure: give np.log(exposure)."
        )
    return found


def refuse_offset(offset: Any, where: str) -> None:
    """What has no offset says so."""
    if offset is not None:
        raise DataError(f"offset= is for one vector of weights of a convex problem, not for {where}.")


class Shifting(Protocol):
    """What was asked, as far as an offset goes."""

    @property
    def offset(self) -> Vector | None:
        """Of the rows of the fit."""

    @property
    def offset_name(self) -> str | None:
        """The column that it was in."""


def named(solution: Solution, name: str | None) -> Solution:
    """The solution with the name of the column that its offset was in."""
    if name is None:
        return solution
    terms = replace(solution.terms, offset_name=name)
    return replace(solution, terms=terms, certificate=replace(solution.certificate, terms=terms))


def of_new_rows(terms: Shifting | None, X: Any, offset: Any) -> tuple[Any, Any]:
    """X and the offset of rows to predict, found in the column that the fit named, where X has it."""
    if terms is None or terms.offset is None:
        if offset is not None:
            raise DataError("This model was fitted without an offset; leave offset= out.")
        return X, None
    name = terms.offset_name
    if offset is None and name is not None and _is_frame(X) and column_behind(name, X.columns) in X.columns:
        X, offset, _ = parted(X, name)
    if offset is None:
        raise DataError(
            "This model was fitted with an offset: give offset=, a number for each row"
            + (f" (or the column {name!r} in X)" if name is not None else "")
            + "; offset=0 predicts for one unit of exposure."
        )
    X, offset, _ = parted(without(X, name), offset)
    return X, offset


def counted_alike(terms: Shifting | None, rows: Dataset, offset: Any) -> Dataset:
    """Rows in blocks with the offset that a fit had, found in the column that it named."""
    rows = rows if offset is None else rows.with_offset(offset)
    if terms is None or terms.offset is None:
        if rows.source.shifted():
            raise DataError("This model was fitted without an offset, and these rows have one.")
        return rows
    if rows.source.shifted():
        return rows
    if terms.offset_name is None:
        raise DataError(
            "This model was fitted with an offset: dg.dataset(..., offset=) says that of the rows."
        )
    return rows.with_offset(terms.offset_name)


def _listed(X: Any) -> str:
    names = [str(name) for name in X.columns]
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
