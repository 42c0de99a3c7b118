"""The formulas that the kernel takes on trust, against their definitions in exact arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dualgap.losses.base import FAINT, LOST, Loss, divergence
from dualgap.penalties import Constrained, Penalised
from dualgap.penalties.base import LEAST
from dualgap.penalties.base import LOST as NORMS
from dualgap.penalties.bridge import Powers, QuasiNorm
from dualgap.penalties.l0 import L0, L0L2, AtMost, Count
from dualgap.penalties.norm import Norm
from dualgap.penalties.separable import Separable
from exact.arithmetic import as_real, rational, real
from exact.statement import MEANS, mean_loss
from proof.made import (
    CONVEX,
    U,
    close,
    fenchel_young,
    fractions,
    labelled,
    loss_of,
    lossy,
    number,
    parse,
)

INSIDE = 1.0 - 2.0**-45
TINY = 5e-324
Z = (
    0.0,
    TINY,
    1e-300,
    1e-9,
    0.25,
    np.nextafter(0.25, 1.0),
    0.7,
    1.0,
    np.nextafter(1.0, 0.0),
    1.35,
    3.0,
    40.0,
)
FAR = (720.0, 1e5, 1e150, 1e300)
TARGETS = {"gamma": (0.3, 2.0, 1e9), "binomial": (0.0, 0.3, 1.0 - 2.0**-40, 1.0), "poisson": (0.0, 2.0, 1e9)}


def arguments(text: str, far: tuple[float, ...]) -> tuple[Any, Any, Any]:
    """Targets, predictions, and slopes inside the domain up to its very edge, each with each."""
    loss = loss_of(text)
    shares = (0.0, TINY, 1e-300, 0.1, 0.5, 1.0 - 1e-9, INSIDE, 1.0)
    targets = TARGETS.get(loss.name, (1.0, -1.0) if labelled(text) else (0.0, 2.0))
    rows = []
    for y, z, sign in itertools.product(targets, Z + far, (1.0, -1.0)):
        low, high = (float(edge[0]) for edge in loss.domain(np.array([y])))
        ends = [end if np.isfinite(end) else np.copysign(5.0, end) for end in (low, high)]
        rows += [(y, sign * z, end * share) for end in ends if end for share in shares]
    return tuple(np.array(part) for part in zip(*rows, strict=True))


@pytest.mark.parametrize("text", CONVEX)
def test_fenchel_young_is_exact_to_a_few_roundings(text: str) -> None:
    """Never below L + L* − uz by more than roundings of it and of L, nor far above it."""
    loss = loss_of(text)
    means = loss.name in MEANS
    y, z, u = arguments(text, FAR[:2] if means else FAR)
    with np.errstate(all="ignore"):
        found = loss.fenchel_young(y, z, u)
    for row in zip(y.tolist(), z.tolist(), u.tolist(), found.tolist(), strict=True):
        target, point, slope = row[0], rational(row[1]), rational(row[2])
        truth = number(fenchel_young(text, target, point, slope))
        size = number(lossy(text, target, point))
        if truth > 1e300 or row[3] == np.inf:
            assert truth > 1e300, row
            continue
        got, few = real.mpf(row[3]), real.mpf(2) ** -45
        under = TINY * (8 + abs(as_real(point)))  # slopes below the normal numbers lose digits
        spare = few * (truth + size) + 2 * under
        if means:
            under += real.mpf(10) ** -85 * abs(as_real(point))
            steps = 32 + 8 * abs(as_real(point))  # e^z is known to as many roundings as z is large
            spare += real.mpf(LOST) * steps * (1 + size + abs(as_real(slope)) + target)
        if means or text in ("logistic", "exponential"):  # from above: by up to LOST of what moves
            under += real.mpf(10) ** -95  # what cancels in the definition
            spare += real.mpf(LOST) * 4 * (1 + size)
            assert got >= truth * (1 - 16 * U) - under, row
        assert truth - spare <= got <= truth + spare, row
        assert got >= truth - 16 * U * (truth + size) - under, row


@pytest.mark.parametrize("text", [text for text in CONVEX if loss_of(text).name in MEANS])
def test_values_of_means_are_from_above_and_their_terms_say_by_how_much(text: str) -> None:
    """P from above and the gap together leave a bound from below, however near the means are to y."""
    loss, rng = loss_of(text), np.random.default_rng(11)
    name, t = parse(text)
    for _ in range(300):
        y = float(rng.random() if name == "binomial" else 10.0 ** rng.uniform(-3, 12))
        near = float(loss.linked(np.array([y]))[0])  # type: ignore[attr-defined]
        z = near + float(rng.choice([0.0, 1e-16, 1e-12, 1e-6, 0.1, 3.0]) * rng.normal())
        there = z + float(rng.choice([0.0, 1e-12, 1e-3]) * rng.normal())
        one, at = np.array([y]), np.array([z])
        u = np.clip(loss.derivative(one, np.array([there])), *loss.domain(one))
        value = real.mpf(float(loss.value(one, at)[0]))
        term = real.mpf(float(loss.fenchel_young(one, at, u)[0]))
        true = mean_loss(name, t, rational(y), rational(z))
        true_term = number(fenchel_young(text, y, rational(z), rational(float(u[0]))))
        few = (8 * U) * (true + true_term)
        assert value >= true - few
        assert term - true_term >= (value - true) - few
        assert value - true <= LOST * 64 * (1 + abs(z)) * (
            true + abs(as_real(rational(float(u[0])))) + y * LOST + y**0.5
        )


def test_fenchel_young_of_several_rows_of_predictions() -> None:
    rng = np.random.default_rng(0)
    for text in CONVEX:
        loss = loss_of(text)
        y = np.where(rng.random(5) < 0.5, 0.25 if loss.name in MEANS else -1.0, 1.0)
        low, high = (np.clip(edge, -3.0, 3.0) for edge in loss.domain(y))
        z, u = rng.normal(size=(3, 5)), low + (high - low) * rng.random((3, 5))
        both = loss.fenchel_young(y, z, u)
        alone = [loss.fenchel_young(y, a, b) for a, b in zip(z, u, strict=True)]
        assert np.array_equal(both, np.array(alone))


def test_a_loss_that_is_not_convex_has_none() -> None:
    for text in ("zero_one", "sigmoid"):
        with pytest.raises(NotImplementedError):
            loss_of(text).fenchel_young(np.ones(1), np.ones(1), np.zeros(1))


def exact_divergence(share: float, model: float) -> Any:
    s, m = (real.mpf(float(v)) for v in (share, model))
    return (s * real.log(s / m) if s else real.zero) - s + m


SHARES = (1e-290, 1e-30, 1e-9, 0.1, 0.3, 0.5, 1.0 - 1e-9, 1.0, 7.0, 1e12)
RATIOS = (
    1e-300,
    1e-250,
    1e-16,
    3e-16,
    1e-9,
    0.3,
    0.499,
    0.5,
    0.501,
    1.0 - 1e-9,
    1.0,
    1.0 + 1e-13,
    1.2,
    1.499,
)
RATIOS += (1.5, 1.501, 7.0, 1e14, 1e15, 1e16, 1e300)


def test_the_divergence_is_from_above_and_tight() -> None:
    for share, ratio in itertools.product(SHARES, RATIOS):
        model = share * ratio
        if not 2.0**-990 < model < 1e300:
            continue
        got = real.mpf(float(divergence(np.array([share]), np.array([model]), np.zeros(1))[0]))
        truth, move = exact_divergence(share, model), abs(real.mpf(model) - real.mpf(share))
        for rounded in (model, model * (1.0 + 8.0 * U), model * (1.0 - 8.0 * U)):  # as expit and exp are
            near = exact_divergence(share, rounded)
            assert got >= near * (1 - 4 * U) - (8 * U) ** 2 * share, (share, ratio)
        assert got <= truth * (1 + 16 * U) + 1.25 * LOST * move, (share, ratio)
        assert got >= truth * (1 - 16 * U) + 0.75 * LOST * move, (share, ratio)


def test_the_divergence_of_nothing() -> None:
    """A share of 0, whatever its sign, or below it, is as far as all of the model."""
    for share in (0.0, -0.0, -1e-17):
        for model in (0.0, 1e-320, 0.3, 1.0, 1e300):
            got = float(divergence(np.array([share]), np.array([model]), np.zeros(1))[0])
            move = model - share
            assert got == move + LOST * move
    equal = divergence(np.array([0.25]), np.array([0.25]), np.zeros(1))
    assert equal[0] == 0.0
    assert divergence(np.array([0.25]), np.array([np.inf]), np.zeros(1))[0] == np.inf
    assert divergence(np.array([1e-300]), np.array([1e300]), np.zeros(1))[0] == close(1e300, rel=1e-14)


def test_a_model_that_underflows_is_as_far_as_its_logarithm_says() -> None:
    """Where the model has lost digits, or the ratio has, `depth` stands for them, from above."""
    for share, depth in itertools.product((1e-200, 0.5, 1.0), (694.0, 720.0, 740.0, 746.0, 1e4, 1e300)):
        model = float(real.exp(-real.mpf(depth))) if depth < 1e4 else 0.0
        got = real.mpf(float(divergence(np.array([share]), np.array([model]), np.array([depth]))[0]))
        s = real.mpf(share)
        truth = s * (real.log(s) + real.mpf(depth)) - s
        size = s * (abs(real.log(s)) + real.mpf(depth))
        assert truth + 0.75 * LOST * size <= got <= truth + 1.25 * LOST * size + LOST * s + 1e-290
    kept = divergence(np.array([0.5]), np.array([2.0 * FAINT]), np.array([1e9]))[0]
    assert kept < 1e3  # all its digits are there: the depth is not asked
    assert divergence(np.array([0.5]), np.array([FAINT]), np.array([1e9]))[0] < 1e3
    assert divergence(np.array([0.5]), np.array([0.99 * FAINT]), np.array([1e9]))[0] > 1e8
    wide = divergence(np.array([1e305]), np.array([1e-15]), np.array([15 * np.log(10)]))[
        0
    ]  # the ratio is faint
    assert wide == close(1e305 * (320 * np.log(10) - 1.0), rel=1e-12)
    huge = divergence(np.array([1e305]), np.array([1.0]), np.array([0.0]))[0]
    assert huge == close(1e305 * (305 * np.log(10) - 1.0), rel=1e-12)
    model = np.array([1e-302, 0.3])  # of two, one is faint
    both = divergence(np.array([0.2, 0.2]), model, np.array([695.4, 1e9]))
    assert both[1] == close(0.2 * np.log(0.2 / 0.3) + 0.1, rel=1e-12)
    assert both[0] == close(0.2 * (np.log(0.2) + 694.4), rel=1e-12)


def test_a_faint_model_itself_is_counted() -> None:
    """A share far below a model that has lost its digits: what is left of the model is added."""
    share, model = np.array([1e-310]), np.array([4e-302])
    assert divergence(share, model, -np.log(model))[0] >= 4e-302 * (1.0 - 1e-7)


@pytest.mark.parametrize("text", ["logistic", "exponential"])
def test_slopes_beyond_the_domain_count_as_its_end(text: str) -> None:
    loss: Loss = loss_of(text)
    for y, z in itertools.product((1.0, -1.0), (-3.0, 0.2, 5.0)):
        one = np.array([y]), np.array([z])
        assert loss.fenchel_young(*one, np.array([y * 1e-20]))[0] >= loss.fenchel_young(*one, np.zeros(1))[0]
        if text == "logistic":
            beyond = loss.fenchel_young(*one, np.array([-y * (1.0 + 4.0 * U)]))[0]
            assert beyond >= loss.fenchel_young(*one, np.array([-y]))[0]


# --- penalties ----------------------------------------------------------------------------------------------


def separable(rng: np.random.Generator, p: int = 6) -> Separable:
    """Every kind of coordinate: free, with a kink, curved, both."""
    kind = np.arange(p) % 4
    l1 = np.where((kind == 1) | (kind == 3), rng.uniform(0.2, 2.0, p), 0.0)
    l2 = np.where(kind >= 2, rng.uniform(0.2, 2.0, p), 0.0)
    return Separable(l1, l2)


def bracket(gauge: Separable, strength: float, w: Any, v: Any, kappa: Any) -> Fraction:
    """(strength·h)(w) − w·v + (strength·h)*(v/(1 + κ)), κ for the coordinates with a kink alone."""
    total, lam = Fraction(0), rational(strength)
    for l1, l2, a, b in zip(*map(fractions, (gauge.l1, gauge.l2)), fractions(w), v, strict=True):
        if l1 or l2:
            total += lam * (l1 * abs(a) + l2 * a * a) - a * b
        if l2:
            total += max(abs(b) - lam * l1, Fraction(0)) ** 2 / (4 * lam * l2)
        elif l1:
            assert abs(b) <= (1 + kappa) * lam * l1
    return total


def points(rng: np.random.Generator, gauge: Separable, strength: float) -> tuple[Any, Any, Any]:
    """w, v and reach: some v beyond their price, some at it, some weights zero, some where they fit v."""
    p = len(gauge.l1)
    v = strength * (gauge.l1 + gauge.l2) * rng.uniform(0.0, 2.0, p) * rng.choice([-1.0, 1.0], p)
    w = rng.normal(size=p) * rng.choice([0.0, 1.0, 30.0], p)
    fits = (gauge.l2 > 0.0) & (rng.random(p) < 0.5)
    w = np.where(fits, v / np.where(fits, 2.0 * strength * gauge.l2, 1.0), w)
    return w, v, rng.choice([0.0, 1e-9, 0.3], p) * rng.random(p)


@pytest.mark.parametrize("seed", range(20))
def test_separable_brackets_are_from_above_for_every_v_in_reach(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gauge, strength = separable(rng, 8), float(10.0 ** rng.uniform(-2, 2))
    w, v, reach = points(rng, gauge, strength)
    got, kappa = gauge.fenchel_young(w, v, reach, strength)
    near = rational(float(got)) * (1 + Fraction(1, 10**13)) + Fraction(1, 10**13) * rational(
        strength * gauge.value(w) + float(np.abs(w) @ np.abs(v))
    )
    allowed = rational(float(kappa)) + Fraction(1, 10**15)
    for k in range(40):
        away = rng.choice([-1.0, 1.0], len(v)) if k % 2 else rng.uniform(-1.0, 1.0, len(v))
        moved = [a + rational(b) * rational(c) for a, b, c in zip(fractions(v), away, reach, strict=True)]
        assert bracket(gauge, strength, w, moved, allowed) <= near


@pytest.mark.parametrize("seed", range(20))
def test_separable_brackets_are_tight(seed: int) -> None:
    """Without reach the bracket itself; with it, what the reach may add to each of its two terms."""
    rng = np.random.default_rng(100 + seed)
    gauge, strength = separable(rng, 8), float(10.0 ** rng.uniform(-2, 2))
    w, v, reach = points(rng, gauge, strength)
    sharp, curved = (gauge.l2 == 0.0) & (gauge.l1 > 0.0), gauge.l2 > 0.0
    price = strength * gauge.l1
    beyond = np.where(sharp, (np.abs(v) + reach) / np.where(sharp, price, 1.0), 0.0).max()
    for room in (np.zeros_like(reach), reach):
        got, kappa = gauge.fenchel_young(w, v, room, strength)
        flat = np.abs(w) * np.maximum(price - np.sign(w) * v + room, 0.0)
        near = np.clip(v, -price, price)
        kinked = np.abs(w) * (price - np.sign(w) * near + np.where(gauge.l1 > 0.0, room, 0.0))
        stiff = np.where(curved, 4.0 * strength * gauge.l2, 1.0)
        bowl = (np.abs(stiff / 2.0 * w - (v - near)) + room) ** 2 / stiff
        assert got == close(float(flat[sharp].sum() + (kinked + bowl)[curved].sum()), rel=1e-12)
        if room.any():
            assert kappa == close(max(beyond - 1.0, 0.0), rel=1e-9, abs=1e-15)
    inside = np.where(sharp, np.clip(v, -price, price), v)
    got, kappa = gauge.fenchel_young(w, inside, np.zeros_like(v), strength)
    assert kappa <= 1e-15
    assert got == close(float(bracket(gauge, strength, w, fractions(inside), 1)), rel=1e-11, abs=1e-11)


def test_a_separable_bracket_of_each_kind_alone() -> None:
    zero = np.zeros(1)
    w, v, reach = np.array([2.0]), np.array([-0.5]), np.array([0.25])
    assert Separable(zero, zero).fenchel_young(w, v, reach, 3.0) == (0.0, 0.0)
    assert Separable(np.ones(1), zero).fenchel_young(w, v, reach, 3.0) == (2.0 * (3.0 + 0.5 + 0.25), 0.0)
    assert Separable(np.ones(1), zero).fenchel_young(-w, 7.0 * v, reach, 3.0) == (0.0, 0.25)
    assert Separable(zero, np.ones(1)).fenchel_young(w, v, reach, 3.0) == (12.75**2 / 12.0, 0.0)
    both = Separable(np.ones(1), np.ones(1)).fenchel_young(w, v, reach, 3.0)
    assert both == close((7.5 + 12.25**2 / 12.0, 0.0), rel=1e-14)


def test_separable_brackets_of_many_rows() -> None:
    rng = np.random.default_rng(3)
    gauge, strengths = separable(rng, 8), np.array([0.1, 1.0, 7.0])
    rows = [points(rng, gauge, float(s)) for s in strengths]
    w, v, reach = (np.array(part) for part in zip(*rows, strict=True))
    brackets, kappas = gauge.fenchel_young(w, v, reach, strengths[:, None])
    for k, row in enumerate(rows):
        alone = gauge.fenchel_young(*row, float(strengths[k]))
        assert (brackets[k], kappas[k]) == close(alone, rel=1e-14)


def exact_norm(values: Any, order: float) -> Any:
    sizes = [abs(as_real(v)) for v in values]
    if order == np.inf:
        return max(sizes, default=real.zero)
    return sum(v ** real.mpf(order) for v in sizes if v) ** (1 / real.mpf(order)) if any(sizes) else real.zero


ORDERS = (1.0 + 1e-9, 1.01, 1.5, 2.0, 3.0, 7.0, 1e6, np.inf)


@pytest.mark.parametrize("order", ORDERS)
def test_norms_and_their_brackets(order: float) -> None:
    """At scales from 1e-150 to 1e150: the norm, its dual, and what v may be anywhere in reach."""
    rng = np.random.default_rng(5)
    for top in (-150, -3, 0, 150):
        scale = np.where(np.arange(5) == 2, 0.0, 10.0 ** (top + rng.uniform(-1, 1, 5)))
        gauge = Norm(order, scale)
        dual = 1.0 if order == np.inf else order / (order - 1.0)
        seen = np.flatnonzero(scale)
        w, strength = rng.normal(size=5) / np.where(scale > 0.0, scale, 1.0), float(rng.uniform(0.1, 10.0))
        v = strength * rng.normal(size=5) * np.where(scale > 0.0, scale, 1.0)
        reach = 0.1 * np.abs(v) * rng.random(5)
        size = exact_norm([rational(scale[j]) * rational(w[j]) for j in seen], order)
        assert abs(gauge.value(w) - size) <= gauge.doubt(w, gauge.value(w))
        got, kappa = gauge.fenchel_young(w, v, reach, strength)
        far = [(rational(abs(v[j])) + rational(reach[j])) / rational(scale[j]) for j in seen]
        polar = exact_norm(far, dual) / real.mpf(strength)
        assert kappa == close(float(max(polar - 1, real.zero)), rel=1e-10, abs=1e-13)
        along = sum(as_real(rational(w[j]) * rational(v[j])) for j in seen)
        room = sum(as_real(rational(abs(w[j])) * rational(reach[j])) for j in seen)
        truth = max(real.mpf(strength) * size - along, real.zero) + room
        assert got == close(float(truth), rel=1e-10)
        assert gauge.price(v, 3.0) == close(
            float(exact_norm([rational(v[j]) / rational(scale[j]) for j in seen], dual)), rel=1e-10
        )


def test_a_norm_bracket_by_hand() -> None:
    gauge = Norm(2.0, np.array([1.0, 0.0, 2.0]))
    w, v = np.array([3.0, 9.0, 2.0]), np.array([1.0, 9.0, -1.0])
    assert gauge.fenchel_young(w, v, np.zeros(3), 2.0) == (10.0 - 1.0, 0.0)
    assert gauge.fenchel_young(w, 6.0 * v, np.zeros(3), 2.0) == close((4.0, 3.0 * np.sqrt(1.25) - 1.0))
    assert gauge.fenchel_young(w, 30.0 * v, np.zeros(3), 2.0)[0] == 0.0  # not below
    reach = np.array([0.5, 7.0, 0.25])
    assert gauge.fenchel_young(w, v, reach, 2.0) == (9.0 + 1.5 + 0.5, 0.0)


def exact_price(gauge: Separable, v: Any, radius: float) -> tuple[Any, Any]:
    """The best μ and its value, by halving: the slope radius − Σ ((v/μ)² − l1²)₊/(4 l2) rises with μ."""
    coordinates = [c for c in zip(*map(fractions, (gauge.l1, gauge.l2, v)), strict=True) if c[0] or c[1]]
    sharp = [abs(b) / l1 for l1, l2, b in coordinates if not l2]
    curved = [(as_real(l1), as_real(l2), abs(as_real(b))) for l1, l2, b in coordinates if l2]
    low, high = as_real(max(sharp, default=Fraction(0))), real.mpf(10) ** 320

    def slope(mu: Any) -> Any:
        live = [(b, l1, l2) for l1, l2, b in curved if b > mu * l1]
        return as_real(rational(radius)) - sum(((b / mu) ** 2 - l1 * l1) / (4 * l2) for b, l1, l2 in live)

    if low == 0 or slope(low) < 0:
        low = max(low, real.mpf(10) ** -320)
        for _ in range(400):
            middle = real.sqrt(low * high)
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    bowls = sum(max(b - low * l1, real.zero) ** 2 / (4 * low * l2) for l1, l2, b in curved)
    return low, low * as_real(rational(radius)) + bowls


@pytest.mark.parametrize("seed", range(24))
def test_the_price_is_the_best_and_the_bracket_the_support(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gauge = separable(rng, int(rng.integers(2, 9)))
    if seed % 3 == 0:
        gauge = Separable(gauge.l1, np.zeros_like(gauge.l2))
    if seed % 3 == 1:
        gauge = Separable(np.where(gauge.l2 > 0.0, gauge.l1, 0.0), gauge.l2)
    if gauge.free.all():
        return
    radius = float(10.0 ** (rng.uniform(-3, 3) if seed < 20 else rng.choice([-290, 290])))
    v = rng.normal(size=len(gauge.l1)) * 10.0 ** rng.uniform(-2, 2, len(gauge.l1))
    best, support = exact_price(gauge, v, radius)
    price = gauge.price(v, radius)
    assert price == close(float(best), rel=1e-7)
    w = Constrained(gauge, radius).kept(rng.normal(size=len(v)))
    got, kappa = Constrained(gauge, radius).fenchel_young(w, v, np.zeros_like(v))
    along = sum(
        as_real(a * b) for a, b in zip(fractions(w), fractions(np.where(gauge.free, 0, v)), strict=True)
    )
    assert kappa == 0.0
    assert support - along - 1e-13 * support <= got <= support - along + 1e-10 * support


def test_prices_of_nothing_and_of_one() -> None:
    gauge = Separable(np.array([0.5, 0.0, 1.0, 0.0]), np.array([0.0, 2.0, 1.0, 0.0]))
    assert gauge.price(np.zeros(4), 2.0) == 0.0
    assert gauge.price(np.array([0.0, 0.0, 0.0, 5.0]), 2.0) == 0.0
    assert gauge.price(np.array([3.0, 0.0, 0.0, 5.0]), 2.0) == 6.0
    assert gauge.price(np.array([0.0, 8.0, 0.0, 5.0]), 2.0) == 2.0  # √(4·2·2)/8 = 1/2
    assert gauge.price(np.array([0.0, 0.0, 3.0, 5.0]), 2.0) == close(1.0)  # √(4·2 + 1)/3 = 1
    assert gauge.price(np.array([9.0, 8.0, 3.0, 5.0]), 2.0) == 18.0  # the kink alone sets it
    assert gauge.price(np.array([0.0, 8.0, 0.0, 5.0]), 0.0) == np.inf


def constrained(seed: int) -> tuple[Constrained, Any]:
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 6))
    top = float(rng.choice([-150.0, 0.0, 100.0])) if seed % 2 else 0.0
    scale = np.where(rng.random(p) < 0.2, 0.0, 10.0 ** (top + rng.uniform(-1, 1, p)))
    gauges = [Norm(float(rng.choice(ORDERS)), scale), Separable(scale, np.zeros(p))]
    gauges += [Separable(np.zeros(p), scale * scale), Separable(scale, 0.5 * scale * scale)]
    gauge: Any = gauges[seed % 4]
    radius = float(10.0 ** rng.choice([-320.0, -300.0, -9.0, 0.0, 3.0, 300.0]))
    with np.errstate(all="ignore"):
        w = rng.normal(size=p) * 10.0 ** rng.choice([-170.0, 0.0, 5.0, 160.0])
    return Constrained(gauge, radius), w


def exact_size(gauge: Any, w: Any) -> Any:
    if isinstance(gauge, Norm):
        return exact_norm(
            [rational(a) * rational(b) for a, b in zip(gauge.scale, w, strict=True)], gauge.order
        )
    parts = zip(*map(fractions, (gauge.l1, gauge.l2, w)), strict=True)
    return as_real(sum((l1 * abs(a) + l2 * a * a for l1, l2, a in parts), Fraction(0)))


@pytest.mark.parametrize("seed", range(80))
def test_weights_are_kept_within_the_budget_as_real_numbers(seed: int) -> None:
    regulariser, w = constrained(seed)
    with np.errstate(all="ignore"):
        kept = regulariser.kept(w)
        again = regulariser.kept(kept)
    radius = as_real(rational(regulariser.radius))
    assert exact_size(regulariser.gauge, kept) <= radius
    assert again is kept  # what is within stays
    assert np.array_equal(kept[regulariser.free], w[regulariser.free])
    if (
        exact_size(regulariser.gauge, w) <= radius * (1 - real.mpf(2) ** -40)
        and 1e-9 <= regulariser.radius < 1e9
    ):
        assert kept is w or regulariser.gauge.doubt(w, 0.0) > regulariser.radius * 1e-15
    elif kept[~regulariser.free].any() and kept is not w and regulariser.radius > 1e-300:  # no shorter
        assert exact_size(regulariser.gauge, kept) >= radius * (1 - real.mpf(2) ** -40)


def test_a_budget_is_priced_for_all_that_v_may_be() -> None:
    """v and what it may be off by cancel: at the price of their sum no bound would be left."""
    gauge, off = Separable(np.zeros(1), np.ones(1)), np.array([1e-9])
    for v in (off, -off):
        found, kappa = Constrained(gauge, 1.0).fenchel_young(np.zeros(1), v, off)
        assert kappa == 0.0 and 2e-9 <= found * (1.0 + 1e-12) <= 2.01e-9  # sup |v'|·|w'| over w'² ≤ 1


def test_a_budget_of_zero_keeps_what_is_free() -> None:
    gauge = Separable(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    regulariser = Constrained(gauge, 0.0)
    inside = np.array([0.0, 0.0, 5.0])
    assert regulariser.kept(inside) is inside
    assert regulariser.kept(np.array([0.0, 1e-200, 5.0])).tolist() == [
        0.0,
        0.0,
        5.0,
    ]  # whose square underflows
    assert regulariser.fenchel_young(inside, np.ones(3), np.ones(3)) == (0.0, 0.0)
    assert regulariser.priced(inside) == (0.0, 0.0)
    broken = regulariser.kept(np.array([np.nan, 1.0, 5.0]))
    assert broken.tolist() == [0.0, 0.0, 5.0]


def test_a_shrink_that_fails_is_not_believed() -> None:
    class Stubborn(Separable):
        def shrink(self, w: Any, radius: float) -> Any:
            return w

    gauge = Stubborn(np.array([1.0, 0.0]), np.zeros(2))
    assert Constrained(gauge, 1.0).kept(np.array([2.0, 3.0])).tolist() == [0.0, 3.0]


def test_the_rim_of_a_budget() -> None:
    """Within by less than rounding is not within; shrunk by no more than it takes."""
    p = 7
    gauge = Separable(np.ones(p), np.zeros(p))
    w = np.full(p, 1.0 / 3.0)
    size = float(np.abs(w).sum())
    share = NORMS + p * 2.0**-52
    assert Constrained(gauge, size * (1.0 + 1.01 * share)).within(w)
    assert not Constrained(gauge, size * (1.0 + 0.98 * share)).within(w)
    assert Constrained(gauge, size + gauge.doubt(w, size)).within(w)  # at most is enough
    assert Constrained(gauge, size).kept(w) is not w
    assert gauge.value(Constrained(gauge, size).kept(w)) == close(size * (1.0 - 2.0 * share), rel=share / 8)


@pytest.mark.parametrize("seed", range(40))
def test_what_a_penalty_costs_is_known_to_its_doubt(seed: int) -> None:
    regulariser, w = constrained(seed)
    strength = float(10.0 ** np.random.default_rng(seed).choice([-300.0, -5.0, 0.0, 120.0]))
    with np.errstate(all="ignore"):
        value, doubt = Penalised(regulariser.gauge, strength).priced(w)
    truth = real.mpf(strength) * exact_size(regulariser.gauge, w)
    if value < np.inf:  # NaN and ∞ are ∞ to the kernel
        assert truth > 1e300 or abs(truth - value) <= doubt
        assert doubt >= NORMS * value


def test_doubts_by_hand() -> None:
    l1, l2 = np.array([1.0, 0.0, 2.0, 0.0]), np.array([0.0, 3.0, 4.0, 0.0])
    share = NORMS + 4 * 2.0**-52
    gauge = Separable(l1, l2)
    assert gauge.doubt(np.ones(4), 5.0) == close(5.0 * share, rel=1e-13)
    assert gauge.doubt(np.ones(4), 0.0) == LEAST * (3 + 7)
    assert (gauge.least, Separable(l1, np.zeros(4)).least) == (1.0, 1.0)
    assert Separable(l1, np.where(l2 > 0.0, 0.25, 0.0)).least == 0.25
    assert Separable(np.zeros(2), np.zeros(2)).least == np.inf
    assert Separable(np.zeros(2), np.zeros(2)).doubt(np.ones(2), 0.0) == 0.0
    assert Norm(2.0, l1).doubt(np.ones(4), 3.0) == close(3.0 * NORMS, rel=1e-13)
    assert Norm(2.0, l1).doubt(np.ones(4), 0.0) == 5 * LEAST
    assert Penalised(gauge, 2.0).priced(np.array([1.0, 1.0, -1.0, 9.0])) == (20.0, 20.0 * share)
    assert Penalised(gauge, 2.0).priced(np.array([0.0, 0.0, 0.0, 9.0])) == (0.0, 0.0)
    assert Penalised(gauge, 1e-9).priced(np.array([0.0, 1e-200, 0.0, 9.0])) == (0.0, LEAST)
    powers = Powers(0.5, np.array([2.0, 3.0]))
    assert powers.doubt(np.ones(2), 5.0) == close(5.0 * (NORMS + 2 * 2.0**-52), rel=1e-13)
    assert powers.doubt(np.ones(2), 0.0) == 7 * LEAST
    counted = np.array([True, True, False])
    count = Count(counted, np.array([0.0, 3.0, 0.0]))
    assert count.doubt(np.ones(3), 5.0) == close(5.0 * (NORMS + 3 * 2.0**-52), rel=1e-13)
    assert count.doubt(np.ones(3), 0.0) == 4 * LEAST
    at_most = AtMost(count, 1)
    assert at_most.priced(np.array([0.0, 2.0, 7.0])) == (12.0, 12.0 * (NORMS + 3 * 2.0**-52) + 4 * LEAST)
    assert at_most.priced(np.array([5.0, 2.0, 7.0]))[0] == np.inf
    assert at_most.priced(np.zeros(3)) == (0.0, 0.0)
    assert at_most.within(np.array([0.0, 2.0, 7.0])) and not at_most.within(np.array([5.0, 2.0, 7.0]))
    inside = np.array([0.0, 2.0, 7.0])
    assert at_most.kept(inside) is inside
    assert at_most.kept(np.array([5.0, 2.0, 7.0])).tolist() == [5.0, 0.0, 7.0]


@pytest.mark.parametrize("order", [0.9, 0.5, 0.1, 0.003])
def test_a_quasi_norm_is_known_to_its_doubt(order: float) -> None:
    """The root makes much of what the sum is off by, and of weights that underflow beside others."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        gauge = QuasiNorm(order, 10.0 ** rng.uniform(-3, 3, 4))
        w = rng.normal(size=4)
        size = gauge.value(w)
        truth = exact_norm([rational(a) * rational(b) for a, b in zip(gauge.scale, w, strict=True)], order)
        assert abs(truth - size) <= gauge.doubt(w, size) == NORMS / order * size
    gauge = QuasiNorm(order, np.array([1.0, 1.0, 0.0]))
    assert gauge.doubt(np.array([1.0, 0.0, 1e-310]), 1.0) == NORMS / order
    assert gauge.doubt(np.zeros(3), 0.0) == 0.0
    for faint in ([1.0, 0.99 * FAINT, 0.0], [1e300, 1e-5, 0.0], [0.99 * FAINT, 0.0, 0.0]):
        assert gauge.doubt(np.array(faint), 1.0) == np.inf
    for clear in ([1.0, FAINT, 0.0], [FAINT, 0.0, 0.0], [3.0, 4.0 * FAINT, 0.0]):
        assert gauge.doubt(np.array(clear), 1.0) < np.inf
    scaled = QuasiNorm(order, np.array([1.0, 1e-9]))
    assert scaled.doubt(np.array([1.0, 1e-295]), 1.0) == np.inf


