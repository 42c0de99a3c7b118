"""What users hand over, checked and turned into arrays. Every refusal names the place and the remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.design import Compressed, Dense, Design
from dualgap.errors import DataError

LARGEST = 1e100  # squares of sums of squares must stay finite


@dataclass(frozen=True, eq=False)
class Table:
    """The data matrix with the names of its columns, where it had any."""

    design: Design
    names: tuple[str, ...] | None

    def label(self, j: int) -> str:
        """How to speak of column j."""
        return f"column {j}" if self.names is None else f"column {self.names[j]!r} (number {j})"


def read_table(X: Any) -> Table:
    """A finite two-dimensional table: array, SciPy sparse, pandas or polars."""
    if sp.issparse(X):
        table = Table(Compressed(_sparse(X)), None)
        values = table.design.by_columns.data  # type: ignore[attr-defined]
    else:
        array, names = _frame(X) if _is_frame(X) else (_array(X), None)
        table = Table(Dense(array), names)
        values = array
    n, p = table.design.shape
    if n == 0:
        raise DataError("X has no rows (0 samples).")
    if p == 0:
        raise DataError(f"X has no columns: 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
    if values.size and not _tame(values):
        _complain(table)
    return table


def _tame(values: NDArray[Any]) -> bool:
    low, high = float(np.min(values)), float(np.max(values))  # a NaN survives both
    return -LARGEST <= low and high <= LARGEST


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape") and hasattr(X, "__getitem__")


def _frame(X: Any) -> tuple[Matrix, tuple[str, ...]]:
    names = tuple(str(name) for name in X.columns)
    array = np.empty((len(X), len(names)), order="F")
    for j, name in enumerate(X.columns):
        column = X.iloc[:, j] if hasattr(X, "iloc") else X[name]
        try:
            array[:, j] = np.asarray(
                column.to_numpy(dtype=float, na_value=np.nan)
                if hasattr(column, "array")
                else column.to_numpy(),
                dtype=float,
            )
        except (TypeError, ValueError):
            kind = getattr(column, "dtype", type(column).__name__)
            raise DataError(
                f"Column {str(name)!r} (number {j}) holds {kind}, not numbers; "
                "encode it (for instance one-hot) or drop it."
            ) from None
    return array, names


def _array(X: Any) -> Matrix:
    if X is None:
        raise DataError("X is None; give a table of numbers.")
    array = np.asarray(X)
    if np.iscomplexobj(array):
        raise DataError("Complex data not supported: give the real and imaginary parts as columns.")
    if array.ndim != 2:
        raise DataError(
            f"X must have two dimensions (rows and columns), not {array.ndim}. Reshape your data: "
            "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
        )
    if array.dtype.kind in "OUSMm":
        array = _numbers(array)
    return np.asarray(array, dtype=np.float64)


def _numbers(array: NDArray[Any]) -> Matrix:
    try:
        if array.dtype.kind in "USMm":
            raise ValueError
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        for i, j in np.ndindex(*array.shape):
            try:
                if array.dtype.kind in "USMm":
                    raise ValueError
                float(array[i, j])
            except (TypeError, ValueError):
                sort = TypeError if isinstance(error, TypeError) else DataError
                raise sort(
                    f"X holds {array[i, j]!r} in column {j}, row {i}, where a number was expected; argument "
                    "must be a string or a number that can be read as one: encode or drop that column."
                ) from None
        raise


def _sparse(X: Any) -> sp.csr_array | sp.csc_array:
    if X.ndim != 2:
        raise DataError(f"X must have two dimensions, not {X.ndim}.")
    if np.iscomplexobj(X.data if hasattr(X, "data") else X.toarray()):
        raise DataError("Complex data not supported: give the real and imaginary parts as columns.")
    shaped = sp.csr_array(X) if X.format == "csr" else sp.csc_array(X)
    if shaped.dtype != np.float64:
        shaped = shaped.astype(np.float64)
    if not shaped.has_canonical_format:
        shaped = shaped.copy()
        shaped.sum_duplicates()
    return shaped


def _complain(table: Table) -> None:
    """Find the first value that is not finite or too large, and say where."""
    design = table.design
    n, p = design.shape
    for j in range(p):
        column = design.columns(np.array([j])).toarray()[:, 0]
        bad = ~np.isfinite(column)
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            what = "NaN" if np.isnan(column[i]) else "infinity"
            count = int(bad.sum())
            raise DataError(
                f"X contains {what} in {table.label(j)}, row {i}"
                + (f" and {count - 1} more rows of that column" if count > 1 else "")
                + "; impute or drop it. (Input X contains NaN or infinity.)"
            )
        if np.abs(column).max() > LARGEST:
            i = int(np.argmax(np.abs(column)))
            raise DataError(
                f"X holds {column[i]:.3g} in {table.label(j)}, row {i}: beyond {LARGEST:g} sums of squares "
                "overflow (infinity); divide that column by a power of ten."
            )


def read_numbers(y: Any, n: int) -> Vector:
    """Targets of a regression: n finite numbers."""
    array = _one_dimensional(y, n, "y")
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"y holds {array.dtype} where numbers are needed for a regression loss; use a "
            "classification loss (hinge, logistic, …) for labels."
        ) from None
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        what = "NaN" if np.isnan(values[bad[0]]) else "infinity"
        raise DataError(
            f"y contains {what} in row {bad[0]}; drop that row. (Input y contains NaN or infinity.)"
        )
    if np.abs(values).max(initial=0.0) > LARGEST:
        i = int(np.argmax(np.abs(values)))
        raise DataError(f"y holds {values[i]:.3g} in row {i}, beyond {LARGEST:g}; rescale the target.")
    return values


def read_labels(y: Any, n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes, sorted, and the class number of every row."""
    array = _one_dimensional(y, n, "y")
    if array.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(array))
        if bad.size:
            raise DataError(
                f"y contains NaN or infinity in row {bad[0]}; drop that row. (Input y contains NaN.)"
            )
        whole = array == np.floor(array)
        if not whole.all() and len(np.unique(array)) > 2:
            raise DataError(
                f"Unknown label type: y holds {array[np.argmin(whole)]!r} in row {np.argmin(whole)}, a "
                "continuous number; a classification loss needs classes. Use a regression loss."
            )
    if array.dtype.kind == "O" and any(value is None or value != value for value in array):  # noqa: PLR0124
        i = next(k for k, value in enumerate(array) if value is None or value != value)  # noqa: PLR0124
        raise DataError(f"y has a missing label in row {i}; drop that row.")
    classes, which = np.unique(array, return_inverse=True)
    return classes, which.reshape(-1)


