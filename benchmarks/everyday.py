"""What people do first: small and medium tables, and the problems of a public benchmark, beside their peers.

    python -m benchmarks.everyday                   every cell and the estimators; about 15 minutes
    python -m benchmarks.everyday --only lasso      cells whose name holds the word

As `benchmarks.run`, with one column more: a peer's seconds to an answer that its own slopes prove to 1e-6, as
ours is proven. Public problems are drawn as benchopt draws them. First uses and many classes have programs of
their own, which are run after this one.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap as dg
from benchmarks.cells import Cell
from benchmarks.machine import heading, machine, versions
from benchmarks.problems import (
    Problem,
    correlated,
    dense_classes,
    heavy_regression,
    largest,
    text_classes,
)
from benchmarks.race import Rules, race
from benchmarks.tables import met, peer, ratio

SQUARES = ("sklearn", "skglm", "celer")
RIDGE = ("snapml", "liblinear", "sklearn")
SPARSE = ("skglm", "celer", "snapml", "liblinear")
OTHERS = (
    "first_use",
    "everyday_classes",
    "everyday_sparse",
)  # programs with a `main` of their own, where they exist
HEAD = "| cell | ours, ms | best peer, ms | ratio | at equal certificate | must | ok? | gap |"
RULE = "|---|---|---|---|---|---|---|---|"
MOST = 1.2  # times what `dg.fit` costs that an estimator may


def cells() -> Iterator[Cell]:
    """Every problem with the ratio that must be reached."""
    yield Cell("ridge diabetes 442x10", lambda seed: _diabetes("l2", seed), ("sklearn",), 1)
    yield Cell("lasso diabetes 442x10", lambda seed: _diabetes("l1", seed), SQUARES, 1)
    for n, p, must in (
        (150, 4, 1.0),
        (200, 500, 1.0),
        (1000, 10, 1.0),
        (2000, 2000, 1.0),
        (100_000, 400, 1.2),
    ):
        for strength in (1.0, 0.01):
            make = _signs((n, p), strength)
            yield Cell(f"logistic+l2 {n}x{p} lam={strength:g}", make, RIDGE, must)
    for p in (2000, 5000):
        for divide in (2, 10, 20):
            yield Cell(
                f"logistic+l1 500x{p} lmax/{divide}", _public("logistic", (500, p), divide), SPARSE, 1.2
            )
    for n, p in ((500, 600), (10_000, 100)):
        for divide in (2, 10, 20):
            yield Cell(f"lasso {n}x{p} lmax/{divide}", _public("squared", (n, p), divide), SQUARES, 1.2)
    for loss, rivals in (("hinge", RIDGE), ("squared_hinge", RIDGE), ("huber(1.0)", ("skglm",))):
        for n, p in ((300, 20), (3000, 50)):
            yield Cell(f"{loss}+l2 {n}x{p}", _bent(loss, (n, p)), rivals, 1)
    for divide in (2, 10, 20):
        make = _public("quantile(0.5)", (500, 200), divide)
        yield Cell(f"quantile+l1 500x200 lmax/{divide}", make, ("highs", "skglm", "asgl"), 1)


def _diabetes(penalty: str, seed: int) -> Problem:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    X = X * np.sqrt(len(y))  # columns of size one
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = np.ascontiguousarray(X[order]), y[order]
    lam = 0.1 if penalty == "l2" else largest(X, y - y.mean(), "squared") / 10
    return Problem(X, y, "squared", penalty, lam=lam, fit_intercept=True)


def _signs(size: tuple[int, int], strength: float) -> Callable[[int], Problem]:
    """Σ log(1 + e^−m) + strength/2 ‖w‖² on standard normal numbers and the signs of a plane."""

    def make(seed: int) -> Problem:
        rng = np.random.RandomState(seed)
        plane, X = rng.randn(size[1]), rng.randn(*size)
        return Problem(X, np.sign(X @ plane), "logistic", "l2", lam=strength / (2 * size[0]))

    return make


def _bent(loss: str, size: tuple[int, int]) -> Callable[[int], Problem]:
    """Losses with bends, at a usual strength: Σ loss/100 beside ‖w‖²/2 for classes."""

    def make(seed: int) -> Problem:
        if loss.startswith("huber"):
            return Problem(*heavy_regression(*size, seed), loss, "l2", lam=0.01, fit_intercept=True)
        return Problem(*dense_classes(*size, seed), loss, "l2", lam=50.0 / size[0])

    return make


def _public(loss: str, size: tuple[int, int], divide: float) -> Callable[[int], Problem]:
    def make(seed: int) -> Problem:
        X, y = correlated(*size, seed)
        y = np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y
        return Problem(X, y, loss, "l1", lam=largest(X, y, loss) / divide)

    return make


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    if "error" in row:
        return f"| {row['cell']} | failed: {row['error']} | | | | {row['must']:g} | no | |"
    best = (
        peer(row)
        if row["best_peer"] is None
        else f"{row['best_peer']} {1e3 * row['peers'][row['best_peer']]:.3g}"
    )
    certified = row.get("certified_ratio")
    word = {True: "yes", False: "no", None: "–"}[met(row)]
    return (
        f"| {row['cell']} | {1e3 * row['ours']:.3g} | {best} | {ratio(row)} | "
        f"{f'{certified:.3g}×' if certified else '–'} | {row['must']:g} | {word} | {row['gap']:.0e} |"
    )


def estimators() -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """(name, `dg.fit`, the estimator): what both cost is to be the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 40))
    score = X @ rng.standard_normal(40) + 2.0 * rng.standard_normal(10_000)
    y, words = np.where(score > 0, 1, -1), text_classes(2000, 50_000, 0)
    tables = [("10000x40", X, y), ("sparse 2000x50000", sp.csr_array(words[0]), words[1].astype(int))]
    for shape, table, labels in tables:
        for loss in ("hinge", "logistic", "squared_hinge"):
            asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "C": 1.0}
            yield (
                f"LinearClassifier({loss}, l2) {shape}",
                lambda table=table, labels=labels, asked=asked: dg.fit(table, labels, **asked),
                lambda table=table, labels=labels, asked=asked: dg.LinearClassifier(**asked).fit(
                    table, labels
                ),
            )
    for loss, penalty in (("squared", "l1"), ("squared", "l2"), ("absolute", "l2"), ("huber(1.0)", "l1")):
        asked = {"loss": loss, "penalty": penalty, "lam": 0.01}
        yield (
            f"LinearRegressor({loss}, {penalty}) 10000x40",
            lambda asked=asked: dg.fit(X, score, **asked),
            lambda asked=asked: dg.LinearRegressor(**asked).fit(X, score),
        )