def test_prices_that_underflow_prove_nothing() -> None:
    gauge = Separable(np.array([1.0, 0.0]), np.array([0.0, 0.25]))
    w, v, reach = np.zeros(2), np.full(2, 1e-303), np.zeros(2)
    assert Penalised(gauge, 4.0 * FAINT).fenchel_young(w, v, reach)[0] < 1.0
    assert Penalised(gauge, 3.9 * FAINT).fenchel_young(w, v, reach) == (np.inf, np.inf)
    assert Penalised(Norm(2.0, np.ones(2)), FAINT).fenchel_young(w, v, reach)[1] < 1.0
    assert Penalised(Norm(2.0, np.ones(2)), 0.99 * FAINT).fenchel_young(w, v, reach) == (np.inf, np.inf)


def test_a_constrained_price_is_never_below_its_digits() -> None:
    """v so small that its price would underflow: any price is right, the least with its digits near."""
    gauge = Separable(np.array([0.5, 0.0]), np.zeros(2))
    w, v = np.array([1.0, 0.0]), np.array([1e-310, 0.0])
    with np.errstate(over="ignore"):
        got, kappa = Constrained(gauge, 4.0).fenchel_young(w, v, np.zeros(2))
    assert kappa == 0.0
    assert got == close(2.0 * FAINT * 4.0 - 1e-310, rel=1e-6)
    assert Constrained(Separable(np.zeros(2), np.zeros(2)), 4.0).fenchel_young(w, v, np.zeros(2)) == (
        0.0,
        0.0,
    )