def _one_dimensional(y: Any, n: int, name: str) -> NDArray[Any]:
    if y is None:
        raise DataError(f"{name} is None: requires y to be passed, but the target y is None.")
    if sp.issparse(y):
        raise DataError(f"{name} is a sparse matrix; give it as a dense vector.")
    array = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name} must be one column, not an array of shape {array.shape}.")
    if len(array) != n:
        raise DataError(
            f"X has {n} rows, {name} has {len(array)}: inconsistent numbers of samples; they must match."
        )
    if np.iscomplexobj(array):
        raise DataError(f"Complex data not supported in {name}.")
    return array


def read_weights(sample_weight: Any, n: int) -> Vector:
    """Row weights: finite, not negative, not all zero; ones by default."""
    if sample_weight is None:
        return np.ones(n)
    if np.ndim(sample_weight) == 0:
        sample_weight = np.full(n, float(sample_weight))
    weights = _one_dimensional(sample_weight, n, "sample_weight").astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise DataError(
            f"sample_weight is {weights[bad[0]]} in row {bad[0]}; weights must be finite and not negative."
        )
    if not weights.any():
        raise DataError("Every sample_weight is zero; at least one row must count.")
    return weights


def read_factors(factors: Any, table: Table) -> Vector:
    """Per-column penalty factors, an array or a dict by column name; ones by default."""
    p = table.design.shape[1]
    if factors is None:
        return np.ones(p)
    if isinstance(factors, dict):
        if table.names is None:
            raise DataError("penalty_factors by name need a data frame with column names.")
        unknown = [str(name) for name in factors if str(name) not in table.names]
        if unknown:
            raise DataError(f"penalty_factors name {unknown[0]!r}, which is not a column of X.")
        values = np.array([float(factors.get(name, 1.0)) for name in table.names])
    else:
        values = _one_dimensional(factors, p, "penalty_factors").astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values) | (values < 0))
    if bad.size:
        raise DataError(
            f"The penalty factor of {table.label(int(bad[0]))} is {values[bad[0]]}; factors must be finite "
            "and not negative (0 leaves a column free; drop a column instead of giving it infinity)."
        )
    return values


def read_strength(lam: Any, C: Any, budget: Any, total_weight: float) -> tuple[float | None, float | None]:
    """(λ, c), one of them None. Exactly one strength must be given."""
    given = {name: v for name, v in (("lam", lam), ("C", C), ("budget", budget)) if v is not None}
    if len(given) != 1:
        found = "none was given" if not given else f"{' and '.join(given)} were given"
        raise DataError(f"Give exactly one strength: lam=, C= or budget=; {found}.")
    name, raw = next(iter(given.items()))
    try:
        value = float(raw)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be a number, not {raw!r}.") from None
    if not np.isfinite(value) or value < 0 or (name == "C" and value == 0):
        kind = "a positive finite number" if name == "C" else "a finite number of at least 0"
        raise DataError(f"{name} must be {kind}, not {value!r}.")
    if name == "budget":
        return None, value
    return (value if name == "lam" else 1.0 / (value * total_weight)), None
