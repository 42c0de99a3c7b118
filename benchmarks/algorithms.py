"""Epochs of SGD, Pegasos and perceptron against scikit-learn's, and FISTA against its matrix products.

    python -m benchmarks.algorithms

Both sides do the same number of passes on the same objective; the time per pass and the objective reached
are printed. Compilation and reading are not counted on either side: the first fit is thrown away, and the
time, that of the processor, is the difference between many passes and one.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Perceptron, SGDClassifier

import dualgap as dg
from dualgap.fitting.reading import read
from dualgap.solvers.base import Iterate

PASSES = 8
LAM = 5e-5  # beside the mean loss; scikit-learn's alpha is twice that


def dense(n: int = 50_000, p: int = 100) -> tuple[Any, Any]:
    """Independent columns, labels of a plane with noise."""

    random = np.random.default_rng(0)
    X = random.standard_normal((n, p)) / np.sqrt(p)
    return X, np.where(X @ random.standard_normal(p) + 0.3 * random.standard_normal(n) > 0, 1, -1)


def text(n: int = 20_000, p: int = 50_000, words: int = 80) -> tuple[Any, Any]:
    """Rows of length one with words of falling frequency."""
    random = np.random.default_rng(1)
    columns = np.minimum((p ** random.random((n, words)) - 1).astype(int), p - 1)
    counts = sp.csr_array((np.ones(n * words), columns.ravel(), np.arange(0, n * words + 1, words)), (n, p))
    counts.sum_duplicates()
    counts.data = 1.0 + np.log(counts.data)
    X = sp.csr_array(sp.diags_array(1.0 / np.sqrt(counts.power(2).sum(axis=1))) @ counts)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # all that scikit-learn takes
    truth = random.standard_normal(p)
    return X, np.where(X @ truth + 0.1 * random.standard_normal(n) > 0, 1, -1)


def per_pass(run: Callable[[int], None]) -> float:
    """Seconds of one pass, the best of three."""
    run(1)
    found = []
    for _ in range(3):
        began = time.process_time()
        run(1)
        middle = time.process_time()
        run(1 + PASSES)
        found.append((time.process_time() - middle - (middle - began)) / PASSES)
    return min(found)


def objective(X: Any, y: Any, loss: str, w: Any, b: float) -> float:
    """The objective that both sides minimise."""

    strength: dict[str, Any] = {"penalty": "none"} if loss == "perceptron" else {"lam": LAM}
    reading = read(X, y, loss=loss, **strength)
    return reading.terms.problem(reading.table.design, reading.targets()).primal(np.append(w, b))


def ours(X: Any, y: Any, solver: Any, loss: str) -> tuple[float, float]:
    """Seconds a pass, and the objective at the end."""

    strength: dict[str, Any] = {"penalty": "none"} if loss == "perceptron" else {"lam": LAM}
    reading = read(X, y, loss=loss, **strength)
    problem = reading.terms.problem(reading.table.design, reading.targets())
    last: list[Any] = []

    def run(passes: int) -> None:
        for k, iterate in enumerate(solver.iterates(problem, Iterate(np.zeros(problem.p))), start=1):
            last[:] = [iterate.w]
            if k == passes:
                return

    seconds = per_pass(run)
    return seconds, objective(X, y, loss, last[0][:-1], last[0][-1])


def theirs(X: Any, y: Any, model: Any, loss: str) -> tuple[float, float]:
    """The same for a scikit-learn model."""

    def run(passes: int) -> None:
        model.set_params(max_iter=passes).fit(X, y)

    seconds = per_pass(run)
    return seconds, objective(X, y, loss, model.coef_[0], float(model.intercept_[0]))


def line(name: str, mine: tuple[float, float], other: tuple[float, float]) -> None:
    """One line of the table; a ratio above one is in our favour."""

    print(
        f"{name:<28}{1e3 * mine[0]:>9.2f} ms{1e3 * other[0]:>9.2f} ms{other[0] / mine[0]:>8.2f}×"
        f"{mine[1]:>11.5f}{other[1]:>11.5f}"
    )


def passes() -> None:
    """The table of the stochastic algorithms."""

    print(f"{'':<28}{'ours':>12}{'sklearn':>12}{'ratio':>9}{'objective':>11}{'theirs':>11}")
    common: dict[str, Any] = {"alpha": 2.0 * LAM, "tol": None, "shuffle": True, "random_state": 0}
    for name, (X, y) in {"dense": dense(), "text": text()}.items():
        for loss, solver in (
            ("hinge", dg.solvers.StochasticSubgradient()),
            ("log_loss", dg.solvers.StochasticGradient()),
            ("hinge", dg.solvers.Pegasos()),
        ):
            own = "logistic" if loss == "log_loss" else loss
            line(
                f"{name}, {solver.name}",
                ours(X, y, solver, own),
                theirs(X, y, SGDClassifier(loss=loss, **common), own),
            )
        rival = Perceptron(tol=None, shuffle=False, random_state=0)
        line(
            f"{name}, perceptron",
            ours(X, y, dg.solvers.Perceptron(doubt=10**9), "perceptron"),
            theirs(X, y, rival, "perceptron"),
        )


def products(steps: int = 200) -> None:
    """FISTA and projected gradient through the driver, against the products they cannot do without."""
    X, y = dense(20_000, 200)
    began = time.process_time()
    w, theta = np.ones(200), np.ones(len(y))
    for _ in range(steps):
        X @ w
        X.T @ theta
    floor = time.process_time() - began
    asked: dict[str, dict[str, Any]] = {
        "proximal_gradient": {"penalty": "l1", "lam": 1e-4},
        "projected_gradient": {"penalty": "l1", "budget": 5.0},
    }
    for solver, strength in asked.items():

        def run(count: int, solver: str = solver, strength: dict[str, Any] = strength) -> float:
            began = time.process_time()
            dg.fit(X, y, loss="squared_hinge", solver=solver, max_iter=count, tol=0.0, **strength)
            return time.process_time() - began

        run(1)
        spent = run(steps + 1) - run(1)
        print(f"{solver:<28}{1e3 * spent / steps:>9.2f} ms a step, {spent / floor:.2f}× its products")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    passes()
    products()
