"""Laws of every convex penalty, in both forms, with scales, factors and free columns (M6, M7, M8)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import FORMS, GAUGES, GaugeCase, gauge_and_points, positive_numbers, regulariser, vectors
from dualgap.arrays import Vector
from dualgap.penalties import Gauge, Regulariser
from dualgap.traits import Trait

every_gauge = pytest.mark.parametrize("case", GAUGES, ids=str)
every_form = pytest.mark.parametrize("form", FORMS)


def size(*points: Vector) -> float:
    """Σ‖·‖², the scale of rounding in a proximal objective."""
    return float(sum(point @ point for point in points))


def seen(gauge: Gauge, v: Vector) -> Vector:
    """v on the coordinates that have a price, zero on the free ones."""
    return np.where(gauge.free, 0.0, v)


def directions(p: int) -> list[Vector]:
    """All sign patterns of p ≤ 2 coordinates, and a fan between them."""
    if p == 1:
        return [np.array([1.0]), np.array([-1.0])]
    angles = np.linspace(0.0, 2 * np.pi, 240, endpoint=False)
    return [np.array([np.cos(angle), np.sin(angle)]) for angle in angles]


@every_gauge
@given(data=st.data())
def test_value_is_convex_zero_at_zero_and_blind_to_free_columns(case: GaugeCase, data: st.DataObject) -> None:
    gauge, (first, second) = data.draw(gauge_and_points(case, 2))
    t = data.draw(st.floats(0.0, 1.0))
    assert gauge.value(np.zeros_like(first)) == 0.0
    chord = t * gauge.value(first) + (1 - t) * gauge.value(second)
    assert 0.0 <= gauge.value(t * first + (1 - t) * second) <= chord * (1 + 1e-12)
    assert gauge.value(np.where(gauge.free, second, first)) == pytest.approx(gauge.value(first), rel=1e-14)


@every_gauge
@given(data=st.data())
def test_slope_is_a_subgradient(case: GaugeCase, data: st.DataObject) -> None:
    gauge, (here, there) = data.draw(gauge_and_points(case, 2))
    slope = gauge.slope(here)
    assert not slope[gauge.free].any()
    touching = gauge.value(here) + slope @ (there - here)
    assert touching <= gauge.value(there) + 1e-9 * (gauge.value(here) + np.abs(slope) @ np.abs(there - here))


@every_gauge
@given(data=st.data())
def test_a_gauge_tells_what_it_is_made_of(case: GaugeCase, data: st.DataObject) -> None:
    gauge, (w,) = data.draw(gauge_and_points(case))
    assert gauge.elastic is None or gauge.ball is None
    if gauge.elastic is not None:
        l1, l2 = gauge.elastic
        assert gauge.value(w) == pytest.approx(float(l1 @ np.abs(w) + l2 @ w**2), rel=1e-12)
    if gauge.ball is not None:
        order, scale = gauge.ball
        assert gauge.value(w) == pytest.approx(float(np.linalg.norm(scale * w, order)), rel=1e-9, abs=1e-300)


@every_gauge
@given(data=st.data())
def test_prox_is_optimal(case: GaugeCase, data: st.DataObject) -> None:
    """s − w ∈ step ∂h(w), as equality in Fenchel–Young; and no other point is better."""
    gauge, (s, other) = data.draw(gauge_and_points(case, 2))
    step = data.draw(positive_numbers())
    w = gauge.prox(s, step)
    v = seen(gauge, s - w)
    np.testing.assert_array_equal(w[gauge.free], s[gauge.free])
    assert gauge.penalised_scale(v, step) >= 1 - 1e-9
    missing = step * gauge.value(w) + gauge.penalised_conjugate(v, step) - v @ w
    assert abs(missing) <= 1e-9 * size(s)
    reached = step * gauge.value(w) + 0.5 * size(w - s)
    for rival in (other, w + 1e-4 * (other - w), np.zeros_like(s), s):
        assert reached <= step * gauge.value(rival) + 0.5 * size(rival - s) + 1e-12 * size(s)


@every_gauge
@given(data=st.data())
def test_projection_is_feasible_nearest_and_idempotent(case: GaugeCase, data: st.DataObject) -> None:
    gauge, (s, other) = data.draw(gauge_and_points(case, 2))
    radius = data.draw(positive_numbers())
    nearest = gauge.project(s, radius).point
    np.testing.assert_array_equal(nearest[gauge.free], s[gauge.free])
    assert gauge.value(nearest) <= radius * (1 + 1e-9)
    if gauge.value(s) <= radius:
        np.testing.assert_array_equal(nearest, s)
    normal = s - nearest
    assert gauge.support(normal, radius) - normal @ nearest <= 1e-9 * size(s)
    rival = gauge.shrink(np.where(gauge.free, s, other), radius)
    assert size(normal) <= size(s - rival) + 1e-9 * size(s)
    np.testing.assert_allclose(
        gauge.project(nearest, radius).point, nearest, rtol=1e-8, atol=1e-9 * np.sqrt(size(s))
    )


@every_gauge
@every_form
@given(data=st.data())
def test_dual_prox_is_the_other_half_of_moreau(case: GaugeCase, form: str, data: st.DataObject) -> None:
    """v = s − σ prox(s/σ) lies in the domain of g*, and carries g*(v)."""
    gauge, (s,) = data.draw(gauge_and_points(case))
    g = regulariser(gauge, form, data.draw(positive_numbers()))
    sigma = data.draw(positive_numbers())
    half = g.dual_prox(s, sigma)
    w = g.prox(s / sigma, 1.0 / sigma)
    scale = np.sqrt(size(s))
    np.testing.assert_allclose(half.v + seen(gauge, sigma * w), seen(gauge, s), rtol=1e-9, atol=1e-9 * scale)
    assert np.all(half.v[gauge.free] == 0.0)
    assert g.dual_scale(half.v) >= 1 - 1e-9
    expected = g.conjugate(half.v)
    assert half.conjugate == pytest.approx(expected, rel=1e-7, abs=1e-9 * size(s) / sigma)


@every_gauge
@every_form
@given(data=st.data())
def test_jacobian_of_dual_prox_against_differences(case: GaugeCase, form: str, data: st.DataObject) -> None:
    gauge, (s, along) = data.draw(gauge_and_points(case, 2))
    g = regulariser(gauge, form, data.draw(positive_numbers()))
    sigma = data.draw(positive_numbers())
    along = along / max(np.sqrt(size(along)), 1e-300)
    reach = 1e-6 * max(np.sqrt(size(s)), 1e-300)

    def derivative(at: Vector) -> Vector:
        return g.dual_prox(at, sigma).times(along)

    quotient = (g.dual_prox(s + reach * along, sigma).v - g.dual_prox(s - reach * along, sigma).v) / (
        2 * reach
    )
    nearby = np.array([derivative(s + t * reach * along) for t in (-1.0, -0.5, 0.0, 0.5, 1.0)])
    # the quotient is a mean of the derivative on the way; where that bends, only the range is known
    spread = np.ptp(nearby, axis=0).max()
    expected = seen(gauge, nearby[2])
    assert np.all(np.abs(quotient - expected) <= spread + 1e-6)


@every_gauge
@every_form
@given(data=st.data())
def test_dual_prox_jacobian_is_between_zero_and_one(case: GaugeCase, form: str, data: st.DataObject) -> None:
    """Firmly nonexpansive: the augmented Lagrangian's Newton system stays positive definite."""
    gauge, (s,) = data.draw(gauge_and_points(case))
    g = regulariser(gauge, form, data.draw(positive_numbers()))
    half = g.dual_prox(s, data.draw(positive_numbers()))
    jacobian = np.array([half.times(axis) for axis in np.eye(len(s))])
    priced = ~gauge.free
    eigenvalues = np.linalg.eigvalsh(jacobian[np.ix_(priced, priced)])
    assert np.all((eigenvalues >= -1e-9) & (eigenvalues <= 1 + 1e-9))


