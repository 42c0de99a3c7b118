"""The lines that do in Python what a verb did, to the digit."""

from __future__ import annotations

import argparse
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualgap.cli.prepared_task import PreparedTask

ANSWERS = {
    "fit": "solution = dg.fit({})",
    "cross_validate": "search = dg.cross_validate({})\nsolution = search.solution",
    "path": "path = dg.path({})",
}


@dataclass(frozen=True)
class Call:
    """A function of dualgap and the keywords that it was given."""

    name: str
    keywords: dict[str, Any]

    def lines(self, args: argparse.Namespace, task: PreparedTask) -> str:
        """From the file to the answer."""
        more = [name for name in ("weights", "offset") if getattr(args, name)]
        said = "".join(f", {name}" for name in more)
        found = ["import dualgap as dg", f"X, y, recipe{said} = dg.tables.read({_source(args, task)})"]
        if getattr(args, "hold_out", None) is not None and task.test is not None:
            held = len(task.test[1])
            found.insert(0, "import numpy as np")
            found.append(f"kept = np.sort(np.random.default_rng(0).permutation(len(y))[{held}:])")
            rows = f"X, y{said}"
            found.append(f"{rows} = {', '.join(f'{name}[kept]' for name in rows.split(', '))}")
        return "\n".join([*found, ANSWERS[self.name].format(", ".join(["X", "y", *self._words(more)]))])

    def _words(self, by_row: list[str]) -> list[str]:
        import dualgap as dg

        usual = inspect.signature(getattr(dg, self.name)).parameters
        told = {
            name: value
            for name, value in self.keywords.items()
            if name not in ("max_time", "sample_weight", "offset")
        }
        words = [
            f"{name}={_literal(value)}"
            for name, value in told.items()
            if value is not None and value != usual[name].default
        ]
        given = {"weights": "sample_weight=weights", "offset": "offset=offset"}
        return words + [given[name] for name in by_row]


def _literal(value: Any) -> str:
    return 'float("inf")' if value == float("inf") else repr(value)


def _source(args: argparse.Namespace, task: PreparedTask) -> str:
    words = [repr(args.rows)]
    words.append(f"formula={args.formula!r}" if args.formula else f"target={task.prepared.recipe.target!r}")
    words += [
        f"{name}={getattr(args, name)!r}" for name in ("weights", "offset", "format") if getattr(args, name)
    ]
    words += [f"{name}={list(getattr(args, name))!r}" for name in ("drop", "na") if getattr(args, name)]
    return ", ".join(words + ([f"missing={args.missing!r}"] if args.missing != "mean" else []))