def test_a_v_beyond_its_price_costs_the_budget() -> None:
    """Were the price too low, by rounding or worse, the budget times what is missing is added."""

    class Cheap(Separable):
        def price(self, v: Any, radius: float) -> float:
            return 0.5 * super().price(v, radius)

    w, v, reach = np.array([1.0, -1.0]), np.array([6.0, 2.0]), np.array([2.0, 0.0])
    gauge, cheap = Separable(np.ones(2), np.zeros(2)), Cheap(np.ones(2), np.zeros(2))
    dear = Constrained(gauge, 3.0).fenchel_young(w, v, reach)[0]
    assert dear == close(1.0 * (8.0 - 6.0 + 2.0) + 1.0 * (8.0 + 2.0) + 8.0 * (3.0 - 2.0), rel=1e-12)
    found = Constrained(cheap, 3.0).fenchel_young(w, v, reach)[0]
    assert found == close(0.0 + (4.0 + 2.0) + 4.0 * (3.0 - 2.0) + 4.0 * 1.0 * 3.0, rel=1e-12)
    wider = [Constrained(gauge, 3.5).fenchel_young(s * w, s * v, reach)[0] for s in (1.0, -1.0)]
    assert wider == close([4.0 + 10.0 + 8.0 * 1.5] * 2, rel=1e-12)
    doubt = gauge.doubt(w, 2.0)
    assert Constrained(gauge, 2.0 + doubt).fenchel_young(w, np.array([8.0, -8.0]), 0.0 * reach)[0] == close(
        8.0 * 2.0 * doubt, rel=0.05
    )


