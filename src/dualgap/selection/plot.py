"""Pictures of a search: scores of the folds against the strength, and what was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import needed

if TYPE_CHECKING:
    from dualgap.selection.search import Search

LABELS = 10  # numbers above the frame, at most


def draw(search: Search, ax: Any = None) -> Any:
    """Mean score and one standard error on either side, the best strength and the one of the 1se rule marked.

    The strongest regularisation is on the left, as on the pictures of paths. Thin grey lines are single
    folds; above the frame stands the number of non-zero weights, the mean of the folds. A strength that
    another rule chose is marked too.
    """
    plt = needed("matplotlib.pyplot", "plot", "A picture")
    if ax is None:
        ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]
    at, mean, error = search.strengths, search.mean, np.nan_to_num(search.se)
    for row in search.scores:
        ax.plot(at, row, color="0.8", linewidth=0.5, zorder=1)
    ax.fill_between(at, mean - error, mean + error, color="0.55", alpha=0.35, linewidth=0.0, zorder=2)
    ax.plot(at, mean, color="black", linewidth=1.6, zorder=4)
    _height(ax, mean - error, mean + error)
    _mark(ax, search)
    ax.set_ylabel(_label(search))
    ax.margins(x=0.0)
    _frame(ax, search)
    _counts(ax, search)
    return ax.figure


def _height(ax: Any, low: Vector, high: Vector) -> None:
    """The band fills the frame; a fold that strays may leave it."""
    room = 0.08 * max(float(high.max() - low.min()), 1e-12 * max(abs(float(high.max())), 1e-300))
    ax.set_ylim(float(low.min()) - room, float(high.max()) + room)


def _mark(ax: Any, search: Search) -> None:
    symbol = "λ" if search.form == "penalised" else "c"
    marks: list[tuple[str, int, Any, str]] = [
        (rf"${symbol}_{{\mathrm{{min}}}}$", search.index_min, (0, (5, 2)), "o"),
        (rf"${symbol}_{{\mathrm{{1se}}}}$", search.index_1se, (0, (1.2, 1.6)), "s"),
    ]
    if search.index not in (search.index_min, search.index_1se):
        marks.append(("chosen", search.index, "-.", "D"))
    for name, k, style, marker in marks:
        place, value = search.strengths[k], search.mean[k]
        label = f"{name} = {place:.3g}"
        ax.axvline(place, color="black", linewidth=0.9, linestyle=style, zorder=3)
        ax.plot(
            [place],
            [value],
            marker=marker,
            markersize=6,
            markerfacecolor="white",
            markeredgecolor="black",
            color="black",
            linestyle=style,
            linewidth=0.9,
            label=label,
            zorder=5,
        )
    ax.legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize=8)


def _label(search: Search) -> str:
    if search.score == "loss":
        return f"held-out {search.terms.loss} loss"
    return "held-out share of errors" if search.score == "zero_one" else f"held-out {search.score}"


def _frame(ax: Any, search: Search) -> None:
    if search.form == "penalised":
        ax.set_xlabel("λ")
        if len(search.strengths) > 1:
            ax.set_xscale("log")
            ax.set_xlim(search.strengths[0], search.strengths[-1])
    else:
        ax.set_xlabel("budget")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(direction="out", length=3)


def _counts(ax: Any, search: Search) -> None:
    """The number of non-zero weights, above the frame, evenly spaced."""
    at = search.strengths
    scale = np.log(at) if search.form == "penalised" else at
    wanted = np.linspace(scale[0], scale[-1], LABELS)
    picked = sorted({int(np.argmin(np.abs(scale - place))) for place in wanted})
    counts = search.n_nonzero.mean(axis=0)
    above = ax.secondary_xaxis("top")
    above.set_xticks(at[picked], [f"{counts[k]:.0f}" for k in picked], fontsize=8)
    above.minorticks_off()
    above.tick_params(length=2)
    above.spines["top"].set_visible(False)
    above.set_xlabel("non-zero weights (mean of the folds)", fontsize=8)
