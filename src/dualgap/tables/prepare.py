"""A file, the name of its target and some wishes → X, y and the recipe; or the same again by the recipe."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Mask, Vector
from dualgap.errors import DataError
from dualgap.tables.columns import Column, Dates, Numbers, RawTable, Words, rows_in_words
from dualgap.tables.formula import FormulaRecipe, learn_formula, taken_apart, target_of
from dualgap.tables.frames import from_frame
from dualgap.tables.learn import Wishes, learn
from dualgap.tables.offsets import column_behind, offset_of
from dualgap.tables.recipe import Encoded, Recipe
from dualgap.tables.sources import read_rows

SAMPLE = 1000  # rows that are kept as they stand in the file: a choice, curves need no more


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a fit takes. `rows` are the rows of the file that are used."""

    X: Any
    y: NDArray[Any]
    weights: Vector | None
    rows: Mask
    recipe: Recipe | FormulaRecipe
    notes: tuple[str, ...]
    sample: RawTable | None = None  # some of the rows as the file has them
    offset: Vector | None = None

    def only(self, places: Index) -> Prepared:
        """These of its rows."""
        rows = np.zeros(len(self.rows), dtype=bool)
        rows[np.flatnonzero(self.rows)[places]] = True
        offset = None if self.offset is None else self.offset[places]
        return replace(self, X=self.X[places], y=self.y[places], rows=rows, offset=offset)


def prepare(raw: RawTable, wishes: Wishes, weights: str | None = None, offset: str | None = None) -> Prepared:
    """Learn the recipe and follow it; the columns of weights and offset are none of the others."""
    if raw.n == 1:
        raise DataError(f"{raw.source} has one row: nothing can be learnt from it; two are the least.")
    targets = {name: raw.column(name) for name in raw.targets(wishes.target)}
    rows = _rows_with_all(targets, wishes.missing, raw)
    notes: tuple[str, ...] = ()
    if not rows.all():
        notes = (f"left out: {rows_in_words(int((~rows).sum()))} without {' or '.join(map(repr, targets))}",)
    if weights is not None:
        wishes = replace(wishes, drop=(*wishes.drop, weights))
    if offset is not None:
        wishes = replace(wishes, drop=(*wishes.drop, column_behind(offset, raw.names)))
    recipe, remarks = learn(raw, wishes, rows)
    encoded, used = _encoded(raw, recipe, rows)
    if not encoded.rows.all():
        notes += (f"left out: {rows_in_words(int((~encoded.rows).sum()))} with a missing value",)
    if not used.any():
        raise DataError(f"No row of {raw.source} is left; --missing mean keeps rows with gaps.")
    return Prepared(
        encoded.matrix,
        _values_of_all(targets, used),
        None if weights is None else _weights(raw, weights, used),
        used,
        recipe,
        (*remarks, *notes),
        sampled(raw, used),
        None if offset is None else offset_of(raw, offset, used),
    )


def prepare_formula(
    raw: RawTable, formula: str, wishes: Wishes, weights: str | None = None, offset: str | None = None
) -> Prepared:
    """The same for the columns that a formula makes."""
    kept = (weights, None if offset is None else column_behind(offset, raw.names))
    parts = taken_apart(formula, tuple(name for name in raw.names if name not in kept))
    target = target_of(parts, raw)
    rows = _rows_with(target, parts.target.strip("`"), wishes.missing, raw)
    recipe, notes = learn_formula(parts, raw, rows, wishes.missing)
    recipe = replace(recipe, absent=wishes.absent)
    encoded, used = _encoded(raw, recipe, rows)
    if not used.all():
        notes += (f"left out: {rows_in_words(int((~used).sum()))} with a missing value",)
    own = None if weights is None else _weights(raw, weights, used)
    y = values_of(target.take(used))
    shift = None if offset is None else offset_of(raw, offset, used)
    return Prepared(encoded.matrix, y, own, used, recipe, notes, sampled(raw, used), shift)


