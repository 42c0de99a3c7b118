"""Many classes, as people meet them: joint softmax fits, a cross-validation, and the command's default.

`python -m benchmarks.everyday_classes [name …]` prints CPU seconds of ours and of scikit-learn's best solver
at the loosest tolerance that reaches a suboptimality of 1e-6, their ratio, and the gap that is certified.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

import dualgap as dg

CLOSE = 1e-6  # suboptimality that a peer has to reach, relative; the gap that ours has to prove
TOLERANCES = 10.0 ** -np.arange(1, 11)
REPEATS = 3  # of which the fastest counts
TOO_LONG = 30.0  # seconds of CPU after which a peer is not asked for more digits


@dataclass(frozen=True)
class Cell:
    """A problem: mean softmax loss + λ·penalty."""

    name: str
    X: Any
    y: Any
    lam: float
    penalty: str = "l2"

    def objective(self, coef: Any, intercept: Any) -> float:
        """At these weights."""
        scores = np.asarray(self.X @ coef.T) + intercept
        loss = float((logsumexp(scores, axis=1) - scores[np.arange(len(self.y)), self.y]).mean())
        size = np.abs(coef).sum() if self.penalty == "l1" else np.square(coef).sum()
        return loss + self.lam * float(size)


def drawn(n: int, p: int, classes: int, scale: float = 1.0) -> tuple[Any, Any]:
    """Gaussian rows, and classes drawn from a softmax."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p))
    scores = X @ (scale * random.standard_normal((p, classes))) + random.gumbel(size=(n, classes))
    return X, np.argmax(scores, axis=1)


def text(n: int = 5000, p: int = 20_000, classes: int = 20) -> tuple[Any, Any]:
    """Sparse rows of length one, a hundred numbers each."""
    random = np.random.default_rng(0)
    X = sp.random(n, p, density=0.005, format="csr", random_state=random)
    X.data = np.abs(random.standard_normal(X.nnz))
    X = sp.csr_array(sp.diags(1.0 / np.sqrt(np.maximum(X.multiply(X).sum(axis=1).A1, 1e-12))) @ X)
    scores = X @ (5.0 * random.standard_normal((p, classes))) + 0.5 * random.gumbel(size=(n, classes))
    return X, np.argmax(scores, axis=1)


def cells() -> Iterator[Cell]:
    """The fits."""
    digits, numbers = load_digits(return_X_y=True)
    data = {
        "digits": (digits / 16.0, numbers),
        "digits raw": (digits, numbers),
        "iris": load_iris(return_X_y=True),
        "20000x20x20": drawn(20_000, 20, 20),
        "2500x13x40": drawn(2500, 13, 40),
        "5000x200x5": drawn(5000, 200, 5, 0.2),
    }
    for name, (X, y) in data.items():
        for lam in (1e-3, 1e-6):
            yield Cell(f"{name} l2 {lam:g}", X, y, lam)
    for lam in (1e-4, 1e-6):
        yield Cell(f"text l2 {lam:g}", *text(), lam)
    for name in ("digits", "2500x13x40", "20000x20x20"):
        for lam in (1e-2, 1e-3):
            yield Cell(f"{name} l1 {lam:g}", *data[name], lam, "l1")


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time of the fastest of some runs, and what it found."""
    best, found = np.inf, None
    for _ in range(REPEATS):
        began = time.process_time()
        found = run()
        best = min(best, time.process_time() - began)
        if best > 1.0:
            break
    return best, found


def ours(cell: Cell) -> tuple[float, Any]:
    """dg.fit."""
    run = lambda: dg.fit(cell.X, cell.y, loss="logistic", penalty=cell.penalty, lam=cell.lam)  # noqa: E731
    run()  # compiled loops
    return seconds(run)


def peer(cell: Cell, solver: str, optimum: float) -> float:
    """One of scikit-learn's solvers at the loosest tolerance that serves, infinite if none does."""
    n = cell.X.shape[0]
    l1 = cell.penalty == "l1"
    C = 1.0 / (n * cell.lam * (1.0 if l1 else 2.0))
    for tol in TOLERANCES:
        model = LogisticRegression(C=C, solver=solver, tol=tol, max_iter=100_000, l1_ratio=1.0 if l1 else 0.0)
        taken, found = seconds(lambda model=model: model.fit(cell.X, cell.y))
        if cell.objective(found.coef_, found.intercept_) <= optimum * (1.0 + CLOSE):
            return taken
        if taken > TOO_LONG:
            break
    return np.inf


def fits(wanted: list[str]) -> None:
    """A line for each cell."""
    for cell in cells():
        if wanted and not any(word in cell.name for word in wanted):
            continue
        taken, found = ours(cell)
        solvers = ("saga",) if cell.penalty == "l1" else ("lbfgs", "newton-cg", "newton-cholesky")
        if sp.issparse(cell.X):
            solvers = solvers[:2]
        others = {one: peer(cell, one, found.objective) for one in solvers}
        tell(cell.name, taken, others, found.relative_gap)


def tell(name: str, taken: float, others: dict[str, float], gap: float) -> None:
    """One line: ours, the best peer, how many times as long that took, and the certified gap."""
    best = min(others, key=others.__getitem__, default="")
    against = f"{best} {others[best] * 1e3:9.1f} ms  {others[best] / taken:6.2f}x" if best else ""
    print(f"{name:24s} {taken * 1e3:9.1f} ms  {against}  gap {gap:.1e}", flush=True)


def cross_validation() -> None:
    """Digits, 100 strengths in 5 folds, all classes jointly."""
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    dg.cross_validate(X[:300], y[:300], loss="logistic", n_lams=3, progress=False)
    began = time.process_time()
    search = dg.cross_validate(X, y, loss="logistic", progress=False)
    taken = time.process_time() - began
    Cs = 1.0 / (2.0 * 0.8 * len(y) * search.lams)
    began = time.process_time()
    LogisticRegressionCV(Cs=Cs, cv=5, max_iter=10_000).fit(X, y)
    other = {"LogisticRegressionCV": time.process_time() - began}
    tell("cross-validation digits", taken, other, float(search.gaps.max()))


def command() -> None:
    """`dualgap fit` with nothing said but the target: 2500 rows, 13 columns, 40 classes."""
    from dualgap.cli.main import main

    X, y = drawn(2500, 13, 40)
    with tempfile.TemporaryDirectory() as folder:
        rows, page = Path(folder) / "rows.csv", Path(folder) / "page.html"
        head = ",".join([*(f"x{j}" for j in range(13)), "kind"])
        lines = (",".join([*(f"{value:.6g}" for value in x), f"class{k}"]) for x, k in zip(X, y, strict=True))
        rows.write_text("\n".join([head, *lines]) + "\n")
        began = time.process_time()
        main(["fit", str(rows), "--target", "kind", "--report", str(page)])
        print(f"{'dualgap fit, 40 classes':24s} {(time.process_time() - began) * 1e3:9.1f} ms", flush=True)


def main(words: list[str]) -> None:
    """Every table, or those that are named."""
    warnings.simplefilter("ignore")
    fits([word for word in words if word not in ("cv", "command")] or ([] if not words else ["nothing"]))
    if not words or "cv" in words:
        cross_validation()
    if not words or "command" in words:
        command()


if __name__ == "__main__":
    main(sys.argv[1:])
