"""Fits on a device: milliseconds to a certified relative gap, X resident. `python -m benchmarks.device [part
…] [--out table.md] [--peer]`.

Fresh seeds, medians; the first fit of each shape warms up what is compiled and is not counted. A row is
printed, and written to the table, as soon as it is there, those that say most first. Parts: missed, middle,
sparse, smooth, kinked, host, folds, check. torch's L-BFGS goes to the same objective, without a proof, where
`--peer` is given.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import dualgap as dg

SEEDS = (11, 12, 13)  # fresh data each, the median is told
SMOOTH = ("logistic", "squared", "huber", "squared_hinge")
LABELS = ("logistic", "squared_hinge", "hinge")
COLUMNS = ("problem", "ms", "of three", "passes", "certified gap", "peak, in X", "must, ms")
STORED = 20  # numbers of a sparse row
MUST = {
    **dict.fromkeys([f"{loss}+l2 10000000x100" for loss in ("huber", "squared_hinge")], 28),
    **dict.fromkeys([f"{loss}+l2 10000000x100" for loss in ("hinge", "absolute")], 60),
    **dict.fromkeys([f"{loss}+{one} 10000000x100" for loss in SMOOTH for one in ("l1", "elastic_net")], 30),
    **{"logistic+l2 10000000x100": 30, "squared+l2 10000000x100": 22, "logistic+l2 1000000x1000": 30},
    **{"squared+l2 1000000x1000": 28, "hinge+l2 1000000x1000": 150, "absolute+l2 1000000x1000": 100},
    **{"logistic+l1 1000000x1000": 60, "squared+l1 2000x100000": 60},
    **{"logistic+l2 1000000x100, 100 strengths x 5 folds": 2000, "logistic+l2 8 GB from the host": 1200},
}


class Table:
    """Rows of markdown in a file, each there as soon as it is known."""

    path: Path | None = None
    failed = False

    @classmethod
    def begin(cls, path: Path | None) -> None:
        """Who measured, and what the columns are."""
        cls.path = path
        name = torch.cuda.get_device_name() if torch.cuda.is_available() else "no device"
        cls._write(f"{name}, torch {torch.__version__}\n")
        cls._line(COLUMNS)
        cls._line(["---"] * len(COLUMNS))

    @classmethod
    def row(cls, problem: str, times: list[float], told: dict[str, Any]) -> None:
        """A problem, told twice: as JSON on the way, and in the table."""
        ms, must = sorted(times)[len(times) // 2], MUST.get(problem)
        print(
            json.dumps({"problem": problem, "ms": round(ms, 2), "all": times, "must": must, **told}),
            flush=True,
        )
        gap, peak = told.get("gap"), told.get("peak")
        cls._line(
            [
                problem,
                f"{ms:.1f}",
                f"{min(times):.1f}–{max(times):.1f}" if len(times) > 1 else "",
                str(told.get("passes", "")),
                "" if gap is None else f"{gap:.0e}",
                "" if peak is None else f"{peak:.2f}",
                "–" if must is None else str(must),
            ]
        )

    @classmethod
    def _line(cls, cells: Any) -> None:
        cls._write(f"| {' | '.join(cells)} |")

    @classmethod
    def _write(cls, text: str) -> None:
        if cls.path is not None:
            with cls.path.open("a") as file:
                file.write(text + "\n")


def drawn(
    n: int, p: int, loss: str, seed: int, live: int | None = None, factor: float = 0.5, *, short: bool = False
) -> tuple[Any, Any]:
    """Correlated columns, of 4-byte numbers if they are short; labels or numbers with some outliers."""
    torch.manual_seed(seed)
    put: dict[str, Any] = {"device": PLACE, "dtype": torch.float32 if short else torch.float64}
    X = torch.randn(n, p, **put)
    if factor:
        X += factor * torch.randn(n, 1, **put)
    w = torch.randn(p, **put) / p**0.5
    if live:
        w[live:] = 0.0
        w *= (p / live) ** 0.5
    return X, targets((X @ w).to(torch.float64), loss)


def targets(z: Any, loss: str) -> Any:
    """Labels, or numbers with some outliers."""
    chance = torch.rand(len(z), device=z.device, dtype=z.dtype)
    if loss in LABELS:
        return torch.where(chance < torch.sigmoid(2.0 * z), 1.0, -1.0).to(torch.float64)
    return z + torch.randn_like(z) * (1.0 + 4.0 * (chance < 0.1))


def sparse_drawn(n: int, p: int, loss: str, seed: int) -> tuple[Any, Any, Any]:
    """As many numbers in each row, CuPy's where it is there; targets; and Xᵀu for the strengths."""
    torch.manual_seed(seed)
    put: dict[str, Any] = {"device": PLACE}
    width = p // STORED
    place = torch.randint(width, (n, STORED), **put) + width * torch.arange(STORED, **put)
    value = torch.randn(n, STORED, dtype=torch.float64, **put)
    w = torch.randn(p, dtype=torch.float64, **put) * (torch.rand(p, **put) < 0.02)
    y = targets((value * w[place]).sum(1), loss)
    slope = dg.losses.CATALOGUE[loss]().derivative(y, torch.zeros_like(y))
    pull = torch.zeros(p, dtype=torch.float64, **put)
    pull.index_add_(0, place.reshape(-1), (value * slope[:, None]).reshape(-1))
    start = torch.arange(0, n * STORED + 1, STORED, dtype=torch.int32, **put)
    parts = (value.reshape(-1), place.reshape(-1).to(torch.int32), start)
    try:
        import cupy
        from cupyx.scipy.sparse import csr_matrix
    except ImportError:
        return torch.sparse_csr_tensor(parts[2], parts[1], parts[0], (n, p)), y, pull
    return csr_matrix(tuple(cupy.from_dlpack(one) for one in parts), shape=(n, p)), cupy.from_dlpack(y), pull


