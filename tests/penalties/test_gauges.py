"""Projections of norms and separable gauges where it is hard: scales 1e±6, tiny radii, orders near 1.

The laws that hold at every scale are in contracts/test_penalties.py; here the conditions of optimality are
checked one by one, to rounding.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgap.arrays import Matrix, Vector
from dualgap.penalties import Constrained, Penalised
from dualgap.penalties.base import Projection
from dualgap.penalties.norm import Norm, norm
from dualgap.penalties.separable import Separable

ORDERS = [1.02, 1.2, 4 / 3, 1.5, 1.9, 2.0, 2.5, 3.0, 4.0, 6.0, 51.0, np.inf]
SPREADS = [0.0, 3.0, 6.0]
SEPARABLE = {"l1": (1.0, 0.0), "l2": (0.0, 1.0), "elastic": (1.0, 0.5), "mostly_l1": (1.0, 1e-6)}

every_order = pytest.mark.parametrize("order", ORDERS)
every_spread = pytest.mark.parametrize("spread", SPREADS)
seeds = st.integers(0, 10**6)
shrinks = st.sampled_from([1 - 1e-9, 0.9, 0.5, 0.03, 1e-4, 1e-8])


def draw_point(seed: int, spread: float) -> tuple[Vector, Vector]:
    """A point and scales whose exponents vary; some coordinates of the point are zero."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 30))
    scale = 10.0 ** rng.uniform(-spread, spread, p)
    point = rng.normal(size=p) * 10.0 ** rng.uniform(-spread / 2, spread / 2, p)
    point[(rng.random(p) < 0.1) & (np.arange(p) > 0)] = 0.0
    return point, scale


def separable(kind: str, scale: Vector) -> Separable:
    l1, l2 = SEPARABLE[kind]
    return Separable(l1 * scale, l2 * scale * scale)


def jacobian(found: Projection) -> Matrix:
    matrix = np.diag(found.diagonal)
    return matrix if found.rank_one is None else matrix - np.outer(found.rank_one, found.rank_one)


def norm_slope(gauge: Norm, w: Vector) -> Vector:
    """The gradient of a norm away from zero, of any length; zero where w has too few digits left."""
    share = np.abs(gauge.scale * w) / gauge.value(w)
    whole = np.abs(w) > 1e-290
    return np.asarray(np.where(whole, gauge.scale * np.sign(w) * share ** (gauge.order - 1.0), 0.0))


def separable_slope(gauge: Separable, w: Vector) -> Vector:
    return np.asarray(np.sign(w) * gauge.l1 + 2.0 * gauge.l2 * w)


def off_the_normal(rest: Vector, slope: Vector, size: float) -> float:
    """How far `rest` is from a multiple of `slope` where that is not zero, as a share of `size`."""
    on = slope != 0
    multiple = float(rest[on] @ slope[on]) / float(slope[on] @ slope[on])
    assert multiple >= 0.0
    return float(np.abs(rest - multiple * slope)[on].max()) / size


@every_order
@every_spread
@given(seed=seeds, shrink=shrinks)
def test_norm_projection_lies_on_the_ball_below_its_normal(
    order: float, spread: float, seed: int, shrink: float
) -> None:
    point, scale = draw_point(seed, spread)
    gauge = Norm(order, scale)
    radius = shrink * gauge.value(point)
    nearest = gauge.project(point, radius).point
    assert gauge.value(nearest) == pytest.approx(radius, rel=1e-14)
    assert np.all(nearest * point >= 0.0) and np.all(np.abs(nearest) <= np.abs(point) * (1 + 1e-14))
    if order == np.inf:
        np.testing.assert_array_equal(nearest, np.clip(point, -radius / scale, radius / scale))
    else:
        size = float(np.abs(point).max())
        assert off_the_normal(point - nearest, norm_slope(gauge, nearest), size) <= 1e-11


@pytest.mark.parametrize("kind", SEPARABLE)
@every_spread
@given(seed=seeds, shrink=shrinks)
def test_separable_projection_lies_on_the_ball_below_its_normal(
    kind: str, spread: float, seed: int, shrink: float
) -> None:
    point, scale = draw_point(seed, spread)
    gauge = separable(kind, scale)
    radius = shrink * gauge.value(point)
    nearest = gauge.project(point, radius).point
    # |point| − μ l1 loses the digits that both have in common: at small radii these are many
    assert gauge.value(nearest) == pytest.approx(radius, rel=1e-13, abs=1e-15 * gauge.value(point))
    rest, slope = point - nearest, separable_slope(gauge, nearest)
    assert off_the_normal(rest, slope, float(np.abs(point).max())) <= 1e-13
    on = nearest != 0
    multiplier = float(np.max(rest[on] / slope[on]))
    limit = multiplier * gauge.l1[~on] * (1 + 1e-6) + 1e-9 * float(np.abs(point).max())
    assert np.all(np.abs(point[~on]) <= limit)


