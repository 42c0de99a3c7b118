"""Best subset and 0/1 loss with their proofs, against SCIP, l0bnb, HiGHS and abess.

    python -m benchmarks.hard_corner --quick    small sizes of the hard instances, rivals for 10 s each
    python -m benchmarks.hard_corner            everything, rivals for 60 s each
    python -m benchmarks.hard_corner --only p=1000
    python -m benchmarks.hard_corner --out benchmarks/results/hard_corner    the table that is kept

Data: Gaussian columns with correlation AR(ρ), k coefficients of one, equally spaced; SNR is the variance of
the signal over that of the noise; one draw per seed. Processor time of one thread, best of the repeats,
compilation excluded: the median and the worst of the seeds. Rivals run on the first seed, and the ratio is
to our time on that one. SCIP and l0bnb are told more than a user knows: a box 1.5 times the largest weight of
the proven optimum, and l0bnb that optimum to start from; both may stop at a gap of 1e-4. Writes
hard_corner.md and hard_corner.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

import dualgap as dg
from benchmarks.machine import machine

Data: TypeAlias = tuple[np.ndarray, np.ndarray]
GAP = 1e-4  # at which SCIP and l0bnb may stop


@dataclass
class Cell:
    """A problem for each seed, what must be reached in how many seconds, and who else tries the first."""

    name: str
    draw: Callable[[int], Data]
    asked: dict[str, Any]
    must: float | None  # seconds within which it has to be proven; None: the honest gap will do
    rivals: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)

    @property
    def data(self) -> Data:
        """Of the first seed."""
        return self.draw(self.seeds[0])


@dataclass
class Result:
    """Ours and theirs; `rivals` holds seconds, the objective and a word on how it ended."""

    cell: str
    seeds: list[int]
    seconds: list[float]  # one per seed, as what follows
    objectives: list[float]
    relative_gaps: list[float]
    nodes: list[int]
    must: float | None
    rivals: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        """Was the target reached, whatever the seed?"""
        return self.must is None or (max(self.relative_gaps) <= 1e-6 and max(self.seconds) <= self.must)


def regression(n: int, p: int, k: int, correlation: float, snr: float, seed: int = 0) -> Data:
    """Centred columns and targets, so that nobody needs an intercept."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1.0 - correlation**2) * X[:, j]
    signal = X[:, np.linspace(0, p - 1, k).astype(int)].sum(axis=1)
    y = signal + np.sqrt(signal.var() / snr) * rng.standard_normal(n)
    return X - X.mean(axis=0), y - y.mean()


