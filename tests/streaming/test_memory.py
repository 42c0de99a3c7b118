"""A hard limit of memory, in a process of its own: rows of three times that are fitted and proven."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dualgap as dg
from dualgap.blocks.addresses import addresses_left

P, PART = 40, 1 << 18  # columns, and rows of a file: six of these are 500 MB as 8-byte numbers
LIMIT = 1000 << 20  # of addresses: libraries and threads have half of it, copies of all rows would not fit
ALONE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
import dualgap as dg
rows = dg.dataset({pattern!r}, target={target!r}, columns=[f"x{{j}}" for j in range({p})])
found = dg.fit(rows, loss={loss!r}, penalty="l2", lam=1e-4)
print(found.converged, found.objective, found.bound)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of rows, many times the same: what counts is how many there are."""
    where = tmp_path_factory.mktemp("big")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(PART, P)).astype(np.float32)
    z = X[:, 0] - 0.5 * X[:, 1]
    columns = {f"x{j}": X[:, j] for j in range(P)}
    columns["y"] = z + rng.standard_t(5, PART)
    columns["label"] = (z + rng.logistic(size=PART) > 0.0).astype(np.int8)
    for k in range(6):
        pq.write_table(pa.table(columns), where / f"part{k}.parquet", row_group_size=1 << 16)
    return where


@pytest.mark.parametrize(("loss", "target"), [("squared", "y"), ("logistic", "label"), ("hinge", "label")])
def test_a_limit_of_addresses_is_kept(loss: str, target: str, folder: Path) -> None:
    told = ALONE.format(limit=LIMIT, pattern=str(folder / "*.parquet"), target=target, p=P, loss=loss)
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    converged, objective, bound = done.stdout.split()
    one = dg.dataset(folder / "part0.parquet", target=target, columns=[f"x{j}" for j in range(P)])
    alone = dg.fit(one, loss=loss, penalty="l2", lam=1e-4)  # six copies of its rows have the same mean loss
    assert converged == "True"
    assert float(objective) >= alone.bound and alone.objective >= float(bound)


PAGES = """
import resource, numpy as np
from dualgap.blocks.addresses import kept
with kept():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(1000):
        np.ones(1 << 16)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_a_task_keeps_its_memory_where_a_process_is_told_to_give_all_back_at_once() -> None:
    told = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run([sys.executable, "-c", PAGES], capture_output=True, text=True, check=True, env=told)
    assert int(done.stdout) < 20_000  # else each array is fetched anew: 128 000


def test_what_is_left_of_a_limit() -> None:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    if limits[0] == resource.RLIM_INFINITY:
        assert addresses_left() is None
    told = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({LIMIT}, {LIMIT}))\n"
        "from dualgap.drive.memory import free_bytes; print(free_bytes())"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < LIMIT
