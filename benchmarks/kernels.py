"""Kernel machines against libsvm (scikit-learn's SVC and SVR) with a cache of the same size.

    python -m benchmarks.kernels --quick        n = 5000, about a minute
    python -m benchmarks.kernels                n = 20,000 too
    python -m benchmarks.kernels --only tube    cells whose name holds the word

One thread; repeats are interleaved and the best of each side counts, in seconds of the processor; a first
run that is not timed compiles. The gap of every answer is computed here, in plain NumPy, from β and b alone.
Writes kernels.md and kernels.json into the folder given.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR

import dualgap as dg
from benchmarks.machine import machine, versions

GAMMA, CACHE = 0.05, 200  # CACHE in megabytes


@dataclass(frozen=True)
class Cell:
    """A race: what each side does, and the relative gap of what it did."""

    name: str
    must: float
    data: Callable[[int], tuple[Any, Any]]
    ours: Callable[[Any, Any], Any]
    theirs: Callable[[Any, Any], Any]
    gap: Callable[[Any, Any, Any], float]
    quick: bool = True


def numbers(n: int, seed: int) -> tuple[Any, Any]:
    """Twenty columns, a curved function of four of them, noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.5 * rng.normal(size=n)


def labels(n: int, seed: int) -> tuple[Any, Any]:
    """Its sign."""
    X, z = numbers(n, seed)
    return X, (z > 0).astype(int)


