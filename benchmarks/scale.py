"""Rows in blocks: scans, processor seconds, certified gap and peak memory, a process per fit.

    python -m benchmarks.scale                          2·10⁶ × 50, every cell, some minutes
    python -m benchmarks.scale --rows 1e7 --folder big  ten million rows; the files stay in `big`
    python -m benchmarks.scale --only logistic          one loss
    python -m benchmarks.scale --limit 800              every cell under a limit of addresses, in MB
    python -m benchmarks.scale --peers                  partial_fit of scikit-learn, eight passes, beside ours
    python -m benchmarks.scale --bandwidth              a scan for curvature beside one that only decodes

Columns are 4-byte numbers in snappy Parquet: some with mean/sd 5, some times 100, indicators (one of them
zero in a row of 10⁵), log-normal.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

CELLS: dict[str, list[dict[str, Any]]] = {
    "squared": [{"penalty": "l1", "lam": 1e-2}, {"penalty": "l2", "lam": 1e-3}, {"penalty": "none"}],
    "logistic": [{"penalty": "l2", "lam": 1e-4}, {"penalty": "l1", "lam": 1e-3}, {"penalty": "none"}],
    "squared_hinge": [{"penalty": "l2", "lam": 1e-4}],
    "huber": [{"penalty": "l2", "lam": 1e-4}],
    "exponential": [{"penalty": "l2", "lam": 1e-4}],
    "hinge": [{"penalty": "l2", "lam": 1e-4}, {"penalty": "l1", "lam": 1e-3}],
    "absolute": [{"penalty": "l1", "lam": 1e-3}],
    "quantile(0.9)": [{"penalty": "l1", "lam": 1e-3}],
}
LABELS = ("logistic", "squared_hinge", "exponential", "hinge")
PART = 1 << 20  # rows of a file
GROUP = 1 << 16  # rows of a row group
PASSES = 8  # of partial_fit


def write(folder: Path, n: int, p: int) -> None:
    """The files, if they are not there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    mean, scale = np.where(np.arange(p) % 7 == 3, 5.0, 0.0), np.where(np.arange(p) % 11 == 5, 100.0, 1.0)
    beta = 0.3 * rng.normal(size=p)
    for k, first in enumerate(range(0, n, PART)):
        file, m = folder / f"part{k:04d}.parquet", min(PART, n - first)
        if file.exists():
            continue
        rng = np.random.default_rng([1, k])
        Z = rng.normal(size=(m, p)) + mean
        Z[:, ::9], Z[:, 1::13] = Z[:, ::9] > 0.8, np.exp(0.7 * Z[:, 1::13])
        z = (Z - mean) @ beta
        columns = {f"x{j}": (Z[:, j] * scale[j]).astype(np.float32) for j in range(p)}
        columns["y"] = (z + rng.standard_t(4, size=m)).astype(np.float32)
        columns["label"] = (z - 1.0 + rng.logistic(size=m) > 0.0).astype(np.int8)
        pq.write_table(pa.table(columns), file, row_group_size=GROUP, use_dictionary=False)


def opened(folder: str, p: int, loss: str) -> Any:
    """The rows, with the target that the loss takes."""
    import dualgap as dg

    target = "label" if loss in LABELS else "y"
    return dg.dataset(f"{folder}/*.parquet", target=target, columns=[f"x{j}" for j in range(p)])


def fitted(folder: str, p: int, loss: str, asked: dict[str, Any]) -> dict[str, Any]:
    """One fit in this process: what it took."""
    import dualgap as dg

    rows = opened(folder, p, loss)
    began, clock = time.process_time(), time.perf_counter()
    found = dg.fit(rows, loss=loss, **asked)
    return {
        "cpu": time.process_time() - began,
        "wall": time.perf_counter() - clock,
        "scans": found.scans,
        "gap": found.relative_gap,
        "proven": found.converged,
        "peak_mb": _peak(),
    }


