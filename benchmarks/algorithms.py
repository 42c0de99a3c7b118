"""Passes of SGD, Pegasos and perceptron against scikit-learn's, and FISTA against its matrix products.

    python -m benchmarks.algorithms [--out folder]

Both sides go through their public `fit` with as many passes over the same rows for the same objective.
Compilation and reading are not counted on either side: the first fit is thrown away, and the time, that of
the processor, is the difference between many passes and one. Repeats are interleaved, the best of them
counts. "Above" is the distance to the certified optimum after them; "to 1 %" the time, at the price of
a pass, until the objective is within a hundredth of the optimum. Writes table.md and table.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Perceptron, SGDClassifier

import dualgap as dg
from benchmarks.machine import machine, versions
from dualgap.design import Dense
from dualgap.fitting.reading import read

PASSES = 24  # that are timed, after one that is not
MOST = 49  # passes until one hundredth
REPEATS = 7
LAM = 5e-5  # beside the mean loss; scikit-learn's alpha is twice that
NEAR = 0.01


@dataclass(frozen=True)
class Side:
    """One side of a race: a pass in seconds, the objective after the passes, passes to one hundredth."""

    seconds: float
    above: float
    passes: int | None

    @property
    def to_target(self) -> float:
        """Seconds until the objective is near."""
        return np.inf if self.passes is None else self.passes * self.seconds


@dataclass(frozen=True)
class Race:
    """What both sides are asked."""

    name: str
    X: Any
    y: Any
    loss: str
    solver: Any
    rival: Any
    fit_intercept: bool = True

    @property
    def asked(self) -> dict[str, Any]:
        """The objective in our words."""
        strength: dict[str, Any] = {"penalty": "none"} if self.loss == "perceptron" else {"lam": LAM}
        return {"loss": self.loss, "fit_intercept": self.fit_intercept, **strength}

    def ours(self, passes: int, seen: list[float] | None = None) -> Any:
        """Our fit, driver and all; `seen` has every pass looked at."""
        watch = None if seen is None else lambda record: seen.append(record.objective)
        return dg.fit(
            self.X, self.y, solver=self.solver, max_iter=passes, tol=0.0, callback=watch, **self.asked
        )

    def theirs(self, passes: int) -> Any:
        """The rival's fit."""
        return self.rival.set_params(max_iter=passes, fit_intercept=self.fit_intercept).fit(self.X, self.y)

    def objective(self) -> Callable[[Any, Any], float]:
        """P(w, b), computed once for both sides."""
        reading = read(self.X, self.y, **self.asked)
        problem = reading.terms.problem(reading.table.design, reading.targets())

        def value(coef: Any, intercept: Any) -> float:
            w = np.ravel(coef)
            return problem.primal(np.append(w, intercept) if self.fit_intercept else w)

        return value


