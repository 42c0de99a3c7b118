"""Closed form against gradient descent as the number of columns D grows: where do they cross?

    python examples/closed_form_against_descent.py [picture.png]

The closed form solves D equations: N·D² + D³ operations, whatever the data. Gradient descent pays 4·N·D a
step, and the number of steps depends on the conditioning alone, the ratio of the largest curvature to the
smallest, which λ bounds from below. So there are two pictures, one for an easy problem and one for a hard
one. All stop at the same proven relative gap; a star marks a run that did not reach it in time.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

import dualgap as dg

ROWS = 3000
COLUMNS = (10, 30, 100, 300, 1000, 2000)
TOLERANCE = 1e-4
MOST = 300  # steps
DESCENTS = ("gradient_descent", "nesterov")
STRENGTHS = {"easy, λ = 3": 3.0, "harder, λ = 0.1": 0.1}


def data(columns: int) -> tuple[Any, Any]:
    """Independent columns: kind to descent. A part common to all columns would cost it D times the steps."""
    random = np.random.default_rng(columns)
    X = random.standard_normal((ROWS, columns))
    return X, X @ random.standard_normal(columns) / np.sqrt(columns) + random.standard_normal(ROWS)


def seconds(X: Any, y: Any, solver: str, lam: float) -> tuple[float, int, bool]:
    """The better of two runs: the algorithm's own time (without reading X), steps, and was the gap proven?"""
    runs = [
        dg.fit(X, y, loss="squared", penalty="l2", lam=lam, solver=solver, tol=TOLERANCE, max_iter=MOST)
        for _ in range(2)
    ]
    best = min(runs, key=lambda run: run.trace[-1].seconds)
    return best.trace[-1].seconds, best.n_iter, best.converged


def crossing(columns: Any, closed: Any, descent: Any) -> float:
    """From where on descent stays faster, between two D on logarithmic axes; infinite if it is not."""
    ratio = np.log(np.array(closed) / np.array(descent))
    if ratio[-1] < 0.0:
        return np.inf
    slower = np.flatnonzero(ratio < 0.0)
    if not len(slower):
        return 0.0
    i = int(slower[-1])
    share = -ratio[i] / (ratio[i + 1] - ratio[i])
    return float(np.exp(np.log(columns[i]) + share * np.log(columns[i + 1] / columns[i])))


def measure() -> dict[str, dict[str, list[float]]]:
    """Seconds by problem and algorithm, a number per D."""
    times: dict[str, dict[str, list[float]]] = {}
    for label, lam in STRENGTHS.items():
        times[label] = {"closed_form": [], "gradient_descent": [], "nesterov": []}
        print(f"\n{label}: {ROWS} rows, to a relative gap of {TOLERANCE:g}")
        print(f"{'D':>6}{'closed form':>14}{'descent':>12}{'steps':>8}{'Nesterov':>12}{'steps':>8}")
        for columns in COLUMNS:
            X, y = data(columns)
            found = {solver: seconds(X, y, solver, lam) for solver in times[label]}
            for solver, (time, _, _) in found.items():
                times[label][solver].append(time)
            line = f"{columns:>6}{found['closed_form'][0]:>13.4f}s"
            for solver in DESCENTS:
                time, steps, proven = found[solver]
                line += f"{time:>11.4f}s{steps:>7d}{' ' if proven else '*'}"
            print(line)
    return times


def draw(times: dict[str, dict[str, list[float]]], where: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(times), figsize=(8.5, 3.6), sharey=True, layout="constrained")
    for one, (label, curves) in zip(axes, times.items(), strict=True):
        for solver, values in curves.items():
            one.loglog(COLUMNS, values, marker="o", ms=3, label=solver)
        for solver in DESCENTS:
            where_met = crossing(COLUMNS, curves["closed_form"], curves[solver])
            if 0.0 < where_met < np.inf:
                one.axvline(where_met, color="0.6", ls="--", lw=1)
                one.annotate(
                    f"D = {where_met:.0f}", (where_met, min(curves["closed_form"])), color="0.4", ha="right"
                )
        one.set(title=label, xlabel="columns D")
        one.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("seconds")
    axes[0].legend(frameon=False)
    figure.savefig(where, dpi=130)
    print(f"\npicture: {where}")


def main() -> None:
    warnings.simplefilter("ignore", dg.errors.NotCertifiedWarning)
    dg.fit(*data(5), loss="squared", penalty="l2", lam=0.1)  # what is loaded once is not measured
    times = measure()
    print()
    for label, curves in times.items():
        for solver in DESCENTS:
            met = crossing(COLUMNS, curves["closed_form"], curves[solver])
            told = {0.0: "is faster for every D", np.inf: "is slower than the closed form to the end"}
            text = told.get(met, f"is faster from D = {met:.0f} on")
            print(f"{label}: {solver} {text} (D up to {COLUMNS[-1]})")
    draw(times, sys.argv[1] if len(sys.argv) > 1 else "closed_form_against_descent.png")


if __name__ == "__main__":
    main()
