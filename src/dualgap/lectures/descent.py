"""Gradient and subgradient descent: step sizes on a bowl, and rules for the length of a step."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.errors import NotCertifiedWarning
from dualgap.fitting.fit import fit
from dualgap.fitting.reading import read
from dualgap.lectures.drawing import Drawing
from dualgap.lectures.style import GREEN, GREY, RED, canvas, frame, legend, plane, stroke
from dualgap.solvers import GradientDescent, Subgradient
from dualgap.solvers.textbook.slopes import curvature_bound
from dualgap.solvers.textbook.steps import Constant, Harmonic, InverseRoot, InverseStrength, Ratio

STEPS = 30  # of every walk: enough to tell the four apart
START = np.array([-1.6, 1.4])  # off both axes, so that the valley has to be crossed and followed


def _bowl() -> tuple[Matrix, Vector]:
    """Rows whose mean squared loss is (w₁² + 8 w₂²)/2 about zero: a valley eight times as steep across."""
    return np.array([[1.0, 0.0], [0.0, np.sqrt(8.0)]]), np.zeros(2)


def _walk(step: float) -> tuple[Matrix, Vector]:
    """The weights that gradient descent passes through, with the objective at each."""
    X, y = _bowl()
    reading = read(X, y, loss="squared", penalty="none", fit_intercept=False)
    problem = reading.terms.problem(reading.table.design, reading.targets())
    size = step / curvature_bound(problem)
    steps = GradientDescent(step=size).iterates(problem, Iterate(START))
    w = np.array([START, *(one.w for one in itertools.islice(steps, STEPS))])
    return w, np.array([problem.primal(one, problem.predict(one)) for one in w])


def step_sizes() -> Drawing:
    """w ← w − η ∇P(w) with η too small, right and too large."""
    choices = (
        (0.12, "too small: 0.12/L"),
        (1.0, "right: 1/L"),
        (1.9, "large: 1.9/L"),
        (2.05, "too large: 2.05/L"),
    )
    figure, axes = canvas(2, 3, width=3.8, height=3.2)
    across, along = np.meshgrid(np.linspace(-2.1, 2.1, 101), np.linspace(-2.1, 2.1, 101))
    maps = (axes[0, 0], axes[0, 1], axes[1, 0], axes[1, 1])
    for k, (ax, (share, title)) in enumerate(zip(maps, choices, strict=True)):
        w, values = _walk(share)
        ax.contour(across, along, across**2 + 8 * along**2, levels=10, colors=GREEN, linewidths=0.7)
        ax.plot(w[:, 0], w[:, 1], "o-", color=RED, markersize=3, linewidth=1.0)
        ax.plot(0, 0, "+", color="black", markersize=10)
        plane(ax, "$w_1$", "$w_2$", title)
        ax.set(xlim=(-2.1, 2.1), ylim=(-2.1, 2.1))
        axes[0, 2].semilogy(values, **stroke(k), label=title)
    frame(axes[0, 2], "iteration", "objective above the minimum", "how fast")
    axes[0, 2].set_ylim(1e-6, 1e3)
    legend(axes[0, 2])
    _whole(axes[1, 2])
    return Drawing(
        figure,
        f"Gradient descent on a bowl, {STEPS} steps from the same start; L is the largest curvature. Too "
        "small a step creeps; 1/L goes straight across the valley and then along it; near 2/L it jumps from "
        "wall to wall; beyond 2/L every jump is larger than the last.",
    )


def _whole(ax: Any) -> None:
    """The objective after so many steps, for every step size."""
    shares = np.linspace(0.05, 2.1, 83)
    ends = [float(_walk(float(share))[1][-1]) for share in shares]
    ax.semilogy(shares, ends, **stroke(0))
    ax.axvline(2.0, color=GREY, linestyle=":", linewidth=1)
    frame(ax, "step size × L", f"objective after {STEPS} steps", "the 'Goldilocks' range")


def step_rules() -> Drawing:
    """Subgradient descent on hinge + l2 with every rule of the lectures."""
    random = np.random.default_rng(1)
    X = random.standard_normal((200, 5))
    y = np.where(X @ random.standard_normal(5) + random.standard_normal(200) > 0, 1.0, -1.0)
    asked: dict[str, Any] = {"loss": "hinge", "penalty": "l2", "lam": 0.05, "fit_intercept": False}
    optimum = fit(X, y, tol=1e-10, **asked).bound
    rules = {
        "constant 0.3": Constant(0.3),
        "constant 0.02": Constant(0.02),
        "1/(k + 1)": Harmonic(1.0),
        "α/(β + k) = 10/(10 + k)": Ratio(10.0, 10.0),
        "α/√k": InverseRoot(),
        "1/(2λk), Pegasos": InverseStrength(),
    }
    figure, axes = canvas(1, 2, width=5.0, height=3.9, sharey=True)
    for k, (name, rule) in enumerate(rules.items()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotCertifiedWarning)
            trace = fit(X, y, solver=Subgradient(step=rule), max_iter=1000, tol=0.0, **asked).trace
        for ax, column in zip(axes[0], ("objective", "best"), strict=True):
            above = np.maximum(trace.column(column) - optimum, 1e-16)
            i = trace.column("iteration")
            ax.loglog(i[i > 0], above[i > 0], **stroke(k, linewidth=1.1), label=name)
    frame(axes[0, 0], "iteration k", "objective above the optimum", "this iterate")
    frame(axes[0, 1], "iteration k", "", "the best so far")
    legend(axes[0, 1], loc="lower left")
    return Drawing(
        figure,
        "Subgradient descent on hinge loss with ridge (λ = 0.05). The objective need not fall at every step "
        "(left), so the best iterate is kept (right). Constant steps stop at a distance that grows with the "
        "step; steps that shrink get there, fastest here where they know the strength of the penalty.",
    )
