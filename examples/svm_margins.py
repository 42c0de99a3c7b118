"""Support vector machines in the plane: margins, slacks, support vectors; hard, soft, perceptron; kernels.

python examples/svm_margins.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import make_moons

import dualgap as dg

BLUE, RED, GREY = "#2066a8", "#c8502d", "#555555"


def two_clouds(overlap: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    up = rng.normal([2.2, 2.0], 0.75, (22, 2))
    down = rng.normal([-0.2, -0.1], 0.75, (22, 2))
    X, y = np.vstack([up, down]), np.repeat([1, 0], 22)
    near = 0.4 if overlap else -0.2
    X[0] = [1.0 - near, 1.0 - near]
    return X, y


def plane(axes: Axes, model: Any, X: Any) -> None:
    """Level lines −1, 0 and 1 of the decision function over a tinted ground."""
    low, high = X.min(axis=0) - 0.6, X.max(axis=0) + 0.6
    across, along = np.meshgrid(np.linspace(low[0], high[0], 240), np.linspace(low[1], high[1], 240))
    values = model.decision_function(np.column_stack([across.ravel(), along.ravel()])).reshape(across.shape)
    axes.contourf(across, along, np.sign(values), levels=[-2, 0, 2], colors=[RED, BLUE], alpha=0.08)
    axes.contour(
        across,
        along,
        values,
        levels=[-1, 0, 1],
        colors=GREY,
        linestyles=["--", "-", "--"],
        linewidths=[1, 1.6, 1],
    )


def points(axes: Axes, X: Any, y: Any, support: Any) -> None:
    """Rows by class; those that support the plane are ringed."""
    for label, colour, marker in ((0, RED, "s"), (1, BLUE, "o")):
        rows = X[y == label]
        axes.scatter(rows[:, 0], rows[:, 1], s=26, c=colour, marker=marker, zorder=3)
    rows = X[support]
    axes.scatter(
        rows[:, 0], rows[:, 1], s=110, facecolors="none", edgecolors="black", linewidths=1.1, zorder=4
    )


def slacks(axes: Axes, model: Any, X: Any, y: Any) -> None:
    """A line from each row inside the margin to the edge of its own side."""
    w = model.coef_[0]
    for row, sign, slack in zip(X, 2 * y - 1, model.slack_, strict=True):
        if slack > 1e-9:
            edge = row + sign * slack * w / (w @ w)
            axes.plot(*zip(row, edge, strict=True), color="black", lw=0.8, ls=":", zorder=2)


def machine(axes: Axes, C: float, overlap: bool, title: str) -> None:
    X, y = two_clouds(overlap)
    model = dg.LinearClassifier("hinge", C=C).fit(X, y)
    plane(axes, model, X)
    slacks(axes, model, X, y)
    points(axes, X, y, model.support_)
    axes.set_title(f"{title}\nmargin {model.margin_:.3f}, {len(model.support_)} support vectors", fontsize=10)
    axes.set_aspect("equal")


def linear_picture(folder: Path) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(13, 5.4), layout="constrained")
    machine(axes[0], float("inf"), False, "C = ∞ (hard margin)")
    machine(axes[1], 10.0, False, "C = 10, the same points")
    machine(axes[2], 1.0, True, "C = 1, classes that overlap")
    figure.savefig(folder / "svm_margins.png", dpi=110)
    plt.close(figure)


def perceptron_picture(folder: Path) -> None:
    """Planes that the perceptron stops at, one for each order of the rows, and the one in the middle."""
    X, y = two_clouds(False)
    figure, axes = plt.subplots(figsize=(6.2, 6), layout="constrained")
    hard = dg.LinearClassifier("hinge", C=float("inf")).fit(X, y)
    plane(axes, hard, X)
    points(axes, X, y, hard.support_)
    across = np.array([X[:, 0].min() - 0.6, X[:, 0].max() + 0.6])
    nearest = []
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(len(X))
        found = dg.fit(X[order], y[order], loss="perceptron", penalty="none", solver="perceptron")
        (a, b), c = found.coef, found.intercept
        axes.plot(across, -(c + a * across) / b, color="#9a7bb5", lw=1.0, zorder=1)
        nearest.append(np.min((2 * y - 1) * (X @ found.coef + c)) / np.linalg.norm(found.coef))
    axes.set(xlim=across, ylim=(X[:, 1].min() - 0.6, X[:, 1].max() + 0.6), aspect="equal")
    axes.set_title(
        "Eight perceptrons (violet) against the largest margin (black)\n"
        f"nearest row: {min(nearest):.3f} to {max(nearest):.3f} against {hard.margin_:.3f}",
        fontsize=10,
    )
    figure.savefig(folder / "svm_perceptron.png", dpi=110)
    plt.close(figure)


def kernel_picture(folder: Path) -> None:
    X, y = make_moons(120, noise=0.22, random_state=1)
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.3), layout="constrained")
    choices = (("hinge", "poly", 5.0), ("hinge", "rbf", 5.0), ("logistic", "rbf", 5.0))
    for place, (loss, kernel, C) in zip(axes, choices, strict=True):
        model = dg.KernelClassifier(loss, kernel, gamma=1.0, C=C).fit(X, y)
        plane(place, model, X)
        points(place, X, y, model.support_ if loss == "hinge" else [])
        if loss == "hinge":  # the further inside the margin, the larger the mark
            slack = np.maximum(1.0 - (2 * y - 1) * model.decision_function(X), 0.0)
            place.scatter(X[:, 0], X[:, 1], s=150 * slack, c="black", alpha=0.18, linewidths=0, zorder=2)
        gap = model.solution_.relative_gap
        place.set_title(
            f"{loss}, {kernel}: {len(model.support_)} support vectors, gap {gap:.0e}", fontsize=10
        )
    figure.savefig(folder / "svm_kernels.png", dpi=110)
    plt.close(figure)


def tube_picture(folder: Path) -> None:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 3, 60))
    y = np.sin(1.5 * x) + 0.2 * rng.normal(size=60)
    model = dg.KernelRegressor("epsilon_insensitive(0.25)", gamma=1.0, C=20.0).fit(x[:, None], y)
    grid = np.linspace(-3.2, 3.2, 400)
    curve = model.predict(grid[:, None])
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.fill_between(grid, curve - 0.25, curve + 0.25, color=BLUE, alpha=0.12)
    axes.plot(grid, curve, color=BLUE)
    axes.scatter(x, y, s=20, c=GREY, zorder=3)
    axes.scatter(x[model.support_], y[model.support_], s=90, facecolors="none", edgecolors="black", zorder=4)
    axes.set_title(f"Support vector regression: {len(model.support_)} of 60 rows outside the tube or on it")
    figure.savefig(folder / "svm_tube.png", dpi=110)
    plt.close(figure)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    linear_picture(folder)
    perceptron_picture(folder)
    kernel_picture(folder)
    tube_picture(folder)
    names = ("svm_margins", "svm_perceptron", "svm_kernels", "svm_tube")
    print(f"{', '.join(f'{name}.png' for name in names)} are in {folder.resolve()}")


if __name__ == "__main__":
    main()
