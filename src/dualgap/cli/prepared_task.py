"""From the command line to X, y, the recipe and the loss, saying on the way what was decided."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.cli.console import Console, UsageError
from dualgap.cli.options import objective_keywords
from dualgap.errors import DataError
from dualgap.fitting.groups import of_recipe
from dualgap.fitting.offsets import named
from dualgap.fitting.solution import Solution
from dualgap.losses import CATALOGUE
from dualgap.tables.columns import RawTable, rows_in_words
from dualgap.tables.formula import FormulaRecipe
from dualgap.tables.learn import Wishes
from dualgap.tables.offsets import offset_of
from dualgap.tables.prepare import Prepared, default_target, prepare, prepare_formula, repeat
from dualgap.tables.recipe import Recipe
from dualgap.tables.sources import read_rows


@dataclasses.dataclass(frozen=True, eq=False)
class PreparedTask:
    """Rows made ready, and what is to be minimised over them."""

    prepared: Prepared
    keywords: dict[str, Any]
    offset: str | None = None  # the column that it is in
    test: tuple[Any, ...] | None = None  # rows that the fit does not see, with their offset if there is one

    @property
    def X(self) -> Any:
        """The matrix."""
        return self.prepared.X

    @property
    def y(self) -> Any:
        """The targets."""
        return self.prepared.y

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of what is predicted."""
        target = self.prepared.recipe.target
        return (target,) if self.y.ndim == 1 else tuple(dict.fromkeys(map(str.strip, target.split(","))))

    @property
    def rows(self) -> tuple[Any, Any]:
        """X and y."""
        return self.prepared.X, self.prepared.y

    def split(self, share: float) -> PreparedTask:
        """The task with a share of its rows to test on, drawn the same way every time."""
        out, kept = held_out(len(self.y), share)
        weights, offset = self.prepared.weights, self.prepared.offset
        prepared = dataclasses.replace(
            self.prepared,
            X=self.X[kept],
            y=self.y[kept],
            weights=None if weights is None else weights[kept],
            offset=None if offset is None else offset[kept],
        )
        keywords = {**self.keywords, "sample_weight": prepared.weights, "offset": prepared.offset}
        test = (self.X[out], self.y[out], *(() if offset is None else (offset[out],)))
        return dataclasses.replace(self, prepared=prepared, keywords=keywords, test=test)

    @property
    def search_keywords(self) -> dict[str, Any]:
        """As cross_validate has them, where groups are of rows."""
        found = dict(self.keywords)
        if "groups" in found:
            found["column_groups"] = found.pop("groups")
        return found

    def named(self, solution: Solution) -> Solution:
        """The solution with the names of the columns and the recipe that made them."""
        recipe = self.prepared.recipe
        parts = tuple(dataclasses.replace(part, names=recipe.names) for part in solution.parts)
        solution = named(solution, self.offset)
        told: dict[str, Any] = {"names": recipe.names, "recipe": recipe, "parts": parts}
        if solution.outputs is not None and self.y.ndim > 1:
            told["outputs"] = self.targets
        return dataclasses.replace(solution, **told)


