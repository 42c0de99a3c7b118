"""Sparse and wide data on raw scales: seconds to a certified relative gap of 1e-6, and skglm's where it can.

    python -m benchmarks.everyday_sparse               every cell
    python -m benchmarks.everyday_sparse --only lasso  cells whose name holds the word

Shapes and numbers stored are those of problems met in practice; strengths are choices. Data are drawn, of the
same nature: counts of words by Zipf's law with topics and texts of very different length, and raw levels of
gene expression over five orders of magnitude. Seconds are of the processor, on one thread, the second of two
runs where the first took less than ten seconds, so that compilation is not in them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap as dg

Data = tuple[Any, np.ndarray]
SHORT = 10.0  # seconds: what took less is run again


@dataclass(frozen=True)
class SparseCell:
    """One problem: its data, and λ as a share of the one at which all weights are zero."""

    name: str
    data: Callable[[], Data]
    loss: str
    penalty: str
    share: float


def word_counts(n: int, p: int, stored: int, seed: int) -> tuple[sp.csr_array, np.ndarray]:
    """Counts, about `stored` of them not zero, and the topic of each row."""
    rng, topics = np.random.default_rng(seed), 20
    share, taste, topic = (
        1.0 / (np.arange(p) + 11.0),
        rng.integers(topics, size=p),
        rng.integers(topics, size=n),
    )
    words = 1.6 * stored / n
    X = sp.csr_array((n, p))
    for _ in range(6):  # until as many are stored
        length = np.maximum(rng.lognormal(np.log(words), 0.6, n).astype(int), 3)
        rows = np.repeat(np.arange(n), length)
        columns = np.empty(len(rows), dtype=np.int64)
        for t in range(topics):
            mine, weight = topic[rows] == t, np.cumsum(share * np.where(taste == t, 6.0, 1.0))
            drawn = np.searchsorted(weight / weight[-1], rng.random(int(mine.sum())))
            columns[mine] = np.minimum(drawn, p - 1)
        X = sp.csr_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, p)))
        X.sum_duplicates()
        words *= stored / X.nnz
    return X, topic


def text_classes(n: int, p: int, stored: int, seed: int) -> Data:
    """Is the topic even? One label in twenty is wrong."""
    X, topic = word_counts(n, p, stored, seed)
    wrong = np.random.default_rng(seed + 1).random(n) < 0.05
    return X, np.where((topic % 2 == 0) ^ wrong, 1.0, -1.0)


def text_targets(n: int, p: int, stored: int, seed: int) -> Data:
    """One word in twenty counts, by its logarithm; a fifth of the variance is noise."""
    X, _ = word_counts(n, p, stored, seed)
    rng = np.random.default_rng(seed + 1)
    logs = X.copy()
    logs.data = np.log1p(logs.data)
    signal = logs @ (rng.standard_normal(p) * (rng.random(p) < 0.05))
    return X, (signal - signal.mean()) / signal.std() + 0.5 * rng.standard_normal(n)


def expression(n: int, p: int, seed: int) -> Data:
    """Levels of columns that move together in modules, over five orders; the lowest drown in noise."""
    rng = np.random.default_rng(seed)
    modules = max(p // 50, 4)
    label, activity = np.where(rng.random(n) < 0.35, -1.0, 1.0), rng.standard_normal((n, modules))
    activity[:, :3] += 1.2 * label[:, None]
    moved = rng.gamma(2.0, 0.2, p) * activity[:, rng.integers(modules, size=p)]
    level = np.exp(rng.normal(5.5, 1.8, p) + moved + 0.3 * rng.standard_normal((n, p)))
    return np.round(level + 60.0 * rng.standard_normal((n, p))), label


def cells() -> list[SparseCell]:
    """The cells, cheap ones first."""
    genes, more_genes = partial(expression, 38, 7129, 1), partial(expression, 62, 2000, 2)
    wide, narrow = (
        partial(text_classes, 6412, 55197, 450_000, 3),
        partial(text_classes, 2935, 4274, 120_000, 6),
    )
    short, regression = (
        partial(text_classes, 2599, 21671, 62_458, 4),
        partial(text_targets, 3592, 3872, 218_865, 5),
    )
    found = [
        SparseCell(f"genes 38x7129, share {s:g}", genes, "logistic", "linf", s) for s in (1e-2, 1e-4, 1e-8)
    ]
    found += [
        SparseCell(f"genes 62x2000, share {s:g}", more_genes, "logistic", "linf", s) for s in (1e-2, 1e-8)
    ]
    return [
        *found,
        SparseCell("text 2599x21671, share 0.01", short, "squared_hinge", "l1", 1e-2),
        SparseCell("text 2599x21671, share 0.001", short, "squared_hinge", "l1", 1e-3),
        SparseCell("text 2935x4274, share 0.01", narrow, "logistic", "linf", 1e-2),
        SparseCell("text 3592x3872, share 0.01", regression, "absolute", "l1", 1e-2),
        SparseCell("text 3592x3872, share 0.001", regression, "absolute", "l1", 1e-3),
        SparseCell("text 6412x55197, share 0.01", wide, "hinge", "l1", 1e-2),
        SparseCell("text 6412x55197, share 0.01", wide, "logistic", "linf", 1e-2),
        SparseCell(
            "text 3948x10018, share 1/2350",
            partial(text_targets, 3948, 10018, 489_048, 1),
            "squared",
            "l1",
            1 / 2350,
        ),
    ]


def strength(X: Any, y: np.ndarray, cell: SparseCell) -> float:
    """λ: the share of the one at which the slopes of the loss at a constant are outweighed, roughly."""
    pull = np.abs(np.asarray(X.T @ (y - y.mean())).ravel()) / len(y)
    top = pull.sum() if cell.penalty == "linf" else pull.max()
    return float(cell.share * top * (2.0 if cell.loss == "squared" else 1.0))


def ours(X: Any, y: np.ndarray, cell: SparseCell, lam: float) -> tuple[float, float]:
    """Seconds and the certified relative gap."""
    spent, gap = np.inf, np.inf
    for _ in range(2):
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gap = dg.fit(X, y, loss=cell.loss, penalty=cell.penalty, lam=lam, max_time=120.0).relative_gap
        spent = time.process_time() - begin
        if spent > SHORT:
            break
    return spent, gap


def theirs(X: Any, y: np.ndarray, cell: SparseCell, lam: float) -> float | None:
    """skglm's seconds for the lasso, at its tolerance 1e-7; what it leaves is not judged here."""
    if (cell.loss, cell.penalty) != ("squared", "l1"):
        return None
    try:
        from skglm import Lasso  # type: ignore[import-not-found]
    except ImportError:
        return None
    spent = np.inf
    for _ in range(2):
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Lasso(alpha=lam / 2.0, tol=1e-7, max_iter=500).fit(sp.csc_matrix(X), y)
        spent = time.process_time() - begin
    return spent


def main(arguments: list[str] | None = None) -> int:
    """Run the cells asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="cells whose name contains this")
    only = parser.parse_args(arguments).only
    print("| problem | stored | ours, s | relative gap | skglm, s |\n|---|---|---|---|---|")
    for cell in cells():
        name = f"{cell.loss}+{cell.penalty} {cell.name}"
        if only not in name and not (only == "lasso" and cell.loss == "squared"):
            continue
        X, y = cell.data()
        lam = strength(X, y, cell)
        (spent, gap), peer = ours(X, y, cell, lam), theirs(X, y, cell, lam)
        stored = X.nnz if sp.issparse(X) else X.size
        print(
            f"| {name} | {stored} | {spent:.2g} | {gap:.1e} | {'' if peer is None else f'{peer:.2g}'} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
