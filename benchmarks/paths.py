"""Whole paths and cross-validation against the peers that have them.

    python -m benchmarks.paths --quick          lasso and ridge at the smaller size, every exact pair
    python -m benchmarks.paths                  the larger lasso and the cross-validation too
    python -m benchmarks.paths --only ridge     cells whose name holds the word

One thread, seconds of the processor, best of the repeats, compilation excluded by a first run. LARS is
exact, too; celer runs at 100 strengths with its own tolerance at 1e-7. Writes paths.md and paths.json into
the folder given.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegressionCV, Ridge, lars_path

import dualgap as dg
from benchmarks.machine import machine, versions
from benchmarks.problems import dense_classes, heavy_regression, sparse_signal

REGRESSION = ("squared", "absolute", "quantile(0.9)", "huber(0.5)", "epsilon_insensitive(0.3)")
REGRESSION += ("squared_epsilon_insensitive(0.3)",)


@dataclass(frozen=True)
class Cell:
    """A race: ours, the peers', and what must be reached: a ratio, or seconds where nobody else can do it."""

    name: str
    ours: Callable[[], Any]
    peers: dict[str, Callable[[], Any]]
    must: float = 0.0
    seconds: float = 0.0
    quick: bool = True


def lasso(n: int, p: int, quick: bool) -> Cell:
    """The lasso from λmax to λmax/1000: exact, against LARS, and against a hundred λ of celer and adelie."""
    X, y = sparse_signal(n, p, 0)
    X, y = np.asfortranarray(X - X.mean(axis=0)), y - y.mean()
    top = float(np.abs(X.T @ y).max()) / n

    def ours() -> Any:
        return dg.path(X, y, loss="squared", penalty="l1", lam_min_ratio=1e-3, fit_intercept=False)

    def lars() -> Any:
        return lars_path(X, y, method="lasso", max_iter=50_000, alpha_min=top * 1e-3)

    peers = {"lars_path": lars, "celer_path": lambda: _celer(X, y, top)}
    return Cell(f"lasso path {n}x{p}, exact", ours, peers, must=2.0, quick=quick)


def _celer(X: Any, y: Any, top: float) -> Any:
    from celer import celer_path

    return celer_path(X, y, pb="lasso", alphas=top * np.logspace(0, -3, 100), tol=1e-7, max_iter=200)


def ridge(n: int, p: int) -> Cell:
    """A hundred λ of ridge against scikit-learn's fastest way: the SVD with a vector of alphas."""
    X, y = heavy_regression(n, p, 0)
    lams = np.logspace(-4, 1, 100)

    def ours() -> Any:
        return dg.path(X, y, loss="squared", penalty="l2", lams=lams, fit_intercept=False).coefs

    def theirs() -> Any:
        return Ridge(alpha=lams * n, solver="svd", fit_intercept=False).fit(X, np.tile(y[:, None], 100)).coef_

    return Cell(f"ridge path {n}x{p}, 100 strengths", ours, {"Ridge svd": theirs}, must=5.0)


def exact(loss: str, penalty: str, n: int = 500, p: int = 50, seconds: float = 0.05) -> Cell:
    """An exact path that no peer has."""
    X, y = heavy_regression(n, p, 0) if loss in REGRESSION else dense_classes(n, p, 0)
    return Cell(
        f"{loss}+{penalty} path {n}x{p}",
        lambda: dg.path(X, y, loss=loss, penalty=penalty),
        {},
        seconds=seconds,
    )


def folds() -> Cell:
    """Ten folds, a hundred λ, logistic + l1, 2000×1000; liblinear through LogisticRegressionCV."""
    X, y = dense_classes(2000, 1000, 0)
    top = float(np.abs(X.T @ y).max()) / (2 * len(y))
    lams = top * np.logspace(0, -2, 100)

    def ours() -> Any:
        return dg.cross_validate(X, y, loss="logistic", penalty="l1", lams=lams, cv=10, fit_intercept=False)

    def theirs() -> Any:
        options: dict[str, Any] = {"solver": "liblinear", "tol": 1e-4, "fit_intercept": False, "cv": 10}
        return LogisticRegressionCV(Cs=1 / (lams * 1800), l1_ratios=[1.0], refit=False, **options).fit(X, y)

    return Cell(
        "10 folds, 100 strengths, logistic+l1 2000x1000", ours, {"liblinear": theirs}, 3.0, quick=False
    )


def cells() -> Iterator[Cell]:
    """Every row of the table."""
    yield lasso(500, 5000, True)
    yield lasso(1000, 10_000, False)
    yield ridge(20_000, 500)
    yield ridge(500, 20_000)
    for loss in (*REGRESSION, "hinge", "squared_hinge"):
        for penalty in ("l1", "l2", "elastic_net(0.5)"):
            yield exact(loss, penalty)
    yield exact("hinge", "l2", 2000, 50, 0.2)
    yield folds()


def timed(run: Callable[[], Any], repeats: int) -> float:
    """Best seconds of the processor; a run of over ten seconds is not repeated."""
    best = np.inf
    for _ in range(repeats):
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()
        best = min(best, time.process_time() - began)
        if best > 10.0:
            break
    return float(best)


def race(cell: Cell, repeats: int) -> dict[str, Any]:
    """One cell."""
    cell.ours()  # compiles
    row: dict[str, Any] = {"cell": cell.name, "ours": timed(cell.ours, repeats), "must": cell.must}
    row |= {"limit": cell.seconds, "peers": {}, "notes": {}}
    for name, peer in cell.peers.items():
        try:
            row["peers"][name] = timed(peer, repeats)
        except Exception as error:  # a peer that fails is a finding, not an end
            row["notes"][name] = f"{type(error).__name__}: {str(error)[:100]}"
    best = min(row["peers"].values(), default=None)
    row["ratio"] = None if best is None else best / row["ours"]
    return row


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    if not row["peers"]:
        return f"| {row['cell']} | {row['ours']:.3g} | none has it | | | under {row['limit']:g} s |"
    name = min(row["peers"], key=lambda key: row["peers"][key])
    seconds = row["peers"][name]
    ours = f"| {row['cell']} | {row['ours']:.3g} "
    return f"{ours}| {name} | {seconds:.3g} | {row['ratio']:.1f} | {row['must']:g}× |"


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table."""
    head = f"{machine()}; " + ", ".join(f"{k} {v}" for k, v in versions().items())
    lines = [head, "", "| path | ours, s | best peer | its s | ratio | must |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *map(line, rows)]) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Run the cells asked for and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave out the long ones")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results/local")
    options = parser.parse_args(arguments)
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for cell in cells():
        if options.only not in cell.name or (options.quick and not cell.quick):
            continue
        rows.append(race(cell, options.repeats))
        print(line(rows[-1]), flush=True)
        table = {"machine": machine(), "versions": versions(), "results": rows}
        (folder / "paths.json").write_text(json.dumps(table, indent=1))
        (folder / "paths.md").write_text(markdown(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