def dense(n: int = 50_000, p: int = 100) -> tuple[Any, Any]:
    """Independent columns, labels of a plane with noise."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p)) / np.sqrt(p)
    return X, np.where(X @ random.standard_normal(p) + 0.3 * random.standard_normal(n) > 0, 1, -1)


def text(n: int = 20_000, p: int = 50_000, words: int = 80) -> tuple[Any, Any]:
    """Rows of length one with words of falling frequency."""
    random = np.random.default_rng(1)
    columns = np.minimum((p ** random.random((n, words)) - 1).astype(int), p - 1)
    counts = sp.csr_array((np.ones(n * words), columns.ravel(), np.arange(0, n * words + 1, words)), (n, p))
    counts.sum_duplicates()
    counts.data = 1.0 + np.log(counts.data)
    X = sp.csr_array(sp.diags_array(1.0 / np.sqrt(counts.power(2).sum(axis=1))) @ counts)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # all that scikit-learn takes
    truth = random.standard_normal(p)
    return X, np.where(X @ truth + 0.1 * random.standard_normal(n) > 0, 1, -1)


def races() -> list[Race]:
    """Dense and text; on text both sides take 0.01 of the step for b, scikit-learn unasked."""
    found = []
    common: dict[str, Any] = {"alpha": 2.0 * LAM, "tol": None, "shuffle": True, "random_state": 0}
    for name, (X, y) in {"dense 50000×100": dense(), "text 20000×50000": text()}.items():
        share = 0.01 if sp.issparse(X) else 1.0
        hinge, logistic = SGDClassifier(loss="hinge", **common), SGDClassifier(loss="log_loss", **common)
        subgradient = dg.solvers.StochasticSubgradient(intercept_share=share)
        gradient = dg.solvers.StochasticGradient(intercept_share=share)
        found += [
            Race(f"{name}, hinge", X, y, "hinge", subgradient, hinge),
            Race(f"{name}, logistic", X, y, "logistic", gradient, logistic),
            Race(
                f"{name}, pegasos",
                X,
                y,
                "hinge",
                dg.solvers.Pegasos(order="shuffled"),
                hinge,
                fit_intercept=False,
            ),
        ]
        rival = Perceptron(tol=None, shuffle=False, random_state=0)
        plain = dg.solvers.Perceptron(doubt=10**9)
        found.append(Race(f"{name}, perceptron", X, y, "perceptron", plain, rival))
    return found


def spent(run: Callable[[int], Any], passes: int) -> tuple[float, Any]:
    """Processor seconds, and what came out."""
    began = time.process_time()
    found = run(passes)
    return time.process_time() - began, found


def per_pass(sides: list[Callable[[int], Any]]) -> list[float]:
    """Seconds of one pass on each side: the best long run less the best short one, taken in turn."""
    short, long = [[np.inf, np.inf] for _ in range(2)]
    made = [1, 1]
    for _ in range(REPEATS):
        for k, run in enumerate(sides):
            short[k] = min(short[k], spent(run, 1)[0])
            seconds, found = spent(run, 1 + PASSES)
            long[k] = min(long[k], seconds)
            made[k] = int(found.n_iter if isinstance(found, dg.Solution) else found.n_iter_) - 1
    return [(whole - one) / max(count, 1) for one, whole, count in zip(short, long, made, strict=True)]


def race(one: Race) -> tuple[Side, Side]:
    """Ours and theirs."""
    one.ours(1)
    one.theirs(1)
    times = per_pass([one.ours, one.theirs])
    value = one.objective()
    optimum = dg.fit(one.X, one.y, tol=1e-5, **one.asked).bound if one.loss != "perceptron" else 0.0
    seen: list[float] = []
    one.ours(MOST, seen)
    rivals: list[float] = []
    while len(rivals) < MOST and (len(rivals) <= PASSES or min(rivals) - optimum > NEAR * optimum):
        model = one.theirs(len(rivals) + 1)
        rivals.append(value(model.coef_, model.intercept_))
        if one.loss == "perceptron" and len(rivals) > PASSES:
            break
    ends = one.ours(1 + PASSES).objective - optimum, rivals[PASSES] - optimum
    target = optimum * (1.0 + NEAR)
    return (
        Side(times[0], ends[0], _reached(seen[1:], target)),
        Side(times[1], ends[1], _reached(rivals, target)),
    )


def _reached(objectives: list[float], target: float) -> int | None:
    """The first pass with which the target is met."""
    met = np.flatnonzero(np.array(objectives) <= target)
    return int(met[0]) + 1 if len(met) and target > 0.0 else None


@dataclass(frozen=True)
class Products:
    """A run of FISTA or projected gradient beside the products that it cannot do without."""

    name: str
    step: float
    products: float

    @property
    def ratio(self) -> float:
        """What everything else costs."""
        return self.step / self.products


def products(steps: int = 300) -> list[Products]:
    """Time of a step through the driver, and of one product with X and one with Xᵀ in the same run."""
    X, y = dense(20_000, 200)
    asked: dict[str, dict[str, Any]] = {
        "proximal_gradient": {"penalty": "l1", "lam": 1e-4},
        "projected_gradient": {"penalty": "l1", "budget": 5.0},
    }
    clock = _Clock()
    found = []
    for solver, strength in asked.items():

        def run(count: int, solver: str = solver, strength: dict[str, Any] = strength) -> Any:
            return dg.fit(X, y, loss="squared_hinge", solver=solver, max_iter=count, tol=0.0, **strength)

        run(1)
        repeats = []
        for _ in range(REPEATS):
            first, _ = spent(run, 1)
            clock.clear()
            whole, _ = spent(run, 1 + steps)
            repeats.append(Products(solver, (whole - first) / steps, clock.pair()))
        found.append(min(repeats, key=lambda one: one.ratio))
    return found


class _Clock:
    """Times every product of a dense matrix with a vector."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        for name in ("matvec", "transpose_matvec"):
            setattr(Dense, name, self._timed(name, getattr(Dense, name)))

    def _timed(self, name: str, product: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        self.times[name] = []

        def timed(design: Any, vector: Any) -> Any:
            began = time.process_time()
            result = product(design, vector)
            self.times[name].append(time.process_time() - began)
            return result

        return timed

    def clear(self) -> None:
        """Forget what was timed."""
        for times in self.times.values():
            times.clear()

    def pair(self) -> float:
        """One product of each kind, on average."""
        return float(sum(np.mean(times) for times in self.times.values()))


def _line(name: str, ours: Side, theirs: Side) -> str:
    target = f"{theirs.to_target / ours.to_target:.2f}" if ours.passes and theirs.passes else "–"
    passes = f"{ours.passes or '–'} : {theirs.passes or '–'}"
    return (
        f"| {name} | {1e3 * ours.seconds:.2f} | {1e3 * theirs.seconds:.2f} "
        f"| {theirs.seconds / ours.seconds:.2f} | {ours.above:.2g} | {theirs.above:.2g} "
        f"| {passes} | {target} |"
    )


HEAD = [
    f"| {1 + PASSES} passes | ours, ms a pass | scikit-learn, ms | ratio | above, ours | theirs "
    "| passes to 1 % | ratio of time to 1 % |",
    "|---|---|---|---|---|---|---|---|",
]
FOOT = ["", "| | ms a step | ms of its products | times |", "|---|---|---|---|"]


def _markdown(sides: dict[str, tuple[Side, Side]], steps: list[Products]) -> str:
    lines = [f"{machine()}; " + ", ".join(f"{k} {v}" for k, v in versions().items()), "", *HEAD]
    lines += [_line(name, *both) for name, both in sides.items()]
    lines += FOOT
    lines += [f"| {s.name} | {1e3 * s.step:.2f} | {1e3 * s.products:.2f} | {s.ratio:.2f} |" for s in steps]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Run all races and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="benchmarks/results/algorithms")
    parser.add_argument("--only", default="", help="races whose name contains this")
    folder = Path(parser.parse_args(arguments).out)
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    sides = {}
    only = parser.parse_args(arguments).only
    for one in races():
        if only in one.name:
            sides[one.name] = race(one)
            print(_line(one.name, *sides[one.name]), flush=True)
    steps = products() if not only else []
    print(_markdown(sides, steps))
    table = {
        "machine": machine(),
        "versions": versions(),
        "races": {name: {"ours": asdict(a), "theirs": asdict(b)} for name, (a, b) in sides.items()},
        "products": [asdict(one) for one in steps],
    }
    (folder / "table.json").write_text(json.dumps(table, indent=1))
    (folder / "table.md").write_text(_markdown(sides, steps))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