@pytest.mark.parametrize("gauge", [*ORDERS, *SEPARABLE], ids=str)
@given(seed=seeds, shrink=st.sampled_from([0.9, 0.3, 0.02]))
def test_jacobian_of_the_projection_against_differences(gauge: float | str, seed: int, shrink: float) -> None:
    """The quotient is a mean of the derivative on the way; where that bends, only its range is known."""
    point, scale = draw_point(seed, 0.5)
    bound = separable(gauge, scale) if isinstance(gauge, str) else Norm(gauge, scale)
    radius = shrink * bound.value(point)
    along = np.random.default_rng(seed + 1).normal(size=len(point))
    reach = 1e-6 * float(np.abs(point).max())
    found = [bound.project(point + t * reach * along, radius) for t in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    quotient = (found[-1].point - found[0].point) / (2 * reach)
    nearby = np.array([jacobian(one) @ along for one in found])
    assert np.all(np.abs(quotient - nearby[2]) <= np.ptp(nearby, axis=0).max() + 1e-6)


@every_order
@every_spread
@given(seed=seeds, strength=st.sampled_from([1e-6, 1e-2, 1.0, 1e3]))
def test_penalised_norm_splits_a_point_into_weights_and_slope(
    order: float, spread: float, seed: int, strength: float
) -> None:
    """Moreau: s = σ w + v, v in the dual ball, and v·w = strength·h(w) where w is not zero."""
    s, scale = draw_point(seed, spread)
    gauge, sigma = Norm(order, scale), 3.0
    regulariser = Penalised(gauge, strength)
    v = regulariser.dual_prox(s, sigma).v
    length = gauge.smallest_strength_at_zero  # the dual norm
    assert length(v) <= strength * (1 + 1e-14) + 1e-15 * length(s)
    w = (s - v) / sigma
    rounding = 1e-15 * (regulariser.value(s) + float(s @ s)) / sigma  # of s − v, weighed by the scales
    assert abs(v @ w - regulariser.value(w)) <= 1e-10 * regulariser.value(w) + rounding


@pytest.mark.parametrize("sigma", [1e-6, 1.0, 1e6, 1e12])
def test_slope_of_a_ridge_keeps_its_digits(sigma: float) -> None:
    """v = 2 λ w with w = s/(σ + 2 λ): not a difference of numbers σ/λ times as large."""
    l2 = np.array([1e-8, 1.0, 1e8])
    s = np.array([1.0, -2.0, 3.0])
    found = Penalised(Separable(np.zeros(3), l2), 0.5).dual_prox(s, sigma)
    np.testing.assert_allclose(found.v, l2 * s / (sigma + l2), rtol=1e-15)
    np.testing.assert_allclose(found.diagonal, l2 / (sigma + l2), rtol=1e-15)


@pytest.mark.parametrize("gauge", [1.5, 2.0, 3.0, np.inf, "l1", "l2", "elastic"], ids=str)
def test_radius_zero_leaves_the_free_coordinates_alone(gauge: float | str) -> None:
    scale = np.array([1.0, 2.0, 0.0])
    bound = separable(gauge, scale) if isinstance(gauge, str) else Norm(gauge, scale)
    ball = Constrained(bound, 0.0)
    found = bound.project(np.array([1.0, -1.0, 5.0]), 0.0)
    np.testing.assert_array_equal(found.point, [0.0, 0.0, 5.0])
    np.testing.assert_array_equal(jacobian(found), np.diag([0.0, 0.0, 1.0]))
    half = ball.dual_prox(np.array([1.0, -1.0, 5.0]), 2.0)
    np.testing.assert_array_equal(half.v, [1.0, -1.0, 0.0])
    assert half.conjugate == 0.0 and ball.conjugate(half.v) == 0.0


@every_order
def test_projection_of_many_coordinates_on_a_narrow_ball(order: float) -> None:
    """A thousand coordinates, lengths and scales over twelve decades, no overflow on the way."""
    rng = np.random.default_rng(7)
    gauge = Norm(order, 10.0 ** rng.uniform(-6, 6, 1000))
    point = rng.normal(size=1000) * 10.0 ** rng.uniform(-3, 3, 1000)
    radius = 1e-12 * gauge.value(point)
    with np.errstate(all="raise", under="ignore"):
        found = gauge.project(point, radius)
    assert gauge.value(found.point) == pytest.approx(radius, rel=1e-14)
    assert np.all((found.diagonal >= 0.0) & (found.diagonal <= 1.0))


@every_order
@given(seed=seeds)
def test_norm_does_not_overflow(order: float, seed: int) -> None:
    point, _ = draw_point(seed, 3.0)
    size = norm(point, order)
    for unit in (1e-250, 1e250):
        assert norm(unit * point, order) == pytest.approx(unit * size, rel=1e-12)
