"""Penalties: their balls, and what their corner at zero does in one dimension."""

from __future__ import annotations

import numpy as np

from dualgap.lectures.drawing import Drawing
from dualgap.lectures.style import MARKERS, canvas, frame, legend, plane, stroke
from dualgap.paths.request import path

POWERS = (0.5, 0.75, 1.0, 1.5, 2.0, 4.0, np.inf)


def norm_balls() -> Drawing:
    """{w: ‖w‖_p = 1} in the plane."""
    angle = np.linspace(0, 2 * np.pi, 2881)
    ray = np.column_stack([np.cos(angle), np.sin(angle)])
    figure, axes = canvas(1, 2, width=4.4, height=4.3)
    for k, p in enumerate(POWERS):
        name = "p = ∞" if np.isinf(p) else f"p = {p:g}"
        size = np.abs(ray).max(axis=1) if np.isinf(p) else (np.abs(ray) ** p).sum(axis=1) ** (1 / p)
        edge = ray / size[:, None]
        axes[0, int(p >= 1)].plot(edge[:, 0], edge[:, 1], **stroke(k), label=name)
    titles = ("p < 1: a star, not convex", "p ≥ 1: norms")
    for ax, title in zip(axes[0], titles, strict=True):
        ax.axhline(0, color="0.85", linewidth=0.7, zorder=0)
        ax.axvline(0, color="0.85", linewidth=0.7, zorder=0)
        plane(ax, "$w_1$", "$w_2$", title)
        ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        legend(ax, loc="center")
    return Drawing(
        figure,
        "All weights in the plane whose p-norm is 1: from a star (p < 1) over the diamond (p = 1) and the "
        "circle (p = 2) to the square (p = ∞). Corners on the axes, p ≤ 1, are what makes weights exactly "
        "zero; convexity, p ≥ 1, is what makes the minimum easy to find: p = 1 alone has both.",
    )


def one_dimension() -> Drawing:
    """(w − 2)² + λ w² and (w − 2)² + λ |w| against w for several λ, with their minima."""
    w = np.linspace(-1.2, 3.2, 881)
    choices = (
        ("l2", (0.0, 0.5, 1.0, 2.0, 5.0), "ridge", w**2),
        ("l1", (0.0, 1.0, 2.0, 4.0, 6.0), "lasso", np.abs(w)),
    )
    figure, axes = canvas(1, 2, width=4.7, height=4.0, sharey=True)
    for ax, (penalty, strengths, name, size) in zip(axes[0], choices, strict=True):
        found = path([[1.0]], [2.0], loss="squared", penalty=penalty, fit_intercept=False)
        for k, lam in enumerate(strengths):
            best = float(found.coef(lam=lam)[0])
            ax.plot(w, (w - 2) ** 2 + lam * size, **stroke(k), label=f"λ = {lam:g}: w* = {best:.3g}")
            height = (best - 2) ** 2 + lam * (best**2 if penalty == "l2" else abs(best))
            ax.plot(best, height, MARKERS[k], color=stroke(k)["color"], markersize=6)
        formula = "$\\lambda\\,w^2$" if penalty == "l2" else "$\\lambda\\,|w|$"
        frame(ax, "w", "R(w) + λ h(w)", f"{name}: $(w-2)^2$ + {formula}")
        ax.set(xlim=(-1.2, 3.2), ylim=(-0.3, 11))
        legend(ax, loc="lower left", handlelength=2.2, borderaxespad=0.1)
    return Drawing(
        figure,
        "The regularised risk of a single weight, with its minimum marked. Ridge stays a parabola and its "
        "minimum nears zero without reaching it. The lasso has a kink at w = 0; from λ = 4 on, where the "
        "slope of the risk at 0 is outweighed, the minimum is exactly w = 0.",
    )