def test_what_is_not_convex_has_no_bracket() -> None:
    one = np.ones(1)
    for gauge in (Powers(0.5, one), QuasiNorm(0.5, one), Count(np.array([True]), one)):
        with pytest.raises(NotImplementedError):
            gauge.fenchel_young(one, one, one, 1.0)
        with pytest.raises(NotImplementedError):
            gauge.price(one, 1.0)
    for penalty in (L0(), L0L2(0.5)):
        found = penalty.within(penalty.gauge(one, one), 3.0)
        assert isinstance(found, AtMost) and found.radius == 3.0


def test_what_is_not_strongly_convex_says_so() -> None:
    """Else a distance to the optimum would be claimed that there is not."""
    one, zero = np.ones(1), np.zeros(1)
    flat = (Powers(0.5, one), QuasiNorm(0.5, one), Count(np.array([True]), one), Norm(2.0, one))
    assert [gauge.strong_convexity() for gauge in (*flat, Separable(one, zero), Separable(zero, zero))] == [
        0.0
    ] * 6


def test_the_doubt_of_squares_beside_a_count() -> None:
    """None where only free weights are not zero; theirs, where only priced ones are not."""
    gauge = Count(np.array([True, False]), np.array([0.5, 0.0]))
    regulariser = AtMost(gauge, 1.0)
    assert regulariser.free.tolist() == [False, True]
    assert regulariser.priced(np.array([0.0, 3.0])) == (0.0, 0.0)
    value, doubt = regulariser.priced(np.array([2.0, 0.0]))
    assert value == 2.0 and doubt == gauge.doubt(np.zeros(2), 2.0) > 0.0
