"""Pictures of a path: weights against λ, the budget or ‖w‖₁, and what the loss does meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.errors import DataError, needed

if TYPE_CHECKING:
    from dualgap.fitting.objective import Objective
    from dualgap.paths.many_classes import ManyClassesPath
    from dualgap.paths.path import Path
    from dualgap.paths.quantiles import QuantilePath
    from dualgap.paths.subsets import SubsetPath

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)), (0, (8, 2)))
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7F6000", "#56B4E9")  # told apart by all
AXES = ("lam", "budget", "norm")
FINE = 8  # parts of a stretch between two breakpoints
MANY = 2000  # breakpoints so close that the stretches between them look straight
DARK = "#0072B2"
MARGIN = 0.05  # of the height, above and below
PANELS, ACROSS = 12, 3  # of classes or outputs in a picture, and beside each other
CLOSE = 0.043  # labels nearer than this share of the height are moved apart
NAME, LINE = 8, 1.35  # points of a name, and lines of it apart: descenders end above the next one


def draw(path: Path, *, x: str, ax: Any, test: Any, names: Any, top: int) -> Any:
    """Draw the path and return the figure.

    `x` is "lam" (logarithmic), "budget" or "norm" (‖w‖₁). The `top` largest weights are named at the ends of
    their lines; the others are thin and grey. The number of non-zero weights stands above the frame. With
    `test=(X, y)` a second panel shows the mean loss on the rows of the path and on those. With
    `standardize=True` weights are drawn per standard deviation, as they are penalised.
    """
    plt = needed("matplotlib.pyplot", "plot", "A picture")
    if x not in AXES:
        raise DataError(f"x must be one of {', '.join(map(repr, AXES))}, not {x!r}.")
    panels = 1 if test is None else 2
    if ax is None:
        figure, axes = plt.subplots(
            1, panels, figsize=(6.4 * panels, 4.2), squeeze=False, layout="constrained"
        )
        left, right = axes[0, 0], axes[0, panels - 1]
    else:
        left, right = (ax, None) if test is None else ax
        figure = left.figure
    strokes = _strokes(path, x)
    draw_weights(left, path, strokes, names, top)
    _frame(left, path, x, _unit(path))
    _count(left, strokes, logarithmic=x == "lam")
    if test is not None:
        draw_losses(right, path, strokes, test)
        _frame(right, path, x, f"mean {path.terms.loss} loss")
    return figure


def draw_many(path: ManyClassesPath, *, x: str, names: Any, top: int, titles: Any = None) -> Any:
    """A panel for each class or output, on one scale: its weights as `draw` shows those of one; the figure.

    `titles` are theirs; else the names of the outputs, or the classes.
    """
    plt = needed("matplotlib.pyplot", "plot", "A picture")
    if x not in AXES:
        raise DataError(f"x must be one of {', '.join(map(repr, AXES))}, not {x!r}.")
    labels = path.labels if titles is None else tuple(map(str, titles))
    if len(labels) != path.coefs.shape[1]:
        raise DataError(f"titles has {len(labels)} entries, the path {path.coefs.shape[1]} rows of weights.")
    if len(labels) > PANELS:
        raise DataError(
            f"A picture has room for {PANELS} classes or outputs, and this path has {len(labels)}; "
            "draw path.coefs[:, k] for some of them."
        )
    across = min(len(labels), ACROSS)
    down = -(-len(labels) // across)
    size = (4.6 * across, 3.6 * down)
    figure, axes = plt.subplots(down, across, figsize=size, squeeze=False, sharey=True, layout="constrained")
    for ax in axes.ravel()[len(labels) :]:
        ax.remove()
    sizes = path.coefs * path.terms.scale
    low, high = min(float(sizes.min()), 0.0), max(float(sizes.max()), 0.0)
    room = MARGIN * ((high - low) or 1.0)
    axes[0, 0].set_ylim(low - room, high + room)  # names at the ends of lines are placed by it
    at = {"lam": path.lams, "budget": path.budgets, "norm": np.abs(path.coefs).sum(axis=(1, 2))}[x]
    one = OnePath(path.terms, path.names, np.linalg.norm(path.coefs, axis=1))
    for k, (label, ax) in enumerate(zip(labels, axes.ravel(), strict=False)):
        strokes = Strokes(at, path.coefs[:, k], path.intercepts[:, k])
        draw_weights(ax, one, strokes, names, top)
        _frame(ax, one, x, _unit(one) if k % across == 0 else "")
        _count(ax, strokes, logarithmic=x == "lam")
        ax.set_title(label, fontsize=10)
    return figure


@dataclass(frozen=True, eq=False)
class OnePath:
    """What a panel asks of its path: `coefs` are how long the weights of a column are in all, and so which of
    them is named, and how it is drawn in every panel.
    """

    terms: Objective
    names: tuple[str, ...] | None
    coefs: Matrix


@dataclass(frozen=True, eq=False)
class Strokes:
    """What is drawn: places on the axis, and weights with intercepts there."""

    at: Vector
    coefs: Matrix
    intercepts: Vector


def _strokes(path: Path, x: str) -> Strokes:
    """The points, and between breakpoints as many more as it takes to show the bends of the axis."""
    lams, coefs, intercepts = path.lams, path.coefs, path.intercepts
    if path.breakpoints and 1 < len(path) <= MANY:
        lams, both = _finer(path, np.column_stack([coefs, intercepts]))
        coefs, intercepts = both[:, :-1], both[:, -1]
    if x == "lam":
        shown = lams > 0.0
        return Strokes(lams[shown], coefs[shown], intercepts[shown])
    if x == "norm":
        return Strokes(np.abs(coefs).sum(axis=1), coefs, intercepts)
    return Strokes(np.array([path.size(w) for w in coefs]), coefs, intercepts)


def _finer(path: Path, both: Matrix) -> tuple[Vector, Matrix]:
    """Weights are straight in λ or 1/λ between breakpoints, hence bent on a logarithmic axis."""
    lams = path.lams.copy()
    last = lams[-1] if lams[-1] > 0.0 else lams[lams > 0.0].min(initial=np.inf) / 3.0
    level = 1.0 / np.maximum(lams, last) if path.inverse else lams
    found_lams, found = [lams[:1]], [both[:1]]
    for k in range(len(lams) - 1):
        between = np.geomspace(max(lams[k], last), max(lams[k + 1], last), FINE + 1)[1:-1]
        s = 1.0 / between if path.inverse else between
        if level[k] != level[k + 1] and lams[k + 1] < lams[k]:
            share = ((s - level[k]) / (level[k + 1] - level[k]))[:, None] * (not path.constant)
            found_lams.append(between)
            found.append(both[k] + share * (both[k + 1] - both[k]))
        found_lams.append(lams[k + 1 : k + 2])
        found.append(both[k + 1 : k + 2])
    return np.concatenate(found_lams), np.concatenate(found)


def _unit(path: Path | OnePath) -> str:
    return "weight per standard deviation" if np.any(path.terms.scale != 1.0) else "weight"


def _frame(ax: Any, path: Path | OnePath, x: str, y: str) -> None:
    formula = path.terms.penalty.formula.replace("sum ", r"$\Sigma$ ").replace("w_j^2", "$w_j^2$")
    words = {"lam": "λ", "budget": f"budget {formula}".replace("|w_j|", "|$w_j$|"), "norm": r"$\|w\|_1$"}
    ax.set_xlabel(words[x])
    ax.set_ylabel(y)
    if x == "lam":
        ax.set_xscale("log")
        ax.invert_xaxis()  # the path is read from nothing to everything, on every axis
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(direction="out", length=3)


def draw_weights(
    ax: Any, path: Path | OnePath, strokes: Strokes, names: Any, top: int, *, ends: bool = True
) -> None:
    """A line per weight, the `top` largest named, at their ends or in a legend."""
    coefs = strokes.coefs * path.terms.scale
    labels = _labels(path, names)
    size = np.abs(path.coefs * path.terms.scale).max(axis=0, initial=0.0)  # one order on every axis
    order = np.argsort(-size, kind="stable")
    named = [int(j) for j in order[:top] if size[j] > 0.0]
    ax.axhline(0.0, color="0.6", linewidth=0.6, zorder=0)
    for j in order[top:]:
        if size[j] > 0.0:
            ax.plot(strokes.at, coefs[:, j], color="0.75", linewidth=0.6, zorder=1)
    for rank, j in enumerate(named):
        style = DASHES[(rank // len(COLOURS) + rank) % len(DASHES)]
        colour = COLOURS[rank % len(COLOURS)]
        how: dict[str, Any] = {"color": colour, "linestyle": style, "label": labels[j]}
        ax.plot(strokes.at, coefs[:, j], linewidth=1.3, zorder=2, **how)
    ax.margins(x=0.0)
    if ends:
        _name_ends(ax, coefs[-1, named], [labels[j] for j in named])
    elif named:
        ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _labels(path: Path | OnePath, names: Any) -> list[str]:
    p = path.coefs.shape[1]
    if names is None:
        names = path.names or [f"x{j}" for j in range(p)]
    if len(names) != p:
        raise DataError(f"names has {len(names)} entries, the path {p} columns.")
    return [str(name) for name in names]


def _name_ends(ax: Any, ends: Vector, labels: list[str]) -> None:
    """Names at the ends of the lines, moved apart where they would meet, each tied to its line."""
    low, high = ax.get_ylim()
    height = (ends - low) / (high - low)
    points = ax.get_window_extent().height * 72.0 / ax.figure.dpi  # of the frame
    places = apart(height, min(max(CLOSE, LINE * NAME / points), 1.0 / max(len(labels), 1)))
    for rank, (label, end, place) in enumerate(zip(labels, height, places, strict=True)):
        colour = COLOURS[rank % len(COLOURS)]
        ax.plot([1.0, 1.02], [end, place], transform=ax.transAxes, color=colour, linewidth=0.6, clip_on=False)
        ax.text(1.025, place, label, transform=ax.transAxes, va="center", fontsize=NAME, color=colour)


def apart(height: Vector, least: float) -> Vector:
    """Heights in the same order, at least this far from each other, near where they were."""
    order = np.argsort(height, kind="stable")
    places = height[order].copy()
    for _ in range(200):
        gaps = np.diff(places)
        tight = gaps < least - 1e-9
        if not tight.any():
            break
        push = np.where(tight, 0.5 * (least - gaps), 0.0)
        places[:-1] -= push
        places[1:] += push
    out = np.empty_like(places)
    out[order] = places
    return out


def _count(ax: Any, strokes: Strokes, *, logarithmic: bool) -> None:
    """The number of non-zero weights, above the frame, where there is room."""
    above = ax.secondary_xaxis("top")
    counts = np.count_nonzero(strokes.coefs, axis=1)
    picked = _spaced(strokes.at, logarithmic=logarithmic)
    above.set_xticks(strokes.at[picked], [str(int(counts[k])) for k in picked], fontsize=8)
    above.minorticks_off()
    above.tick_params(length=2)
    above.spines["top"].set_visible(False)
    above.set_xlabel("non-zero weights", fontsize=8)


def _spaced(at: Vector, *, logarithmic: bool) -> list[int]:
    """Up to a dozen points, evenly over the axis."""
    scale = np.log(at) if logarithmic else at
    wanted = np.linspace(scale[0], scale[-1], 12)
    picked: list[int] = []
    for place in wanted:
        k = int(np.argmin(np.abs(scale - place)))
        if k not in picked:
            picked.append(k)
    room = abs(scale[-1] - scale[0]) / 16
    kept = picked[:1]
    for k in picked[1:]:
        if abs(scale[k] - scale[kept[-1]]) >= room:
            kept.append(k)
    return kept


def draw_losses(ax: Any, path: Path, strokes: Strokes, test: Any) -> None:
    """The mean loss here and on other rows."""
    here, there = path.risks_of(strokes.coefs, strokes.intercepts, *test)
    ax.plot(strokes.at, here, color="black", linewidth=1.3, label="these rows")
    ax.plot(strokes.at, there, color="#D55E00", linestyle=DASHES[1], linewidth=1.3, label="test rows")
    best = int(np.argmin(there))
    ax.plot(strokes.at[best], there[best], marker="o", color="#D55E00", markersize=4)
    ax.margins(x=0.0)
    ax.legend(frameon=False, fontsize=8)


def draw_quantiles(path: QuantilePath, *, ax: Any, names: Any, top: int) -> Any:
    """Each weight as a staircase over the quantiles, per standard deviation where it is penalised so."""
    plt = needed("matplotlib.pyplot", "plot", "A picture")
    if ax is None:
        ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]
    at = np.repeat(path.quantiles, 2)[1:-1]
    strokes = Strokes(at, np.repeat(path.coefs, 2, axis=0), np.repeat(path.intercepts, 2))
    draw_weights(ax, path, strokes, names, top, ends=False)  # near 0 and 1 all lines may meet
    ax.set_xlabel("quantile")
    ax.set_ylabel(_unit(path))
    ax.spines[["top", "right"]].set_visible(False)
    return ax.figure


def draw_subsets(path: SubsetPath, *, ax: Any, test: Any, names: Any, top: int) -> Any:
    """What each size reaches and what is proven of it, and the weights.

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
        right.set_ylabel(_unit(path))
    else:
        draw_losses(right, path, strokes, test)
        right.set_ylabel(f"mean {path.terms.loss} loss")
    _frame_sizes(right)
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
    _frame_sizes(ax)


def _frame_sizes(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel("number of columns k")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