def overlapping(n: int, p: int, shift: float, seed: int = 1) -> Data:
    """Two Gaussian clouds of equal size, the first column shifted."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, p))
    X[:, 0] += shift * y
    return X, y


# -- the cells ---------------------------------------------------------------------------------------


def cells(*, quick: bool) -> Iterator[Cell]:
    """All of them; the quick ones leave out what takes a minute."""
    plain = {"loss": "squared", "penalty": "l0", "budget": 10, "fit_intercept": False}
    few, many = tuple(range(3)), tuple(range(10))
    for snr in (5, 1, 0.5):
        name = f"squared n=500 p=100 k=10 AR(.5) SNR {snr}"
        yield Cell(name, drawn(500, 100, 10, 0.5, snr), plain, 0.1, ("scip", "l0bnb"), few)
    yield Cell("squared n=500 p=100 k=10 AR(.5) SNR 0.1", drawn(500, 100, 10, 0.5, 0.1), plain, None)
    for snr in () if quick else (1, 0.5, 0.1):
        name = f"squared n=500 p=100 k=10 AR(.9) SNR {snr}"
        yield Cell(name, drawn(500, 100, 10, 0.9, snr), {**plain, "max_time": 60.0}, None)
    ridge = {**plain, "penalty": "l0_l2(0.02)"}
    name = "squared n=500 p=1000 k=10 l2=.02 SNR 5"
    yield Cell(name, drawn(500, 1000, 10, 0.5, 5), ridge, 2.0, ("l0bnb",), few)
    for n, correlation, snr in ((100, 0.5, 1), (100, 0.9, 0.1), (40, 0.9, 0.1), (35, 0.99, 1)):
        for k in (5, 10, 15):
            name = f"squared n={n} p=30 k={k} AR({correlation:g}) SNR {snr}"
            yield Cell(name, drawn(n, 30, k, correlation, snr), {**plain, "budget": k}, 0.1, (), many)
    yield from _other_losses()
    yield from _planes(quick=quick)


def drawn(n: int, p: int, k: int, correlation: float, snr: float) -> Callable[[int], Data]:
    """`regression` with a seed to come."""
    return lambda seed: regression(n, p, k, correlation, snr, seed)


def signs_of(draw: Callable[[int], Data]) -> Callable[[int], Data]:
    """The same with the signs of the targets as labels."""

    def labelled(seed: int) -> Data:
        X, y = draw(seed)
        return X, np.sign(y)

    return labelled


def _other_losses() -> Iterator[Cell]:
    asked = {"penalty": "l0", "budget": 5}
    logistic = {**asked, "loss": "logistic"}
    absolute = {**asked, "loss": "absolute", "fit_intercept": False}
    seeds = tuple(range(10))
    for n, snr in ((500, 5), (500, 1), (500, 0.3), (200, 0.3)):
        draw = drawn(n, 30, 5, 0.5, snr)
        yield Cell(f"logistic n={n} p=30 k=5 SNR {snr}", signs_of(draw), logistic, 0.5, (), seeds)
        rivals = ("highs",) if snr > 0.5 else ()
        yield Cell(f"absolute n={n} p=30 k=5 SNR {snr}", draw, absolute, 0.5, rivals, seeds)


def _planes(*, quick: bool) -> Iterator[Cell]:
    asked = {"loss": "zero_one", "penalty": "none"}
    for p, must in ((2, 0.05), (3, 2.0), (4, 20.0), (5, 20.0)):
        rivals = () if quick and p > 3 else ("highs",)
        yield Cell(f"zero_one n=200 p={p}", planes(p, 1.28), asked, must, rivals, (1, 2, 3))
        if p < 4:
            name = f"zero_one n=200 p={p}, a quarter wrong"
            yield Cell(name, planes(p, 0.6), asked, must, (), (1, 2, 3))


def planes(p: int, shift: float) -> Callable[[int], Data]:
    """`overlapping` with a seed to come."""
    return lambda seed: overlapping(200, p, shift, seed)


# -- ours --------------------------------------------------------------------------------------------


def best_of(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The fewest seconds of the processor, and the last answer."""
    seconds = np.inf
    for _ in range(repeats):
        began = time.process_time()
        found = run()
        seconds = min(seconds, time.process_time() - began)
        if seconds > 3.0:
            break
    return seconds, found


def race(cell: Cell, repeats: int, patience: float) -> Result:
    """One cell."""
    X, y = cell.data
    dg.fit(X[:, :2], y, **{**cell.asked, **({"budget": 1} if "budget" in cell.asked else {})})  # compiles
    result, first = Result(cell.name, list(cell.seeds), [], [], [], [], cell.must), None
    for seed in cell.seeds:
        X, y = cell.draw(seed)
        seconds, ours = best_of(lambda X=X, y=y: dg.fit(X, y, **cell.asked), repeats)
        first = first or ours
        result.seconds.append(seconds)
        result.objectives.append(ours.objective)
        result.relative_gaps.append(ours.relative_gap)
        result.nodes.append(ours.n_iter)
    for name in cell.rivals:
        try:
            spent, objective, ending = RIVALS[name](cell, first, patience)
        except ImportError:
            continue
        result.rivals[name] = {"seconds": spent, "objective": objective, "ending": ending}
    return result


# -- theirs ------------------------------------------------------------------------------------------


def _ridge(cell: Cell) -> float:
    penalty = cell.asked["penalty"]
    return float(penalty[6:-1]) if penalty.startswith("l0_l2") else 0.0


def scip(cell: Cell, ours: Any, patience: float) -> tuple[float, float, str]:
    """Mean squares by the Cholesky factor of the Gram matrix, a binary and a box for each weight."""
    from pyscipopt import Model, quicksum

    X, y = cell.data
    n, p = X.shape
    box, limit = 1.5 * float(np.abs(ours.coef).max()), cell.asked["budget"]
    factor = np.linalg.cholesky(X.T @ X / n + _ridge(cell) * np.eye(p)).T
    pulled = X.T @ y / n
    model = Model()
    model.hideOutput()
    model.setParam("timing/clocktype", 1)  # of the processor
    model.setParam("limits/time", patience)
    model.setParam("limits/gap", GAP)
    w = [model.addVar(lb=-box, ub=box) for _ in range(p)]
    used = [model.addVar(vtype="B") for _ in range(p)]
    v = [model.addVar(lb=None) for _ in range(p)]
    top = model.addVar(lb=0.0)
    for j in range(p):
        model.addCons(w[j] <= box * used[j])
        model.addCons(w[j] >= -box * used[j])
        model.addCons(v[j] == quicksum(float(factor[j, i]) * w[i] for i in range(j, p)))
    model.addCons(quicksum(used) <= limit)
    model.addCons(quicksum(one * one for one in v) <= top)
    model.setObjective(top - 2.0 * quicksum(float(pulled[j]) * w[j] for j in range(p)) + float(y @ y) / n)
    began = time.process_time()
    model.optimize()
    return time.process_time() - began, model.getPrimalbound(), f"gap {model.getGap():.1e}"


