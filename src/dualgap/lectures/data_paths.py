"""Weights and errors along the whole path on the lectures' data: Auto MPG and SPECT heart."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.fitting.fit import fit
from dualgap.lectures.data import Data, auto_mpg, spect
from dualgap.lectures.drawing import Drawing
from dualgap.lectures.plane import PENALTIES, TITLES
from dualgap.lectures.segments import Segments, segments
from dualgap.lectures.style import BLACK, BLUE, GREY, PURPLE, RED, SMALL, canvas, frame, legend
from dualgap.paths.path import Path
from dualgap.paths.plot import DASHES
from dualgap.paths.request import path

PAST = 1.15  # how far beyond the last budget is drawn
FURTHEST = 1e-7  # the least λ for ridge, as a share of the largest: near enough to none
SETTLED = 1e-6  # risks nearer than this, relative, are the same
NAMED = 7  # weights that are named in the picture
SHAPES = {
    "l2": "they shrink smoothly and reach zero only in the limit",
    "l1": "one after the other is exactly zero, the last at a finite λ",
}
WRONG = (
    " The zero_one error, which is what counts in the end, is drawn beside the loss that was fitted: the two "
    "need not choose the same λ."
)


def _panels(found: Path, data: Data, fine: Segments, *, settled: bool) -> Any:
    """Two rows, against λ and against the budget; weights on the left, losses on the right."""
    figure, axes = canvas(2, 2, width=5.4, height=3.6)
    figure.set_layout_engine("constrained", wspace=0.06)  # of the width: names end before the next panel
    for ax, x in zip(axes[:, 0], ("lam", "budget"), strict=True):
        found.plot(x=x, ax=ax, names=data.names, top=NAMED)
    lams = np.where(fine.lams > 0.0, fine.lams, np.nan)
    strengths = _losses(axes[0, 1], lams, "λ", found, data, fine)
    strengths[0].set(xscale="log", xlim=axes[0, 0].get_xlim())
    budgets = _losses(axes[1, 1], fine.budgets, "", found, data, fine)
    for ax in axes[1]:
        ax.set_xlabel("budget c  (h(w) ≤ c)")
    if settled:
        end = float(found.budgets[-1])
        for ax in (axes[1, 0], *budgets):
            _plateau(ax, end)
        axes[1, 0].axvspan(end, PAST * end, color="0.93", zorder=-1)
        _say_so(budgets, end)
    return figure


def _say_so(axes: list[Any], end: float) -> None:
    """Words in the widest gap between the lines."""
    axes[0].axvspan(end, PAST * end, color="0.93", zorder=-1)
    heights = [0.0, 0.8]
    for ax in axes:
        low, high = ax.get_ylim()
        heights += [(float(line.get_ydata()[-1]) - low) / (high - low) for line in ax.lines]
    places = np.sort(heights)
    widest = int(np.argmax(np.diff(places)))
    place = (0.5 * (1.0 + PAST) * end, 0.5 * (places[widest] + places[widest + 1]))
    words = {"rotation": 90, "ha": "center", "va": "center", "fontsize": SMALL, "color": GREY}
    axes[0].annotate("nothing\nchanges", place, xycoords=("data", "axes fraction"), **words)


def _plateau(ax: Any, end: float) -> None:
    """Beyond the last budget the lines go on as they are."""
    for line in ax.lines:
        x, y = line.get_xdata(), line.get_ydata()
        if len(x) > 2 and np.isclose(x[-1], end):
            line.set_data(np.append(x, PAST * end), np.append(y, y[-1]))
    ax.set_xlim(0.0, PAST * end)


def _losses(ax: Any, at: Vector, label: str, found: Path, data: Data, fine: Segments) -> list[Any]:
    """Mean loss, and for classes the share of errors: on the rows that were fitted and on the others."""
    train, test = found.risks_of(fine.coefs, fine.intercepts, data.X_test, data.y_test)
    best = _best(fine, test)
    ax.plot(at, train, color=BLACK, linewidth=1.4, label=f"loss, train ({len(data.y)} rows)")
    look = {"color": RED, "linestyle": DASHES[1], "linewidth": 1.4}
    ax.plot(at, test, **look, label=f"loss, test ({len(data.y_test)} rows)")
    ax.plot(at[best], test[best], "o", color=RED, markersize=5)
    frame(ax, label, f"mean {found.terms.loss} loss")
    high = float(max(train.max(), test.max()))
    ax.set_ylim(0.0, 1.3 * high)  # from zero, as the share of errors on the other side is
    drawn = [ax, _errors(ax, at, fine, data)] if classes_in(data) else [ax]
    lines = [one for axes in drawn for one in axes.lines if not str(one.get_label()).startswith("_")]
    legend(drawn[-1], handles=lines, loc="upper center", ncols=2)
    return drawn


def classes_in(data: Data) -> bool:
    """Are the targets labels?"""
    return bool(np.all(np.abs(data.y) == 1.0))


def _errors(ax: Any, at: Vector, fine: Segments, data: Data) -> Any:
    """The share of wrong classes, on an axis of its own."""
    other = ax.twinx()
    sets = ((data.X, data.y, BLUE, ":", "train"), (data.X_test, data.y_test, PURPLE, "-.", "test"))
    for X, y, colour, dash, name in sets:
        wrong = np.mean((fine.coefs @ X.T + fine.intercepts[:, None]) * y <= 0.0, axis=1)
        other.plot(at, wrong, color=colour, linestyle=dash, linewidth=1.1, label=f"zero_one, {name}")
    other.set(ylim=(0.0, 1.0), ylabel="share of wrong classes")
    other.spines["top"].set_visible(False)
    return other


def _best(fine: Segments, test: Vector) -> int:
    """Where, for λ > 0, the test loss is least."""
    return int(np.argmin(np.where(fine.lams > 0.0, test, np.inf)))


def _kind(found: Path) -> str:
    if found.breakpoints:
        return f"The path is exact, with {len(found)} breakpoints"
    if found.exact:
        return "The path is exact at every λ, from one decomposition"
    return f"The path is followed on {len(found)} values of λ, each with a proven gap"


def _settled(found: Path, data: Data) -> bool:
    """Does the path end at the least risk of all? Then no larger budget changes anything."""
    if not found.exact:
        return False
    least = fit(data.X, data.y, loss=found.terms.loss, penalty="none", tol=1e-9).bound
    return bool(found.risks[-1] - least <= SETTLED * abs(found.risks[0]))


def _draw(read: Callable[[], Data], loss: str, penalty: str) -> Drawing:
    data = read()
    ratio = FURTHEST if penalty == "l2" and loss != "logistic" else None
    solver = "coordinate_descent" if (loss, penalty) == ("logistic", "l1") else "auto"  # zeros that are zero
    found = path(data.X, data.y, loss=loss, penalty=penalty, lam_min_ratio=ratio, solver=solver)
    fine, settled = segments(found), _settled(found, data)
    figure = _panels(found, data, fine, settled=settled)
    name = f"{TITLES.get(loss, loss + ' loss')} with {PENALTIES[penalty]}"
    figure.suptitle(f"{data.origin}: {name}", fontsize=11)
    test = found.risks_of(fine.coefs, fine.intercepts, data.X_test, data.y_test)[1]
    k = _best(fine, test)
    end = f" Above c = {found.budgets[-1]:.3g} the budget does not bind." if settled else ""
    return Drawing(
        figure,
        f"{data.origin}, {name}: weights (left) and mean loss (right) as the penalty relaxes, against λ "
        "(top) and against the budget c (bottom). The weights run through the same values in both; "
        f"{SHAPES[penalty]}. The train loss only falls; the test loss is least at the dot, λ = "
        f"{fine.lams[k]:.2g}, with {test[k]:.3g}.{WRONG if classes_in(data) else ''}{end} {_kind(found)}.",
    )


def _table(name: str, read: Callable[[], Data], losses: tuple[str, str]) -> dict[str, Callable[[], Drawing]]:
    """A figure for each loss and penalty, by name."""
    return {
        f"{name}_{loss}_{penalty}": partial(_draw, read, loss, penalty)
        for loss in losses
        for penalty in PENALTIES
    }


MPG = _table("mpg", auto_mpg, ("squared", "absolute"))
HEART = _table("spect", spect, ("logistic", "hinge"))
