"""Two weights: level lines of the risk and of the penalty, and the path of solutions between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.fitting.fit import fit
from dualgap.fitting.names import loss_named
from dualgap.lectures.drawing import Drawing
from dualgap.lectures.segments import segments
from dualgap.lectures.style import (
    BLACK,
    BLUE,
    GREEN,
    MARKERS,
    RED,
    SMALL,
    canvas,
    frame,
    legend,
    legend_below,
    number,
    plane,
    stroke,
)
from dualgap.paths.path import Path
from dualgap.paths.request import path

MARK: dict[str, Any] = {"markeredgecolor": BLACK, "markerfacecolor": "white", "zorder": 5}
FINE = 161  # points a side of the grid that contours are drawn from
PENALTIES = {"l2": "ridge", "l1": "lasso"}
TITLES = {"squared": "least squares", "absolute": "least absolute deviation"}


@dataclass(frozen=True, eq=False)
class Example:
    """A few rows in the plane, and the window of weights to look at."""

    X: Matrix
    y: Vector
    low: tuple[float, float]
    high: tuple[float, float]

    def grid(self) -> tuple[Matrix, Matrix]:
        """Weights to evaluate at."""
        first = np.linspace(self.low[0], self.high[0], FINE)
        second = np.linspace(self.low[1], self.high[1], FINE)
        across, along = np.meshgrid(first, second)
        return across, along

    def risk(self, loss: str, w: Matrix) -> Vector:
        """R(w) for the rows of w."""
        return np.asarray(loss_named(loss).value(self.y, w @ self.X.T).mean(axis=-1))

    def minimum(self, loss: str) -> Vector:
        """The weights of least risk."""
        return fit(self.X, self.y, loss=loss, penalty="none", fit_intercept=False).coef

    def path(self, loss: str, penalty: str) -> Path:
        """All solutions, without intercept as in the lectures."""
        return path(self.X, self.y, loss=loss, penalty=penalty, fit_intercept=False)


REGRESSION = Example(
    np.array([[1.0, 5.0], [4.0, 0.0], [2.0, 4.0], [0.0, 3.0]]),
    np.array([2.0, 4.0, 2.0, 5.0]),
    (-0.6, -0.6),
    (1.6, 1.6),
)
CLASSIFICATION = Example(
    np.array(
        [
            *([3.0, 1.4], [0.1, -0.2], [0.7, 1.6], [1.6, 0.9], [1.6, 0.6]),
            *([-3.9, -3.0], [0.3, 0.8], [0.4, -1.2], [-0.7, -2.4], [-3.5, -3.4]),
        ]
    ),
    np.repeat([1.0, -1.0], 5),
    (-0.4, -0.4),
    (1.4, 1.4),
)


def size(penalty: str, w: Matrix) -> Vector:
    """h(w) for the rows of w."""
    return np.asarray(np.abs(w).sum(axis=-1) if penalty == "l1" else (w**2).sum(axis=-1))


def _risk_lines(ax: Any, example: Example, loss: str, levels: Any = 14, **look: Any) -> None:
    across, along = example.grid()
    risk = example.risk(loss, np.dstack([across, along]))
    if isinstance(levels, int):
        levels = risk.min() + (risk.max() - risk.min()) * np.linspace(0.01, 0.95, levels) ** 2
    ax.contour(across, along, risk, levels=levels, **{"colors": GREEN, "linewidths": 0.9} | look)


def _penalty_lines(ax: Any, example: Example, penalty: str, levels: Any, **look: Any) -> Any:
    across, along = example.grid()
    h = size(penalty, np.dstack([across, along]))
    style = {"colors": BLACK, "linewidths": 0.8, "linestyles": "dashed"} | look
    return ax.contour(across, along, h, levels=levels, **style)


def _window(ax: Any, example: Example, title: str) -> None:
    plane(ax, "$w_1$", "$w_2$", title)
    ax.set(xlim=(example.low[0], example.high[0]), ylim=(example.low[1], example.high[1]))


def _risks(axes: Any, example: Example, losses: tuple[str, str], form: str) -> None:
    """R(w) with its minimum, a panel for each loss."""
    for ax, loss in zip(axes, losses, strict=True):
        _risk_lines(ax, example, loss, 18)
        first, second = example.minimum(loss)
        ax.plot(first, second, "o", color=RED, label=f"minimum ({first:{form}}, {second:{form}})")
        _window(ax, example, f"R(w), {TITLES.get(loss, loss)}")
        legend_below(ax)


def _curve(found: Path) -> Matrix:
    """The path as a line from nothing to the last point."""
    return np.vstack([np.zeros(2), found.coefs])


def regression_risks() -> Drawing:
    """R(w) of four rows for the squared and for the absolute loss."""
    figure, axes = canvas(1, 2, width=4.3, height=4.1)
    _risks(axes[0], REGRESSION, ("squared", "absolute"), ".3g")
    return Drawing(
        figure,
        "The empirical risk of two weights on four rows, x = (1,5), (4,0), (2,4), (0,3) with y = 2, 4, 2, 5. "
        "Squared: ellipses. Absolute: polygons, with edges where a row is fitted exactly. The minima lie in "
        "similar, not in identical places.",
    )


def penalty_contours() -> Drawing:
    """h(w) of ridge and lasso."""
    figure, axes = canvas(1, 2, width=4.3, height=4.1)
    for ax, (penalty, name) in zip(axes[0], PENALTIES.items(), strict=True):
        levels = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0]
        lines = _penalty_lines(ax, REGRESSION, penalty, levels, linewidths=0.9)
        ax.clabel(lines, fontsize=SMALL)
        formula = "$w_1^2+w_2^2$" if penalty == "l2" else "$|w_1|+|w_2|$"
        _window(ax, REGRESSION, f"{name}: h(w) = {formula}")
    return Drawing(
        figure,
        "Level lines of the two penalties, both centred at zero: circles for ridge, diamonds with corners on "
        "the axes for the lasso.",
    )


def classification_risks() -> Drawing:
    """Ten rows in the plane, and R(w) for the zero_one, the hinge and the logistic loss."""
    figure, axes = canvas(2, 2, width=4.2, height=3.9)
    X, y = CLASSIFICATION.X, CLASSIFICATION.y
    for sign, colour, marker in ((1.0, BLUE, "o"), (-1.0, RED, "s")):
        rows = X[y == sign]
        axes[0, 0].plot(rows[:, 0], rows[:, 1], marker, color=colour, label=f"y = {number(sign, '+g')}")
    axes[0, 0].plot(0, 0, "+", color=BLACK, markersize=10, label="origin")
    plane(axes[0, 0], "$x_1$", "$x_2$", "the rows")
    legend(axes[0, 0])
    across, along = CLASSIFICATION.grid()
    steps = CLASSIFICATION.risk("zero_one", np.dstack([across, along]))
    shades = axes[0, 1].pcolormesh(across, along, steps, cmap="Greys", vmin=0, vmax=1, rasterized=True)
    figure.colorbar(shades, ax=axes[0, 1], label="share of errors", shrink=0.8)
    _window(axes[0, 1], CLASSIFICATION, "R(w), zero_one")
    _risks(axes[1], CLASSIFICATION, ("hinge", "logistic"), ".2f")
    return Drawing(
        figure,
        "Ten rows of two classes, and the risk of two weights for three losses. Zero_one is a fan of flat "
        "pieces, constant along every ray from the origin: no slope to follow. The hinge is convex with "
        "edges, the logistic loss convex and smooth, much like least squares.",
    )


def _marked(found: Path) -> dict[str, Vector]:
    """A few solutions that lie well apart, by their λ; of several with the same λ, the first."""
    fine = segments(found)
    reach = np.where(fine.lams > 0.0, np.linalg.norm(fine.coefs, axis=1), np.inf)
    wanted = reach[np.isfinite(reach)].max() * np.array([0.2, 0.45, 0.7, 0.95])
    picked: dict[str, Vector] = {}
    for one in wanted:
        k = int(np.argmin(np.abs(reach - one)))
        picked.setdefault(f"λ = {fine.lams[k]:.2g}", fine.coefs[k])
    return picked


def _added(ax: Any, example: Example, loss: str, penalty: str, found: Path) -> None:
    """The penalised form: level lines of both, the path, some λ."""
    _risk_lines(ax, example, loss)
    top = float(size(penalty, found.coefs).max())
    _penalty_lines(ax, example, penalty, top * np.array([0.1, 0.3, 0.6, 1.0, 1.6, 2.4]))
    line = _curve(found)
    ax.plot(line[:, 0], line[:, 1], color=RED, linewidth=2.4)
    for marker, (name, w) in zip(MARKERS, _marked(found).items(), strict=False):
        ax.plot(*w, marker, **MARK, label=name)
    _window(ax, example, "R(w) + λ h(w)")
    legend_below(ax, ncols=4)


def _bounded(ax: Any, example: Example, loss: str, penalty: str, found: Path) -> float:
    """The constrained form: sets h ≤ c, each with the level line of R that touches it."""
    top = float(size(penalty, found.coefs).max())
    line, apart = _curve(found), 0.0
    ax.plot(line[:, 0], line[:, 1], color=RED, linewidth=1.2, zorder=1)
    for marker, share, shade in zip(MARKERS, (0.85, 0.45, 0.15), ("0.93", "0.87", "0.8"), strict=False):
        c = share * top
        w = found.coef(budget=c)
        across, along = example.grid()
        inside = size(penalty, np.dstack([across, along]))
        ax.contourf(across, along, inside, levels=[0, c], colors=[shade], zorder=0)
        _penalty_lines(ax, example, penalty, [c], linestyles="solid", zorder=2)
        _risk_lines(ax, example, loss, [float(example.risk(loss, w))], zorder=2)
        ax.plot(*w, marker, **MARK, label=f"c = {c:.2g}")
        apart = max(apart, float(np.abs(found.coef(lam=found.lam(c)) - w).max()))
    _window(ax, example, "R(w) where h(w) ≤ c")
    legend_below(ax, ncols=4)
    return apart


WHAT_TO_SEE = {
    ("squared", "l2"): "The path bends smoothly from zero to the minimum; no weight is ever exactly zero.",
    ("squared", "l1"): "The path leaves zero along an axis: the other weight stays exactly zero for a while.",
    ("absolute", "l2"): "The path follows the edges of the risk, where a row is fitted exactly, and slides "
    "along them while λ stays at a single value.",
    ("absolute", "l1"): "Straight pieces between corners: the solution rests in a corner for a range of λ, "
    "then moves to the next at a single value of λ.",
    ("logistic", "l2"): "Much as for least squares: a smooth curve.",
    ("logistic", "l1"): "Along an axis first, as for least squares; then a curve, not a straight line.",
    (
        "hinge",
        "l2",
    ): "A complicated curve for so few rows: each bend is a row that reaches or leaves the margin.",
    ("hinge", "l1"): "Corner to corner, and not always outwards: one weight leaves zero alone, gives "
    "way to the other, and comes back.",
}


def pair(loss: str, penalty: str) -> Drawing:
    """Level lines of R and h with the path of solutions, in both forms."""
    example = REGRESSION if loss in TITLES else CLASSIFICATION
    figure, axes = canvas(1, 2, width=4.5, height=4.3)
    found = example.path(loss, penalty)
    _added(axes[0, 0], example, loss, penalty, found)
    apart = _bounded(axes[0, 1], example, loss, penalty, found)
    kind = "exact path" if found.exact else "path on a grid, each point proven"
    return Drawing(
        figure,
        f"{TITLES.get(loss, loss)} with {PENALTIES[penalty]}".capitalize()
        + f". Left: risk (green), penalty (dashed) and the {kind} (red) from λ = ∞ at zero to λ → 0. Right: "
        "the best point of each set h ≤ c (grey) is where the smallest level line of the risk touches it. "
        f"{WHAT_TO_SEE[loss, penalty]} Both forms run through the same weights (here they agree to "
        f"{max(apart, 1e-16):.0e}).",
    )


PAIRS = {
    f"plane_{loss}_{penalty}": partial(pair, loss, penalty)
    for loss in ("squared", "absolute", "logistic", "hinge")
    for penalty in ("l2", "l1")
}


def pareto() -> Drawing:
    """Risk against penalty of the solutions: nothing lies below and to the left."""
    figure, axes = canvas(1, 2, width=4.6, height=3.7)
    random = np.random.default_rng(0).uniform(-0.6, 1.6, (1500, 2))
    for ax, loss in zip(axes[0], ("squared", "absolute"), strict=True):
        look = {"color": "0.8", "markersize": 2, "zorder": 0, "label": "other weights (ridge)"}
        ax.plot(size("l2", random), REGRESSION.risk(loss, random), ".", **look)
        for k, penalty in enumerate(PENALTIES):
            _front(ax, loss, penalty, k)
        ax.set(xlim=(0, 1.6), ylim=(0, {"squared": 12.6, "absolute": 3.5}[loss]))
        frame(ax, "penalty h(w)", "risk R(w)", TITLES[loss])
        legend(ax, loc="lower left")
    return Drawing(
        figure,
        "The weights that no others beat in both risk and penalty, for the four rows of the lecture: as the "
        "penalty may grow, the risk falls, ever more slowly. Marks: breakpoints of the path (a grid, for "
        "least squares with ridge). Grey: weights drawn at random; for ridge, none is below the curve. Which "
        "point of it is best is for λ, or for test data, to say.",
    )


def _front(ax: Any, loss: str, penalty: str, k: int) -> None:
    """The undominated pairs, the line through them drawn finely: it bends between breakpoints."""
    found = REGRESSION.path(loss, penalty)
    first = np.linspace(0.0, 1.0, 20)[:, None] * found.coefs[0]
    w = np.vstack([first, segments(found).coefs])
    ax.plot(size(penalty, w), REGRESSION.risk(loss, w), **stroke(k), label=PENALTIES[penalty])
    front = found.pareto()
    every = max(1, len(front.budgets) // 12)
    ax.plot(front.budgets[::every], front.risks[::every], MARKERS[k], color=stroke(k)["color"], markersize=4)
