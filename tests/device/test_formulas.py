"""Formulas of rows written down: they say what NumPy says, and kernels what torch's functions say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, xlogy

import dualgap as dg
from device.rows import LOSSES, PLACE, drawn, put, targets, torch
from dualgap import losses
from dualgap.device import kernels, sweep
from dualgap.device.formulas import CannotFollowError, Tape
from dualgap.device.kernels import added
from dualgap.device.matrix import DeviceMatrix
from dualgap.losses import Loss
from dualgap.penalties import L1, L2
from dualgap.penalties.forms import Penalised
from dualgap.proof.blocks import OwnSlopes, Risked, RowSlopes, StreamStatement, judged, visited
from dualgap.proof.rounding import sums_of
from dualgap.streaming.ramps import GivenSlopes, KinkTable, OuterSlopes, Ramped, RampSlopes
from dualgap.streaming.resident import Levelled
from dualgap.traits import Trait

WORDS: dict[str, Any] = {
    "dg_max": np.maximum,
    "dg_min": np.minimum,
    "dg_clip": np.clip,
    "dg_sign": np.sign,
    "dg_finite": lambda x: np.where(np.isfinite(x), x, 0.0),
    "dg_softplus": lambda x: np.logaddexp(0.0, x),
    "dg_expit": expit,
    "dg_xlogy": xlogy,
    "fabs": np.abs,
    "INF": np.inf,
    "NONE": np.nan,
    "where": np.where,
    **{name: getattr(np, name) for name in ("exp", "log", "log1p", "sqrt", "copysign", "isfinite")},
}


def told(tape: Tape, wanted: Any, **given: Any) -> Any:
    """What the lines of a formula say, by NumPy."""
    values = dict(given)
    for line in tape.lines:
        found = re.fullmatch(r"const (?:double|bool) (\w+) = (.*);", line)
        assert found is not None, line
        text = re.sub(r"^\((?:double|bool)\)", "", found[2])
        text = re.sub(r"^(.*) \? (.*) : (.*)$", r"where(\1, \2, \3)", text)
        text = text.replace("&&", "&").replace("||", "|")
        text = re.sub(r"!(?!=)", "~", text)
        values[found[1]] = eval(text, WORDS, values)
    return values[tape.read(wanted)] if wanted.name in values else values[wanted.name]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_what_is_written_down_is_what_numpy_says(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(size=200) * 3.0, [30.0, -30.0, 0.0]])
    _, y, labels = drawn(len(z))
    y = targets(loss, y, np.where(labels > 0, 1.0, -1.0)).astype(float)
    with np.errstate(all="ignore"):
        low, high = loss.domain(y)
        u = np.clip(loss.derivative(y, 0.5 * z), low, high)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("value", {"y": y, "z": z}),
            ("derivative", {"y": y, "z": z}),
            ("fenchel_young", {"y": y, "z": z, "u": u}),
        ]
        if Trait.SMOOTH in loss.traits:
            calls.append(("second_derivative", {"y": y, "z": z}))
        for name, given in calls:
            tape = Tape()
            wanted = getattr(loss, name)(*(tape.named(one) for one in given))
            found = np.broadcast_to(told(tape, wanted, **given), len(z))
            assert np.allclose(
                found, getattr(loss, name)(*given.values()), rtol=1e-12, atol=1e-300, equal_nan=True
            ), name


def test_kinks_are_written_down_too() -> None:
    rng, kinks = np.random.default_rng(1), KinkTable.of(losses.EpsilonInsensitive(0.3))
    y, z = rng.normal(size=50), rng.normal(size=50)
    for formula, want in (
        (RampSlopes(kinks), Ramped(kinks, 0.2).derivative(y, z)),
        (OuterSlopes(kinks), kinks.pieces(y, z, 0.2)),
    ):
        tape = Tape()
        wanted = formula(tape.named("y"), tape.named("z"), tape.named("c"))
        assert np.allclose(told(tape, wanted, y=y, z=z, c=0.2), want)
    assert KinkTable.of(losses.Hinge()) is KinkTable.of(losses.Hinge())


def test_what_asks_for_values_cannot_be_followed() -> None:
    tape = Tape()
    x = tape.named("x")
    for follow in (lambda: bool(x > 0.0), lambda: x + np.ones(3), lambda: x**3.0, lambda: x.space.cumsum(x)):
        with pytest.raises(CannotFollowError):
            follow()
    assert kernels.source_of(lambda y: ([y[0]], []), 1, 0) is None


def test_what_is_the_same_is_worked_out_once() -> None:
    tape = Tape()
    x = tape.named("x")
    one, other = (x + 1.0) * 2.0, (x + 1.0) * 2.0
    assert one is other and len(tape.lines) == 2


@pytest.fixture
def kernels_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels however few the rows are."""
    if PLACE != "cuda" or kernels.compiler() is None:
        pytest.skip("no device here, or no compiler for it")
    monkeypatch.setattr("dualgap.device.kernels.LONG", 1)
    monkeypatch.setattr("dualgap.device.sweep.LEAST", 1)