@every_gauge
@every_form
@given(data=st.data())
def test_fenchel_young(case: GaugeCase, form: str, data: st.DataObject) -> None:
    gauge, (w, v) = data.draw(gauge_and_points(case, 2))
    g = regulariser(gauge, form, data.draw(positive_numbers()))
    w = g.feasible(w)
    v = seen(gauge, v * g.dual_scale(v))
    total = g.value(w) + g.conjugate(v)
    assert total - v @ w >= -1e-12 * (total + np.abs(v) @ np.abs(w))


@every_gauge
@given(data=st.data())
def test_dual_scale_is_the_largest(case: GaugeCase, data: st.DataObject) -> None:
    """A little beyond, some ray of weights makes v·w − strength·h(w) positive for ever."""
    gauge, (v,) = data.draw(gauge_and_points(case))
    strength = data.draw(positive_numbers())
    g = regulariser(gauge, "penalised", strength)
    t = g.dual_scale(v)
    assert 0.0 < t <= 1.0
    assert g.dual_scale(t * (1 - 1e-12) * v) == 1.0
    if t == 1.0:
        return
    v = seen(gauge, v)
    ray = gauge.project(1e9 * v / np.abs(v).max(), 1.0).point
    ray = seen(gauge, ray)
    for length in (1.0, 1e6):
        assert t * (1 + 1e-4) * (v @ ray) * length > strength * gauge.value(length * ray)


