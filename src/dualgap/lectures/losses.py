"""Losses: against the margin, against the residual, and why the convex ones are taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.fitting.fit import fit
from dualgap.fitting.names import loss_named
from dualgap.lectures.drawing import Drawing
from dualgap.lectures.style import BLACK, BLUE, GREY, RED, canvas, frame, legend, note, stroke
from dualgap.losses import Loss, Sigmoid

MARGIN = "margin  $m = y\\,(w\\cdot x + b)$"


def _at(loss: str | Loss, m: Vector) -> Vector:
    """L(+1, m)."""
    return loss_named(loss).value(np.ones_like(m), m)


def _steps(ax: Any) -> None:
    """The zero_one loss as it is: a step, closed on the left."""
    ax.plot([-3, 0], [1, 1], **stroke(0, linewidth=2.2), label="zero_one")
    ax.plot([0, 3], [0, 0], **stroke(0, linewidth=2.2))
    ax.plot([0], [1], "o", color=BLACK, markersize=5)
    ax.plot([0], [0], "o", markerfacecolor="white", color=BLACK, markersize=5)


def zero_one() -> Drawing:
    """1[m ≤ 0] against m."""
    figure, axes = canvas(1, 1, width=5.2, height=3.4)
    ax = axes[0, 0]
    _steps(ax)
    ax.annotate(
        "a hair's breadth\nchanges everything",
        (0.02, 0.5),
        (0.7, 0.6),
        fontsize=9,
        arrowprops={"arrowstyle": "->", "color": GREY},
    )
    note(ax, "nothing changes", (-2.2, 1.05), fontsize=9)
    ax.set(xlim=(-3, 3), ylim=(-0.1, 1.3))
    frame(ax, MARGIN, "loss")
    return Drawing(
        figure,
        "The zero_one loss: an error counts 1, whatever its size. It is flat almost everywhere, so a small "
        "change of the weights says nothing about where to go, and at m = 0 the smallest change decides.",
    )


def s_shaped() -> Drawing:
    """1/(1 + e^(sm)) against m; beside it, chords of a function that is convex and of one that is not."""
    m = np.linspace(-3, 3, 601)
    figure, axes = canvas(1, 2, width=5.0, height=3.5)
    left, right = axes[0]
    _steps(left)
    for k, s in enumerate((1.0, 4.0, 16.0), start=1):
        left.plot(m, _at(Sigmoid(s), m), **stroke(k), label=f"sigmoid({s:g})")
    frame(left, MARGIN, "loss", "zero_one and its S-shaped stand-in")
    legend(left)
    right.plot(m, _at("logistic", m) / np.log(2.0), **stroke(0), label="logistic / log 2: convex")
    right.plot(m, _at(Sigmoid(4.0), m), **stroke(1), label="sigmoid(4): not convex")
    ends = np.array([-1.5, 2.2])
    right.plot(ends, _at("logistic", ends) / np.log(2.0), "o:", color=GREY, markersize=4, label="chords")
    ends = np.array([-2.6, 0.4])
    right.plot(ends, _at(Sigmoid(4.0), ends), "o:", color=GREY, markersize=4)
    note(right, "chord below the curve", (-2.3, 0.12))
    note(right, "chord above the curve", (0.15, 1.5))
    right.set_ylim(-0.05, 3.2)
    frame(right, MARGIN, "loss", "what convex means")
    legend(right)
    return Drawing(
        figure,
        "Left: smooth approximations of the zero_one loss; the steeper, the closer, and the flatter away "
        "from 0. Right: every chord of a convex function lies above it; that of the S does not, and a ball "
        "dropped at its left end stays there.",
    )


def margin_losses() -> Drawing:
    """Every loss of classification against the margin, scaled as in the lectures to be above zero_one."""
    m = np.linspace(-2.2, 3, 701)
    curves = {
        "hinge": _at("hinge", m),
        "logistic / log 2": _at("logistic", m) / np.log(2.0),
        "exponential": _at("exponential", m),
        "squared": _at("squared", m),
        "squared_hinge (as squared for m < 1)": _at("squared_hinge", m),
        "perceptron": _at("perceptron", m),
    }
    figure, axes = canvas(1, 1, width=6.4, height=4.4)
    ax = axes[0, 0]
    _steps(ax)
    for k, (name, values) in enumerate(curves.items(), start=1):
        ax.plot(m, values, **stroke(k), label=name)
    ax.set(xlim=(-2.2, 3), ylim=(-0.15, 5.2))
    frame(ax, MARGIN, "loss")
    legend(ax, loc="upper right", bbox_to_anchor=(0.9, 1.0))
    return Drawing(
        figure,
        "Convex stand-ins for the zero_one loss. All but the perceptron's lie above it, so making them small "
        "makes errors few. For large errors hinge and logistic grow linearly, squared and exponential "
        "faster; for large margins the hinge is content at 1, logistic and exponential always want more, and "
        "the squared loss punishes m = 3 as much as m = −1. The perceptron's asks for no margin at all.",
    )


def classification_losses() -> Drawing:
    """The three of the lecture on linear methods."""
    m = np.linspace(-2.5, 2.5, 501)
    figure, axes = canvas(1, 1, width=5.6, height=3.8)
    ax = axes[0, 0]
    _steps(ax)
    ax.plot(m, _at("hinge", m), **stroke(1), label="hinge")
    ax.plot(m, _at("logistic", m), **stroke(2), label="logistic")
    ax.set(xlim=(-2.5, 2.5), ylim=(-0.1, 3.6))
    frame(ax, MARGIN, "loss")
    legend(ax)
    return Drawing(
        figure,
        "The hinge touches the corner of the step: no convex function that vanishes for large margins comes "
        "closer. The logistic loss is smooth; without the factor 1/log 2 it dips below the step near m = 0.",
    )


def regression_losses() -> Drawing:
    """L against the residual z − y."""
    r = np.linspace(-3, 3, 601)
    names = ("squared", "absolute", "huber(1)", "quantile(0.8)", "epsilon_insensitive(0.5)")
    figure, axes = canvas(1, 1, width=6.2, height=4.2)
    ax = axes[0, 0]
    for k, name in enumerate(names):
        ax.plot(r, loss_named(name).value(np.zeros_like(r), r), **stroke(k), label=name)
    ax.set(xlim=(-3, 3), ylim=(-0.15, 5.2))
    frame(ax, "residual  $f(x) - y$", "loss")
    legend(ax, loc="upper center")
    return Drawing(
        figure,
        "Squared: one large residual outweighs many small ones. Absolute and huber grow linearly, so an "
        "outlier cannot take over. Quantile(0.8) charges four times as much for a prediction that is too "
        "low. Epsilon_insensitive, that of support vector regression, forgives up to ε = 0.5.",
    )


def worked_example() -> Drawing:
    """Five points and the lines through the origin that the squared and the absolute loss choose."""
    x, y = np.array([1.0, 3.0, 3.5, 7.0, 9.0]), np.array([1.0, 2.5, 6.5, 7.0, 9.0])
    figure, axes = canvas(1, 2, width=4.6, height=3.7)
    left, right = axes[0]
    left.plot(x, y, "o", color=BLACK, label="data")
    w = np.linspace(0.6, 1.5, 451)
    ends, found = np.array([0.0, 10.0]), []
    for k, name in enumerate(("squared", "absolute")):
        slope = float(fit(x[:, None], y, loss=name, penalty="none", fit_intercept=False).coef[0])
        found.append(slope)
        look = stroke(k, color=(BLUE, RED)[k])
        left.plot(ends, slope * ends, **look, label=f"{name}: w = {slope:.6g}")
        risk = np.abs(np.outer(w, x) - y) ** (2 - k)
        right.plot(w, risk.mean(axis=1), **look, label=f"mean {name} loss")
        right.plot(slope, np.mean(np.abs(slope * x - y) ** (2 - k)), "os"[k], color=look["color"])
    frame(left, "x", "y", "five points, lines through the origin")
    frame(right, "w", "empirical risk R(w)", "what is minimised")
    legend(left)
    legend(right)
    return Drawing(
        figure,
        f"The squared loss gives w = {found[0]:.6f}; the absolute loss gives w = {found[1]:g}, exactly, for "
        "its risk is made of straight pieces and the minimum is at a corner, where the line passes through "
        "points.",
    )