@pytest.mark.usefixtures("kernels_for_few")
@pytest.mark.parametrize("n", [1, 7, 255, 5000, 300_001])
@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_a_kernel_adds_up_what_torch_does(loss: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    formula, rng = losses.CATALOGUE[loss](), np.random.default_rng(n)
    y, z, s = np.sign(rng.normal(size=n)), 3.0 * rng.normal(size=n), rng.uniform(size=n)
    for function, arrays, numbers in ((Risked(formula), (y, z, s), ()), (Levelled(formula), (y, z), (0.3,))):
        there = added(function, [put(one) for one in arrays], numbers)
        assert there is not None
        here = sums_of(function, arrays, numbers)
        size = sums_of(lambda *rows, f=function: ([abs(one) for one in f(*rows)[0]], []), arrays, numbers)
        assert np.all(abs(there.sums - here.values) <= (1e-13 + there.share) * size.values)


@pytest.mark.usefixtures("kernels_for_few")
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("n", "p"), [(1, 1), (37, 3), (4099, 33), (2500, 100), (3001, 129), (700, 1000), (90, 2048)]
)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_one_look_proves_what_several_do(loss: str, n: int, p: int, kind: Any) -> None:
    rng = np.random.default_rng(n + p)
    X = (rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-3, 3, size=p)).astype(kind)
    y, w, s = np.sign(rng.normal(size=n)), rng.normal(size=p) / 10.0**3, rng.uniform(0.5, 2.0, size=n)
    formula = losses.CATALOGUE[loss]()
    for penalty, tied in ((L2(), False), (L1(), False), (L1(), True)):
        gauge: Any = penalty.gauge(np.ones(p), np.ones(p))
        regulariser = Penalised(gauge.extended() if tied else gauge, 0.1)
        problem, at = StreamStatement.stated(formula, regulariser, intercept=tied), np.append(w, [0.1] * tied)
        for weight in (None, put(s)):
            given = (problem, DeviceMatrix(put(X)), put(y), weight, at)
            one = visited(*given, RowSlopes(OwnSlopes(formula)))
            two = visited(*given[:1], DeviceMatrix(put(X)), *given[2:], lambda y, t: formula.derivative(y, t))
            assert one.known is not None and two.known is None
            assert np.array_equal(one.block.rows.tops, np.abs(X.astype(float)).max(axis=0))
            apart = np.abs(one.t.cpu().numpy() - two.t.cpu().numpy()).max()
            assert apart <= one.error + two.error
            for k in range(1 + tied):
                u = one.u.cpu().numpy().astype(np.longdouble) * (1.0 if weight is None else s)
                u = np.where(u < 0.0, k * u, (1 - k) * u) if tied else u
                exact = np.append(X.astype(np.longdouble).T @ u, u.sum())[: p + tied]
                assert np.all(abs(one.pull.value[: p + tied, k] - exact) <= one.pull.error[: p + tied, k])
            off = (one.pull.error[:p] + two.pull.error[:p]).sum(axis=1)
            moved = formula.curvature * (one.error + two.error) * np.abs(X).sum(axis=0) * 2.0
            assert np.all(abs((one.pull.value - two.pull.value)[:p].sum(axis=1)) <= off + moved)
            first, second = (judged(problem, seen.weighed(0.7), at) for seen in (one, two))
            assert first.dual <= second.primal and second.dual <= first.primal
            assert np.isclose(first.primal, second.primal, rtol=1e-9)
            assert np.isclose(first.gap, second.gap, rtol=1e-6)


@pytest.mark.usefixtures("kernels_for_few")
def test_a_number_that_is_none_is_seen() -> None:
    X = torch.ones((300, 40), dtype=torch.float64, device=PLACE)
    X[17, 3], X[5, 9] = float("nan"), float("inf")
    y = torch.ones(300, dtype=torch.float64, device=PLACE)
    matrix = DeviceMatrix(X)
    found = sweep.swept(X, matrix.here(np.ones(40)), lambda dot, y: (dot, y, y, 0.0, y), [y], (), None)
    assert found is not None and not np.isfinite(found.far)
    gauge: Any = L2().gauge(np.ones(40), np.ones(40))
    problem = StreamStatement.stated(losses.Squared(), Penalised(gauge, 0.1), intercept=False)
    visited(problem, matrix, y, None, np.zeros(40), RowSlopes(OwnSlopes(losses.Squared())))
    assert np.isnan(matrix.tops[3]) and np.isinf(matrix.tops[9])


@pytest.mark.usefixtures("kernels_for_few")
def test_slopes_that_no_row_can_have_prove_nothing_false() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(600, 5)), np.sign(rng.normal(size=600))
    gauge: Any = L2().gauge(np.ones(5), np.ones(5))
    problem = StreamStatement.stated(losses.Hinge(), Penalised(gauge, 0.1), intercept=False)
    claimed = put(np.where(rng.uniform(size=600) < 0.5, np.nan, 7.0))
    seen = visited(
        problem, DeviceMatrix(put(X)), put(y), None, np.zeros(5), RowSlopes(GivenSlopes(), (), (claimed,))
    )
    low, high = losses.Hinge().domain(y)
    u = seen.u.cpu().numpy()
    assert np.all((low <= u) & (u <= high))
    best = dg.fit(X, y, loss="hinge", penalty="l2", lam=0.1, fit_intercept=False)
    assert judged(problem, seen.weighed(), np.zeros(5)).dual <= best.objective