def ten_classes(n: int, seed: int) -> tuple[Any, Any]:
    """Ten clouds that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 10, n)
    return rng.normal(size=(10, 20))[y] + 1.3 * rng.normal(size=(n, 20)), y


def rows_of_kernel(X: Any, coef: Any, support: Any) -> Any:
    """Σ β k(x_i, x) on every row, a piece at a time."""
    norms, found = (X**2).sum(axis=1), np.empty(len(X))
    for first in range(0, len(X), 500):
        part = slice(first, first + 500)
        square = norms[part, None] + norms[support] - 2.0 * X[part] @ X[support].T
        found[part] = np.exp(-GAMMA * np.maximum(square, 0.0)) @ coef
    return found


def relative_gap(X: Any, y: Any, C: float, tube: float | None, machine: tuple[Any, Any, float]) -> float:
    """Objective minus dual objective over the objective, C Σ loss + ½‖f‖² in both; `machine` is β, rows, b.

    Values of the intercept around the one given are tried as well: libsvm's is not meant to be the best.
    """
    coef, support, b = machine
    f = rows_of_kernel(X, coef, support)
    square = float(coef @ f[support])
    if tube is None:
        losses = [np.maximum(1.0 - y * (f + t), 0.0).sum() for t in b + np.linspace(-0.01, 0.01, 41)]
        dual = float(np.abs(coef).sum()) - 0.5 * square
    else:
        off = y - f
        losses = [np.maximum(np.abs(off - t) - tube, 0.0).sum() for t in b + np.linspace(-0.01, 0.01, 41)]
        dual = float(coef @ y[support]) - tube * float(np.abs(coef).sum()) - 0.5 * square
    primal = C * float(min(losses)) + 0.5 * square
    return (primal - dual) / primal


def machine_of(model: Any, k: int = 0) -> tuple[Any, Any, float]:
    """β, rows and b of a fitted model of either side."""
    return model.dual_coef_[k], model.support_, float(np.ravel(model.intercept_)[k])


def one_machine(C: float, tube: float | None = None) -> Callable[[Any, Any, Any], float]:
    """The gap of two classes or of a regression."""

    def gap(model: Any, X: Any, y: Any) -> float:
        return relative_gap(X, y if tube is not None else 2.0 * y - 1.0, C, tube, machine_of(model))

    return gap


def each_class(C: float) -> Callable[[Any, Any, Any], float]:
    """The largest gap of one class against the rest."""

    def gap(model: Any, X: Any, y: Any) -> float:
        found = []
        for k in range(10):
            machine = (
                machine_of(model.estimators_[k]) if hasattr(model, "estimators_") else machine_of(model, k)
            )
            found.append(relative_gap(X, np.where(y == k, 1.0, -1.0), C, None, machine))
        return max(found)

    return gap


def classify(C: float, tol: float) -> Callable[[Any, Any], Any]:
    """Ours; C of scikit-learn is half of ours."""
    return lambda X, y: dg.KernelClassifier(
        "hinge", gamma=GAMMA, C=2 * C, tol=tol, cache_bytes=1e6 * CACHE
    ).fit(X, y)


def libsvm(C: float, tol: float) -> Callable[[Any, Any], Any]:
    """Theirs."""
    return lambda X, y: SVC(C=C, gamma=GAMMA, tol=tol, cache_size=CACHE).fit(X, y)


def hinge(n: int, C: float, tolerances: tuple[float, float], must: float, note: str) -> Cell:
    """Two classes."""
    ours, theirs = tolerances
    return Cell(
        f"hinge, n = {n}, C = {C:g}, {note}",
        must,
        lambda seed: labels(n, seed),
        classify(C, ours),
        libsvm(C, theirs),
        one_machine(C),
        n < 10_000,
    )


def tube(n: int, C: float, width: float) -> Cell:
    """Support vector regression."""
    return Cell(
        f"tube {width:g}, n = {n}, C = {C:g}, ours to 1e-6, libsvm tol 1e-3",
        1.5,
        lambda seed: numbers(n, seed),
        lambda X, y: dg.KernelRegressor(
            f"epsilon_insensitive({width:g})", gamma=GAMMA, C=2 * C, cache_bytes=1e6 * CACHE
        ).fit(X, y),
        lambda X, y: SVR(C=C, gamma=GAMMA, epsilon=width, cache_size=CACHE).fit(X, y),
        one_machine(C, width),
    )


def prediction() -> Cell:
    """10,000 rows; the fits are not timed."""

    def data(seed: int) -> tuple[Any, Any]:
        X, y = labels(5000, seed)
        models = classify(1.0, 1e-6)(X, y), libsvm(1.0, 1e-5)(X, y)
        return numbers(10_000, seed + 1)[0], models

    def apart(found: Any, X: Any, models: Any) -> float:
        return float(np.abs(found - models[0].decision_function(X)).max())

    return Cell(
        "predict 10,000 rows (difference for gap)",
        5.0,
        data,
        lambda X, models: models[0].decision_function(X),
        lambda X, models: models[1].decision_function(X),
        apart,
    )


def cells() -> list[Cell]:
    """Every race."""
    return [
        hinge(5000, 1.0, (1e-4, 1e-3), 2.0, "libsvm's default tolerance"),
        hinge(5000, 1.0, (1e-6, 1e-5), 1.5, "ours to 1e-6, libsvm tol 1e-5"),
        hinge(5000, 100.0, (1e-6, 1e-3), 1.2, "ours to 1e-6, libsvm tol 1e-3"),
        hinge(5000, 100.0, (1e-6, 1e-5), 1.2, "ours to 1e-6, libsvm tol 1e-5"),
        tube(5000, 1.0, 0.1),
        tube(5000, 10.0, 0.1),
        tube(5000, 1.0, 0.5),
        Cell(
            "10 classes, one against the rest, n = 5000, C = 1",
            1.5,
            lambda seed: ten_classes(5000, seed),
            classify(1.0, 1e-6),
            lambda X, y: OneVsRestClassifier(SVC(C=1.0, gamma=GAMMA, cache_size=CACHE)).fit(X, y),
            each_class(1.0),
        ),
        prediction(),
        hinge(20_000, 1.0, (1e-6, 1e-3), 2.0, "ours to 1e-6, libsvm tol 1e-3"),
        hinge(20_000, 100.0, (1e-6, 1e-3), 1.0, "ours to 1e-6, libsvm tol 1e-3"),
    ]


def race(cell: Cell, seed: int, repeats: int) -> dict[str, Any]:
    """One cell, one draw."""
    X, y = cell.data(seed)
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    gaps: dict[str, float] = {}
    cell.ours(X, y)  # compiles
    for _ in range(repeats):
        for side, run in (("ours", cell.ours), ("theirs", cell.theirs)):
            began = time.process_time()
            model = run(X, y)
            seconds[side].append(time.process_time() - began)
            if side not in gaps:
                gaps[side] = cell.gap(model, X, y)
    ours, theirs = min(seconds["ours"]), min(seconds["theirs"])
    pairs = [b / a for a, b in zip(seconds["ours"], seconds["theirs"], strict=True)]
    return {
        "cell": cell.name,
        "seed": seed,
        "ours": ours,
        "theirs": theirs,
        "ratio": theirs / ours,
        "ratios": pairs,
        "must": cell.must,
        "gap": gaps["ours"],
        "their_gap": gaps["theirs"],
    }


def markdown(results: list[dict[str, Any]]) -> str:
    """The table."""
    lines = [
        f"{machine()}; " + ", ".join(f"{k} {v}" for k, v in versions().items()),
        "",
        "| cell | ours, s | gap | libsvm, s | gap | ratio | must |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['cell']} | {r['ours']:.3g} | {r['gap']:.0e} | {r['theirs']:.3g} | {r['their_gap']:.0e} "
        f"| {r['ratio']:.2f} | {r['must']:g} |"
        for r in results
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Run the cells asked for and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="n = 5000 only")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--seeds", type=int, default=1, help="draws per cell")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results/local")
    options = parser.parse_args(arguments)
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for cell in cells():
        if options.only not in cell.name or (options.quick and not cell.quick):
            continue
        for seed in range(options.seeds):
            result = race(cell, seed, options.repeats if cell.quick else 1)
            results.append(result)
            print(f"{cell.name} (seed {seed}): {result['ours']:.3f} s, {result['ratio']:.2f}x", flush=True)
            table = {"machine": machine(), "versions": versions(), "results": results}
            (folder / "kernels.json").write_text(json.dumps(table, indent=1))
            (folder / "kernels.md").write_text(markdown(results))
    print(markdown(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
