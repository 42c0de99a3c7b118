"""A model as a sum of terms, in the columns of the file that it was fitted on: what every export writes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualgap.fitting.solution import Solution
from dualgap.tables.columns import numbered
from dualgap.tables.recipe import MISSING_LEVEL, Rule


@dataclass(frozen=True, eq=False)
class Term:
    """A column of the matrix as the file has it, with a weight per class or output (one for two classes).

    `level` is the word that makes it 1, None for a number; `fill` stands in for a missing number.
    """

    name: str
    kind: str  # "number", "boolean", "level" or "missing"
    weights: NDArray[np.float64]
    level: str | None = None
    fill: float | None = None
    rule: Rule | None = None  # where a part of a date is taken, or digits are read from text


def terms_of(solution: Solution) -> list[Term]:
    """The columns that have a weight."""
    table = np.atleast_2d(solution.coef)
    names = solution.names or numbered(table.shape[1])
    rules = solution.recipe.rules if solution.recipe else tuple(Rule(name, "number") for name in names)
    found: list[Term] = []
    j = 0
    for rule in rules:
        more = rule if rule.part or rule.written else None
        if rule.kind != "levels":
            found.append(Term(rule.name, rule.kind, table[:, j], None, rule.fill, more))
        for k, level in enumerate(rule.levels):
            kind = "missing" if level == MISSING_LEVEL else "level"
            found.append(Term(rule.name, kind, table[:, j + k], level, None, more))
        j += len(rule.outputs)
    return [term for term in found if term.weights.any()]


def intercepts(solution: Solution) -> list[float]:
    """One per class or output; one in all for two classes or one number."""
    levels: list[float] = np.atleast_1d(np.asarray(solution.intercept, dtype=np.float64)).tolist()
    return levels
