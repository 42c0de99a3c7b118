"""solution.export: the prediction Xw + b in the words of other programs, by the ending of the file's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dualgap.errors import DataError
from dualgap.files.store import write_whole
from dualgap.fitting.solution import Solution
from dualgap.tables.recipe import MISSING_LEVEL, Rule


@dataclass(frozen=True, eq=False)
class Term:
    """A column of the matrix as the file has it, with a weight per class (one in all for two classes).

    `level` is the word that makes it 1, None for a number; `fill` stands in for a missing number.
    """

    name: str
    kind: str  # "number", "boolean", "level" or "missing"
    weights: NDArray[np.float64]
    level: str | None = None
    fill: float | None = None


def terms_of(solution: Solution) -> list[Term]:
    """The columns that have a weight."""
    table = np.atleast_2d(solution.coef)
    names = solution.names or tuple(f"x{j}" for j in range(table.shape[1]))
    rules = solution.recipe.rules if solution.recipe else tuple(Rule(name, "number") for name in names)
    found: list[Term] = []
    j = 0
    for rule in rules:
        if rule.kind != "levels":
            found.append(Term(rule.name, rule.kind, table[:, j], None, rule.fill))
        for k, level in enumerate(rule.levels):
            kind = "missing" if level == MISSING_LEVEL else "level"
            found.append(Term(rule.name, kind, table[:, j + k], level))
        j += len(rule.outputs)
    return [term for term in found if term.weights.any()]


def intercepts(solution: Solution) -> list[float]:
    """One per class; one in all for two classes or numbers."""
    levels: list[float] = np.atleast_1d(np.asarray(solution.intercept, dtype=np.float64)).tolist()
    return levels


def export(solution: Solution, path: str | Path, table: str = "data") -> Path:
    """Write .onnx, .py or .sql; `table` is what the SQL query reads."""
    target = Path(path)
    ways: dict[str, Callable[[], bytes]] = {
        ".onnx": lambda: _onnx(solution),
        ".py": lambda: _python(solution),
        ".sql": lambda: _sql(solution, table),
    }
    if target.suffix not in ways:
        raise DataError(f"A model is exported to a file that ends in {', '.join(ways)}, not {target.name!r}.")
    write_whole(target, ways[target.suffix]())
    return target


def _onnx(solution: Solution) -> bytes:
    from dualgap.files.onnx_graph import onnx_graph

    return onnx_graph(solution)


def _python(solution: Solution) -> bytes:
    from dualgap.files.python_source import python_source

    return python_source(solution).encode("utf-8")


def _sql(solution: Solution, table: str) -> bytes:
    from dualgap.files.sql_query import sql_query

    return sql_query(solution, table).encode("utf-8")
