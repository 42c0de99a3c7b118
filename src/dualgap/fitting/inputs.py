"""What users hand over, checked and turned into arrays. Every refusal names the place and the remedy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector, ones
from dualgap.design import Compressed, Dense, Design
from dualgap.errors import DataError
from dualgap.losses.base import FAINT
from dualgap.proof.rows import Rows, norm
from dualgap.tables.columns import by_column

if TYPE_CHECKING:
    from dualgap.tables.formula import FormulaRecipe
    from dualgap.tables.recipe import Recipe

LARGEST = 1e100  # squares of sums of squares must stay finite


@dataclass(frozen=True, eq=False)
class Table:
    """The data matrix with the names of its columns, where it had any."""

    design: Design
    names: tuple[str, ...] | None
    recipe: Recipe | FormulaRecipe | None = None  # what made its columns, where they were more than numbers

    def label(self, j: int) -> str:
        """How to speak of column j."""
        return f"column {j}" if self.names is None else f"column {self.names[j]!r} (number {j})"


def read_table(X: Any, *, learn: bool = False) -> Table:
    """A finite two-dimensional table: array, SciPy sparse, pandas or polars.

    To `learn` is to decide what to do with columns of words and dates; else they are refused.
    """
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64:  # nothing to turn into numbers
        return _checked(Table(Dense(X, Rows(X)), None), X)
    recipe = getattr(X, "recipe", None)  # of columns that a formula made
    if recipe is not None:
        X = np.asarray(X)
    elif learn and _is_frame(X) and not all(map(_is_numeric, _columns(X))):
        from dualgap.tables.prepare import learn_frame  # here: most tables are numbers

        X, recipe = learn_frame(X)
    if sp.issparse(X):
        table = Table(Compressed(_sparse(X)), None)
        values = table.design.values  # type: ignore[attr-defined]
    else:
        array, names = _frame(X) if _is_frame(X) else (_array(X), None)
        table = Table(Dense(array, Rows(array)), names)
        values = array
    table = _checked(table, values)
    return table if recipe is None else Table(table.design, recipe.names, recipe)


def _checked(table: Table, values: NDArray[Any]) -> Table:
    """The table, which has rows and columns, and finite numbers."""
    n, p = table.design.shape
    if n == 0:
        raise DataError("X has no rows (0 samples).")
    if p == 0:
        raise DataError(f"X has no columns: 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
    if not _tame(table.design, values):
        _complain(table)
    return table


def _tame(design: Design, values: NDArray[Any]) -> bool:
    """One pass, which a proof asks for, too: where √(Σ x²) is below LARGEST, no x is beyond it, or NaN."""
    rows = design.measured
    with np.errstate(over="ignore", invalid="ignore"):
        if (norm(values) if rows is None else rows.size) <= LARGEST:
            return True
    low, high = float(np.min(values)), float(np.max(values))  # a NaN survives both
    return low >= -LARGEST and high <= LARGEST


def _is_frame(X: Any) -> bool:
    if hasattr(X, "collect_schema") and not hasattr(X, "shape"):
        raise DataError("X is a lazy frame; call its collect() first.")
    return hasattr(X, "columns") and hasattr(X, "shape") and hasattr(X, "__getitem__")


def _frame(X: Any) -> tuple[Matrix, tuple[str, ...]]:
    names = tuple(str(name) for name in X.columns)
    array = np.empty((len(X), len(names)), order="F")
    for j, (name, column) in enumerate(zip(X.columns, _columns(X), strict=True)):
        try:
            array[:, j] = _column(column)
        except (TypeError, ValueError):
            raise DataError(
                f"Column {str(name)!r} (number {j}) holds {getattr(column, 'dtype', '?')}, not numbers; "
                "encode it (for instance one-hot) or drop it."
            ) from None
    return array, names


def _columns(X: Any) -> Iterator[Any]:
    return (X.iloc[:, j] if hasattr(X, "iloc") else X[name] for j, name in enumerate(X.columns))


def _is_numeric(column: Any) -> bool:
    """Does what it stores say that it holds numbers? Of objects those that are no words may do so too."""
    kind = getattr(column.dtype, "kind", None)
    if str(column.dtype) == "object":
        return not any(isinstance(value, str) for value in column)
    if kind is None:
        return bool(column.dtype.is_numeric()) or str(column.dtype) in ("Boolean", "Null")
    return kind in "biufc" and str(column.dtype) != "category"


def _column(column: Any) -> Vector:
    """A column of a frame as numbers; dates, categories and complex numbers are none, whatever they store."""
    kind = getattr(column.dtype, "kind", None)
    if kind is None or str(column.dtype) == "category":  # polars; or codes that only look like numbers
        is_number = getattr(column.dtype, "is_numeric", None)
        if is_number is None or not (is_number() or str(column.dtype) in ("Boolean", "Null")):
            raise TypeError
        return np.asarray(column.to_numpy(), dtype=np.float64)
    if kind in "mMc":
        raise TypeError
    return np.asarray(column.to_numpy(dtype=float, na_value=np.nan), dtype=np.float64)


def _array(X: Any) -> Matrix:
    if X is None:
        raise DataError("X is None; give a table of numbers.")
    if np.ma.is_masked(X):
        raise DataError("X is a masked array with hidden values; fill or drop them.")
    try:
        array = np.asarray(X)
    except ValueError:
        raise DataError("X has rows of different lengths; every row needs the same columns.") from None
    if array.ndim == 0 and array.dtype.kind == "O":
        raise DataError(f"X is a {type(X).__name__}, not a table of numbers.")
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
    """Objects that are numbers; strings and dates are refused even where they could be read as such."""
    try:
        if array.dtype.kind in "USMm":
            raise ValueError
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        i, j = next(where for where in np.ndindex(*array.shape) if not _is_number(array[where]))
        value = array[i, j].item() if isinstance(array[i, j], np.generic) else array[i, j]
        place = f"X holds {value!r} in column {j}, row {i}"
        if isinstance(error, TypeError):
            raise TypeError(
                f"{place}: an argument must be a number, or a string that reads as a number."
            ) from None
        raise DataError(f"{place}, where a number was expected; encode or drop that column.") from None


def _is_number(value: Any) -> bool:
    if isinstance(value, np.str_ | np.bytes_ | np.datetime64 | np.timedelta64):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _sparse(X: Any) -> sp.csr_array | sp.csc_array:
    if X.ndim != 2:
        raise DataError(f"X must have two dimensions, not {X.ndim}.")
    if np.iscomplexobj(X.data if hasattr(X, "data") else X.toarray()):
        raise DataError("Complex data not supported: give the real and imaginary parts as columns.")
    shaped = sp.csr_array(X) if X.format == "csr" else sp.csc_array(X)
    if shaped.dtype != np.float64:
        shaped = shaped.astype(np.float64)
    if shaped.indices.dtype != np.int32 and max(*shaped.shape, shaped.nnz) < 1 << 31:  # half the bytes
        parts = (shaped.data, shaped.indices.astype(np.int32), shaped.indptr.astype(np.int32))
        shaped = type(shaped)(parts, shape=shaped.shape)
    # SciPy keeps the answer on the matrix that is asked: ask the one given, and the next fit need not check
    if not (X if X.format == shaped.format else shaped).has_canonical_format:
        shaped = shaped.copy()
        shaped.sum_duplicates()
    return shaped


def _complain(table: Table) -> None:
    """Find the first value that is not finite or too large, and say where."""
    design = table.design
    for j in range(design.shape[1]):
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
    advice = (
        ", but a regression loss needs numbers; use a classification loss (hinge, logistic, …) for labels"
    )
    values = _floats(_one_dimensional(y, n, "y"), "y", advice)
    top = np.abs(values).max(initial=0.0)
    if not top < np.inf:
        i = int(np.argmin(np.isfinite(values)))
        what = "NaN" if np.isnan(values[i]) else "infinity"
        raise DataError(f"y contains {what} in row {i}; drop that row. (Input y contains NaN or infinity.)")
    if top > LARGEST:
        i = int(np.argmax(np.abs(values)))
        raise DataError(f"y holds {values[i]:.3g} in row {i}, beyond {LARGEST:g}; rescale the target.")
    if 0.0 < top < 1.0 / LARGEST:
        raise DataError(
            f"y holds nothing beyond {top:.3g}, so that squares vanish; multiply it by a power of ten."
        )
    return values


def read_outputs(y: Any, n: int) -> tuple[Matrix, tuple[str, ...]]:
    """Targets of several columns, n × m, and the names of these; each column is checked like a single one."""
    names = tuple(str(name) for name in y.columns) if hasattr(y, "columns") else None
    array = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    count = array.shape[1]
    if count == 0:
        raise DataError("y has no columns; give one target for each row at the least.")
    names = names or tuple(f"y{k}" for k in range(count))
    found = np.empty((n, count), order="F")
    for k, name in enumerate(names):
        try:
            found[:, k] = read_numbers(array[:, k], n)
        except DataError as error:
            raise DataError(f"Column {name!r} (number {k}) of y: {error}") from None
    return found, names


def has_columns(y: Any) -> bool:
    """Is this more than one column of targets?"""
    if type(y) is np.ndarray:
        return y.ndim == 2 and y.shape[1] != 1
    if y is None or sp.issparse(y):
        return False
    shape = np.shape(y)
    return len(shape) == 2 and shape[1] != 1


def _sort(array: NDArray[Any]) -> str:
    """What an array holds, in words."""
    kinds = {"U": "strings", "S": "bytes", "M": "dates", "m": "durations"}
    return kinds.get(array.dtype.kind, f"{type(array.flat[0]).__name__} objects")


def read_labels(y: Any, n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes, sorted, and the class number of every row."""
    array = _one_dimensional(y, n, "y")
    if array.dtype.kind in "biuf":
        low, high = array.min(), array.max()
        upper = array == high
        if low < high and math.isfinite(low) and math.isfinite(high) and (upper | (array == low)).all():
            return np.array([low, high], dtype=array.dtype), upper.astype(np.intp)  # two: nothing to sort
    if array.dtype.kind == "f":
        _refuse_continuous(array)
    if array.dtype.kind == "O":
        for i, label in enumerate(array):
            if _is_missing(label):
                raise DataError(f"y has a missing label in row {i}; drop that row.")
    try:
        classes, which = np.unique(array, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in array})
        raise DataError(
            f"y mixes labels of the types {' and '.join(kinds)}, which have no order; use one."
        ) from None
    return classes, which.reshape(-1)


