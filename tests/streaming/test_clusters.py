"""A real cluster of processes: the same bits on one worker and two, and a worker that dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from streaming.rows import drawn, parquet

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")


@contextmanager
def workers(count: int) -> Iterator[Any]:
    options = {"n_workers": count, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("dualgap.streaming.sampling.ALL", 0)
    monkeypatch.setattr("dualgap.streaming.sampling.ROWS", 1500)
    X, y, _ = drawn(6000)
    return parquet(X, y, tmp_path)


def test_files_are_read_by_the_workers_with_the_same_bits(rows: Any) -> None:
    found = []
    for count in (1, 2):
        with workers(count):
            found.append(dg.fit(rows, loss="huber", penalty="l1", lam=0.02))
    found.append(dg.fit(rows, loss="huber", penalty="l1", lam=0.02))
    assert all(one.converged for one in found)
    for one in found[1:]:
        assert np.array_equal(found[0].coef, one.coef) and found[0].bound == one.bound


def test_a_lost_worker_loses_nothing(rows: Any) -> None:
    killed: list[None] = []
    pids: list[int] = []

    def kill(record: Any) -> None:
        if not killed:
            killed.append(os.kill(pids[0], signal.SIGKILL))

    with workers(2) as client:
        pids += client.run(os.getpid).values()
        found = dg.fit(rows, loss="huber", penalty="l2", lam=0.01, callback=kill)
    assert killed and found.converged
    X, y, _ = drawn(6000)
    whole = dg.fit(X, y, loss="huber", penalty="l2", lam=0.01)
    assert found.objective >= whole.bound and whole.objective >= found.bound


def test_dask_arrays_and_frames_are_fitted_where_they_are() -> None:
    array, frames = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    import pandas as pd

    X, y, labels = drawn(6000)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)])
    with workers(2):
        cut = array.from_array(X, chunks=(700, 5)), array.from_array(labels, chunks=700)
        found = dg.fit(*cut, loss="hinge", lam=0.01)
        parts = frames.from_pandas(frame, npartitions=5)
        target = frames.from_pandas(pd.Series(y, name="y"), npartitions=5)
        other = dg.fit(parts, target, loss="squared", penalty="l1", lam=0.02)
    whole = dg.fit(X, labels, loss="hinge", lam=0.01)
    assert found.converged and found.objective >= whole.bound and whole.objective >= found.bound
    same = dg.fit(frame, y, loss="squared", penalty="l1", lam=0.02)
    assert other.names == tuple(frame.columns)
    assert other.objective >= same.bound and same.objective >= other.bound
