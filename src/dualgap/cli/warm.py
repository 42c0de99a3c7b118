"""Compile now, on all cores, what the library would otherwise compile when it is first asked for it.

Compiled loops are kept for later processes; without this the first path takes some seconds more.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from dualgap.cli.console import OK, Console


def arguments(parser: argparse.ArgumentParser) -> None:
    """How many processes."""
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes, one a core if not given"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Each group of loops in a process, then all in one: of two that keep one loop at once, one is lost."""
    from dualgap.drive.progress import ProgressLine, bar, clock

    began, found, total = time.perf_counter(), 0, len(GROUPS) + 1
    with ProgressLine() as line, _processes(max(args.jobs, 1)) as pool:
        asked = [pool.submit(compile_group, name) for name in GROUPS]
        for done, one in enumerate(as_completed(asked), 1):
            found += one.result()
            told = f"{bar(done / total)} {done} of {total} groups of loops, {clock(line.seconds)}"
            line.show(told.__str__)
        found += pool.submit(compile_all).result()
    seconds = time.perf_counter() - began
    from dualgap.compiled.tally import kept_in

    folder = kept_in()
    console.say(
        f"{found} loops compiled in {seconds:.1f} s, kept in {folder or 'no folder: none can be written'}"
    )
    console.result({"compiled": found, "seconds": seconds, "folder": folder})
    return OK


def _processes(jobs: int) -> ProcessPoolExecutor:
    """Fresh ones, longest group first."""
    return ProcessPoolExecutor(min(jobs, len(GROUPS)), mp_context=multiprocessing.get_context("spawn"))


def compile_group(name: str) -> int:
    """Make the calls of a group; how many loops that Python calls were compiled for it."""
    import dualgap as dg
    from dualgap.compiled.tally import compile_at_once, compiled_so_far

    compile_at_once()
    before = compiled_so_far()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        GROUPS[name](dg, _Data())
    return compiled_so_far() - before


def compile_all() -> int:
    """Every group."""
    return sum(map(compile_group, GROUPS))


class _Data:
    """Small tables in each of the ways that a matrix is stored."""

    def __init__(self) -> None:
        import numpy as np
        import scipy.sparse as sp

        rng = np.random.default_rng(0)
        self.dense = rng.normal(size=(60, 8))
        self.sparse = sp.csr_array(np.where(rng.random((60, 30)) < 0.3, rng.normal(size=(60, 30)), 0.0))
        self.wide = sp.random_array((50, 70_000), density=1e-4, rng=rng, format="csr")
        self.tables = (self.dense, self.sparse, self.wide)
        self.target = self.dense[:, 0] - self.dense[:, 1] + 0.5 * rng.normal(size=60)
        self.classes = np.where(self.target > 0.0, 1, -1)

    def rows(self, X: Any) -> tuple[Any, Any]:
        """Targets and classes for a table."""
        return self.target[: X.shape[0]], self.classes[: X.shape[0]]


def _kinked_paths(dg: Any, data: _Data) -> None:
    dg.path(data.dense, data.target, loss="absolute", penalty="l1")
    dg.path(data.sparse, data.classes, loss="hinge", penalty="l2")


def _smooth_paths(dg: Any, data: _Data) -> None:
    dg.cross_validate(data.dense, data.target, loss="squared", penalty="l1")
    dg.path(data.sparse, data.target, loss="squared", penalty="l1")


def _subsets(dg: Any, data: _Data) -> None:
    from dualgap.discrete.subset.branching import Branching, Part, Wanted

    for loss in ("squared", "absolute", "quantile(0.3)"):
        dg.fit(data.dense, data.target, loss=loss, penalty="l0", budget=3)
    gram, pull = data.dense.T @ data.dense / 60.0, data.dense.T @ data.target / 60.0
    import numpy as np

    tree = Branching(
        Part(np.arange(8), (), gram, pull, np.zeros(8), 0.0, 3), 1.0, np.arange(0), Wanted(0.0, 0.0, 0.0), 60
    )
    tree.optimise()


def _planes(dg: Any, data: _Data) -> None:
    noisy = data.classes.copy()
    noisy[::4] *= -1
    for columns in (2, 3):
        dg.fit(data.dense[:, :columns], noisy, loss="zero_one", penalty="none")
    dg.fit(data.dense, noisy, loss="zero_one", penalty="none", solver="local_planes")


def _sweeps(dg: Any, data: _Data) -> None:
    for X in data.tables:
        target, classes = data.rows(X)
        for penalty in ("l1", "elastic_net(0.5)"):
            dg.fit(X, target, loss="squared", penalty=penalty, lam=0.05, solver="coordinate_descent")
            dg.fit(X, classes, loss="logistic", penalty=penalty, lam=0.05, solver="coordinate_descent")


def _dual_sweeps(dg: Any, data: _Data) -> None:
    for X in data.tables:
        target, classes = data.rows(X)
        for loss in ("hinge", "logistic"):
            dg.fit(X, classes, loss=loss, penalty="l2", lam=0.05, solver="dual_coordinate_ascent")
        dg.fit(X, target, loss="squared", penalty="l2", lam=0.05, solver="dual_coordinate_ascent")


def _machines(dg: Any, data: _Data) -> None:
    dg.KernelClassifier().fit(data.dense, data.classes).predict(data.dense)
    dg.KernelRegressor().fit(data.dense, data.target).predict(data.dense)
    dg.KernelClassifier(fit_intercept=False).fit(data.dense, data.classes)


def _textbook(dg: Any, data: _Data) -> None:
    for X in data.tables:
        classes = data.rows(X)[1]
        for solver in ("stochastic_subgradient", "pegasos"):
            dg.fit(X, classes, loss="hinge", lam=0.1, solver=solver, max_iter=3)
        dg.fit(X, classes, loss="logistic", lam=0.1, solver="stochastic_gradient", max_iter=3)
        dg.fit(X, classes, loss="perceptron", penalty="none", solver="perceptron", max_iter=3)


def _storage(dg: Any, data: _Data) -> None:
    import numpy as np
    import scipy.sparse as sp

    from dualgap.design.compressed import Compressed
    from dualgap.design.dense import Dense

    for kind in (sp.csr_array, sp.csc_array):
        for table in (data.sparse, data.wide):
            n, p = table.shape
            Compressed(kind(table)).weighted_square_norms(np.ones(n))
            design = Compressed(kind(table))
            rough = design.rough()
            rough.transpose_matvec(rough.matvec(np.ones(p)))
            rough.curved(np.ones(n), np.ones(p), 0.0)
            design.constant_columns()
    zeros = np.eye(400)  # large enough for its zeros to be left out
    Compressed.of(Dense(zeros))


def _everyday(dg: Any, data: _Data) -> None:
    for X in data.tables:
        target, classes = data.rows(X)
        dg.LinearClassifier().fit(X, classes)
        dg.LinearRegressor().fit(X, target)
        for penalty in ("l1", "l2"):
            dg.fit(X, target, loss="squared", penalty=penalty, lam=0.1)
            for loss in ("logistic", "hinge"):
                dg.fit(X, classes, loss=loss, penalty=penalty, lam=0.1)


GROUPS: dict[str, Callable[[Any, _Data], None]] = {  # the longest first
    "paths of losses with kinks": _kinked_paths,
    "paths of losses without": _smooth_paths,
    "best subset": _subsets,
    "separating planes": _planes,
    "coordinate descent": _sweeps,
    "coordinate ascent of the dual": _dual_sweeps,
    "kernel machines": _machines,
    "algorithms of the lectures": _textbook,
    "storage of zeros": _storage,
    "everyday fits": _everyday,
}