def l0bnb(cell: Cell, ours: Any, patience: float) -> tuple[float, float, str]:
    """The penalised form at a price for which our optimum is the best, that optimum as the start."""
    from l0bnb import BNBTree

    X, y = cell.data
    k, n = int(cell.asked["budget"]), len(y)
    around = dg.path(X, y, loss="squared", penalty=cell.asked["penalty"], sizes=[k - 1, k, k + 1],
                     fit_intercept=False, max_time=30.0, tol=1e-4)  # fmt: skip
    less, _, more = 0.5 * n * around.objectives  # type: ignore[attr-defined]
    price = 0.5 * float(less - more)
    BNBTree(np.asfortranarray(X[:, :5]), y).solve(price, 1.0, 1.0, time_limit=5.0)  # compiles
    tree = BNBTree(np.asfortranarray(X), y)
    began = time.process_time()
    found = tree.solve(price, 0.5 * n * _ridge(cell), 1.5 * float(np.abs(ours.coef).max()), gap_tol=GAP,
                       warm_start=ours.coef, time_limit=patience)  # fmt: skip
    spent = time.process_time() - began
    cost = 2.0 * (found.cost - price * np.count_nonzero(found.beta)) / n
    return spent, float(cost), f"gap {found.gap:.1e}"


def highs(cell: Cell, ours: Any, patience: float) -> tuple[float, float, str]:
    """Integer programs with a box: the absolute loss by residuals, the 0/1 loss by a margin of one."""
    program = _errors if cell.asked["loss"] == "zero_one" else _residuals
    began = time.process_time()
    found = program(cell, ours, patience)
    spent = time.process_time() - began
    if found.x is None:
        return spent, np.inf, "no answer"
    return spent, float(found.fun), f"gap {found.mip_gap:.1e}"


def _residuals(cell: Cell, ours: Any, patience: float) -> Any:
    X, y = cell.data
    n, p = X.shape
    box = 1.5 * float(np.abs(ours.coef).max())
    one, none = np.eye(p), np.zeros((p, 2 * n))
    fit = np.hstack([X, np.zeros((n, p)), np.eye(n), -np.eye(n)])
    above, below = np.hstack([one, -box * one, none]), np.hstack([one, box * one, none])
    count = np.concatenate([np.zeros(p), np.ones(p), np.zeros(2 * n)])
    rules = [
        LinearConstraint(fit, y, y),
        LinearConstraint(above, -np.inf, 0.0),
        LinearConstraint(below, 0.0, np.inf),
        LinearConstraint(count, 0.0, cell.asked["budget"]),
    ]
    cost = np.concatenate([np.zeros(2 * p), np.full(2 * n, 1.0 / n)])
    low = np.concatenate([np.full(p, -box), np.zeros(p + 2 * n)])
    high = np.concatenate([np.full(p, box), np.ones(p), np.full(2 * n, np.inf)])
    whole = np.concatenate([np.zeros(p), np.ones(p), np.zeros(2 * n)])
    return milp(cost, constraints=rules, bounds=Bounds(low, high), integrality=whole,
                options={"time_limit": patience})  # fmt: skip


def _errors(cell: Cell, ours: Any, patience: float) -> Any:
    X, y = cell.data
    n, p = X.shape
    box = 200.0  # 20, which is common, misses the optimum
    sides = y[:, None] * np.column_stack([X, np.ones(n)])
    reach = 1.0 + box * np.abs(sides).sum(axis=1)
    rule = LinearConstraint(np.hstack([sides, np.diag(reach)]), 1.0, np.inf)
    cost = np.concatenate([np.zeros(p + 1), np.full(n, 1.0 / n)])
    low, high = np.append(np.full(p + 1, -box), np.zeros(n)), np.append(np.full(p + 1, box), np.ones(n))
    whole = np.append(np.zeros(p + 1), np.ones(n))
    return milp(cost, constraints=rule, bounds=Bounds(low, high), integrality=whole,
                options={"time_limit": patience})  # fmt: skip


RIVALS = {"scip": scip, "l0bnb": l0bnb, "highs": highs}


