"""Which strength is chosen, from scores of folds ordered from the strongest regularisation to the weakest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.errors import DataError

if TYPE_CHECKING:
    from dualgap.selection.search import Search

RULES = ("min", "1se")


def mean_and_error(scores: Matrix, weights: Vector, repeats: float) -> tuple[Vector, Vector]:
    """Mean over folds, weighted by the weight they hold out, and its standard error.

    With K folds and weights a, error² = Σ a (s − mean)² / Σ a / (K − 1). Rows that are held out `repeats`
    times over are not that many more rows, so that the error of repeated folds is `repeats` times as large
    in square as K separate folds would make it. One fold alone has no error to show: NaN.
    """
    share = weights / weights.sum()
    mean = share @ scores
    if len(scores) < 2:
        return mean, np.full(len(mean), np.nan)
    spread = share @ (scores - mean) ** 2
    return mean, np.sqrt(repeats * spread / (len(scores) - 1))


def best(cost: Vector) -> int:
    """The least cost, at the strongest regularisation that has it."""
    return int(np.argmin(cost))


def within_one_error(cost: Vector, error: Vector) -> int:
    """The strongest regularisation whose cost is at most one standard error above the least."""
    k = best(cost)
    room = error[k] if np.isfinite(error[k]) else 0.0
    return int(np.argmax(cost <= cost[k] + room))


def choose(rule: Any, search: Search) -> int:
    """The number of the chosen strength."""
    if isinstance(rule, str):
        return search.index_min if rule == "min" else search.index_1se
    found = rule(search)
    if not isinstance(found, int | np.integer) or not 0 <= found < len(search.mean):
        raise DataError(
            f"rule must return the number of a strength, from 0 to {len(search.mean) - 1}, not {found!r}."
        )
    return int(found)


def read_rule(rule: Any) -> Any:
    """ "min", "1se", or a function of the Search that returns the number of a strength."""
    if rule in RULES or callable(rule):
        return rule
    raise DataError(f'rule must be "min", "1se" or a function of the search, not {rule!r}.')
