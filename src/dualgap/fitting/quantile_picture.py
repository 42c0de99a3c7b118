"""The picture of several quantiles: lines over the rows of one column, or each weight over the quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap.errors import DataError, needed
from dualgap.fitting.inputs import read_numbers, read_table

if TYPE_CHECKING:
    from dualgap.fitting.solution import Solution

NAMED = 12  # weights that are named in a legend: those that are the largest anywhere


def draw(solution: Solution, ax: Any) -> Any:
    """Draw and return the figure."""
    levels = getattr(solution.terms.loss, "levels", ())
    if not levels:
        raise DataError(
            "plot() draws the lines of several quantiles, loss='quantiles(0.1, 0.5, 0.9)'; of other fits "
            "a path has a picture: dg.path(...).plot()."
        )
    plt = needed("matplotlib.pyplot", "plot", "A picture")
    if ax is None:
        ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]
    if solution.coef.shape[1] == 1:
        _lines(solution, levels, ax)
    else:
        _weights(solution, levels, ax)
    ax.legend(frameon=False, fontsize="small")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax.figure


def _names(solution: Solution) -> tuple[str, ...]:
    return solution.names or tuple(f"x{j}" for j in range(solution.coef.shape[1]))


def _lines(solution: Solution, levels: tuple[float, ...], ax: Any) -> None:
    """Predictions over one column, the rows of the fit behind them where these are at hand."""
    ends = np.array([-1.0, 1.0])
    if solution.data is not None and solution.recipe is None:
        X, y = solution.data
        design = read_table(X).design
        rows = design.toarray()[:, 0]
        ax.plot(rows, read_numbers(y, len(rows)), ".", color="0.7", markersize=3)
        ends = np.array([rows.min(), rows.max()])
    for level, w, b in zip(levels, solution.coef[:, 0], solution.intercept, strict=True):
        ax.plot(ends, w * ends + b, label=f"{level:g}")
    ax.set_xlabel(_names(solution)[0])
    ax.set_ylabel("quantiles")


def _weights(solution: Solution, levels: tuple[float, ...], ax: Any) -> None:
    """Each weight as a line over the quantiles."""
    coef = solution.coef * solution.terms.scale
    order = np.argsort(-np.abs(coef).max(axis=0), kind="stable")
    names = _names(solution)
    for j in order[NAMED:]:
        ax.plot(levels, coef[:, j], color="0.85", linewidth=0.7)
    for j in order[:NAMED]:
        ax.plot(levels, coef[:, j], marker="o", markersize=3, label=names[j])
    scaled = bool(np.any(solution.terms.scale != 1.0))
    ax.set_xlabel("quantile")
    ax.set_ylabel("weight per standard deviation" if scaled else "weight")
