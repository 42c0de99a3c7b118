"""Rows in blocks: scans, processor seconds, certified gap and peak memory, a process per fit.

    python -m benchmarks.scale                          2·10⁶ × 50, every cell, some minutes
    python -m benchmarks.scale --rows 1e7 --folder big  ten million rows; the files stay in `big`
    python -m benchmarks.scale --only logistic          one loss
    python -m benchmarks.scale --peers                  partial_fit of scikit-learn, eight passes, beside ours

Columns are 4-byte numbers in snappy Parquet: some with mean/sd 5, some times 100, indicators (one of them
zero in a row of 10⁵), log-normal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
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
        m = min(PART, n - first)
        Z = rng.normal(size=(m, p)) + mean
        Z[:, ::9], Z[:, 1::13] = Z[:, ::9] > 0.8, np.exp(0.7 * Z[:, 1::13])
        z = (Z - mean) @ beta
        columns = {f"x{j}": (Z[:, j] * scale[j]).astype(np.float32) for j in range(p)}
        columns["y"] = (z + rng.standard_t(4, size=m)).astype(np.float32)
        columns["label"] = (z - 1.0 + rng.logistic(size=m) > 0.0).astype(np.int8)
        file = folder / f"part{k:04d}.parquet"
        if not file.exists():
            pq.write_table(pa.table(columns), file, row_group_size=GROUP, use_dictionary=False)


def fitted(folder: str, p: int, loss: str, asked: dict[str, Any]) -> dict[str, Any]:
    """One fit in this process: what it took."""
    import dualgap as dg

    target = "label" if loss in LABELS else "y"
    rows = dg.dataset(f"{folder}/*.parquet", target=target, columns=[f"x{j}" for j in range(p)])
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


def passed(folder: str, p: int, loss: str) -> dict[str, Any]:
    """Eight passes of partial_fit over the standardised rows, and how far above the optimum they end."""
    from sklearn.linear_model import SGDClassifier, SGDRegressor
    from sklearn.preprocessing import StandardScaler

    import dualgap as dg

    label, lam = loss in LABELS, 1e-4
    columns = [f"x{j}" for j in range(p)]
    rows = dg.dataset(f"{folder}/*.parquet", target="label" if label else "y", columns=columns)
    name = {"logistic": "log_loss", "hinge": "hinge", "squared": "squared_error"}[loss]
    model = (SGDClassifier if label else SGDRegressor)(loss=name, alpha=2.0 * lam, average=True)
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
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lam": lam, "standardize": True}
    judged = dg.certify(rows, coef, level, **asked)
    return {"cpu": seconds, "above": judged.excess}


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--folder")
    parser.add_argument("--only")
    parser.add_argument("--peers", action="store_true")
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
        print("| loss | problem | scans | CPU s | wall s | certified gap | peak MB |")
        print("|---|---|---|---|---|---|---|")
        for loss, cells in CELLS.items():
            for asked in cells if args.only in (None, loss) else ():
                one = _apart(folder, args.columns, {"loss": loss, **asked})
                words = " ".join(f"{value}" for value in asked.values())
                print(
                    f"| {loss} | {words} | {one['scans']:.2f} | {one['cpu']:.1f} | {one['wall']:.1f} "
                    f"| {one['gap']:.1e}{'' if one['proven'] else ' NOT PROVEN'} | {one['peak_mb']:.0f} |",
                    flush=True,
                )
        for loss in ("logistic", "hinge", "squared") if args.peers else ():
            one = _apart(folder, args.columns, {"loss": loss, "peer": True})
            above = f"{one['above']:.1e} above"
            print(f"| {loss} | partial_fit, {PASSES} passes | – | {one['cpu']:.1f} | – | {above} | – |")


def _apart(folder: str, columns: int, cell: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale", "--folder", folder, "--columns", str(columns)]
    done = subprocess.run([*command, "--one", json.dumps(cell)], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