def _is_missing(label: Any) -> bool:
    """None, NaN and pandas' NA, which will not say whether it equals itself."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def _refuse_continuous(array: NDArray[Any]) -> None:
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise DataError(f"y contains NaN or infinity in row {bad[0]}; drop that row. (Input y contains NaN.)")
    whole = array == np.floor(array)
    if not whole.all() and len(np.unique(array)) > 2:
        i = int(np.argmin(whole))
        raise DataError(
            f"Unknown label type: y holds {array[i]:g} in row {i}, a continuous number; "
            "a classification loss needs classes. Use a regression loss."
        )


def _one_dimensional(y: Any, n: int, name: str) -> NDArray[Any]:
    if type(y) is np.ndarray and y.ndim == 1 and len(y) == n and y.dtype == np.float64:
        return y
    if y is None:
        raise DataError(f"{name} is None: requires y to be passed, but the target y is None.")
    if sp.issparse(y):
        raise DataError(f"{name} is a sparse matrix; give it as a dense vector.")
    array = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        remedy = (
            " Several outputs are for regression losses; fit the columns of classes one by one."
            if name == "y" and array.ndim == 2
            else ""
        )
        raise DataError(f"{name} must be one column, not an array of shape {array.shape}.{remedy}")
    if len(array) != n:
        raise DataError(
            f"X has {n} rows, {name} has {len(array)}: inconsistent numbers of samples; they must match."
        )
    if np.iscomplexobj(array):
        raise DataError(f"Complex data not supported in {name}.")
    return array


def _floats(array: NDArray[Any], name: str, advice: str = " where numbers are needed") -> Vector:
    try:
        if array.dtype.kind in "USMm":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} holds {_sort(array)}{advice}.") from None


def read_weights(sample_weight: Any, n: int) -> Vector:
    """Row weights: finite, not negative, not all zero; ones by default."""
    if sample_weight is None:
        return ones(n)
    if np.ndim(sample_weight) == 0 and not isinstance(sample_weight, str):
        sample_weight = np.full(n, sample_weight)
    weights = _floats(_one_dimensional(sample_weight, n, "sample_weight"), "sample_weight")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise DataError(
            f"sample_weight is {weights[bad[0]]} in row {bad[0]}; weights must be finite and not negative."
        )
    if not weights.any():
        raise DataError("Every sample_weight is zero; at least one row must count.")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    faint = np.flatnonzero((weights > 0.0) & (weights < 2.0 * FAINT * total))
    if faint.size:
        raise DataError(
            f"sample_weight is {weights[faint[0]]:g} in row {faint[0]}, nothing beside the sum of all, "
            f"{total:g}; give 0 to rows that do not count."
        )
    return weights


def read_factors(factors: Any, table: Table) -> Vector:
    """Per-column penalty factors, an array or by column name; ones by default."""
    p = table.design.shape[1]
    if factors is None:
        return ones(p)
    if isinstance(factors, dict):
        if table.names is None:
            raise DataError("penalty_factors by name need a data frame with column names.")
        unknown = [str(name) for name in factors if str(name) not in table.names]
        if unknown:
            raise DataError(f"penalty_factors name {unknown[0]!r}, which is not a column of X.")
        given = {str(name): value for name, value in factors.items()}
        values = _floats(np.array([given.get(name, 1.0) for name in table.names]), "penalty_factors")
    else:
        array = np.asarray(by_column(factors, table.names))
        if array.shape != (p,):
            raise DataError(
                f"penalty_factors must hold one number for each of the {p} columns, not shape {array.shape}."
            )
        values = _floats(array, "penalty_factors")
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
    if not math.isfinite(value) or value < 0 or (name == "C" and value == 0):
        kind = "a positive finite number" if name == "C" else "a finite number of at least 0"
        raise DataError(f"{name} must be {kind}, not {value!r}.")
    if name == "budget":
        return None, value
    return (value if name == "lam" else 1.0 / (value * total_weight)), None
