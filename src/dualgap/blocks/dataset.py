"""dg.dataset: rows that need not fit into memory, from wherever they are."""

from __future__ import annotations

import glob
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dualgap.blocks.addresses import modest
from dualgap.blocks.source import RowSource, refuse_targets
from dualgap.errors import DataError


class Dataset:
    """Rows in blocks with a target: what `dg.fit`, `path`, `cross_validate` and `certify` take as X."""

    far = True

    def __init__(
        self,
        source: RowSource,
        *,
        recipe: Any = None,
        weights: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.source, self.recipe, self.weights, self.notes = source, recipe, weights, notes

    @property
    def names(self) -> tuple[str, ...] | None:
        """The columns, where they have names."""
        return self.source.names

    @property
    def shape(self) -> tuple[int | None, int]:
        """Rows, None while nobody has counted them, and columns."""
        return self.source.n, self.source.p

    @property
    def offset(self) -> str | None:
        """The column that rows are counted from, by its name or as log(name), where it has one."""
        return self.source.offset_name

    def with_offset(self, offset: Any) -> Dataset:
        """The same rows, counted from an offset: a column, which is then none to predict from, or numbers."""
        if self.source.shifted():
            raise DataError("This data set has its offset already; leave offset= out.")
        source, recipe = self.source.with_offset(offset), self.recipe
        if recipe is not None:
            kept = tuple(rule for rule in recipe.rules if rule.name != source.offset_column)
            recipe = replace(recipe, rules=kept)
        return Dataset(source, recipe=recipe, weights=self.weights, notes=self.notes)

    @property
    def scans(self) -> float:
        """How much has been read so far, in units of all rows."""
        return self.source.passes

    def __repr__(self) -> str:
        n = "rows not counted yet" if self.source.n is None else f"{self.source.n} rows"
        return f"Dataset({n}, {self.source.p} columns)"


def dataset(  # noqa: PLR0913
    rows: Any,
    y: Any = None,
    *,
    target: str | None = None,
    weights: Any = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: str = "mean",
    offset: Any = None,
) -> Dataset:
    """Rows that are read in blocks, again in every scan, and never held as a whole.

    `rows` is a file, a pattern or a list of files (Parquet, CSV) with the name of the `target` column and,
    if rows have weights, of that column; a pyarrow Dataset or Table with the same; a pair of .npy files
    ("X.npy", "y.npy"); arrays X and y; or a function that returns a fresh iterator of blocks (X, y),
    (X, y, weights) or (X, y, weights or None, offset) at each call. Words, dates and missing values are
    treated as `dualgap fit` treats them, by a recipe learnt in one scan; `missing` as there. `offset` is what
    predictions are counted from, as in dg.fit: a column, by its name or as "log(exposure)"; an array, or a
    file of one, beside arrays.
    """
    refuse_targets(1 if isinstance(target, str) else len(target or ()), "target= names")
    columns, drop = _names(columns), _names(drop) or ()
    if columns is not None and target in columns:
        raise DataError(f"columns= names the target {target!r}, too: it would be predicted from itself.")
    if isinstance(rows, Dataset):
        found = rows
    elif hasattr(rows, "dask") or hasattr(rows, "to_delayed"):
        from dualgap.blocks.clusters import dask_rows

        found = Dataset(dask_rows(rows, y, weights, target, columns))
    else:
        found = _opened(rows, y, target, weights, columns, (drop, missing))
    return found if offset is None else found.with_offset(offset)


def _names(given: Any) -> list[str] | None:
    """Names of columns; a word is one of them."""
    return given if given is None else [given] if isinstance(given, str) else list(given)


def _opened(
    rows: Any, y: Any, target: str | None, weights: Any, columns: Any, wishes: tuple[Any, Any]
) -> Dataset:
    if callable(rows):
        from dualgap.blocks.chunks import Chunks

        return Dataset(Chunks(rows))
    if _is_arrow(rows):
        if type(rows).__name__ == "RecordBatch":
            rows = sys.modules["pyarrow"].Table.from_batches([rows])
        return _of_arrow(rows, target, weights, columns, wishes)
    if hasattr(rows, "iloc"):
        raise DataError(
            "A data frame is in memory as a whole: give it to dg.fit, or its numbers (frame.to_numpy())."
        )
    if hasattr(rows, "ndim") and y is not None:
        from dualgap.blocks.arrays import ArrayRows

        return Dataset(ArrayRows(rows, y, weights))
    return _of_files(rows, y, target, weights, columns, wishes)


def _is_arrow(rows: Any) -> bool:
    module, kind = type(rows).__module__, type(rows).__name__
    return module.startswith("pyarrow") and (hasattr(rows, "to_batches") or kind == "RecordBatch")


def _of_files(
    rows: Any, y: Any, target: str | None, weights: Any, columns: Any, wishes: tuple[Any, Any]
) -> Dataset:
    if isinstance(rows, tuple | list) and not all(isinstance(one, str | Path) for one in rows):
        raise DataError("A data set is made of files, arrays, a pyarrow Dataset or a function.")
    if not isinstance(rows, str | Path | tuple | list):
        raise DataError(f"A data set cannot be made of {type(rows).__name__}; see dg.dataset.")
    given = [str(one) for one in ([rows] if isinstance(rows, str | Path) else rows)]
    if not given:
        raise DataError("The list of files is empty.")
    if y is not None:
        given.append(str(y))
    if len(given) in (2, 3) and all(one.endswith(".npy") for one in given):
        from dualgap.blocks.arrays import MappedArrays

        return Dataset(MappedArrays(*given, **({"weight": weights} if weights is not None else {})))
    files = found_files(given)
    if target is None:
        raise DataError('Say which column is predicted: dg.dataset(..., target="y").')
    from dualgap.blocks.tabular import opened

    modest()
    source, recipe, notes = opened(files, target, weights, columns, *wishes)
    return Dataset(source, recipe=recipe, weights=weights, notes=notes)


def _found(pattern: str) -> list[str]:
    path = Path(pattern)
    if path.is_dir():
        found = sorted(str(one) for one in path.iterdir() if one.suffix in (".parquet", ".pq", ".csv"))
        if not found:
            deeper = next((one for one in path.rglob("*") if one.suffix in (".parquet", ".pq", ".csv")), None)
            advice = ""
            if deeper is not None:
                all_ = str(path / "**" / f"*{deeper.suffix}")
                advice = f"; those in folders below it are {all_!r}, or where names of folders are values, "
                advice += "pyarrow.dataset.dataset(...)"
            raise DataError(f"The folder {pattern} has no files of Parquet or CSV{advice}.")
        return found
    if path.exists() or not any(sign in pattern for sign in "*?["):
        return [pattern]
    found = sorted(glob.glob(pattern, recursive=True))
    if not found:
        raise DataError(f"No file matches {pattern!r}.")
    return found


def _of_arrow(rows: Any, target: str | None, weights: Any, columns: Any, wishes: tuple[Any, Any]) -> Dataset:
    if target is None:
        raise DataError('Say which column is predicted: dg.dataset(..., target="y").')
    from dualgap.blocks.tabular import of_arrow

    source, recipe, notes = of_arrow(rows, target, weights, columns, *wishes)
    return Dataset(source, recipe=recipe, weights=weights, notes=notes)


def reopened(
    files: Sequence[str], recipe: Any, weights: str | None = None, offset: str | None = None
) -> Dataset:
    """Files under a recipe that was learnt before."""
    from dualgap.blocks.tabular import followed

    return Dataset(followed(found_files(files), recipe, weights, offset), recipe=recipe, weights=weights)


def found_files(patterns: Sequence[str | Path]) -> list[str]:
    """Names, patterns and folders as files."""
    return [one for pattern in patterns for one in _found(str(pattern))]


def elsewhere(X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> Dataset | None:
    """X as a data set, where it is one or lives on a cluster; None for what is in memory."""
    if isinstance(X, Dataset):
        if y is not None or sample_weight is not None:
            raise DataError("A data set has its own target and weights: dg.dataset(..., target=, weights=).")
        return X if offset is None else X.with_offset(offset)
    if hasattr(X, "__dask_graph__"):
        return dataset(X, y, weights=sample_weight, offset=offset)
    return None
