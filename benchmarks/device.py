"""Fits on a device: milliseconds to a certified relative gap, X resident. `python -m benchmarks.device [part
…]`.

Fresh seeds, medians; the first fit of each shape warms up what is compiled and is not counted. Parts:
check, smooth, kinked, wide, folds, host. torch's L-BFGS goes to the same objective, without a proof, where
`--peer` is given.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import dualgap as dg

SEEDS = (11, 12, 13)  # fresh data each, the median is told
SMOOTH = ("logistic", "squared", "huber", "squared_hinge")
LABELS = ("logistic", "squared_hinge", "hinge")


def drawn(
    n: int, p: int, loss: str, seed: int, live: int | None = None, factor: float = 0.5
) -> tuple[Any, Any]:
    """Correlated columns, labels or numbers with some outliers."""
    torch.manual_seed(seed)
    put = {"device": "cuda" if torch.cuda.is_available() else "cpu", "dtype": torch.float64}
    X = torch.randn(n, p, **put)
    if factor:
        X += factor * torch.randn(n, 1, **put)
    w = torch.randn(p, **put) / p**0.5
    if live:
        w[live:] = 0.0
        w *= (p / live) ** 0.5
    z = X @ w
    if loss in LABELS:
        return X, torch.where(torch.rand(n, **put) < torch.sigmoid(2.0 * z), 1.0, -1.0).to(torch.float64)
    return X, z + torch.randn(n, **put) * (1.0 + 4.0 * (torch.rand(n, **put) < 0.1))


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


def measured(n: int, p: int, loss: str, penalty: str, **how: Any) -> dict[str, Any]:
    """One cell: the median of the seeds."""
    peer, share, live = how.pop("peer", False), how.pop("share", 0.05), how.pop("live", max(p // 5, 1))
    times, told = [], {}
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # of the cell before: the first fit takes its own
    for seed in SEEDS:
        X, y = drawn(n, p, loss, seed, live)
        lam = how.get("lam") or (1e-4 if penalty == "l2" else strength(X, y, loss, share))
        asked = {"loss": loss, "penalty": penalty, "lam": lam, "fit_intercept": False, **how}
        if seed == SEEDS[0]:
            dg.fit(X, y, **asked)
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        ms, found = timed(partial(dg.fit, X, y, **asked))
        times.append(ms)
        if seed == SEEDS[0]:
            told = {"gap": found.relative_gap, "passes": found.n_iter, "converged": found.converged}
            if torch.cuda.is_available():
                told["peak"] = torch.cuda.max_memory_allocated() / (8.0 * n * p)
            if peer and penalty == "l2":
                told["lbfgs_ms"] = lbfgs(X, y, loss, lam, found.bound + 1e-6 * found.objective)
        del X, y, found
    row = {"n": n, "p": p, "loss": loss, "penalty": penalty, "ms": sorted(times)[1], "all": times, **told}
    print(json.dumps(row), flush=True)
    return row


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


def smooth(peer: bool) -> None:
    """Smooth losses on tall data."""
    for loss in SMOOTH:
        measured(10**7, 100, loss, "l2", peer=peer)
        measured(10**7, 100, loss, "l1")
        measured(10**7, 100, loss, "elastic_net")
    measured(10**7, 100, "logistic", "l2", fit_intercept=True)
    for loss in ("logistic", "squared"):
        measured(10**6, 1000, loss, "l2", peer=peer)
    measured(10**6, 1000, "logistic", "l1")


def kinked(peer: bool) -> None:
    """Losses of straight pieces."""
    for n, p in ((10**7, 100), (10**6, 1000)):
        for loss in ("hinge", "absolute"):
            measured(n, p, loss, "l2", peer=peer)


def wide(peer: bool) -> None:
    """Many more columns than rows."""
    measured(2000, 10**5, "squared", "l1", share=0.3, live=50)


def folds(peer: bool) -> None:
    """A hundred strengths, five folds."""
    X, y = drawn(10**6, 100, "logistic", 11)
    for _ in range(2):
        ms, found = timed(lambda: dg.cross_validate(X, y, loss="logistic", penalty="l2", cv=5, n_lams=100))
    print(
        json.dumps({"cross_validate": "logistic l2 10^6 x 100", "ms": ms, "gap": float(np.max(found.gaps))})
    )


def host(peer: bool) -> None:
    """From the host's pageable memory, copy included."""
    X, y = drawn(10**7, 100, "logistic", 11)
    A, b = X.cpu().numpy(), y.cpu().numpy()
    del X, y
    for _ in range(2):
        ms, found = timed(
            lambda: dg.fit(A, b, loss="logistic", penalty="l2", lam=1e-4, fit_intercept=False, device="cuda")
        )
        print(json.dumps({"host": "8 GB", "ms": ms, "gap": found.relative_gap}), flush=True)


def check(peer: bool) -> None:
    """The cells above on a twentieth of the rows, their certificates computed again on the host."""
    many, few = (5 * 10**5, 100), (5 * 10**4, 1000)
    cells = [(*many, loss, penalty) for loss in SMOOTH for penalty in ("l2", "l1", "elastic_net")]
    cells += [(*few, "logistic", "l2"), (*few, "squared", "l2"), (*few, "logistic", "l1")]
    cells += [(*shape, loss, "l2") for shape in (many, few) for loss in ("hinge", "absolute")]
    for n, p, loss, penalty in [*cells, (2000, 10**5, "squared", "l1")]:
        X, y = drawn(n, p, loss, 21, max(p // 5, 1) if n > p else 50)
        lam = 1e-4 if penalty == "l2" else strength(X, y, loss, 0.05 if n > p else 0.3)
        found = dg.fit(X, y, loss=loss, penalty=penalty, lam=lam, fit_intercept=False)
        again = found.certificate.recheck(X.cpu().numpy(), y.cpu().numpy())
        row = {"n": n, "p": p, "loss": loss, "penalty": penalty, "by": found.solver}
        row |= {"there": found.relative_gap, "here": again.gap / again.objective}
        print(json.dumps(row), flush=True)


PARTS = {"check": check, "smooth": smooth, "kinked": kinked, "wide": wide, "folds": folds, "host": host}


def main(words: list[str]) -> None:
    """The parts named, or all."""
    peer = "--peer" in words
    named = [word for word in words if word in PARTS] or list(PARTS)
    for name in named:
        PARTS[name](peer)


if __name__ == "__main__":
    main(sys.argv[1:])