@every_gauge
@every_form
@given(data=st.data())
def test_conjugate_is_attained(case: GaugeCase, form: str, data: st.DataObject) -> None:
    """prox of a far point along v all but maximises v·w − g(w)."""
    gauge, (v,) = data.draw(gauge_and_points(case))
    g = regulariser(gauge, form, data.draw(positive_numbers()))
    v = seen(gauge, v * g.dual_scale(v) * 0.999)
    conjugate = g.conjugate(v)
    if not v.any():
        assert conjugate == 0.0
        return
    for far in 10.0 ** np.arange(2, 14, 2) * (1.0 + conjugate) / size(v):
        w = g.feasible(seen(gauge, g.prox(far * v, far)))
        if v @ w - g.value(w) >= conjugate * (1 - 1e-4) - 1e-12:
            return
    raise AssertionError(f"g*(v) = {conjugate} but the best weights reach {v @ w - g.value(w)}")


@every_gauge
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("v", [(0.7, -0.4), (0.02, 3.0), (5.0, 5.0)], ids=str)
def test_conjugates_against_brute_force(case: GaugeCase, p: int, v: tuple[float, float]) -> None:
    gauge = case.build(p)
    point = seen(gauge, np.array(v[:p]))
    fan = directions(p)
    radius = 0.8
    reached = [point @ seen(gauge, gauge.shrink(1e6 * d, radius)) for d in fan if gauge.value(d) > 1e-9]
    best = max(reached, default=0.0)
    support = gauge.support(point, radius)
    assert best <= support * (1 + 1e-9)
    assert best >= support * 0.96  # the fan is coarse beside thin balls
    strength = 0.6
    point = point * gauge.penalised_scale(point, strength) * 0.9
    lengths = 10.0 ** np.linspace(-4, 5, 60)
    found = max(
        [0.0] + [float(t * (point @ d)) - strength * gauge.value(t * d) for d in fan for t in lengths]
    )
    conjugate = gauge.penalised_conjugate(point, strength)
    assert found <= conjugate * (1 + 1e-9) + 1e-12
    assert found >= conjugate * 0.95


@every_gauge
@every_form
@given(data=st.data())
def test_substituted(case: GaugeCase, form: str, data: st.DataObject) -> None:
    gauge, (u, v) = data.draw(gauge_and_points(case, 2))
    g = regulariser(gauge, form, data.draw(positive_numbers()))
    factor = 2.0 ** data.draw(vectors(len(u), 6.0))
    if gauge.lengths is not None:  # those of a group are one
        factor = factor[gauge.lengths.group]
    multiplier = data.draw(positive_numbers())
    other = g.substituted(factor, multiplier)
    np.testing.assert_array_equal(other.free, g.free)
    assert other.gauge.value(u) == pytest.approx(gauge.value(factor * u), rel=1e-12)
    if form == "penalised":
        assert other.value(u) == pytest.approx(multiplier * g.value(factor * u), rel=1e-12)
        v = v * g.dual_scale(v) * (1 - 1e-9)
        mapped = multiplier * factor * v
        assert other.conjugate(mapped) == pytest.approx(multiplier * g.conjugate(v), rel=1e-9)
        assert other.dual_scale(mapped) == 1.0
    else:
        assert other.conjugate(factor * v) == pytest.approx(g.conjugate(v), rel=1e-9)


@every_gauge
@every_form
@given(data=st.data())
def test_extended(case: GaugeCase, form: str, data: st.DataObject) -> None:
    gauge, (w, v) = data.draw(gauge_and_points(case, 2))
    more = gauge.extended()
    g, longer = regulariser(gauge, form, 0.7), regulariser(more, form, 0.7)
    np.testing.assert_array_equal(longer.free, np.append(g.free, True))
    assert more.value(np.append(w, 9.0)) == pytest.approx(gauge.value(w), rel=1e-14)
    np.testing.assert_allclose(
        longer.prox(np.append(w, 9.0), 0.3), np.append(g.prox(w, 0.3), 9.0), rtol=1e-12
    )
    v = v * g.dual_scale(v)
    assert longer.conjugate(np.append(v, 0.0)) == pytest.approx(g.conjugate(v), rel=1e-12)


