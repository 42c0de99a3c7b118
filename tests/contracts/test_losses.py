"""Laws of every loss in the catalogue (M4, M5); those that need convexity run over the convex ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from cases import ALL_LOSSES, LOSSES, numbers, shares, targets, vectors
from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.losses import CATALOGUE, Loss, Terms
from dualgap.losses.shifted import Shifted, paired
from dualgap.traits import Trait

N = 6
FAR = 1e3
every_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=str)
convex_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)
smooth_loss = pytest.mark.parametrize("loss", [x for x in ALL_LOSSES if Trait.SMOOTH in x.traits], ids=str)
quadratic_pieces = pytest.mark.parametrize(
    "loss", [x for x in LOSSES if Trait.PIECEWISE_QUADRATIC in x.traits], ids=str
)


def predictions(data: st.DataObject, loss: Loss, y: Vector) -> Vector:
    """Targets plus steps, so that kinks and bends are hit often."""
    origin = y if loss.translates else np.zeros(len(y))
    return origin + data.draw(vectors(len(y)))


def slopes(loss: Loss, y: Vector, share: Vector, widest: float = 8.0) -> Vector:
    """Points of the conjugate's domain: share 0 is its lower end, share 1 its upper."""
    lower, upper = loss.domain(y)
    lower, upper = np.maximum(lower, -widest), np.minimum(upper, widest)
    return np.clip(lower + share * (upper - lower), lower, upper)


def supremum(f: Callable[[Vector], Vector], low: Vector, high: Vector) -> Vector:
    """The largest value of a concave function between `low` and `high`, row by row."""
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    for _ in range(110):
        left, right = high - golden * (high - low), low + golden * (high - low)
        rising = f(left) < f(right)
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    return f((low + high) / 2.0)


def average(f: Callable[[Vector], Vector], z: Vector, reach: float) -> tuple[Vector, Vector]:
    """The mean of f over z ± reach by the midpoint rule, and how much f varies there."""
    steps = (np.arange(64) + 0.5) / 32.0 - 1.0
    values = np.array([f(z + reach * step) for step in steps])
    return values.mean(axis=0), np.ptp(values, axis=0)