def _peak() -> float:
    """Megabytes that this process has held at most; its parent's are no part of that."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024.0 for line in status if line.startswith("VmHWM"))


class Timed:
    """Scans of a source: wall seconds, processor seconds of the thread that computes, and of all others."""

    def __init__(self, source: Any) -> None:
        self.scan, self.seen = source.reduced, []
        source.reduced = self

    def __call__(self, *given: Any, **more: Any) -> Any:
        began = time.perf_counter(), time.thread_time(), time.process_time()
        found = self.scan(*given, **more)
        wall, own, all_ = (
            end - start
            for end, start in zip(
                (time.perf_counter(), time.thread_time(), time.process_time()), began, strict=True
            )
        )
        self.seen.append((wall, own, all_ - own))
        return found


def bandwidth(folder: str, p: int) -> list[tuple[str, float, float, float]]:
    """A scan that only decodes; then those of the moments and of a logistic fit, read ahead by a thread."""
    import dualgap as dg

    rows = opened(folder, p, "logistic")
    began, clock = time.process_time(), time.perf_counter()
    for _ in rows.source.blocks():
        pass
    found = [("decoding alone", time.perf_counter() - clock, 0.0, time.process_time() - began)]
    scans = Timed(rows.source)
    dg.moments(rows)
    found.append(("moments", *scans.seen[-1]))
    dg.fit(rows, loss="logistic", penalty="l2", lam=1e-4)
    return [*found, ("logistic, curvature", *scans.seen[-2]), ("logistic, proof", *scans.seen[-1])]


def passed(folder: str, p: int, loss: str) -> dict[str, Any]:
    """Eight passes of partial_fit over the standardised rows, and how far above the optimum they end."""
    from sklearn.linear_model import SGDClassifier, SGDRegressor
    from sklearn.preprocessing import StandardScaler

    import dualgap as dg

    label, lam = loss in LABELS, 1e-4
    rows = opened(folder, p, loss)
    name = {"logistic": "log_loss", "hinge": "hinge", "squared": "squared_error"}[loss]
    # its squared loss is half of ours
    alpha = lam if loss == "squared" else 2.0 * lam
    model = (SGDClassifier if label else SGDRegressor)(loss=name, alpha=alpha, average=True)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lam": lam, "standardize": True}
    began = time.process_time()
    ours = dg.fit(rows, **asked)
    own = time.process_time() - began
    began, scaler = time.process_time(), StandardScaler()
    for block in rows.source.blocks():
        scaler.partial_fit(block.X)
    more = {"classes": np.array([0, 1])} if label else {}
    for _ in range(PASSES):
        for block in rows.source.blocks():
            model.partial_fit(scaler.transform(block.X), block.y, **more)
    seconds = time.process_time() - began
    coef = model.coef_.ravel() / scaler.scale_
    level = float(model.intercept_[0] - coef @ scaler.mean_)
    there = replace(ours.certificate, coef=coef, intercept=level).recheck(rows)
    above = there.objective / ours.bound - 1.0
    return {"cpu": seconds, "above": above, "own": own, "gap": ours.relative_gap}


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--folder")
    parser.add_argument("--only")
    parser.add_argument("--limit", type=float, help="megabytes of addresses that a fit may take")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--bandwidth", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # a cell in a process of its own
    args = parser.parse_args()
    if args.one:
        cell = json.loads(args.one)
        loss = cell.pop("loss")
        peer = cell.pop("peer", False)
        print(
            json.dumps(
                passed(args.folder, args.columns, loss)
                if peer
                else fitted(args.folder, args.columns, loss, cell)
            )
        )
        return
    with tempfile.TemporaryDirectory() as own:
        folder = args.folder or own
        write(Path(folder), int(args.rows), args.columns)
        print(f"{int(args.rows)} × {args.columns}")
        if args.bandwidth:
            return told_bandwidth(folder, args.columns)
        if args.peers:
            return told_peers(folder, args.columns, args.only)
        print("| loss | problem | scans | CPU s | wall s | certified gap | peak MB |")
        print("|---|---|---|---|---|---|---|")
        for loss, cells in CELLS.items():
            for asked in cells if args.only in (None, loss) else ():
                one = _apart(folder, args.columns, {"loss": loss, **asked}, args.limit)
                words = " ".join(f"{value}" for value in asked.values())
                print(
                    f"| {loss} | {words} | {one['scans']:.2f} | {one['cpu']:.1f} | {one['wall']:.1f} "
                    f"| {one['gap']:.1e}{'' if one['proven'] else ' NOT PROVEN'} | {one['peak_mb']:.0f} |",
                    flush=True,
                )


def told_peers(folder: str, columns: int, only: str | None) -> None:
    """Eight passes beside a fit of the same standardised problem."""
    print(f"| loss | certified, CPU s | gap | {PASSES} passes of partial_fit, CPU s | above the bound |")
    print("|---|---|---|---|---|")
    for loss in ("logistic", "hinge", "squared"):
        if only in (None, loss):
            one = _apart(folder, columns, {"loss": loss, "peer": True}, None)
            print(
                f"| {loss} | {one['own']:.1f} | {one['gap']:.1e} | {one['cpu']:.1f} | {one['above']:.1e} |",
                flush=True,
            )


def told_bandwidth(folder: str, columns: int) -> None:
    """Scans beside one that only decodes: its speed is that of one core, theirs that of two."""
    print("| scan | wall s | of decoding's speed | computing, CPU s | reading, CPU s | on two free cores |")
    print("|---|---|---|---|---|---|")
    first, *others = bandwidth(folder, columns)
    print(f"| {first[0]} | {first[1]:.2f} | 100 % | – | {first[3]:.2f} | – |")
    for name, wall, own, reading in others:
        free = first[3] / max(own, reading)
        print(
            f"| {name} | {wall:.2f} | {100 * first[1] / wall:.0f} % | {own:.2f} | {reading:.2f} "
            f"| {100 * free:.0f} % |"
        )


def _apart(folder: str, columns: int, cell: dict[str, Any], limit: float | None) -> dict[str, Any]:
    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (int(limit * 2**20),) * 2)

    command = [sys.executable, "-m", "benchmarks.scale", "--folder", folder, "--columns", str(columns)]
    command += ["--one", json.dumps(cell)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limited)
    if done.returncode:
        raise SystemExit(f"{cell}: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
