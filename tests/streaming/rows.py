"""Rows for streams, and every way to hand them over in small blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import dualgap as dg
from cases import taken
from dualgap import losses
from dualgap.losses import Loss
from dualgap.traits import Trait

LOSSES = [loss for loss in (cls() for cls in losses.CATALOGUE.values()) if Trait.CONVEX in loss.traits]
P = 5
SCALES, CENTRES = np.array([1.0, 3.0, 0.2, 1.0, 10.0]), np.array([0.0, 5.0, 0.0, 1.0, -20.0])


def drawn(n: int = 6000, seed: int = 0) -> tuple[Any, Any, Any]:
    """X, targets that are numbers, labels."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, P))
    Z[:, 3] = Z[:, 3] > 0.5
    z = Z @ np.array([1.0, -0.5, 0.0, 0.8, 0.0])
    y = z + rng.standard_t(5, size=n)
    labels = np.where(z - z.mean() + rng.logistic(size=n) > 0.0, 1, 0)
    return Z * SCALES + CENTRES, y, labels


def targets(loss: Loss, y: Any, labels: Any) -> Any:
    """Those that the loss takes."""
    return labels if Trait.CLASSIFICATION in loss.traits else taken(loss, y)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and samples so small that a few thousand rows are many of them."""
    monkeypatch.setattr("dualgap.blocks.source.ROWS", 700)
    monkeypatch.setattr("dualgap.streaming.sampling.ALL", 0)
    monkeypatch.setattr("dualgap.streaming.sampling.ROWS", 1500)
    monkeypatch.setattr("dualgap.streaming.sampling.PER_COLUMN", 1)
    monkeypatch.setattr("dualgap.fitting.moments.FEW_ROWS", 500)


def _frame(X: Any, y: Any) -> pa.Table:
    return pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})


def memory(X: Any, y: Any, folder: Path) -> Any:
    return dg.dataset(X, y)


def npy(X: Any, y: Any, folder: Path) -> Any:
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return dg.dataset((folder / "X.npy", folder / "y.npy"))


def parquet(X: Any, y: Any, folder: Path) -> Any:
    half = len(y) // 2
    pq.write_table(_frame(X[:half], y[:half]), folder / "a.parquet", row_group_size=500)
    pq.write_table(_frame(X[half:], y[half:]), folder / "b.parquet", row_group_size=400)
    return dg.dataset(str(folder / "*.parquet"), target="y")


def csv(X: Any, y: Any, folder: Path) -> Any:
    pa.csv.write_csv(_frame(X, y), folder / "rows.csv")
    return dg.dataset(folder / "rows.csv", target="y")


def table(X: Any, y: Any, folder: Path) -> Any:
    return dg.dataset(_frame(X, y), target="y")


def arrow_dataset(X: Any, y: Any, folder: Path) -> Any:
    parquet(X, y, folder)
    return dg.dataset(pa.dataset.dataset(folder, format="parquet"), target="y")


def chunks(X: Any, y: Any, folder: Path) -> Any:
    def blocks() -> Iterator[tuple[Any, Any]]:
        for i in range(0, len(y), 333):
            yield X[i : i + 333], y[i : i + 333]

    return dg.dataset(blocks)


def dask_array(X: Any, y: Any, folder: Path) -> Any:
    array = pytest.importorskip("dask.array")
    return dg.dataset(array.from_array(X, chunks=(900, 2)), array.from_array(y, chunks=900))


SOURCES: list[Callable[[Any, Any, Path], Any]] = [
    memory,
    npy,
    parquet,
    csv,
    table,
    arrow_dataset,
    chunks,
    dask_array,
]