@every_loss
@given(data=st.data())
def test_fenchel_young(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    z = predictions(data, loss, y)
    share = data.draw(vectors(N, 1.0)) * 0.5 + 0.5
    u = slopes(loss, y, share)
    value, conjugate = loss.value(y, z), loss.conjugate(y, u)
    assert value.shape == conjugate.shape == y.shape
    rounding = 1e-13 * (1.0 + np.abs(value) + np.abs(conjugate) + np.abs(u * z))
    assert np.all(value + conjugate - u * z >= -rounding)


@convex_loss
@given(data=st.data())
def test_fenchel_young_is_equality_at_the_derivative(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    z = predictions(data, loss, y)
    u = loss.derivative(y, z)
    lower, upper = loss.domain(y)
    assert np.all((lower <= u) & (u <= upper))
    value, conjugate = loss.value(y, z), loss.conjugate(y, u)
    rounding = 1e-12 * (1.0 + np.abs(value) + np.abs(conjugate) + np.abs(u * z))
    assert np.all(np.abs(value + conjugate - u * z) <= rounding)


@convex_loss
@given(data=st.data())
def test_derivative_is_a_subgradient(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    z, other = predictions(data, loss, y), predictions(data, loss, y)
    tangent = loss.value(y, z) + loss.derivative(y, z) * (other - z)
    value = loss.value(y, other)
    assert np.all(value - tangent >= -1e-13 * (1.0 + np.abs(value) + np.abs(tangent) + loss.value(y, z)))


@convex_loss
@given(data=st.data())
def test_convex(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    first, second = predictions(data, loss, y), predictions(data, loss, y)
    t = data.draw(st.floats(0.0, 1.0))
    chord = t * loss.value(y, first) + (1 - t) * loss.value(y, second)
    assert np.all(loss.value(y, t * first + (1 - t) * second) <= chord + 1e-13 * (1.0 + chord))


@quadratic_pieces
@given(data=st.data())
def test_derivative_at_a_kink_is_the_subgradient_nearest_to_zero(loss: Loss, data: st.DataObject) -> None:
    y = np.round(data.draw(targets(loss, N)))
    h = 2.0**-20
    for z in loss.terms(y).kink.T:
        exact = np.round(z / h) * h == z  # a kink between two floats is never met
        left = (loss.value(y, z) - loss.value(y, z - h)) / h
        right = (loss.value(y, z + h) - loss.value(y, z)) / h
        nearest = np.clip(0.0, left, right)
        assert np.all(np.abs(loss.derivative(y, z) - nearest)[exact] <= 4 * h)


@smooth_loss
@given(data=st.data())
def test_both_slopes_at_once_are_the_same(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    z = predictions(data, loss, y)
    first, second = loss.bends(y, z)
    np.testing.assert_allclose(first, loss.derivative(y, z), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(second, loss.second_derivative(y, z), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("loss", [x for x in ALL_LOSSES if x.power is not None], ids=str)
@given(data=st.data())
def test_an_offset_divides_targets_and_weighs_rows(loss: Loss, data: st.DataObject) -> None:
    y, o = data.draw(targets(loss, N)), data.draw(vectors(N, 3.0))
    z, power = predictions(data, loss, y), loss.power
    assert power is not None
    np.testing.assert_allclose(
        loss.derivative(y, z + o), np.exp((2.0 - power) * o) * loss.derivative(y * np.exp(-o), z), atol=1e-9
    )
    shifted, pairs, a = Shifted(loss), paired(y, o), np.full(N, 1.0 / N)
    if y.any():
        best = np.full(N, shifted.best_constant(pairs, a))
        slopes = a * shifted.derivative(pairs, best)
        assert abs(slopes.sum()) <= 1e-9 * np.abs(slopes).sum()


@smooth_loss
@given(data=st.data())
def test_derivative_against_differences(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    z, reach = predictions(data, loss, y), 1e-2
    quotient = (loss.value(y, z + reach) - loss.value(y, z - reach)) / (2 * reach)
    mean, spread = average(lambda at: loss.derivative(y, at), z, reach)
    assert np.all(np.abs(quotient - mean) <= 1e-2 * spread + 1e-10 * (1.0 + loss.value(y, z)))


@smooth_loss
@given(data=st.data())
def test_second_derivative_against_differences(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    z, reach = predictions(data, loss, y), 1e-2
    quotient = (loss.derivative(y, z + reach) - loss.derivative(y, z - reach)) / (2 * reach)
    mean, spread = average(lambda at: loss.second_derivative(y, at), z, reach)
    noise = 1e-10 * (1.0 + np.abs(loss.derivative(y, z)))
    assert np.all(np.abs(quotient - mean) <= 0.02 * spread + noise)


@every_loss
def test_second_derivative_is_refused_unless_smooth(loss: Loss) -> None:
    y = z = np.array([1.0, 0.5 if Trait.MEANS in loss.traits else -1.0])
    if Trait.SMOOTH in loss.traits:
        assert loss.second_derivative(y, z).shape == y.shape
    else:
        with pytest.raises(NotImplementedError, match=loss.name):
            loss.second_derivative(y, z)


@every_loss
@given(data=st.data())
def test_curvature_bounds_the_change_of_slope(loss: Loss, data: st.DataObject) -> None:
    if Trait.BOUNDED_CURVATURE not in loss.traits:
        assert loss.curvature == np.inf
        return
    y = data.draw(targets(loss, N))
    first, second = predictions(data, loss, y), predictions(data, loss, y)
    change = np.abs(loss.derivative(y, first) - loss.derivative(y, second))
    assert np.all(change <= loss.curvature * np.abs(first - second) * (1 + 1e-12) + 1e-12)


@smooth_loss
def test_curvature_is_the_least_bound(loss: Loss) -> None:
    if Trait.BOUNDED_CURVATURE not in loss.traits:
        assert np.max(loss.second_derivative(np.ones(2), np.array([-100.0, 100.0]))) > 1e6
        return
    z = np.linspace(-40.0, 40.0, 8001)
    largest = float(loss.second_derivative(np.ones(len(z)), z).max())
    assert 0.99 * loss.curvature <= largest <= loss.curvature * (1 + 1e-12)


@convex_loss
@given(data=st.data())
def test_conjugate_against_the_supremum(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    share = 0.5 + 0.48 * data.draw(vectors(N, 1.0))
    u = slopes(loss, y, share)
    reach = np.full(N, 60.0)
    found = supremum(lambda z: u * z - loss.value(y, z), -reach, reach)
    conjugate = loss.conjugate(y, u)
    assert np.all(np.abs(conjugate - found) <= 1e-9 * (1.0 + np.abs(conjugate)))


@every_loss
@given(data=st.data())
def test_conjugate_is_continuous_up_to_the_edge(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    for edge in (0.0, 1.0):
        at, near = slopes(loss, y, np.full(N, edge)), slopes(loss, y, np.full(N, abs(edge - 1e-9)))
        conjugate = loss.conjugate(y, at)
        assert np.all(np.isfinite(conjugate))
        # slopes near the edge of a steep loss differ by 1e-9 of a wide range, and conjugates by z times that
        assert np.all(
            np.abs(conjugate - loss.conjugate(y, near)) <= 1e-6 * np.maximum(1.0, np.abs(conjugate))
        )


@convex_loss
@given(data=st.data())
def test_domain_holds_zero_and_exactly_the_slopes_of_the_loss(loss: Loss, data: st.DataObject) -> None:
    """Outside the domain uz − L(y, z) grows without bound; inside, slopes come up to its ends."""
    y = data.draw(targets(loss, N))
    lower, upper = loss.domain(y)
    assert np.all((lower <= 0.0) & (upper >= 0.0))
    at_zero = loss.value(y, np.zeros(N))
    for end, direction in ((upper, 1.0), (lower, -1.0)):
        z = np.full(N, direction * FAR)
        with np.errstate(over="ignore"):
            slope, value = loss.derivative(y, z), loss.value(y, z)
        bounded = np.isfinite(end)
        beyond = 0.1
        growth = (end + direction * beyond)[bounded] * z[bounded] - value[bounded]
        assert np.all(growth >= beyond * FAR - at_zero[bounded] - 1e-9 * FAR)
        assert np.all(np.abs(slope[bounded] - end[bounded]) <= 1e-2)
        assert np.all((direction * slope)[~bounded] > 20.0)


def value_of_terms(terms: Terms, z: Vector) -> tuple[Vector, Vector]:
    """Σ_k of the maximum over d, and the maximising d summed."""
    distance = z[:, None] - terms.kink
    if terms.softness > 0:
        d = np.clip(distance / terms.softness, terms.lower, terms.upper)
    else:
        d = np.where(distance > 0, terms.upper, terms.lower)
    return (d * distance - 0.5 * terms.softness * d * d).sum(axis=1), d.sum(axis=1)


def conjugate_of_terms(terms: Terms, row: int, u: float) -> float:
    """The cheapest way to share the slope u among the terms: cost d·kink + softness·d²/2 each."""
    kink, lower, upper = terms.kink[row], terms.lower[row], terms.upper[row]
    if terms.softness > 0:
        low, high = -1e6, 1e6
        for _ in range(200):
            level = (low + high) / 2
            d = np.clip((level - kink) / terms.softness, lower, upper)
            low, high = (level, high) if d.sum() < u else (low, level)
    else:
        d = lower.copy()
        for k in np.argsort(kink):
            d[k] += min(max(u - d.sum(), 0.0), upper[k] - lower[k])
    return float(d @ kink + 0.5 * terms.softness * d @ d)


@quadratic_pieces
@given(data=st.data())
def test_terms_reproduce_the_loss(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    z = predictions(data, loss, y)
    terms = loss.terms(y)
    value, slope = value_of_terms(terms, z)
    np.testing.assert_allclose(value, loss.value(y, z), rtol=1e-12, atol=1e-12)
    off_kink = np.all(np.abs(z[:, None] - terms.kink) > 1e-9, axis=1)
    np.testing.assert_allclose(slope[off_kink], loss.derivative(y, z)[off_kink], rtol=1e-12, atol=1e-12)
    lower, upper = loss.domain(y)
    np.testing.assert_array_equal(terms.lower.sum(axis=1), lower)
    np.testing.assert_array_equal(terms.upper.sum(axis=1), upper)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if Trait.ENTROPIC in loss.traits], ids=str)
@given(data=st.data())
def test_terms_with_an_entropy_reproduce_the_loss(loss: Loss, data: st.DataObject) -> None:
    """sup over s of (lower + s)·x − s log s − (1 − s) log(1 − s) is lower·x + log(1 + eˣ)."""
    y = data.draw(targets(loss, N))
    z = predictions(data, loss, y)
    terms = loss.terms(y)
    assert terms.entropy == 1.0
    np.testing.assert_array_equal(terms.upper - terms.lower, 1.0)
    x = z[:, None] - terms.kink
    value = (terms.lower * x + np.logaddexp(0.0, x)).sum(axis=1)
    np.testing.assert_allclose(value, loss.value(y, z), rtol=1e-12, atol=1e-12)


@quadratic_pieces
@given(data=st.data())
def test_terms_reproduce_the_conjugate(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    u = slopes(loss, y, data.draw(vectors(N, 1.0)) * 0.5 + 0.5)
    terms = loss.terms(y)
    shared = [conjugate_of_terms(terms, i, float(u[i])) for i in range(N)]
    np.testing.assert_allclose(shared, loss.conjugate(y, u), rtol=1e-8, atol=1e-8)


@every_loss
@given(data=st.data())
def test_degree_under_rescaling(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    z = predictions(data, loss, y)
    unit = 2.0 ** data.draw(st.integers(-30, 30))
    if loss.degree == 0:
        assert loss.rescaled(unit) == loss
        return
    small, factor = loss.rescaled(unit), unit**loss.degree
    lower, upper = loss.domain(y)
    smaller_lower, smaller_upper = small.domain(y / unit)
    np.testing.assert_allclose(small.value(y / unit, z / unit) * factor, loss.value(y, z), rtol=1e-12)
    slope = small.derivative(y / unit, z / unit) * factor / unit
    np.testing.assert_allclose(slope, loss.derivative(y, z), rtol=1e-12)
    np.testing.assert_allclose(smaller_lower * factor / unit, lower, rtol=1e-12)
    np.testing.assert_allclose(smaller_upper * factor / unit, upper, rtol=1e-12)


@every_loss
@given(data=st.data())
def test_regression_sees_residuals_and_classification_margins(loss: Loss, data: st.DataObject) -> None:
    """What preconditioning relies on: targets may be moved, labels may be swapped."""
    y = data.draw(targets(loss, N))
    z = predictions(data, loss, y)
    if Trait.CLASSIFICATION in loss.traits:
        assert loss.degree == 0
        np.testing.assert_array_equal(loss.value(-y, -z), loss.value(y, z))
        with pytest.raises(DataError, match=loss.name):
            loss.check_targets(np.array([0.0, 1.0]))
        loss.check_targets(y)
        return
    if Trait.MEANS in loss.traits:
        assert loss.degree == 0 and not loss.translates
        loss.check_targets(y)
        beyond = np.array([0.5, loss.lowest - 1.0]), np.array([0.5, loss.highest + 1.0])
        for other in (one for one in beyond if np.all(np.isfinite(one))):
            with pytest.raises(DataError, match=f"{loss.name} loss needs"):
                loss.check_targets(other)
        return
    assert loss.translates
    moved = data.draw(numbers(100.0))
    size = np.abs(loss.derivative(y, z)) + 1.0
    assert np.all(np.abs(loss.value(y + moved, z + moved) - loss.value(y, z)) <= 1e-12 * 200.0 * size)
    loss.check_targets(y)


@convex_loss
@given(data=st.data())
def test_best_constant_is_best(loss: Loss, data: st.DataObject) -> None:
    y, a = data.draw(targets(loss, N)), data.draw(shares(N))

    def risk(constant: float) -> float:
        return float(a @ loss.value(y, np.full(N, constant)))

    best = loss.best_constant(y, a)
    others = [data.draw(numbers(12.0)), *y, best - 1e-3, best + 1e-3]
    assert all(risk(best) <= risk(float(other)) + 1e-13 * (1.0 + risk(best)) for other in others)


@every_loss
def test_declared_traits_are_true(loss: Loss) -> None:
    """Those that no other contract speaks about."""
    y = np.where(np.arange(4) % 2, 1.0, 0.25 if Trait.MEANS in loss.traits else -1.0)
    grid = np.linspace(-30.0, 30.0, 601)
    values = np.array([loss.value(y, np.full(4, z)) for z in grid])
    if Trait.ATTAINED in loss.traits:
        with np.errstate(over="ignore"):
            far = np.array([loss.value(y, np.full(4, z)) for z in (-1e6, -1e3, 1e3, 1e6)])
        assert np.all(values.min(axis=0) <= far.min(axis=0))
    if Trait.QUADRATIC in loss.traits:
        second = np.array([loss.second_derivative(y, np.full(4, z)) for z in grid])
        assert np.ptp(second) == 0.0
    if Trait.PIECEWISE_LINEAR in loss.traits:
        assert loss.terms(y).softness == 0.0
        assert Trait.SMOOTH not in loss.traits
    if Trait.SMOOTH in loss.traits and Trait.PIECEWISE_QUADRATIC in loss.traits:
        assert loss.terms(y).softness > 0.0


@pytest.mark.parametrize("loss", [x for x in LOSSES if hasattr(x, "log_odds")], ids=str)
def test_log_odds_invert_the_population_minimiser(loss: Loss) -> None:
    for share in (0.05, 0.3, 0.5, 0.9):
        y, a = np.array([1.0, -1.0]), np.array([share, 1.0 - share])
        constant = loss.best_constant(y, a)
        odds = loss.log_odds(np.array([constant]))  # type: ignore[attr-defined]
        assert 1.0 / (1.0 + np.exp(-odds[0])) == pytest.approx(share, rel=1e-9)


@every_loss
def test_frozen_and_equal_by_parameters(loss: Loss) -> None:
    assert loss == type(loss)(**vars(loss))
    assert hash(loss) == hash(type(loss)(**vars(loss)))
    with pytest.raises(AttributeError):
        loss.name = "another"  # type: ignore[misc]
    assert str(loss).startswith(loss.name)


LIKELIHOODS = {  # −2 log-likelihood of residuals r with the most likely scale, from scipy's densities
    "squared": lambda r: -2.0 * scipy.stats.norm.logpdf(r, scale=np.sqrt(np.mean(r**2))).mean(),
    "absolute": lambda r: -2.0 * scipy.stats.laplace.logpdf(r, scale=np.abs(r).mean()).mean(),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_deviance_is_that_of_the_noise(name: str) -> None:
    r = np.random.default_rng(0).normal(size=30)
    loss = CATALOGUE[name]()
    risk = np.array([loss.value(np.zeros(30), r).mean()])
    found = loss.deviance(risk)
    assert found is not None
    assert found[0] == pytest.approx(LIKELIHOODS[name](r), rel=1e-12)


def test_a_loss_without_a_likelihood_has_no_deviance() -> None:
    assert CATALOGUE["hinge"]().deviance(np.ones(1)) is None


MEANS = [loss for loss in LOSSES if Trait.MEANS in loss.traits]


@pytest.mark.parametrize("loss", MEANS, ids=str)
@given(data=st.data())
def test_a_half_deviance_is_nothing_where_the_mean_is_the_target(loss: Loss, data: st.DataObject) -> None:
    y = data.draw(targets(loss, N))
    z = data.draw(vectors(N, 3.0))
    means = loss.mean(z)
    assert np.all((means >= loss.lowest) & (means <= loss.highest))
    assert np.all(loss.value(means, z) <= 1e-15 * (1.0 + means))
    assert np.all(loss.value(y, z) >= 0.0)
    assert np.all(np.abs(loss.conjugate(y, np.zeros(N))) <= 1e-12)
    assert np.all(np.sign(loss.derivative(y, z)) * np.sign(means - y) >= 0.0)


@pytest.mark.parametrize("loss", [x for x in LOSSES if Trait.ATTAINED not in x.traits], ids=str)
def test_losses_fall_for_ever_where_they_say(loss: Loss) -> None:
    y = np.array([1.0, 0.0, 0.3]) if Trait.MEANS in loss.traits else np.array([1.0, -1.0])
    for side, target in zip(loss.falls_towards(y), y, strict=True):
        one, far = np.array([target]), np.array([200.0])
        ends = [float(loss.value(one, sign * far)[0]) for sign in (-1.0, 1.0)]
        assert [end < 1e-3 for end in ends] == [side < 0.0, side > 0.0]


def test_deviances_agree_with_scikit_learn() -> None:
    from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance

    rng = np.random.default_rng(3)
    y, z = rng.gamma(2.0, 1.0, 50), rng.normal(size=50)
    half = {
        "poisson": mean_poisson_deviance(y, np.exp(z)),
        "gamma": mean_gamma_deviance(y, np.exp(z)),
        "tweedie": mean_tweedie_deviance(y, np.exp(z), power=1.5),
    }
    for name, deviance in half.items():
        assert 2.0 * CATALOGUE[name]().value(y, z).mean() == pytest.approx(deviance, rel=1e-12)
    share = rng.random(50)
    labels = [CATALOGUE["logistic"]().value(np.full(50, side), z) for side in (1.0, -1.0)]
    entropy = share * np.log(share) + (1.0 - share) * np.log(1.0 - share)
    both = share * labels[0] + (1.0 - share) * labels[1] + entropy
    np.testing.assert_allclose(CATALOGUE["binomial"]().value(share, z), both, rtol=1e-10)


def test_a_power_outside_the_tweedie_losses_is_refused() -> None:
    for power in (1.0, 2.0, 0.5, np.nan):
        with pytest.raises(DataError, match="strictly between 1 and 2"):
            CATALOGUE["tweedie"](power)  # type: ignore[call-arg]
