"""0 against 1: weight images under a budget, and what the test images say of it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.fitting.solution import Solution
from dualgap.lectures.data import Data, digits
from dualgap.lectures.drawing import Drawing
from dualgap.lectures.plane import PENALTIES
from dualgap.lectures.style import SMALL, canvas, frame, legend, log_ticks, stroke
from dualgap.paths.path import Path
from dualgap.paths.request import path

IMAGES = 6  # weights drawn as pictures, side by side
POINTS = 41  # budgets at which the test images are classified
RANGE = {"l2": 1000.0, "l1": 20.0}  # the largest budget over the smallest that is shown
ENDINGS = {
    "l2": "With ridge every pixel has a weight: a blurred 1 (blue) upon a blurred 0 (red), sharper and "
    "noisier as the budget grows.",
    "l1": "With a small budget the lasso keeps a pixel or two in the centre: the simplest way to tell 0 from "
    "1 is to look whether the middle is inked.",
}


def _image(ax: Any, values: Vector, **look: Any) -> Any:
    side = int(np.sqrt(len(values)))
    drawn = ax.imshow(values.reshape(side, side), interpolation="nearest", **look)
    ax.set(xticks=[], yticks=[])
    return drawn


def examples() -> Drawing:
    """The first images of either class."""
    data = digits(200)
    figure, axes = canvas(2, 10, width=0.85, height=1.05)
    for row, sign in zip(axes, (-1.0, 1.0), strict=True):
        rows = data.X[data.y == sign]
        for ax, values in zip(row, rows, strict=False):
            _image(ax, values, cmap="Greys", vmin=0.0, vmax=1.0)
        row[0].set_ylabel("0  (y = −1)" if sign < 0 else "1  (y = +1)", fontsize=SMALL)
    side = int(np.sqrt(data.X.shape[1]))
    return Drawing(
        figure,
        f"Images of 0 and of 1 ({data.origin}), {side} × {side} grey values each: these are the columns of "
        "X.",
    )


def _budgets(found: Path, penalty: str) -> Vector:
    """Up to where the budget no longer binds."""
    top = float(found.budgets[-1])
    return np.asarray(np.geomspace(top / RANGE[penalty], top, POINTS))


def _weights(axes: Any, answers: list[Solution], data: Data, wrong: Vector, marked: list[int]) -> None:
    for ax, k in zip(axes, marked, strict=True):
        w = answers[k].coef
        top = float(np.abs(w).max()) or 1.0
        _image(ax, w, cmap="RdBu", vmin=-top, vmax=top)
        words = f"c = {answers[k].terms.budget:.2g}\n{_counted(w)}\n{wrong[k]:.2f} % wrong"
        ax.set_title(words, fontsize=SMALL)


def _counted(w: Vector) -> str:
    count = int(np.count_nonzero(w))
    return "1 weight" if count == 1 else f"{count} weights"


def _curves(axes: Any, c: Vector, shown: tuple[Vector, Vector], marked: list[int]) -> None:
    for k, (ax, values, name) in enumerate(zip(axes, shown, ("hinge loss", "wrong, %"), strict=True)):
        ax.plot(c, values, **stroke(k), label="test")
        ax.plot(c[marked], values[marked], "os"[k], color=stroke(k)["color"], label="images above")
        log_ticks(ax)
        frame(ax, "budget c  (h(w) ≤ c)", name)
        legend(ax)


def weights(penalty: str) -> Drawing:
    """min mean hinge loss where h(w) ≤ c, for several c."""
    data = digits()
    found = path(data.X, data.y, loss="hinge", penalty=penalty)
    c = _budgets(found, penalty)
    answers = [found.solution(budget=float(one)) for one in c]
    m = np.array([one.decision_function(data.X_test) * data.y_test for one in answers])
    loss, wrong = np.maximum(0.0, 1.0 - m).mean(axis=1), 100.0 * np.mean(m <= 0.0, axis=1)
    marked = [int(k) for k in np.linspace(0, POINTS - 1, IMAGES).round()]
    figure, axes = _panels()
    _weights(axes[:IMAGES], answers, data, wrong, marked)
    _curves(axes[IMAGES:], c, (loss, wrong), marked)
    figure.suptitle(f"{data.origin}: hinge loss with {PENALTIES[penalty]}", fontsize=11)
    gap = max(one.relative_gap for one in answers)
    return Drawing(
        figure,
        f"Hinge loss with {PENALTIES[penalty]} under a budget c, {len(data.y)} images to fit and "
        f"{len(data.y_test)} to test. Above: the weights as images, blue for 1, red for 0, each with its own "
        "scale of colours. Below: test loss and error against c; with too little to spend, all images are "
        f"taken for the commoner digit. {ENDINGS[penalty]} All is read off one exact "
        f"path with {len(found)} breakpoints; the relative gaps are below {max(gap, 1e-15):.0e}.",
    )


def _panels() -> tuple[Any, list[Any]]:
    """A row of images above two curves."""
    figure, _ = canvas(1, 1, width=10.2, height=5.0)
    figure.clear()
    grid = figure.add_gridspec(2, IMAGES, height_ratios=(1.0, 1.5))
    images = [figure.add_subplot(grid[0, k]) for k in range(IMAGES)]
    half = IMAGES // 2
    return figure, [*images, figure.add_subplot(grid[1, :half]), figure.add_subplot(grid[1, half:])]


WEIGHTS = {f"mnist_hinge_{penalty}": partial(weights, penalty) for penalty in PENALTIES}
