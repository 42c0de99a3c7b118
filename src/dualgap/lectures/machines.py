"""Support vector machines in the plane: margins, slacks, kernels, a tube; and the perceptron beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.estimators.classification import LinearClassifier
from dualgap.estimators.kernel import KernelClassifier, KernelRegressor
from dualgap.fitting.fit import fit
from dualgap.lectures.drawing import Drawing
from dualgap.lectures.style import BLACK, BLUE, GREY, RED, SMALL, canvas, frame, legend, number, plane, stroke

LABELS = ("$x_1$", "$x_2$")


def _clouds() -> tuple[Matrix, Vector]:
    """Two classes that can be separated, but only just: one row strays towards the other class."""
    random = np.random.default_rng(4)
    up, down = random.normal([2.2, 2.0], 0.55, (14, 2)), random.normal([-0.2, -0.1], 0.55, (14, 2))
    up[0] = [0.45, 0.4]
    return np.vstack([up, down]), np.repeat([1.0, -1.0], 14)


def _window(ax: Any, X: Matrix, room: float = 0.5) -> tuple[Matrix, Matrix, Matrix]:
    """A grid over the rows, as coordinates and as rows."""
    low, high = X.min(axis=0) - room, X.max(axis=0) + room
    across, along = np.meshgrid(np.linspace(low[0], high[0], 180), np.linspace(low[1], high[1], 180))
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return across, along, np.column_stack([across.ravel(), along.ravel()])


def _levels(ax: Any, model: Any, X: Matrix) -> None:
    """Level lines −1, 0 and 1 over a tinted ground."""
    across, along, rows = _window(ax, X)
    values = model.decision_function(rows).reshape(across.shape)
    ax.contourf(across, along, np.sign(values), levels=[-2, 0, 2], colors=[RED, BLUE], alpha=0.08)
    look = {"colors": GREY, "linestyles": ["--", "-", "--"], "linewidths": [1.0, 1.7, 1.0]}
    ax.contour(across, along, values, levels=[-1, 0, 1], **look)


def _rows(ax: Any, X: Matrix, y: Vector, support: Any = ()) -> None:
    """Rows by class; those that support the plane are ringed."""
    for sign, colour, marker in ((1.0, BLUE, "o"), (-1.0, RED, "s")):
        rows = X[y == sign]
        ax.plot(rows[:, 0], rows[:, 1], marker, color=colour, markersize=5, label=f"y = {number(sign, '+g')}")
    if len(support):
        rows = X[support]
        look = {"markerfacecolor": "none", "color": BLACK, "markersize": 11}
        ax.plot(rows[:, 0], rows[:, 1], "o", **look, label="support vectors")


def _slacks(ax: Any, model: Any, X: Matrix, y: Vector) -> None:
    """From each row inside the margin to the edge of its own side: ξ/‖w‖ long."""
    w = model.coef_[0]
    for row, sign, slack in zip(X, y, model.slack_, strict=True):
        if slack > 1e-9:
            edge = row + sign * slack * w / (w @ w)
            ax.plot(*zip(row, edge, strict=True), color=BLACK, linewidth=1.6, linestyle=":")


def margins() -> Drawing:
    """min ‖w‖² + C Σ ξ for C = ∞ and C = 10: on rows that are just separable, and on rows that are not."""
    X, y = _clouds()
    apart = X.copy()
    apart[0] = [-0.1, 0.1]
    choices = (
        (np.inf, X, "C = ∞ (hard margin)"),
        (10.0, X, "C = 10"),
        (10.0, apart, "C = 10, no plane separates"),
    )
    figure, axes = canvas(1, 3, width=4.0, height=5.0)
    told = []
    for ax, (C, rows, title) in zip(axes[0], choices, strict=True):
        model = LinearClassifier("hinge", C=C).fit(rows, y)
        _levels(ax, model, rows)
        _slacks(ax, model, rows, y)
        _rows(ax, rows, y, model.support_)
        plane(ax, *LABELS, f"{title}\nmargin {model.margin_:.3f}, {len(model.support_)} support vectors")
        told.append(model.margin_)
    legend(axes[0, 0], loc="upper left")
    return Drawing(
        figure,
        f"The plane of largest margin (solid) with its margins (dashed). With C = ∞ one stray row forces a "
        f"margin of {told[0]:.3f}; C = 10 lets it pay its slack ξ (dotted) and gains a margin of "
        f"{told[1]:.3f}. On the right no plane separates the classes: hard margins do not exist, soft ones "
        "always do. Ringed rows are the support vectors; all others could be left out without changing "
        "anything.",
    )


def perceptron() -> Drawing:
    """The perceptron stops at the first plane that separates; the machine asks for the widest margin."""
    random = np.random.default_rng(3)
    X = np.vstack([random.normal([2.0, 1.6], 0.6, (18, 2)), random.normal([-0.6, -0.4], 0.6, (18, 2))])
    y = np.repeat([1.0, -1.0], 18)
    figure, axes = canvas(1, 2, width=4.6, height=4.3)
    left, right = axes[0]
    told = []
    for k, seed in enumerate((0, 1, 2)):
        order = np.random.default_rng(seed).permutation(len(y))
        found = fit(X[order], y[order], loss="perceptron", penalty="none", solver="perceptron")
        margin = float(np.min(y * found.decision_function(X)) / np.linalg.norm(found.coef))
        told.append(margin)
        _line(left, found.coef, found.intercept, stroke(k + 1, label=f"order {k + 1}: margin {margin:.3f}"))
    _rows(left, X, y)
    _window(left, X)
    plane(left, *LABELS, "perceptron, three orders of the rows")
    legend(left, loc="upper left")
    model = LinearClassifier("hinge", C=np.inf).fit(X, y)
    _levels(right, model, X)
    _rows(right, X, y, model.support_)
    plane(right, *LABELS, f"hard margin: {model.margin_:.3f}")
    legend(right, loc="upper left")
    return Drawing(
        figure,
        "Left: the perceptron ends at the first plane without a mistake, another one for each order of the "
        f"rows, with margins from {min(told):.3f} to {max(told):.3f}. Right: the support vector machine "
        f"takes the one plane with the largest margin, {model.margin_:.3f}, whatever the order.",
    )


def _line(ax: Any, w: Vector, b: float, look: dict[str, Any]) -> None:
    """The line w·x + b = 0 across the window."""
    x = np.array([-4.0, 6.0])
    ax.plot(x, -(w[0] * x + b) / w[1], **look)


def kernels() -> Drawing:
    """Two moons with a linear, a polynomial and a Gaussian kernel."""
    from sklearn.datasets import make_moons

    X, labels = make_moons(120, noise=0.2, random_state=1)
    y = np.where(labels > 0, 1.0, -1.0)
    figure, axes = canvas(1, 3, width=4.0, height=3.5)
    for ax, kernel in zip(axes[0], ("linear", "poly", "rbf"), strict=True):
        model = KernelClassifier("hinge", kernel, gamma=1.0, C=5.0).fit(X, y)
        _levels(ax, model, X)
        _rows(ax, X, y, model.support_)
        wrong = int(np.sum(model.predict(X) != y))
        name = {"linear": "x·x′", "poly": "(1 + x·x′)³", "rbf": "exp(−‖x − x′‖²)"}[kernel]
        plane(ax, *LABELS, f"{name}\n{len(model.support_)} support vectors, {wrong} of {len(y)} wrong")
    legend(axes[0, 0], loc="upper right")
    return Drawing(
        figure,
        "The same machine with three kernels: where f = 0 (solid) and ±1 (dashed). The linear one cannot "
        "bend; the polynomial and the Gaussian one follow the moons. Each f is a weighted sum of kernels at "
        "the ringed rows alone, and each fit ends with a proven gap.",
    )


def tube() -> Drawing:
    """Support vector regression: no charge inside a tube of half-width ε."""
    random = np.random.default_rng(0)
    x = np.sort(random.uniform(-3, 3, 60))
    y = np.sin(1.5 * x) + 0.2 * random.normal(size=60)
    model = KernelRegressor("epsilon_insensitive(0.25)", gamma=1.0, C=20.0).fit(x[:, None], y)
    grid = np.linspace(-3.2, 3.2, 400)
    curve = model.predict(grid[:, None])
    figure, axes = canvas(1, 1, width=6.6, height=3.8)
    ax = axes[0, 0]
    ax.fill_between(grid, curve - 0.25, curve + 0.25, color=BLUE, alpha=0.15, label="tube, ε = 0.25")
    ax.plot(grid, curve, **stroke(1), label="f")
    ax.plot(x, y, ".", color=GREY, markersize=7, label="rows")
    ring = {"markerfacecolor": "none", "color": BLACK, "markersize": 10}
    ax.plot(x[model.support_], y[model.support_], "o", **ring, label="support vectors")
    frame(ax, "x", "y")
    legend(ax, ncols=2, fontsize=SMALL)
    return Drawing(
        figure,
        f"Support vector regression with a Gaussian kernel: rows inside the tube cost nothing and are not "
        f"needed; the {len(model.support_)} of {len(y)} on it or outside carry the curve.",
    )
