"""From the command line to X, y, the recipe and the loss, saying on the way what was decided."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

import numpy as np

from dualgap.cli.console import Console
from dualgap.cli.options import objective_keywords
from dualgap.errors import DataError
from dualgap.fitting.solution import Solution
from dualgap.tables.columns import RawTable
from dualgap.tables.learn import Wishes
from dualgap.tables.prepare import Prepared, default_target, prepare
from dualgap.tables.read import read_rows


@dataclasses.dataclass(frozen=True, eq=False)
class PreparedTask:
    """Rows made ready, and what is to be minimised over them."""

    prepared: Prepared
    keywords: dict[str, Any]

    @property
    def X(self) -> Any:
        """The matrix."""
        return self.prepared.X

    @property
    def y(self) -> Any:
        """The targets."""
        return self.prepared.y

    @property
    def rows(self) -> tuple[Any, Any]:
        """X and y."""
        return self.prepared.X, self.prepared.y

    def split(self, share: float) -> tuple[PreparedTask, tuple[Any, Any]]:
        """The task without a share of its rows, drawn the same way every time, and those rows."""
        n = len(self.y)
        held = round(share * n) if 0.0 < share < 1.0 else 0
        if not 0 < held < n:
            raise DataError(
                f"--hold-out is a share of the {n} rows, strictly between 0 and 1, not {share:g}."
            )
        order = np.random.default_rng(0).permutation(n)
        out, kept = np.sort(order[:held]), np.sort(order[held:])
        weights = self.prepared.weights
        prepared = dataclasses.replace(
            self.prepared,
            X=self.X[kept],
            y=self.y[kept],
            weights=None if weights is None else weights[kept],
        )
        keywords = {**self.keywords, "sample_weight": prepared.weights}
        return PreparedTask(prepared, keywords), (self.X[out], self.y[out])

    def named(self, solution: Solution) -> Solution:
        """The solution with the names of the columns and the recipe that made them."""
        recipe = self.prepared.recipe
        parts = tuple(dataclasses.replace(part, names=recipe.names) for part in solution.parts)
        return dataclasses.replace(solution, names=recipe.names, recipe=recipe, parts=parts)


def read(args: argparse.Namespace) -> RawTable:
    """The rows that were named."""
    return read_rows(args.rows, absent=tuple(getattr(args, "na", ())), form=args.format)


def task_of(args: argparse.Namespace, console: Console) -> PreparedTask:
    """Read, prepare, choose the loss."""
    raw = read(args)
    target = args.target or default_target(raw)
    wishes = Wishes(target, args.missing, tuple(args.drop), tuple(args.na))
    prepared = prepare(raw, wishes, args.weights)
    n, p = prepared.X.shape
    console.note(f"{raw.source}: {n} rows, {p} columns to predict {target!r} from")
    for note in prepared.notes:
        console.note(note)
    loss = args.loss or _loss(prepared.y, target, console)
    keywords = {"loss": loss, "sample_weight": prepared.weights, **objective_keywords(args)}
    if keywords["standardize"] and args.penalty != "none":
        console.note("the penalty counts weights per standard deviation of their column")
    return PreparedTask(prepared, keywords)


def _loss(y: Any, target: str, console: Console) -> str:
    """Words or two values: a class. Else a number."""
    values = np.unique(y[: 1 << 20])
    if y.dtype.kind not in "iuf" or len(values) <= 2:
        shown = ", ".join(repr(value) for value in values[:6].tolist()) + (", …" if len(values) > 6 else "")
        console.note(f"{target!r} has {len(values)} values ({shown}): classes, so the loss is logistic")
        return "logistic"
    console.note(f"{target!r} holds numbers, so the loss is squared")
    return "squared"
