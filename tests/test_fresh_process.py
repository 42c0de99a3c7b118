"""Each thing that users call works as the first thing that a process does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FIRST = {
    "fit": 'dg.fit(X, y, loss="squared", penalty="l1", lam=0.1).converged',
    "explain": 'dg.explain(X, y, loss="squared", penalty="l1", lam=0.1) is not None',
    "list_solvers": "len(dg.list_solvers()) > 10",
    "path": 'len(dg.path(X, y, loss="squared", penalty="l2").lams)',
    "cross_validate": 'dg.cross_validate(X, y, loss="squared", penalty="l2") is not None',
    "certify": 'dg.certify(X, y, [0.0, 0.0], loss="squared", penalty="l2", lam=1.0).relative_gap >= 0',
    "subset": 'dg.fit(X, y, loss="squared", penalty="l0", budget=1).converged',
    "zero_one": 'dg.fit(X, y > 0, loss="zero_one", penalty="none").converged',
    "kernel": "dg.KernelRegressor().fit(X, y).predict(X).shape",
    "kernel C": "dg.KernelClassifier(C=float('inf')).fit(X[[0, 1, 4, 5]], [0, 0, 1, 1]).predict(X).shape",
    "multinomial": 'dg.fit(X, [0, 1, 2, 0, 1, 2], loss="logistic", lam=0.1).converged',
    "estimator": "dg.LinearRegressor().fit(X, y).predict(X).shape",
    "textbook": 'dg.fit(X, y, loss="squared", lam=0.1, solver="gradient_descent").objective > 0',
    "solvers": 'dg.fit(X, y, loss="squared", lam=0.1, solver=dg.solvers.Newton()).converged',
}
DATA = "X = np.array([[0., 1], [1, 3], [2, 2], [3, 5], [4, 1], [5, 4]]); y = np.array([-1., 0, 3, 2, 5, 4])"


@pytest.mark.parametrize("name", FIRST)
def test_first_call_of_a_process(name: str) -> None:
    code = f"import warnings; warnings.simplefilter('ignore')\nimport numpy as np, dualgap as dg\n{DATA}\n"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{code}found = {FIRST[name]}\nassert found is not None and found is not False",
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_same_fit_gives_the_same_bits_before_and_after_its_loops_are_compiled(tmp_path: Path) -> None:
    """In a fresh cache the first of them may find no compiled loop."""
    asked = [
        '"squared", penalty="l1", lam=0.05',
        '"squared", penalty="l0", budget=3',
        '"huber", penalty="l1", lam=0.05',
    ]
    code = (
        "import numpy as np, dualgap as dg\nrng = np.random.default_rng(0)\nX = rng.normal(size=(300, 20))\n"
    )
    code += "y = X[:, :8].sum(axis=1) + rng.normal(size=300)\n"
    for one in asked:
        code += f"found = [dg.fit(X, y, loss={one}) for _ in range(3)]\n"
        code += "assert all(np.array_equal(found[0].coef, other.coef) for other in found)\n"
        code += "assert all((found[0].objective, found[0].bound) == (o.objective, o.bound) for o in found)\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path)),
    )
    assert done.returncode == 0, done.stderr