@every_gauge
@given(data=st.data())
def test_restricted(case: GaugeCase, data: st.DataObject) -> None:
    gauge, (w,) = data.draw(gauge_and_points(case))
    keep = data.draw(vectors(len(w))) > -0.7
    part = gauge.restricted(keep)
    np.testing.assert_array_equal(part.free, gauge.free[keep])
    assert part.value(w[keep]) == pytest.approx(gauge.value(np.where(keep, w, 0.0)), rel=1e-13)


@every_gauge
@given(data=st.data())
def test_shrink_is_feasible_to_the_last_bit_and_longest(case: GaugeCase, data: st.DataObject) -> None:
    gauge, (w,) = data.draw(gauge_and_points(case))
    radius = data.draw(positive_numbers())
    shrunk = gauge.shrink(w, radius)
    assert gauge.value(shrunk) <= radius
    np.testing.assert_array_equal(shrunk[gauge.free], w[gauge.free])
    if gauge.value(w) <= radius:
        np.testing.assert_array_equal(shrunk, w)
        return
    assert gauge.value(shrunk) >= radius * (1 - 1e-9)
    priced = ~gauge.free & (w != 0)
    ratio = shrunk[priced] / w[priced]
    assert np.ptp(ratio) <= 1e-12 * ratio.max()


@every_gauge
@every_form
@given(data=st.data())
def test_feasible_weights_have_a_finite_price(case: GaugeCase, form: str, data: st.DataObject) -> None:
    gauge, (w,) = data.draw(gauge_and_points(case))
    g = regulariser(gauge, form, data.draw(positive_numbers()))
    inside = g.feasible(w)
    assert np.isfinite(g.value(inside))
    if np.isfinite(g.value(w)):
        np.testing.assert_allclose(inside, w, rtol=1e-11)


@every_gauge
@given(data=st.data())
def test_smallest_strength_at_zero(case: GaugeCase, data: st.DataObject) -> None:
    """At that strength the minimiser of strength·h(w) − v·w + ½‖w‖² is zero, just below it is not."""
    gauge, (v,) = data.draw(gauge_and_points(case))
    v = seen(gauge, v)
    strength = gauge.smallest_strength_at_zero(v)
    if not v.any():
        assert strength == 0.0
    elif np.isinf(strength):
        assert gauge.prox(v, 1e3).any()
    else:
        assert np.abs(gauge.prox(v, strength * (1 + 1e-9))).max() <= 1e-12 * np.abs(v).max()
        assert gauge.prox(v, strength * (1 - 1e-3)).any()


@every_gauge
@given(data=st.data())
def test_strong_convexity(case: GaugeCase, data: st.DataObject) -> None:
    gauge, (first, second) = data.draw(gauge_and_points(case, 2))
    modulus = gauge.strong_convexity()
    chord = 0.5 * (gauge.value(first) + gauge.value(second))
    apart = size(seen(gauge, first - second))
    assert gauge.value((first + second) / 2) <= chord - modulus * apart / 4 + 1e-12 * chord
    axes = np.eye(len(first))[~gauge.free]
    if len(axes):
        bends = [gauge.value(11 * e) - 2 * gauge.value(10 * e) + gauge.value(9 * e) for e in axes]
        assert modulus == pytest.approx(min(bends) / 2, rel=1e-6, abs=1e-9)


@every_gauge
@given(data=st.data())
def test_declared_traits_are_true(case: GaugeCase, data: st.DataObject) -> None:
    gauge, (w,) = data.draw(gauge_and_points(case))
    traits = gauge.traits
    assert Trait.CONVEX in traits
    if Trait.SEPARABLE in traits:
        parts = sum(gauge.value(np.where(np.arange(len(w)) == j, w, 0.0)) for j in range(len(w)))
        assert parts == pytest.approx(gauge.value(w), rel=1e-13)
    if Trait.QUADRATIC in traits:
        assert gauge.value(3 * w) == pytest.approx(9 * gauge.value(w), rel=1e-13)
    if Trait.POLYHEDRAL in traits:
        assert gauge.value(3 * w) == pytest.approx(3 * gauge.value(w), rel=1e-13)
        assert Trait.STRONGLY_CONVEX not in traits or gauge.free.all()
    if Trait.STRONGLY_CONVEX in traits and not gauge.free.all():
        assert gauge.strong_convexity() > 0.0


@every_gauge
def test_a_ball_is_not_strongly_convex(case: GaugeCase) -> None:
    ball: Regulariser = regulariser(case.build(3), "constrained", 1.0)
    assert Trait.STRONGLY_CONVEX not in ball.traits
    assert ball.strong_convexity() == 0.0
