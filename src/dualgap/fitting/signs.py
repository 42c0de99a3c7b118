"""bounds= and constraints= as users write them: signs, pairs, arrays, names; rows A with their ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Vector
from dualgap.device.arrivals import refuse_complex
from dualgap.errors import DataError, InfeasibleError
from dualgap.fitting.inputs import LARGEST, Table
from dualgap.penalties.weight_bounds import WeightBounds
from dualgap.proof.constraints import Constraints
from dualgap.tables.columns import by_column
from dualgap.traits import Trait

WAYS = (
    '"nonnegative", "nonpositive", a pair (low, high), two arrays with an entry a column, '
    "or {column: (low, high)}"
)


def read_bounds(bounds: Any, table: Table) -> WeightBounds | None:
    """low ≤ w ≤ high for each column; None where no end is finite."""
    if bounds is None:
        return None
    p = table.design.shape[1]
    low, high = np.full(p, -np.inf), np.full(p, np.inf)
    if isinstance(bounds, str):
        if bounds not in ("nonnegative", "nonpositive"):
            raise DataError(f"bounds must be {WAYS}, not {bounds!r}.")
        if bounds == "nonnegative":
            low = np.zeros(p)
        else:
            high = np.zeros(p)
    elif isinstance(bounds, Mapping):
        for name, ends in bounds.items():
            j = _column(name, table)
            low[j], high[j] = _pair(ends, f"bounds of {table.label(j)}")
    else:
        low, high = _ends(bounds, table)
    return _checked(low, high, table)


def _column(name: Any, table: Table) -> int:
    """A column by name or number."""
    p = table.design.shape[1]
    if table.names is not None and str(name) in table.names:
        return table.names.index(str(name))
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        if not -p <= name < p:
            raise DataError(f"bounds name column {name}; X has the columns 0 to {p - 1}.")
        return int(name) % p
    known = (
        "which is not a column of X" if table.names is not None else "but X has no column names: use numbers"
    )
    raise DataError(f"bounds name {name!r}, {known}.")


def _pair(ends: Any, what: str) -> tuple[float, float]:
    if isinstance(ends, str):
        if ends in ("nonnegative", "nonpositive"):
            return (0.0, np.inf) if ends == "nonnegative" else (-np.inf, 0.0)
        raise DataError(f"The {what} must be a pair (low, high), not {ends!r}.")
    try:
        low, high = ends
        return _number(low, -np.inf), _number(high, np.inf)
    except (TypeError, ValueError):
        raise DataError(f"The {what} must be a pair (low, high), not {ends!r}; None is no end.") from None


def _number(value: Any, missing: float) -> float:
    return missing if value is None else float(value)


def _ends(bounds: Any, table: Table) -> tuple[Vector, Vector]:
    """A pair of numbers or arrays."""
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise DataError(f"bounds must be {WAYS}, not {type(bounds).__name__} {bounds!r:.80}.") from None
    return _side(low, -np.inf, table, "lower"), _side(high, np.inf, table, "upper")


def _side(side: Any, missing: float, table: Table, name: str) -> Vector:
    p = table.design.shape[1]
    if side is None or np.ndim(side) == 0:
        try:
            return np.full(p, _number(side, missing))
        except (TypeError, ValueError):
            raise DataError(f"The {name} bound is {side!r}, not a number; bounds are {WAYS}.") from None
    try:
        listed = np.asarray(by_column(side, table.names), dtype=object).ravel()
        values = np.array([_number(value, missing) for value in listed])
    except (TypeError, ValueError):
        raise DataError(f"The {name} bounds hold what is no number.") from None
    if values.shape != (p,):
        raise DataError(f"There are {len(values)} {name} bounds; X has {p} columns.")
    return values


def _checked(low: Vector, high: Vector, table: Table) -> WeightBounds | None:
    for j in np.flatnonzero(np.isnan(low) | np.isnan(high)):
        raise DataError(f"The bounds of {table.label(int(j))} hold NaN; None is no end.")
    for j in np.flatnonzero((low > high) | (low == np.inf) | (high == -np.inf)):
        raise InfeasibleError(
            f"The bounds of {table.label(int(j))} leave nothing: {low[j]:g} <= w <= {high[j]:g}."
        )
    beyond = np.flatnonzero(
        (np.abs(low) > LARGEST) & np.isfinite(low) | (np.abs(high) > LARGEST) & np.isfinite(high)
    )
    if len(beyond):
        raise DataError(f"A bound of {table.label(int(beyond[0]))} is beyond {LARGEST:g}; None is no end.")
    if np.all(np.isinf(low) & np.isinf(high)):
        return None
    return WeightBounds(low + 0.0, high + 0.0)  # −0 is 0


def read_constraints(constraints: Any, table: Table) -> Constraints | None:
    """lower ≤ Aw ≤ upper; A is an array or sparse over the columns of X, or a frame over some of them."""
    if constraints is None:
        return None
    try:
        A, lower, upper = constraints
    except (TypeError, ValueError):
        raise DataError(
            "constraints must be (A, lower, upper), A with a row a constraint and a column a column of X."
        ) from None
    matrix = _rows(A, table)
    m = len(matrix)
    bad = np.argwhere(~np.isfinite(matrix) | (np.abs(matrix) > LARGEST))
    if len(bad):
        i, j = bad[0]
        raise DataError(
            f"Constraint {i} holds {matrix[i, j]:g} for {table.label(int(j))}; give finite numbers."
        )
    low, high = _row_ends(lower, -np.inf, m, "lower"), _row_ends(upper, np.inf, m, "upper")
    for i in np.flatnonzero(np.isnan(low) | np.isnan(high)):
        raise DataError(f"The ends of constraint {i} hold NaN; None is no end.")
    for i in np.flatnonzero((low > high) | (low == np.inf) | (high == -np.inf)):
        raise InfeasibleError(f"Constraint {i} leaves nothing: its ends are {low[i]:g} and {high[i]:g}.")
    for i in np.flatnonzero(~matrix.any(axis=1)):
        if low[i] > 0.0 or high[i] < 0.0:
            raise InfeasibleError(f"Constraint {i} has no column in it, and 0 is not between its ends.")
    if not m or np.all(np.isinf(low) & np.isinf(high)):
        return None
    return Constraints(np.ascontiguousarray(matrix), low + 0.0, high + 0.0)


def _rows(A: Any, table: Table) -> Any:
    p = table.design.shape[1]
    if sp.issparse(A):
        A = A.toarray()
    refuse_complex(A, "constraints")
    names = [str(name) for name in getattr(A, "columns", [])]
    if names:
        if table.names is None:
            raise DataError("constraints by column name need an X with column names.")
        unknown = [name for name in names if name not in table.names]
        if unknown:
            raise DataError(f"constraints name {unknown[0]!r}, which is not a column of X.")
    try:
        array = np.atleast_2d(np.asarray(A.to_numpy() if hasattr(A, "to_numpy") else A, dtype=np.float64))
    except (TypeError, ValueError):
        raise DataError("The rows of constraints hold what is no number.") from None
    if names:
        assert table.names is not None
        full = np.zeros((len(array), p))
        full[:, [table.names.index(name) for name in names]] = array
        array = full
    if array.ndim != 2 or array.shape[1] != p:
        raise DataError(f"constraints have {array.shape[-1]} columns; X has {p}.")
    return array


def _row_ends(side: Any, missing: float, m: int, name: str) -> Vector:
    if side is None or np.ndim(side) == 0:
        return np.full(m, _number(side, missing))
    values = np.array([_number(value, missing) for value in np.asarray(side, dtype=object).ravel()])
    if values.shape != (m,):
        raise DataError(f"There are {len(values)} {name} ends of constraints; A has {m} rows.")
    return values


def refuse_in_blocks(bounds: Any, constraints: Any) -> None:
    """Rows that are scanned, and moments, know neither."""
    if bounds is not None or constraints is not None:
        raise DataError(
            "bounds= and constraints= are for rows in memory; those in blocks and moments are fitted without "
            "them. Read the rows into an array."
        )


def refuse_signs(terms: Any, what: str, remedy: str) -> None:
    """One sentence for what cannot be had with bounds or constraints."""
    if terms.bounds is None and terms.constraints is None:
        return
    which = "bounds=" if terms.bounds is not None else "constraints="
    raise DataError(f"{which} cannot be had with {what}; {remedy}")


def refuse_unbounded_kinds(terms: Any) -> None:
    """Searches are without bounds and constraints."""
    if terms.bounds is None and terms.constraints is None:
        return
    gauge = terms.regulariser.gauge
    if Trait.CONVEX not in terms.loss.traits & gauge.traits:
        refuse_signs(
            terms, f"{terms.loss} loss and {terms.penalty}, which are searched", "choose convex ones."
        )


def sign_keywords(terms: Any) -> dict[str, Any]:
    """The keywords that say the same again."""
    found: dict[str, Any] = {}
    if terms.bounds is not None:
        found["bounds"] = (terms.bounds.low, terms.bounds.high)
    if terms.constraints is not None:
        found["constraints"] = (terms.constraints.matrix, terms.constraints.lower, terms.constraints.upper)
    return found
