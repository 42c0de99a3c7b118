"""Subgradients: all the slopes of lines that touch a convex function from below."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.fitting.names import loss_named
from dualgap.lectures.drawing import Drawing
from dualgap.lectures.style import BLUE, GREY, RED, SMALL, canvas, frame, legend, number, stroke


def _values(name: str, z: Vector) -> tuple[Vector, Vector]:
    """The loss and its slope, for the target +1 (hinge) or 0 (absolute)."""
    loss = loss_named(name)
    y = np.ones_like(z) if name == "hinge" else np.zeros_like(z)
    return loss.value(y, z), loss.derivative(y, z)


def _touching(ax: Any, name: str, kink: float, slopes: tuple[float, ...], labels: tuple[str, str]) -> None:
    z = np.linspace(kink - 2, kink + 2, 401)
    ax.plot(z, _values(name, z)[0], color=BLUE, linewidth=2.2, label=labels[0])
    for k, slope in enumerate(slopes):
        ax.plot(z, slope * (z - kink), **stroke(k + 2, linewidth=1.2), label=f"slope {number(slope)}")
    ax.plot(kink, 0, "o", color=RED)
    ax.set(xlim=(kink - 2, kink + 2), ylim=(-1.1, 2.1))
    frame(ax, labels[1], "value", f"{labels[0]} and lines that touch it")
    legend(ax, loc="upper center", fontsize=SMALL)


def _subdifferential(ax: Any, name: str, kink: float, labels: tuple[str, str]) -> None:
    before, after = np.linspace(kink - 2, kink - 1e-9, 2), np.linspace(kink + 1e-9, kink + 2, 2)
    low, high = _values(name, before)[1], _values(name, after)[1]
    ax.axhline(0, color="0.8", linewidth=0.7, zorder=0)
    ax.plot(before, low, color=BLUE, linewidth=2.2)
    ax.plot(after, high, color=BLUE, linewidth=2.2)
    ax.plot(
        [kink, kink],
        [low[-1], high[0]],
        color=RED,
        linewidth=3,
        label=f"at {kink:g}: all of [{number(low[-1])}, {number(high[0])}]",
    )
    ax.plot([kink] * 2, [low[-1], high[0]], "o", color=RED, markersize=5)
    nearest = float(_values(name, np.array([kink]))[1][0])
    ax.plot(
        kink, nearest, "D", markerfacecolor="white", color=GREY, label=f"taken: {nearest:g}, nearest to 0"
    )
    ax.set(xlim=(kink - 2, kink + 2), ylim=(-1.4, 1.4))
    frame(ax, labels[1], "slopes", f"subdifferential of {labels[0]}")
    legend(ax, loc="lower right")


def hinge() -> Drawing:
    """max(0, 1 − m) and its subdifferential."""
    figure, axes = canvas(1, 2, width=4.6, height=3.7)
    labels = ("max(0, 1 − m)", "margin m")
    _touching(axes[0, 0], "hinge", 1.0, (-1.0, -0.6, -0.2, 0.0), labels)
    _subdifferential(axes[0, 1], "hinge", 1.0, labels)
    return Drawing(
        figure,
        "The hinge loss has no derivative at m = 1. Every line through that point with a slope between −1 "
        "and 0 stays below it: these slopes are its subgradients there. Elsewhere there is one, the "
        "derivative.",
    )


def absolute() -> Drawing:
    """|x| and its subdifferential."""
    figure, axes = canvas(1, 2, width=4.6, height=3.7)
    labels = ("|x|", "x")
    _touching(axes[0, 0], "absolute", 0.0, (-1.0, -0.5, 0.0, 0.7, 1.0), labels)
    _subdifferential(axes[0, 1], "absolute", 0.0, labels)
    return Drawing(
        figure,
        "|x| has the derivative sign(x) but for x = 0, where every slope from −1 to 1 is a subgradient. Zero "
        "is among them, which is what makes x = 0 the minimum.",
    )