# -- good sets without a proof -----------------------------------------------------------------------


def heuristics(repeats: int, draws: int) -> list[dict[str, Any]]:
    """hard_thresholding against abess: seconds, and how often each has the lower objective."""
    try:
        from abess.linear import LinearRegression
    except ImportError:
        return []
    found = []
    for p in (100, 1000):
        for snr in (5, 1, 0.5, 0.1):
            ours, theirs, better, worse = [], [], 0, 0
            for seed in range(draws):
                X, y = regression(500, p, 10, 0.5, snr, seed)
                mine = spent = np.inf
                for _ in range(repeats):  # in turn: what else the machine does hits both
                    seconds, one = best_of(lambda X=X, y=y: _good_set(X, y), 1)
                    mine = min(mine, seconds)
                    seconds, other = best_of(lambda X=X, y=y: LinearRegression(support_size=10).fit(X, y), 1)
                    spent = min(spent, seconds)
                reached = float(np.mean((y - X @ other.coef_ - other.intercept_) ** 2))
                ours.append(mine)
                theirs.append(spent)
                better += one.objective < reached * (1 - 1e-9)
                worse += one.objective > reached * (1 + 1e-9)
            found.append({"cell": f"n=500 p={p} k=10 SNR {snr}", "ours": float(np.median(ours)),
                          "abess": float(np.median(theirs)), "better": better, "worse": worse,
                          "draws": draws})  # fmt: skip
    return found


def _good_set(X: np.ndarray, y: np.ndarray) -> dg.Solution:
    return dg.fit(X, y, loss="squared", penalty="l0", budget=10, solver="hard_thresholding", tol=1e9)


# -- tables ------------------------------------------------------------------------------------------


def markdown(results: list[Result], sets: list[dict[str, Any]]) -> str:
    """Both tables."""
    lines = [
        f"{machine()}; " + ", ".join(f"{name} {version}" for name, version in versions().items()),
        "",
        "| problem | seeds | ours, s: median | worst | worst relative gap | most nodes | must, s "
        "| rival | its s | ratio | its objective, gap |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in results:
        must = "the gap" if r.must is None else f"{r.must:g}{'' if r.met else ' MISSED'}"
        head = (
            f"| {r.cell} | {_span(r.seeds)} | {np.median(r.seconds):.4f} | {max(r.seconds):.4f} "
            f"| {max(r.relative_gaps):.1e} | {max(r.nodes)} | {must} "
        )
        for name, other in (r.rivals or {"": None}).items():
            tail = "| | | | |"
            if other is not None:
                tail = (
                    f"| {name} | {other['seconds']:.2f} | {other['seconds'] / r.seconds[0]:.0f} "
                    f"| {other['objective'] / r.objectives[0]:.6f} × ours, {other['ending']} |"
                )
            lines.append(head + tail)
    if sets:
        lines += [
            "",
            "| good set, no proof | seeds | hard_thresholding, s | abess, s | ratio "
            "| better : worse of draws |",
        ]
        lines += ["|---|---|---|---|---|---|"]
    for s in sets:
        share = f"{s['better']} : {s['worse']} of {s['draws']}"
        lines.append(
            f"| {s['cell']} | {_span(list(range(s['draws'])))} | {s['ours']:.5f} | {s['abess']:.5f} "
            f"| {s['abess'] / s['ours']:.2f} | {share} |"
        )
    return "\n".join(lines) + "\n"


def _span(seeds: list[int]) -> str:
    return f"{seeds[0]}…{seeds[-1]}" if len(seeds) > 1 else str(seeds[0])


def versions() -> dict[str, str]:
    """Of everybody who is there."""
    found = {}
    for name in ("dualgap", "numpy", "scipy", "numba", "pyscipopt", "l0bnb", "abess"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the cells asked for and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="no hard instances, rivals for 10 s each")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", default="benchmarks/results/local")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    results = []
    for cell in cells(quick=options.quick):
        if options.only in cell.name:
            results.append(race(cell, options.repeats, 10.0 if options.quick else 60.0))
            print("\n".join(markdown(results[-1:], []).splitlines()[4:]), flush=True)
    sets = heuristics(max(options.repeats, 7), 12) if options.only in "heuristic" else []
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    table = {
        "machine": machine(),
        "versions": versions(),
        "results": [{**asdict(r), "met": r.met} for r in results],
        "heuristics": sets,
    }
    (folder / "hard_corner.json").write_text(json.dumps(table, indent=1))
    (folder / "hard_corner.md").write_text(markdown(results, sets))
    print(markdown(results, sets))
    return 0 if all(r.met for r in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