def held_out(n: int, share: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which of n rows a share holds out, and which it leaves: the same ones every time."""
    held = round(share * n)
    if not 0 < held < n:
        raise UsageError(f"--hold-out {share:g} of {n} rows holds out {held}; another share is needed.")
    order = np.random.default_rng(0).permutation(n)
    return np.sort(order[:held]), np.sort(order[held:])


def read(args: argparse.Namespace) -> RawTable:
    """The rows that were named."""
    return read_rows(args.rows, absent=tuple(getattr(args, "na", ())), form=args.format)


def prepared_rows(args: argparse.Namespace, console: Console) -> tuple[Prepared, str]:
    """Read and prepare; the name of the target too."""
    raw = read(args)
    offset = getattr(args, "offset", None)
    if args.formula:
        wishes = Wishes("", args.missing, (), tuple(args.na))
        prepared = prepare_formula(raw, args.formula, wishes, args.weights, offset)
        target = prepared.recipe.target
    else:
        target = args.target or _target(raw)
        wishes = Wishes(target, args.missing, tuple(args.drop), tuple(args.na))
        _refuse_several(args, raw.targets(target))
        prepared = prepare(raw, wishes, args.weights, offset)
    n, p = prepared.X.shape
    columns = "1 column" if p == 1 else f"{p} columns"
    aims = ", ".join(map(repr, raw.targets(target)))
    console.note(f"{raw.source}: {n} rows, {columns} to predict {aims} from")
    for note in prepared.notes:
        console.note(note)
    if p >= n:
        console.note(
            f"careful: with {p} columns and {rows_in_words(n)} any target can be met; "
            "the penalty alone decides"
        )
    return prepared, target


def task_of(args: argparse.Namespace, console: Console) -> PreparedTask:
    """Read, prepare, choose the loss."""
    prepared, target = prepared_rows(args, console)
    loss = args.loss or _loss(prepared.y, target, console)
    by_row = {"sample_weight": prepared.weights, "offset": prepared.offset}
    keywords = {"loss": loss, **by_row, **objective_keywords(args)}
    if args.groups is not None:
        keywords["groups"] = groups_named(args.groups, prepared.recipe)
    keywords["fit_intercept"] &= prepared.recipe.constant
    if isinstance(keywords.get("bounds"), dict):
        keywords["bounds"] = _by_number(keywords["bounds"], prepared.recipe.names)
    if keywords["standardize"] and args.penalty != "none":
        console.note("the penalty counts weights per standard deviation of their column")
    if args.offset is not None:
        console.note(f"every prediction is counted from {args.offset}, which is no column to predict from")
    return PreparedTask(prepared, keywords, args.offset)


def _by_number(bounds: dict[str, Any], names: Sequence[str]) -> dict[int, Any]:
    """Bounds of the columns that the fit has."""
    unknown = [name for name in bounds if name not in names]
    if unknown:
        shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        raise DataError(f"--bounds names {unknown[0]!r}, which is not among the columns of the fit: {shown}.")
    return {names.index(name): ends for name, ends in bounds.items()}


def with_test(task: PreparedTask, args: argparse.Namespace, console: Console) -> PreparedTask:
    """The task with rows to test on, where some are asked for."""
    recipe = task.prepared.recipe
    if args.test:
        raw = read_rows(args.test, absent=recipe.absent, form=args.format)
        rows = repeat(raw, recipe)
        console.note(f"{args.test}: {rows_in_words(len(rows.y))} to test on")
        more = () if task.offset is None else (offset_of(raw, task.offset, rows.rows),)
        return dataclasses.replace(task, test=(rows.X, rows.y, *more))
    if args.hold_out is None:
        return task
    kept = task.split(args.hold_out)
    assert kept.test is not None
    console.note(f"{rows_in_words(len(kept.test[1]))} held out to test on, {len(kept.y)} left to fit")
    return kept


def _refuse_several(args: argparse.Namespace, targets: Sequence[str]) -> None:
    """What is made of one target alone says so before anything is solved."""
    if len(targets) < 2:
        return
    for option, what in (("report", "A page is"), ("intervals", "Intervals are"), ("most", "A page is")):
        if getattr(args, option, None) is not None:
            aside = "" if option == "most" else f", or leave --{option} out"
            raise UsageError(f"{what} of one target, and --target names {len(targets)}: name one{aside}.")


def _target(raw: RawTable) -> str:
    try:
        return default_target(raw)
    except DataError as error:  # the file does not say it, so the command has to
        raise UsageError(str(error)) from None


def _loss(y: Any, target: str, console: Console) -> str:
    """Words or two values: a class. Else a number, as several targets are."""
    if y.ndim > 1:
        names = [part.strip() for part in target.split(",")]
        for name, column in zip(names, y.T, strict=True):
            _refuse_constant(column[:1], name, same=bool(column.min() == column.max()))
        console.note(f"{', '.join(map(repr, names))} hold numbers, so the loss is squared")
        return "squared"
    values = np.unique(y[: 1 << 20])
    numbers = y.dtype.kind in "iuf"
    _refuse_constant(values, target, same=len(values) == 1)
    if not numbers or len(values) == 2:
        shown = ", ".join(repr(value) for value in values[:6].tolist()) + (", …" if len(values) > 6 else "")
        console.note(f"{target!r} has {len(values)} values ({shown}): classes, so the loss is logistic")
        return "logistic"
    console.note(f"{target!r} holds numbers, so the loss is squared{_counts(y)}")
    return "squared"


def _refuse_constant(values: Any, target: str, *, same: bool) -> None:
    if same:
        raise DataError(
            f"The target {target!r} is {values.tolist()[0]!r} in every row: there is nothing to predict."
        )


def _counts(y: Any) -> str:
    """The offer of a loss for counts, where the target looks like some: whole, from 0 or 1 on."""
    if "poisson" not in CATALOGUE or y.dtype.kind not in "iu" or not 0 <= y.min() <= 1:
        return ""
    return (
        f"; they are whole and not negative, as counts are (mean {y.mean():.3g}, variance {y.var():.3g}): "
        "--loss poisson predicts their mean, never below 0, and expects them to vary more where it is larger"
    )


def groups_named(which: str, recipe: Recipe | FormulaRecipe) -> list[int]:
    """'columns', labels separated by commas, or a file with a group of columns on each line."""
    if which == "columns":
        return [int(g) for g in of_recipe(recipe)]
    if Path(which).is_file():
        return _from_lines(which, recipe)
    labels = [label.strip() for label in which.split(",")]
    columns = list(dict.fromkeys(recipe.sources))
    if len(labels) == len(columns):
        labels = [labels[int(g)] for g in of_recipe(recipe)]
    elif len(labels) != len(recipe.names):
        raise UsageError(
            f"--groups {which}: neither a file nor one label for each of the {len(columns)} columns "
            f"({', '.join(columns[:6])}{', …' if len(columns) > 6 else ''})."
        )
    return _numbers(labels)


def _from_lines(file: str, recipe: Recipe | FormulaRecipe) -> list[int]:
    """A name stands for a column of the matrix, or for all that was made of a column of the table."""
    meant: dict[str, list[int]] = {}
    for j, (name, table) in enumerate(zip(recipe.names, recipe.sources, strict=True)):
        for key in {name, table}:
            meant.setdefault(key, []).append(j)
    label = [f"alone {j}" for j in range(len(recipe.names))]
    taken: dict[int, int] = {}
    for k, line in enumerate(Path(file).read_text(encoding="utf-8").splitlines(), 1):
        for name in filter(None, (part.strip() for part in line.split(","))):
            if name not in meant:
                raise UsageError(f"{file}, line {k}: there is no column {name!r}.")
            for j in meant[name]:
                if taken.setdefault(j, k) != k:
                    raise UsageError(
                        f"{file}, line {k}: {name!r} is in line {taken[j]} too; a column has one group."
                    )
                label[j] = f"line {k}"
    return _numbers(label)


def _numbers(labels: list[str]) -> list[int]:
    seen: dict[str, int] = {}
    return [seen.setdefault(label, len(seen)) for label in labels]
