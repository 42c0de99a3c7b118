"""Algorithms side by side: objective above the proven optimum, and gap, against iterations and seconds."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.trace import Trace
from dualgap.fitting.comparison import Comparison, compare
from dualgap.lectures.drawing import Drawing
from dualgap.lectures.style import GREY, MARKERS, canvas, frame, stroke

LOWEST = 1e-12  # relative to the objective; less is rounding
ITERATIONS = 2000  # of each run at most: descent shows its rate by then
SECONDS = 0.4  # of each run at most, so that a figure takes seconds

# name: (loss, penalty, strength, algorithms, what to see)
RACES: dict[str, tuple[str, str, dict[str, float], tuple[str, ...], str]] = {
    "race_ridge": (
        "squared",
        "l2",
        {"lam": 0.01},
        ("closed_form", "gradient_descent", "momentum", "nesterov", "stochastic_gradient"),
        "With 30 columns the closed form is one step and done; descent pays for the narrow valley of "
        "correlated columns, and momentum pays less.",
    ),
    "race_logistic": (
        "logistic",
        "l2",
        {"lam": 0.001},
        (
            "gradient_descent",
            "momentum",
            "nesterov",
            "stochastic_gradient",
            "newton",
            "interior_point",
            "augmented_lagrangian",
        ),
        "Newton's method doubles its digits at every step; first-order methods gain a fixed share at best.",
    ),
    "race_hinge": (
        "hinge",
        "l2",
        {"lam": 0.01},
        (
            "subgradient",
            "stochastic_subgradient",
            "pegasos",
            "dual_coordinate_ascent",
            "interior_point",
            "augmented_lagrangian",
            "quadratic_program",
        ),
        "Subgradients come near quickly and then crawl; methods that work on the dual, or on both, go all "
        "the way down and prove it.",
    ),
    "race_lasso": (
        "squared",
        "l1",
        {"lam": 0.01},
        (
            "subgradient",
            "stochastic_subgradient",
            "proximal_gradient",
            "coordinate_descent",
            "interior_point",
            "quadratic_program",
        ),
        "Taking the kink into the step (proximal, coordinate) beats sliding over it (subgradient).",
    ),
    "race_budget": (
        "logistic",
        "l1",
        {"budget": 5.0},
        ("projected_gradient", "interior_point", "augmented_lagrangian"),
        "The constrained form: a gradient step and a projection onto the diamond, against second-order "
        "methods.",
    ),
}
NEEDS = {"quadratic_program": "clarabel"}  # solver: the package without which it does not run


def _data() -> tuple[Matrix, Vector]:
    """Breast cancer, 569 rows, 30 columns of standard deviation one; numbers ±1."""
    from sklearn.datasets import load_breast_cancer

    X, labels = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(labels > 0, 1.0, -1.0)


def _available(name: str) -> bool:
    return name not in NEEDS or importlib.util.find_spec(NEEDS[name]) is not None


def _curves(ax: Any, found: Comparison, column: str, against: Any) -> None:
    floor = LOWEST * abs(found.optimum)
    for k, (name, solution) in enumerate(found.solutions.items()):
        x, values = _heights(solution.trace, column, found.optimum, against)
        mark = {"marker": MARKERS[k % 7], "markersize": 4, "markevery": [len(x) - 1]} if len(x) else {}
        ax.loglog(x, np.maximum(values, floor), **stroke(k, linewidth=1.2), **mark, label=name)
    ax.axhline(floor, color=GREY, linestyle=":", linewidth=1)


def _heights(trace: Trace, column: str, optimum: float, against: Any) -> tuple[Vector, Vector]:
    """What is drawn: the best objective above the optimum, or the gap where one was computed."""
    x = trace.column(against)
    values = trace.column("best") - optimum if column == "best" else trace.column("gap")
    shown = (x > 0) & np.isfinite(values)
    return x[shown], values[shown]


def race(name: str, *, iterations: int = ITERATIONS, seconds: float = SECONDS) -> Drawing:
    """Objective above the optimum and gap, against iterations and seconds."""
    loss, penalty, strength, algorithms, words = RACES[name]
    X, y = _data()
    runs = [one for one in algorithms if _available(one)]
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "tol": 1e-10, **strength}
    compare(runs, X, y, **asked | {"max_iter": 1})  # compiles what is not yet compiled, outside of the race
    found = compare(runs, X, y, **asked, max_iter=iterations, max_time=seconds)
    figure, axes = canvas(2, 2, width=4.8, height=3.3, sharey=True, sharex="col")
    labels = {"best": "objective above the optimum", "gap": "proven gap"}
    for row, column in zip(axes, labels, strict=True):
        for ax, against in zip(row, ("iteration", "seconds"), strict=True):
            _curves(ax, found, column, against)
            frame(ax, against if column == "gap" else "", labels[column] if against == "iteration" else "")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside lower center", ncols=4, fontsize=8, frameon=False, handlelength=3
    )
    ((kind, value),) = strength.items()
    figure.suptitle(f"{loss} + {penalty}, {'λ' if kind == 'lam' else 'c'} = {value:g}", fontsize=11)
    return Drawing(
        figure,
        f"{loss.capitalize()} loss with {penalty} on the breast cancer data (569 × 30), at most {iterations} "
        f"iterations or {seconds:g} s each. Top: the best objective so far above the proven optimum. Bottom: "
        f"the duality gap that the run itself can prove. {words} An iteration of one algorithm may cost many "
        "of another: compare the columns. The dotted line is where rounding begins.",
    )


DRAWN = {name: partial(race, name) for name in RACES}
