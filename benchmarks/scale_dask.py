"""Rows on a cluster: a LocalCluster of processes with one worker and with two.

    python -m benchmarks.scale_dask --rows 4e6 --folder big   the files of `benchmarks.scale`, made if need be
    python -m benchmarks.scale_dask --rows 1e6 --glm          dask-glm's solvers beside ours
    python -m benchmarks.scale_dask --rows 1e6 --glm lbfgs    one of them

Told are the wall seconds of a scan (`dg.moments`) and the processor seconds of the busier worker, what the
second worker is worth by either (by the latter on cores that nobody else is using), what a pass costs that
reads nothing, in wall seconds and in those of the processor of scheduler and client, whether fits have the
same bits, and seconds of a logistic fit to a certified 1e-6.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale import write

SCANS = 3  # of which the fastest is told
LAM = 1e-4
SOLVERS = ("lbfgs", "admm", "proximal_grad")


class Blank:
    """A source of as many groups as another, in which nothing is to be read."""

    def __init__(self, groups: int) -> None:
        self.groups: Sequence[Any] = list(range(groups))

    def detached(self) -> Blank:
        """Itself, for a worker."""
        return self

    def read(self, group: Any) -> Iterator[Any]:
        """No block."""
        return iter(())


def least(function: Any, times: int = SCANS) -> tuple[float, Any]:
    """The fewest wall seconds, and what came out."""
    seconds, found = [], None
    for _ in range(times):
        began = time.perf_counter()
        found = function()
        seconds.append(time.perf_counter() - began)
    return min(seconds), found


def busiest(client: Any, function: Any) -> float:
    """Processor seconds of the worker that has most to do, the fewest of some times."""
    found = []
    for _ in range(SCANS):
        before = client.run(time.process_time)
        function()
        after = client.run(time.process_time)
        found.append(max(after[worker] - before[worker] for worker in after))
    return float(min(found))


def measured(folder: str, p: int, workers: int) -> dict[str, Any]:
    """A scan, a pass over nothing and a fit, with so many workers."""
    from distributed import Client, LocalCluster

    import dualgap as dg
    from dualgap.blocks.clusters import mapped

    columns = [f"x{j}" for j in range(p)]
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        rows = dg.dataset(f"{folder}/*.parquet", target="label", columns=columns)
        groups = len(rows.source.groups)
        scan, _ = least(partial(dg.moments, rows))
        busy = busiest(client, partial(dg.moments, rows))
        blank, _ = least(lambda: mapped(client, Blank(groups), len, (), None))
        began = time.process_time()
        for _ in range(SCANS):
            mapped(client, Blank(groups), len, (), None)
        own = (time.process_time() - began) / SCANS
        fit, found = least(partial(dg.fit, rows, loss="logistic", penalty="l2", lam=LAM), 1)
    return {
        "tasks": groups,
        "scan": scan,
        "busy": busy,
        "pass": blank,
        "own": own,
        "fit": fit,
        "gap": found.relative_gap,
        "scans": found.scans,
        "weights": np.append(found.coef, found.intercept),
    }


def rival(folder: str, p: int, solvers: Sequence[str]) -> None:
    """The same rows in two workers' memory, l2, no intercept: ours beside dask-glm's, the best of runs.

    Once with standardised columns and once as they are.
    """
    import dask.array as da
    import dask.dataframe as dd
    from dask_glm import algorithms
    from distributed import Client, LocalCluster, wait

    import dualgap as dg

    columns = [f"x{j}" for j in range(p)]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        frame = dd.read_parquet(f"{folder}/*.parquet", columns=[*columns, "label"])
        given = (
            frame[columns]
            .to_dask_array(lengths=True)
            .astype(np.float64)
            .rechunk({0: 1 << 17, 1: -1})
            .persist()
        )
        y = frame["label"].to_dask_array(lengths=True).astype(np.float64).rechunk(1 << 17).persist()
        standardised = ((given - given.mean(axis=0)) / given.std(axis=0)).persist()
        wait([given, y, standardised])
        asked: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "lam": LAM, "fit_intercept": False}
        for kind, X in (("standardised", standardised), ("as they are", given)):
            seconds, ours = least(partial(dg.fit, X, y, **asked), 3)
            print(f"| dualgap, {kind} | {seconds:.2f} | {ours.relative_gap:.1e} certified |", flush=True)
            for name in solvers:
                solve = partial(getattr(algorithms, name), X, y, regularizer="l2", lamduh=2.0 * LAM * len(X))
                try:
                    seconds, w = least(solve, 2)
                    z = X @ np.asarray(w)
                    value = float(da.mean(da.logaddexp(0.0, z) - y * z).compute()) + LAM * float(w @ w)
                    above = value / ours.bound - 1.0
                    print(f"| dask-glm {name} | {seconds:.2f} | {above:.1e} above the bound |", flush=True)
                except Exception as error:  # an old package: what it says is all that can be told
                    print(f"| dask-glm {name} | – | {type(error).__name__}: {str(error)[:80]} |", flush=True)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--folder")
    parser.add_argument("--glm", nargs="*", metavar="SOLVER", help="of dask-glm: lbfgs admm proximal_grad")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = args.folder or own
        write(Path(folder), int(args.rows), args.columns)
        if args.glm is not None:
            return rival(folder, args.columns, args.glm or SOLVERS)
        one, two = (measured(folder, args.columns, workers) for workers in (1, 2))
        print(f"{int(args.rows)} × {args.columns}, {one['tasks']} tasks a scan")
        print("| workers | scan, s | busier worker, CPU s | empty pass, s | CPU s | logistic+l2, s | gap |")
        print("|---|---|---|---|---|---|---|")
        for workers, found in ((1, one), (2, two)):
            print(
                f"| {workers} | {found['scan']:.2f} | {found['busy']:.2f} | {found['pass']:.3f} "
                f"| {found['own']:.3f} | {found['fit']:.1f} | {found['gap']:.1e} |"
            )
        shares = [100.0 * one[kind] / (2.0 * two[kind]) for kind in ("scan", "busy")]
        print(f"efficiency of a scan: {shares[0]:.0f} %, on free cores {shares[1]:.0f} %")
        print(f"the same bits: {np.array_equal(one['weights'], two['weights'])}")


if __name__ == "__main__":
    main()
