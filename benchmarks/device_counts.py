"""What a fit on a device does, counted on torch's arrays: `python -m benchmarks.device_counts [part …]`.

Reads of X (in sizes of X), what else is read and written (in sizes of y), calls (kernels, nearly), waits of
the host for a number, and the largest memory beside X that calls made at once (in sizes of X). Times say
nothing of a device and are not told. Parts: smooth, kinked, wide, folds.
"""

from __future__ import annotations

import json
import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import dualgap as dg
from benchmarks.device import drawn, strength
from dualgap.device import matrix as device_matrix

WAITS = ("_local_scalar_dense", "nonzero", "_unique2", "is_nonzero")  # calls that wait for the device
VIEWS = (
    "view",
    "slice",
    "select",
    "expand",
    "transpose",
    "t",
    "alias",
    "detach",
    "diagonal",
    "as_strided",
    "unsqueeze",
    "squeeze",
    "permute",
    "_unsafe_view",
    "_reshape_alias",
    "unbind",
    "split",
    "lift_fresh",
)


class Counted(TorchDispatchMode):
    """Every call of torch on its way."""

    def __init__(self, X: Any, y: Any) -> None:
        super().__init__()
        self.of, self.size, self.n = X.untyped_storage().data_ptr(), X.numel(), len(y)
        self.reads = self.beside = self.most = self.held = 0.0
        self.calls = self.waits = 0
        self.seen: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in VIEWS:
            return out
        self.calls += 1
        self.waits += name in WAITS
        given = [one for one in tree_leaves((args, kwargs or {})) if isinstance(one, torch.Tensor)]
        for one in given:
            mine = one.untyped_storage().data_ptr() == self.of
            if mine:
                read = one.numel()
                if name in ("index", "index_select"):
                    read = min(read, sum(part.numel() for part in tree_leaves(out)))
                self.reads += read / self.size
            else:
                self.beside += _numbers(one) / self.n
        for one in tree_leaves(out):
            if isinstance(one, torch.Tensor) and one.untyped_storage().data_ptr() != self.of:
                self.beside += _numbers(one) / self.n
                self._keep(one)
        return out

    def _keep(self, one: Any) -> None:
        store = one.untyped_storage()
        key, size = store.data_ptr(), store.nbytes() / (8.0 * self.size)
        if key in self.seen or not size:
            return
        self.seen.add(key)
        self.held += size
        self.most = max(self.most, self.held)
        weakref.finalize(store, self._drop, key, size)

    def _drop(self, key: int, size: float) -> None:
        self.seen.discard(key)
        self.held -= size


def _numbers(one: Any) -> float:
    """Of 8 bytes, that are really there: an expanded array holds fewer than it shows."""
    return min(one.numel() * one.element_size(), one.untyped_storage().nbytes()) / 8.0


def counted(X: Any, y: Any, function: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """The counts of a call."""
    host = device_matrix.DeviceMatrix.host
    counts = Counted(X, y)

    def waited(self: Any, values: Any) -> Any:
        counts.waits += 1
        return host(self, values)

    device_matrix.DeviceMatrix.host = waited  # type: ignore[method-assign]
    try:
        with counts:
            found = function()
    finally:
        device_matrix.DeviceMatrix.host = host  # type: ignore[method-assign]
    told = {"reads of X": counts.reads, "beside, in y": counts.beside, "calls": counts.calls}
    told |= {"waits": counts.waits, "most beside, in X": counts.most}
    return {name: round(float(value), 2) for name, value in told.items()}, found


def cell(
    n: int, p: int, loss: str, penalty: str, live: int | None = None, share: float = 0.05, **how: Any
) -> None:
    """One fit, told."""
    X, y = drawn(n, p, loss, 11, live or max(p // 5, 1))
    lam = 1e-4 if penalty == "l2" else strength(X, y, loss, share)
    asked = {"loss": loss, "penalty": penalty, "lam": lam, "fit_intercept": False, **how}
    told, found = counted(X, y, lambda: dg.fit(X, y, **asked))
    row = {"n": n, "p": p, "loss": loss, "penalty": penalty, "passes": found.n_iter}
    print(
        json.dumps(row | told | {"gap": float(f"{found.relative_gap:.1e}"), "by": found.solver}), flush=True
    )


def smooth() -> None:
    """As many rows for each column as 10⁷×100 and 10⁶×1000 have."""
    for loss in ("logistic", "squared", "huber", "squared_hinge"):
        for penalty in ("l2", "l1", "elastic_net"):
            cell(1_200_000, 12, loss, penalty)
    cell(1_200_000, 12, "logistic", "l2", fit_intercept=True)
    for loss, penalty in (("logistic", "l2"), ("squared", "l2"), ("logistic", "l1")):
        cell(110_000, 110, loss, penalty)


def kinked() -> None:
    """The same for losses of straight pieces."""
    for n, p in ((1_200_000, 12), (110_000, 110)):
        for loss in ("hinge", "absolute"):
            cell(n, p, loss, "l2")


def wide() -> None:
    """Many more columns than rows."""
    cell(500, 25_000, "squared", "l1", live=20, share=0.3)


def folds() -> None:
    """Strengths and folds."""
    X, y = drawn(100_000, 20, "logistic", 11)
    for name, count in (("path", 0), ("cross_validate", 5)):
        asked: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "n_lams": 20}
        call = dg.cross_validate if count else dg.path
        asked |= {"cv": count} if count else {"exact": False}
        told, found = counted(X, y, partial(call, X, y, **asked))
        row = {name: "logistic l2, 20 strengths"} | told | {"gap": float(np.max(found.gaps))}
        print(json.dumps(row), flush=True)


PARTS = {"smooth": smooth, "kinked": kinked, "wide": wide, "folds": folds}


if __name__ == "__main__":
    for part in sys.argv[1:] or list(PARTS):
        PARTS[part]()
