"""The picture of a path over subset sizes: what each size reaches and what is proven of it; the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap.errors import needed
from dualgap.paths.plot import Strokes, draw_losses, draw_weights

if TYPE_CHECKING:
    from dualgap.paths.subsets import SubsetPath

DARK = "#0072B2"


def draw(path: SubsetPath, *, ax: Any, test: Any, names: Any, top: int) -> Any:
    """Draw and return the figure.

    Left: the objective against k; full marks are proven optimal, hollow ones the best found, with a bar down
    to the proven bound. Right: the weights, or with `test=(X, y)` the mean loss here and on those rows. With
    `ax` the left panel alone is drawn there.
    """
    plt = needed("matplotlib.pyplot", "plot", "A picture")
    if ax is not None:
        _objectives(ax, path)
        return ax.figure
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained")
    _objectives(left, path)
    strokes = Strokes(path.budgets, path.coefs, path.intercepts)
    if test is None:
        draw_weights(right, path, strokes, names, top)
        scaled = bool(np.any(path.terms.scale != 1.0))
        right.set_ylabel("weight per standard deviation" if scaled else "weight")
    else:
        draw_losses(right, path, strokes, test)
        right.set_ylabel(f"mean {path.terms.loss} loss")
    _frame(right)
    return figure


def _objectives(ax: Any, path: SubsetPath) -> None:
    k, value, sure = path.budgets, path.objectives, path.proven
    ax.plot(k, value, color="0.75", linewidth=0.8, zorder=1)
    if sure.any():
        ax.plot(k[sure], value[sure], "o", color=DARK, markersize=5, label="proven the best")
    if not sure.all():
        ax.vlines(k[~sure], path.bounds[~sure], value[~sure], color=DARK, linewidth=1.0, alpha=0.6)
        ax.plot(
            k[~sure], value[~sure], "o", color=DARK, markerfacecolor="white", markersize=5,
            label="best found, bar to the proven bound",
        )  # fmt: skip
    ax.set_ylim(bottom=min(0.0, float(path.bounds.min())))
    ax.set_ylabel("objective")
    ax.legend(frameon=False, fontsize=8)
    _frame(ax)


def _frame(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel("number of columns k")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
