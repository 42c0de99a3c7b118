"""CPU seconds of the first call in a fresh cache, and of the first in a process that finds a warm one.

python -m benchmarks.first_use [name …]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

CALLS = {
    "path lasso": 'dg.path(X, y, loss="squared", penalty="l1")',
    "path absolute": 'dg.path(X, y, loss="absolute", penalty="l1")',
    "path hinge l2": 'dg.path(X, s, loss="hinge", penalty="l2")',
    "cross-validate lasso": 'dg.cross_validate(X, y, loss="squared", penalty="l1")',
    "best subset": 'dg.fit(X, y, loss="squared", penalty="l0", budget=3)',
    "fit lasso": 'dg.fit(X, y, loss="squared", penalty="l1", lam=0.1)',
    "fit logistic l1": 'dg.fit(X, s, loss="logistic", penalty="l1", lam=0.1)',
    "fit logistic l2": 'dg.fit(X, s, loss="logistic", penalty="l2", lam=0.1)',
    "fit hinge l2": 'dg.fit(X, s, loss="hinge", penalty="l2", lam=0.1)',
    "fit hinge l2, sparse": 'dg.fit(sp.csr_array(X), s, loss="hinge", penalty="l2", lam=0.1)',
    "LinearClassifier": "dg.LinearClassifier().fit(X, s)",
    "KernelClassifier": "dg.KernelClassifier().fit(X, s)",
}
SCRIPT = """
import time
import warnings
import numpy as np
import scipy.sparse as sp
import dualgap as dg

warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
X = rng.normal(size=(60, 10))
y = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=60)
s = np.where(y > 0, 1, -1)
began = time.process_time()
{call}
print(time.process_time() - began)
"""


def first_use(name: str) -> tuple[float, float]:
    """CPU seconds of a call with a fresh cache, and in the next process."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", SCRIPT.format(call=CALLS[name])]
        fresh, warm = (
            float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
            for _ in range(2)
        )
    return fresh, warm


def main(names: list[str]) -> None:
    """A line for each."""
    print(f"{'CPU seconds of the first call':32} {'fresh':>8} {'warm':>8}")
    for name in names or CALLS:
        fresh, warm = first_use(name)
        print(f"{name:32} {fresh:8.2f} {warm:8.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
