"""Losses, sums and products of a device against those of NumPy, and of exact arithmetic."""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys
import threading
from contextlib import nullcontext
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from device.rows import LOSSES, drawn, put, targets, torch
from dualgap import losses
from dualgap.device.kernels import Launch
from dualgap.device.matrix import DeviceMatrix, HostMatrix, Pinned, rough
from dualgap.losses import Loss
from dualgap.penalties import L1, L2
from dualgap.penalties.forms import Penalised
from dualgap.proof.blocks import StreamStatement, all_visited, judged, visited, weigh
from dualgap.proof.rounding import added_up, share_of
from dualgap.traits import Trait


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_losses_answer_alike_for_any_library(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(size=200) * 3.0, [800.0, -800.0, 0.0, 1e-300]])
    _, y, labels = drawn(len(z))
    y = targets(loss, y, np.where(labels > 0, 1.0, -1.0))
    with np.errstate(all="ignore"):
        low, high = loss.domain(y)
        u = np.clip(loss.derivative(y, 0.5 * z), low, high)
        calls: list[tuple[str, tuple[Any, ...]]] = [
            ("value", (y, z)),
            ("derivative", (y, z)),
            ("conjugate", (y, u)),
            ("fenchel_young", (y, z, u)),
        ]
        if Trait.SMOOTH in loss.traits:
            calls.append(("second_derivative", (y, z)))
        for name, given in calls:
            here, there = getattr(loss, name)(*given), getattr(loss, name)(*map(put, given))
            assert there.dtype.itemsize == 8
            assert np.allclose(here, there.cpu().numpy(), rtol=1e-12, atol=1e-300, equal_nan=True), name
        for here, there in zip((low, high), loss.domain(put(y)), strict=True):
            assert np.array_equal(here, there.cpu().numpy())


@pytest.mark.parametrize("n", [1, 5, 4095, 4096, 4097, 70_001])
def test_sums_are_within_the_error_that_they_state(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n) * 10.0 ** np.random.default_rng(1).uniform(-8, 8, size=n)
    exact, size = math.fsum(values), math.fsum(abs(values))
    assert abs(added_up(put(values)) - exact) <= share_of(put(values)) * size + 2.0**-52 * abs(exact)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3, 4095, 4097, 9000])
