"""Laws of the penalties that are not convex: conjugates bound, tangents touch, chords stay below."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dualgap.arrays import Vector
from dualgap.penalties import L0, L0L2, Bridge, Gauge, Lp, Penalised
from dualgap.penalties.bridge import Powers, QuasiNorm
from dualgap.penalties.l0 import AtMost, Count
from dualgap.traits import Trait

RNG = np.random.default_rng(0)
POINTS = [RNG.normal(size=4) * RNG.choice([0.0, 0.1, 1.0, 5.0], 4) for _ in range(200)]
FACTORS, SCALE = np.array([1.0, 0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.3, 2.0])
GAUGES: dict[str, Gauge] = {
    "l0": L0().gauge(FACTORS, SCALE),
    "l0_l2": L0L2(0.5).gauge(FACTORS, SCALE),
    "bridge": Bridge(0.5).gauge(FACTORS, SCALE),
    "lp": Lp(0.6).gauge(np.ones(4), SCALE),
}
every_gauge = pytest.mark.parametrize("name", GAUGES)


@every_gauge
def test_not_convex_and_zero_at_zero(name: str) -> None:
    gauge = GAUGES[name]
    assert Trait.CONVEX not in gauge.traits
    assert gauge.value(np.zeros(4)) == 0.0 and gauge.extended().free[-1]
    w, factor = POINTS[0], np.array([2.0, 1.0, 0.5, 3.0])
    assert gauge.substituted(factor).value(w) == pytest.approx(gauge.value(factor * w))
    keep = np.array([True, False, True, True])
    assert gauge.restricted(keep).value(w[keep]) == pytest.approx(gauge.value(np.where(keep, w, 0.0)))


@every_gauge
def test_conjugates_are_above_every_line(name: str) -> None:
    gauge = GAUGES[name]
    for v in POINTS[:40]:
        v = np.where(gauge.free, 0.0, v)
        penalised = Penalised(gauge, 0.7)
        inside = v * penalised.dual_scale(v)
        for w in POINTS:
            w = np.where(gauge.free, 0.0, w)
            assert penalised.conjugate(inside) >= inside @ w - penalised.value(w) - 1e-12
            if gauge.value(w) <= 2.0:
                assert gauge.support(v, 2.0) >= v @ w - 1e-12


@pytest.mark.parametrize("radius", [0.0, 1.0, 2.0])
def test_at_most(radius: float) -> None:
    form = L0L2(0.5).within(GAUGES["l0_l2"], radius)
    assert isinstance(form, AtMost)
    for v, w in itertools.product(POINTS[:20], POINTS):
        v = np.where(form.free, 0.0, v)
        inside = form.feasible(w)
        assert form.value(inside) < np.inf
        assert form.conjugate(v) >= v @ inside - form.value(inside) - 1e-12
        near = form.prox(w, 0.3)
        distance = 0.3 * form.value(near) + 0.5 * ((near - w) ** 2).sum()
        assert distance <= 0.3 * form.value(inside) + 0.5 * ((inside - w) ** 2).sum() + 1e-12


@pytest.mark.parametrize("name", ["l0", "l0_l2"])
def test_prox_against_all_patterns(name: str) -> None:
    gauge = GAUGES[name]
    assert isinstance(gauge, Count)
    for point in POINTS[:50]:
        found = gauge.prox(point, 0.4)
        value = 0.4 * gauge.value(found) + 0.5 * ((found - point) ** 2).sum()
        for pattern in itertools.product([0.0, 1.0], repeat=4):
            other: Vector = np.array(pattern) * point / (1.0 + 0.8 * gauge.l2)
            assert value <= 0.4 * gauge.value(other) + 0.5 * ((other - point) ** 2).sum() + 1e-12


@pytest.mark.parametrize("name", ["bridge", "lp"])
def test_tangents_touch_and_chords_stay_below(name: str) -> None:
    gauge = GAUGES[name]
    assert isinstance(gauge, Powers | QuasiNorm)
    for w in POINTS:
        for at in POINTS[:20]:
            lifted = np.where(gauge.free, 0.0, np.abs(at) + 1e-3)
            slope = gauge.tangent(at, 1e-3)
            above = gauge.value(lifted) + slope @ (np.abs(w) - lifted)
            assert above >= gauge.value(np.where(gauge.free, 0.0, w)) - 1e-9
        reach = gauge.value(w)
        assert gauge.chord(reach) @ np.abs(w) <= reach + 1e-12
        assert gauge.value(gauge.shrink(w, 0.5)) <= 0.5 + 1e-12