@overload
def read(
    source: str,
    *,
    target: str | None = ...,
    weights: None = ...,
    missing: str = ...,
    drop: Sequence[str] = ...,
    na: Sequence[str] = ...,
    format: str | None = ...,
    recipe: Recipe | FormulaRecipe | None = ...,
    formula: str | None = ...,
    offset: None = ...,
) -> tuple[Any, NDArray[Any], Any]: ...


@overload
def read(
    source: str,
    *,
    target: str | None = ...,
    weights: str,
    missing: str = ...,
    drop: Sequence[str] = ...,
    na: Sequence[str] = ...,
    format: str | None = ...,
    recipe: Recipe | FormulaRecipe | None = ...,
    formula: str | None = ...,
    offset: None = ...,
) -> tuple[Any, NDArray[Any], Any, Vector]: ...


@overload
def read(
    source: str,
    *,
    target: str | None = ...,
    weights: str | None = ...,
    missing: str = ...,
    drop: Sequence[str] = ...,
    na: Sequence[str] = ...,
    format: str | None = ...,
    recipe: Recipe | FormulaRecipe | None = ...,
    formula: str | None = ...,
    offset: str,
) -> Any: ...


def read(  # noqa: PLR0913
    source: str,
    *,
    target: str | None = None,
    weights: str | None = None,
    missing: str = "mean",
    drop: Sequence[str] = (),
    na: Sequence[str] = (),
    format: str | None = None,
    recipe: Recipe | FormulaRecipe | None = None,
    formula: str | None = None,
    offset: str | None = None,
) -> Any:
    """X, y and the recipe of a file, as `dualgap fit` makes them; with columns of `weights` and of an
    `offset` those too, in this order.

    >>> import dualgap as dg
    >>> X, y, recipe = dg.tables.read("diabetes")
    >>> dg.fit(X, y, loss="squared", lam=1.0).predict(X[:1]).shape, recipe.target
    ((1,), 'progression')

    `target` names a column, or several, separated by commas: then y has a column for each.
    `source` is a file (CSV, Parquet, Feather, Arrow, libsvm, npy, npz), "-" for standard input, or the name
    of a data set that ships. `missing` is "mean", "median", "drop" or "refuse"; `drop` names columns to leave
    out; `na` are words that mean a missing value; `format` says what the file is where it does not tell. With
    the `recipe` of an earlier file all is done as it was done there; a `formula` names target and columns.
    `offset="log(exposure)"` is made of a column of exposures.
    """
    raw = read_rows(source, absent=tuple(na) if recipe is None else recipe.absent, form=format)
    if recipe is not None:
        found = repeat(raw, recipe if target is None else recipe.aimed(target))
    elif formula is not None:
        found = prepare_formula(raw, formula, Wishes("", missing, (), tuple(na)), weights, offset)
    else:
        wishes = Wishes(target or default_target(raw), missing, tuple(drop), tuple(na))
        found = prepare(raw, wishes, weights, offset)
    more = [] if weights is None else [_weights(raw, weights, found.rows)]
    more += [] if offset is None else [offset_of(raw, offset, found.rows)]
    return (found.X, found.y, found.recipe, *more)


def learn_frame(frame: Any) -> tuple[Any, Recipe]:
    """The matrix of a frame with words or dates, made as `dualgap fit` makes it of a file; gaps are refused.

    What is left out is said in a warning: nobody reads the notes of a fit in Python.
    """
    raw = from_frame(frame, "X")
    every = np.ones(raw.n, dtype=bool)
    recipe, _ = learn(raw, Wishes(""), every)
    for rule in recipe.rules:
        gaps = rule.column(raw).missing
        if rule.kind != "levels" and gaps.any():
            raise DataError(
                f"X contains NaN in column {rule.name!r}, row {int(np.argmax(gaps))}; impute or drop it, or "
                "read the table by dg.tables.read, which can. (Input X contains NaN or infinity.)"
            )
    for name, why in recipe.left_out:
        warnings.warn(f"The column {name!r} is left out: {why}.", UserWarning, stacklevel=2)
    recipe = replace(recipe, rules=tuple(replace(rule, fill=None) for rule in recipe.rules))
    return recipe.encode(raw).matrix, recipe