PLACE = "cuda" if torch.cuda.is_available() else "cpu"


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds, with everything on the device done."""
    wait()
    began = time.perf_counter()
    found = function()
    wait()
    return 1e3 * (time.perf_counter() - began), found


def wait() -> None:
    """Until the device is idle."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def strength(X: Any, y: Any, loss: str, share: float) -> float:
    """A share of the λ from which on an l1 fit has no weights, without an intercept."""
    slope = dg.losses.CATALOGUE[loss]().derivative(y, torch.zeros_like(y))
    return share * float((X.T @ slope).abs().max()) / len(y)


def tried(function: Callable[[], None]) -> None:
    """Do it; where it fails that is said, and what follows is done all the same."""
    try:
        function()
    except Exception:
        traceback.print_exc()
        Table.failed = True


def measured(*cell: Any, **how: Any) -> None:
    """One cell: the median of the seeds."""
    tried(partial(_measured, *cell, **how))


def _measured(n: int, p: int, loss: str, penalty: str, **how: Any) -> None:
    peer, watched = how.pop("peer", False), how.pop("watched", False)
    share, live = how.pop("share", 0.05), how.pop("live", max(p // 5, 1))
    short, sparse, times, told = how.pop("short", False), how.pop("sparse", False), [], {}
    name = f"{loss}+{penalty} {n}x{p}" + (", 4-byte" if short else "") + (", sparse" if sparse else "")
    name += ", intercept" if how.get("fit_intercept") else ""
    size = 12.0 * n * STORED if sparse else (4.0 if short else 8.0) * n * p
    for seed in SEEDS:
        if sparse:
            X, y, pull = sparse_drawn(n, p, loss, seed)
            top = share * float(pull.abs().max()) / n
            told["by"] = type(X).__module__.split(".")[0]
        else:
            X, y = drawn(n, p, loss, seed, live, short=short)
            top = strength(X, y, loss, share) if penalty != "l2" else 0.0
        asked = {"loss": loss, "penalty": penalty, "lam": top if penalty != "l2" else 1e-4}
        fit = partial(dg.fit, X, y, **{"fit_intercept": False, **asked, **how})
        if seed == SEEDS[0]:
            fit()
        if seed == SEEDS[0] and watched and torch.cuda.is_available():
            tried(partial(largest, fit, told))
        wait()
        before = freed()
        ms, found = timed(fit)
        times.append(ms)
        if seed == SEEDS[0]:
            told |= {"gap": found.relative_gap, "passes": found.n_iter, "converged": found.converged}
            if torch.cuda.is_available():
                told["peak"] = 1.0 + (torch.cuda.max_memory_allocated() - before) / size
            if peer and penalty == "l2":
                told["lbfgs_ms"] = lbfgs(X, y, loss, asked["lam"], found.bound + 1e-6 * found.objective)
        del X, y, found, fit
    Table.row(name, times, told)


def freed() -> float:
    """Bytes that are held on the device when the largest number of them begins to be watched."""
    if not torch.cuda.is_available():
        return 0.0
    torch.cuda.empty_cache()  # of the cell before: a fit takes its own
    torch.cuda.reset_peak_memory_stats()
    return float(torch.cuda.memory_allocated())


def largest(function: Callable[[], Any], told: dict[str, Any]) -> None:
    """What is asked for in the call and held where most of that is: the largest three, and by whom."""
    torch.cuda.memory._record_memory_history(max_entries=10**6, stacks="python")
    try:
        function()
        trace = torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)
    held: dict[int, Any] = {}
    best, size, most = [], 0, 0
    for one in trace:
        if one["action"] == "alloc":
            held[one["addr"]] = one
            size += one["size"]
            if size > most:
                most, best = size, list(held.values())
        elif one["action"] == "free_completed" and one["addr"] in held:
            size -= held.pop(one["addr"])["size"]
    best.sort(key=lambda one: -one["size"])
    told["largest, MB"] = [(round(one["size"] / 1e6, 1), _asked_by(one["frames"])) for one in best[:3]]


def _asked_by(frames: Any) -> str:
    ours = [one for one in frames if "dualgap" in one["filename"]]
    return f"{Path(ours[0]['filename']).name}:{ours[0]['line']}" if ours else ""


def lbfgs(X: Any, y: Any, loss: str, lam: float, target: float) -> float:
    """Milliseconds of torch's L-BFGS to an objective, unproven."""
    formula = dg.losses.CATALOGUE[loss]()

    def run(steps: int) -> float:
        w = torch.zeros(X.shape[1], dtype=X.dtype, device=X.device, requires_grad=True)
        made = torch.optim.LBFGS(
            [w],
            max_iter=steps,
            max_eval=4 * steps,
            line_search_fn="strong_wolfe",
            tolerance_grad=0,
            tolerance_change=0,
        )

        def closure() -> Any:
            made.zero_grad()
            value = formula.value(y, X @ w).mean() + lam * (w * w).sum()
            value.backward()
            return value

        made.step(closure)
        with torch.no_grad():
            return float(formula.value(y, X @ w).mean() + lam * (w * w).sum())

    steps = 4
    while run(steps) > target and steps < 200:
        steps = int(1.3 * steps) + 1
    return timed(lambda: run(steps))[0]


def missed(peer: bool) -> None:
    """What was short of its must, near to it, or not known."""
    measured(10**6, 1000, "logistic", "l1")
    measured(2000, 10**5, "squared", "l1", share=0.3, live=50, watched=True)
    for loss in ("logistic", "squared"):
        measured(10**6, 1000, loss, "l2")
    for n, p in ((10**6, 1000), (10**7, 100)):
        measured(n, p, "hinge", "l2")
    for penalty in ("l1", "l2"):
        measured(10**7, 100, "logistic", penalty)
    for penalty in ("l2", "l1"):
        measured(10**7, 100, "logistic", penalty, fit_intercept=True)


def middle(peer: bool) -> None:
    """Other sizes, and more numbers than 4 bytes can count."""
    for loss in ("logistic", "squared"):
        for penalty in ("l2", "l1"):
            measured(2 * 10**5, 5000, loss, penalty, peer=peer)
    for n, p in ((2 * 10**6, 500), (5 * 10**5, 2000)):
        measured(n, p, "logistic", "l2")
        measured(n, p, "logistic", "l1")
    measured(3 * 10**7, 100, "logistic", "l2", short=True)


def sparse(peer: bool) -> None:
    """Rows of some numbers."""
    measured(10**6, 10**4, "logistic", "l2", sparse=True)
    measured(10**6, 10**4, "logistic", "l1", sparse=True)


def smooth(peer: bool) -> None:
    """Smooth losses on tall data."""
    for loss in SMOOTH:
        measured(10**7, 100, loss, "l2", peer=peer)
    for loss in ("logistic", "squared"):
        measured(10**6, 1000, loss, "l2", peer=peer)
    for loss in SMOOTH:
        measured(10**7, 100, loss, "l1")
        measured(10**7, 100, loss, "elastic_net")


def kinked(peer: bool) -> None:
    """Losses of straight pieces."""
    for n, p in ((10**7, 100), (10**6, 1000)):
        for loss in ("hinge", "absolute"):
            measured(n, p, loss, "l2", peer=peer)


def folds(peer: bool) -> None:
    """A hundred strengths, five folds."""
    X, y = drawn(10**6, 100, "logistic", 11)
    for _ in range(2):
        ms, found = timed(lambda: dg.cross_validate(X, y, loss="logistic", penalty="l2", cv=5, n_lams=100))
    told = {"gap": float(np.max(found.gaps))}
    Table.row("logistic+l2 1000000x100, 100 strengths x 5 folds", [ms], told)


def host(peer: bool) -> None:
    """From the host's pageable memory, copy included."""
    X, y = drawn(10**7, 100, "logistic", 11)
    A, b = X.cpu().numpy(), y.cpu().numpy()
    del X, y
    asked = {"loss": "logistic", "penalty": "l2", "lam": 1e-4, "fit_intercept": False, "device": PLACE}
    found = [timed(partial(dg.fit, A, b, **asked)) for _ in range(3)]
    Table.row("logistic+l2 8 GB from the host", [ms for ms, _ in found], {"gap": found[0][1].relative_gap})


def check(peer: bool) -> None:
    """The cells above on a twentieth of the rows, their certificates computed again on the host."""
    many, few = (5 * 10**5, 100), (5 * 10**4, 1000)
    cells = [(*few, "logistic", "l1"), (*few, "logistic", "l2"), (*few, "squared", "l2")]
    cells += [(*shape, loss, "l2") for shape in (many, few) for loss in ("hinge", "absolute")]
    cells += [(2000, 10**5, "squared", "l1")]
    cells += [(*many, loss, penalty) for penalty in ("l2", "l1", "elastic_net") for loss in SMOOTH]
    for n, p, loss, penalty in cells:
        X, y = drawn(n, p, loss, 21, max(p // 5, 1) if n > p else 50)
        lam = 1e-4 if penalty == "l2" else strength(X, y, loss, 0.05 if n > p else 0.3)
        for tied in (False, True):
            found = dg.fit(X, y, loss=loss, penalty=penalty, lam=lam, fit_intercept=tied)
            again = found.certificate.recheck(X.cpu().numpy(), y.cpu().numpy())
            row = {"n": n, "p": p, "loss": loss, "penalty": penalty, "intercept": tied, "by": found.solver}
            row |= {"there": found.relative_gap, "here": again.gap / again.objective}
            print(json.dumps(row), flush=True)


PARTS = {
    one.__name__: one for one in (missed, sparse, middle, smooth, kinked, host, folds, check)
}  # in this order


def main() -> int:
    """The parts named, or all; those that fail say so, and the others follow."""
    parser = argparse.ArgumentParser(description="Fits on a device.")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--peer", action="store_true", help="torch's L-BFGS too")
    parser.add_argument("--out", type=Path, help="a file to which the table is added")
    words = parser.parse_args()
    Table.begin(words.out)
    for name in words.parts or list(PARTS):
        tried(partial(PARTS[name], words.peer))
    return int(Table.failed)


if __name__ == "__main__":
    raise SystemExit(main())