def test_products_are_within_the_error_that_they_state(n: int, kind: Any) -> None:
    rng = np.random.default_rng(n)
    X = (rng.normal(size=(n, 3)) * [1.0, 1e6, 1e-6]).astype(kind)
    w, theta = rng.normal(size=3), rng.normal(size=(2, n))
    tensor = put(X)
    for matrix in (DeviceMatrix(tensor), HostMatrix(tensor.cpu(), tensor.device)):
        value, _, error = matrix.times(w)
        for i in (0, n // 2, n - 1):
            exact = sum(Fraction(float(x)) * Fraction(float(v)) for x, v in zip(X[i], w, strict=True))
            assert abs(Fraction(float(value[i])) - exact) <= Fraction(error)
        found, off = matrix.against_many([put(theta[0]), put(theta[1])])
        for k in range(2):
            for j in range(3):
                terms = zip(X[:, j].tolist(), theta[k].tolist(), strict=True)
                exact = sum((Fraction(x) * Fraction(t) for x, t in terms), Fraction(0))
                assert abs(Fraction(float(found[k, j])) - exact) <= Fraction(float(off[k, j]))
        assert np.array_equal(matrix.tops, np.abs(X.astype(np.float64)).max(axis=0))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_kernel_weighs_a_device_as_it_weighs_the_host(loss: Loss, intercept: bool) -> None:
    X, y, labels = drawn(2500)
    y = targets(loss, y, np.where(labels > 0, 1.0, -1.0)).astype(np.float64)
    gauge: Any = (L2() if intercept else L1()).gauge(np.ones(X.shape[1]), np.ones(X.shape[1]))
    regulariser = Penalised(gauge.extended() if intercept else gauge, 0.1)
    statement = StreamStatement.stated(loss, regulariser, intercept=intercept)
    rng = np.random.default_rng(1)
    w, s = rng.normal(size=X.shape[1] + intercept) * 0.02, rng.uniform(0.5, 2.0, size=len(y))
    u = 0.9 * loss.derivative(y, X @ w[: X.shape[1]])
    here = weigh(statement, X, y, s, w, u)
    there = weigh(statement, DeviceMatrix(put(X)), put(y), put(s), w, put(u))
    for name in ("weight", "risk", "terms", "pull"):
        one, other = getattr(here, name), getattr(there, name)
        slack = one.error + other.error + 2.0 * (here.spread + there.spread) + here.apart + there.apart
        assert np.all(np.abs(np.asarray(one.value) - np.asarray(other.value)) <= slack), name
    assert there.rows == here.rows and np.array_equal(there.tops, here.tops)


def test_many_weights_are_weighed_as_each_is_alone() -> None:
    X, y, labels = drawn(2500)
    loss, labels = losses.Logistic(), put(np.where(labels > 0, 1.0, -1.0))
    matrix, rng = DeviceMatrix(put(X)), np.random.default_rng(2)
    gauge: Any = L2().gauge(np.ones(X.shape[1]), np.ones(X.shape[1]))
    problems = [
        StreamStatement.stated(loss, Penalised(gauge.extended(), lam), intercept=True) for lam in (0.1, 1.0)
    ]
    ws = [rng.normal(size=X.shape[1] + 1) * 0.02 for _ in problems]
    matrix.foresee([w[:-1] for w in ws])
    for weight in (None, put(rng.uniform(0.5, 2.0, size=len(y)))):
        slopes = [loss.derivative] * 2
        for problem, w, seen in zip(
            problems, ws, all_visited(problems, matrix, labels, weight, ws, slopes), strict=True
        ):
            alone = visited(problem, DeviceMatrix(put(X)), labels, weight, w, loss.derivative)
            assert np.all(abs(seen.pull.value - alone.pull.value) <= seen.pull.error + alone.pull.error)
            one, other = judged(problem, seen.weighed(), w), judged(problem, alone.weighed(), w)
            assert one.dual <= other.primal and other.dual <= one.primal
            assert np.isclose(one.gap, other.gap, rtol=1e-6)


class Driver:
    """Stands in for the driver of a device: which memory it was told of."""

    def __init__(self, says: int) -> None:
        self.says, self.held, self.asked = says, set[int](), 0

    def cudaHostRegister(self, start: int, size: int, flags: int) -> int:
        self.asked += 1
        if not self.says:
            assert size == 8 * 300 * 4 and flags == 0 and start not in self.held
            self.held.add(start)
        return self.says

    def cudaHostUnregister(self, start: int) -> None:
        self.held.remove(start)


@pytest.mark.parametrize("says", [0, 2])
def test_memory_is_registered_once_where_it_lies_and_let_go(
    says: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, waits = Driver(says), []
    monkeypatch.setattr(torch.cuda, "cudart", lambda: driver)
    monkeypatch.setattr(torch.cuda, "synchronize", waits.append)
    rows = torch.ones((300, 4), dtype=torch.float64)
    pin = Pinned(rows, SimpleNamespace(type="cuda"))
    assert pin.held is (says == 0) and driver.held == ({rows.data_ptr()} if not says else set())
    pin.end()
    pin.end()
    assert not driver.held and not pin.held and len(waits) == (says == 0)
    again = Pinned(rows, SimpleNamespace(type="cuda"))
    del again  # who forgets to say so lets go of it all the same
    assert not driver.held and driver.asked == 2
    assert not Pinned(rows, SimpleNamespace(type="cpu")).held and driver.asked == 2


@pytest.mark.parametrize("n", [0, 1, 5000, 9001])
def test_rows_that_stay_on_the_host_come_in_parts_and_in_order(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dualgap.device.matrix.LOT", 1 << 10)
    X = torch.arange(3.0 * n, dtype=torch.float32).reshape(n, 3)
    parts = list(HostMatrix(X, torch.device("cpu")).parts())
    assert [i for i, _, _ in parts] == list(range(0, n, 4096)) and sum(j - i for i, j, _ in parts) == n
    assert all(torch.equal(part, X[i:j].double()) for i, j, part in parts)


def test_parts_on_their_way_wait_for_those_that_are_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualgap.device.matrix.LOT", 1 << 10)
    done: list[int] = []

    class Queued(HostMatrix):
        sent = 0

        def _sent(self, i: int, step: int) -> Any:
            self.sent += 1
            assert self.sent - len(done) <= 3, "all of X would be on its way"
            return super()._sent(i, step)

        def _used(self) -> Any:
            return SimpleNamespace(synchronize=lambda: done.append(1))

    matrix = Queued(torch.zeros((40_000, 2)), torch.device("cpu"))
    assert sum(j - i for i, j, _ in matrix.parts()) == 40_000 and matrix.sent == 10


def test_neither_library_is_imported_before_it_is_wanted() -> None:
    said = "import sys, dualgap as dg; dg.fit([[1.0], [2.0]], [1.0, 2.0], loss='squared', lam=1.0); "
    said += "print(sorted({'torch', 'cupy', 'triton', 'array_api_compat'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_threads_do_not_share_the_numbers_that_a_kernel_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    both, seen = threading.Barrier(2), []

    def launched(*given: Any) -> int:
        both.wait(10.0)  # each has written its own before either is read
        seen.append(ctypes.cast(given[9][0], ctypes.POINTER(ctypes.c_uint64))[0])
        return 0

    driver, stream = SimpleNamespace(cuLaunchKernel=launched), SimpleNamespace(_as_parameter_=None)
    monkeypatch.setattr(torch.cuda._utils, "_get_gpu_runtime_library", lambda: driver, raising=False)
    monkeypatch.setattr(torch.cuda, "device", lambda place: nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    kernel = Launch(SimpleNamespace(func=None), None)
    threads = [threading.Thread(target=kernel, args=(1, 1, [], [number])) for number in (3, 4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(seen) == [3, 4]


@pytest.mark.parametrize("name", ["allow_tf32", "fp32_precision"])
def test_how_products_are_made_is_left_as_it_was(name: str) -> None:
    matmul = torch.backends.cuda.matmul
    if not hasattr(matmul, name):
        pytest.skip("this torch has the old name alone")
    before, choices = getattr(matmul, name), {"allow_tf32": (False, True)}.get(name, ("ieee", "tf32"))
    try:
        for one in choices:
            setattr(matmul, name, one)
            for wanted in (False, True):
                with rough(torch, wanted):
                    assert getattr(matmul, name) == choices[wanted]
                assert getattr(matmul, name) == one
    finally:
        setattr(matmul, name, before)