def repeat(raw: RawTable, recipe: Recipe | FormulaRecipe) -> Prepared:
    """Follow the recipe of an earlier fit, target included."""
    names = raw.targets(recipe.target)
    several = {name: raw.column(name) for name in names} if len(names) > 1 and not recipe.formula else {}
    targets = several or {recipe.target: recipe.target_column(raw)}
    rows = _rows_with_all(targets, recipe.missing, raw)
    encoded, used = _encoded(raw, recipe, rows)
    y = _values_of_all(targets, used)
    return Prepared(encoded.matrix, y, None, used, recipe, (), sampled(raw, used))


def sampled(raw: RawTable, used: Mask) -> RawTable:
    """At most SAMPLE of the rows that are used, evenly among them."""
    there = np.flatnonzero(used)
    kept = np.zeros(raw.n, dtype=bool)
    kept[there[np.linspace(0, len(there) - 1, min(len(there), SAMPLE)).round().astype(np.intp)]] = True
    return raw.take(kept)


def _encoded(raw: RawTable, recipe: Recipe | FormulaRecipe, rows: Mask) -> tuple[Encoded, Mask]:
    """The matrix of the rows that have a target, and which rows of the file it holds."""
    encoded, used = recipe.encode(raw.take(rows)), rows.copy()
    used[rows] = encoded.rows
    return encoded, used


def default_target(raw: RawTable) -> str:
    """The target that the file itself names; refuses where it does not."""
    if raw.target_name is not None:
        return raw.target_name
    raise DataError(f"Say which column is predicted: --target COLUMN. {raw.source} has {raw.listed()}.")


def values_of(column: Column) -> NDArray[Any]:
    """Numbers, whole where they all are (labels then print as people write them), or words."""
    if isinstance(column, Words):
        return np.array(column.levels, dtype=str)[column.codes]
    assert isinstance(column, Numbers)
    if column.boolean:
        return column.values.astype(bool)
    whole = bool(
        np.all(column.values == np.floor(column.values)) and np.abs(column.values).max(initial=0) < 2**53
    )
    return column.values.astype(np.int64) if whole else column.values


def _rows_with(target: Column, name: str, missing: str, raw: RawTable) -> Mask:
    if isinstance(target, Dates):
        raise DataError(
            f"The target {name!r} holds dates, such as {target.example!r}; predict a number or a class."
        )
    gaps = target.missing
    if gaps.any() and missing == "refuse":
        raise DataError(
            f"The target {name!r} has no value in row {int(np.argmax(gaps)) + 1}; --missing is refuse."
        )
    if gaps.all():
        raise DataError(f"The target {name!r} of {raw.source} is empty.")
    return ~gaps


def _rows_with_all(targets: Mapping[str, Column], missing: str, raw: RawTable) -> Mask:
    """Which rows have a value of every target."""
    found = [_rows_with(column, name, missing, raw) for name, column in targets.items()]
    rows: Mask = np.logical_and.reduce(found)
    if not rows.any():
        raise DataError(f"No row of {raw.source} has a value of every target.")
    return rows


def _values_of_all(targets: Mapping[str, Column], used: Mask) -> NDArray[Any]:
    """`values_of` one; several are numbers, a column each."""
    if len(targets) == 1:
        return values_of(next(iter(targets.values())).take(used))
    for name, column in targets.items():
        if not isinstance(column, Numbers):
            raise DataError(f"The target {name!r} holds words; several targets at once are numbers.")
    return np.column_stack([column.take(used).values for column in targets.values()])  # type: ignore[union-attr]


def _weights(raw: RawTable, name: str, used: Mask) -> Vector:
    column = raw.column(name)
    if not isinstance(column, Numbers):
        raise DataError(f"The weights {name!r} are not numbers.")
    values = column.values[used]
    if np.isnan(values).any():
        raise DataError(
            f"The weights {name!r} have no value in row {int(np.argmax(np.isnan(column.values))) + 1}."
        )
    return values