def cost(solve: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Best seconds of the processor, and the most memory at once, in megabytes."""
    solve()
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        solve()
        seconds.append(time.process_time() - began)
    tracemalloc.start()
    solve()
    memory = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return min(seconds), memory


def _estimator_rows(only: str, repeats: int) -> list[dict[str, Any]]:
    rows = []
    for name, plain, wrapped in estimators():
        if only not in name:
            continue
        (seconds, memory), (own, held) = cost(plain, repeats), cost(wrapped, repeats)
        shares = own / seconds, held / memory
        rows.append({"estimator": name, "fit": (seconds, memory), "own": (own, held), "shares": shares})
        word = "yes" if max(shares) <= MOST else "no"
        print(
            f"| {name} | {1e3 * own:.3g}, {held:.3g} MB | dg.fit {1e3 * seconds:.3g}, {memory:.3g} MB | "
            f"{shares[0]:.2f}× time, {shares[1]:.2f}× memory | | {MOST} at most | {word} | |",
            flush=True,
        )
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Run the cells asked for and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--patience", type=float, default=20.0, help="seconds before a rival is given up")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="benchmarks/results/everyday")
    options = parser.parse_args(arguments)
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    rules, rows, lines = Rules(options.repeats, options.patience, certified=True), [], []
    print(HEAD, RULE, sep="\n")
    for cell in cells():
        if options.only in cell.name:
            rows.append(race(cell, options.seed, rules))
            lines.append(line(rows[-1]))
            print(lines[-1], flush=True)
    wrapped = _estimator_rows(options.only, options.repeats)
    table = {"machine": machine(), "versions": versions(), "results": rows, "estimators": wrapped}
    (folder / "everyday.json").write_text(json.dumps(table, indent=1), encoding="utf-8")
    shown = [heading(), "", HEAD, RULE, *lines, ""]
    (folder / "everyday.md").write_text("\n".join(shown), encoding="utf-8")
    for name in OTHERS if not options.only else ():
        try:
            importlib.import_module(f"benchmarks.{name}").main([])
        except ModuleNotFoundError:
            print(f"There is no benchmarks.{name} here.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
