"""After `dualgap warm` no everyday call compiles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

AFTERWARDS = """
import warnings; warnings.simplefilter("ignore")
import numpy as np, scipy.sparse as sp
import dualgap as dg
rng = np.random.default_rng(5)
X, W = rng.normal(size=(80, 6)), sp.random_array((90, 300), density=0.05, rng=rng, format="csc")
y = X[:, 0] + rng.normal(size=80)
s = np.where(y > 0, "yes", "no")
t, c = rng.normal(size=90), rng.random(90) > 0.5
dg.path(X, y, loss="squared", penalty="l1")
dg.path(np.asfortranarray(X), y, loss="huber(1.0)", penalty="l1")
dg.path(X, s, loss="hinge", penalty="l2")
dg.cross_validate(X, y, loss="squared", penalty="elastic_net(0.5)")
dg.fit(X, y, loss="squared", penalty="l0", budget=2)
dg.fit(X[:, :2], s, loss="zero_one", penalty="none")
dg.fit(W, t, loss="squared", penalty="l1", lam=0.1)
dg.fit(W, c, loss="logistic", penalty="l1", lam=0.1)
dg.fit(W, c, loss="hinge", penalty="l2", lam=0.1)
dg.LinearClassifier().fit(W.tocsr(), c)
dg.LinearRegressor().fit(X, y)
dg.KernelClassifier().fit(X, s)
from dualgap.compiled.mechanism import COMPILED
print([loop.__name__ for loop in COMPILED if sum(loop.stats.cache_misses.values())])
"""


@pytest.fixture(scope="module")
def warmed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, object]]:
    """The environment with a warm cache, and what the command said."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    done = subprocess.run(
        [sys.executable, "-m", "dualgap", "warm", "--jobs", "2", "--json"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return environment, json.loads(done.stdout)


def test_it_says_what_it_compiled_and_where(warmed: tuple[dict[str, str], dict[str, object]]) -> None:
    environment, told = warmed
    assert isinstance(told["compiled"], int)
    assert told["compiled"] > 30
    assert list(Path(str(told["folder"])).rglob("*.nbi"))
    assert str(told["folder"]).startswith(environment["NUMBA_CACHE_DIR"])


def test_nothing_is_compiled_afterwards(warmed: tuple[dict[str, str], dict[str, object]]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AFTERWARDS], env=warmed[0], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip() == "[]", done.stderr
