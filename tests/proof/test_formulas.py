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
from dualgap.penalties.l0 import AtMost, Count
from dualgap.penalties.norm import Norm
from dualgap.penalties.separable import Separable
from exact.arithmetic import as_real, rational, real
from proof.made import CONVEX, fenchel_young, fractions, labelled, loss_of, lossy, number

U = 2.0**-53
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


def arguments(text: str, far: tuple[float, ...]) -> tuple[Any, Any, Any]:
    """Targets, predictions, and slopes inside the domain up to its very edge, each with each."""
    loss = loss_of(text)
    shares = (0.0, TINY, 1e-300, 1e-17, 0.1, 0.3, 0.5, 0.9, 1.0 - 1e-9, INSIDE, 1.0)
    targets = (1.0, -1.0) if labelled(text) else (0.0, 2.0)
    rows = []
    for y, z, sign in itertools.product(targets, Z + far, (1.0, -1.0)):
        low, high = (float(edge[0]) for edge in loss.domain(np.array([y])))
        ends = [end if np.isfinite(end) else np.copysign(5.0, end) for end in (low, high)]
        rows += [(y, sign * z, end * share) for end in ends if end for share in shares]
    return tuple(np.array(part) for part in zip(*rows, strict=True))


@pytest.mark.parametrize("text", CONVEX)
def test_fenchel_young_is_exact_to_a_few_roundings(text: str) -> None:
    """Never below L + L* − uz by more than roundings of it and of L, nor above it by more than is documented."""
    loss = loss_of(text)
    y, z, u = arguments(text, FAR if text not in ("exponential",) else (600.0,))
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
        if text in ("logistic", "exponential"):  # these are from above: by up to LOST of what moves
            under += real.mpf(10) ** -95  # what cancels in the definition
            spare += real.mpf(LOST) * 4 * (1 + size)
            assert got >= truth * (1 - 16 * U) - under, row
        assert truth - spare <= got <= truth + spare, row
        assert got >= truth - 16 * U * (truth + size) - under, row


def test_fenchel_young_of_several_rows_of_predictions() -> None:
    rng = np.random.default_rng(0)
    for text in CONVEX:
        loss = loss_of(text)
        y = np.where(rng.random(5) < 0.5, -1.0, 1.0)
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
    assert divergence(np.array([1e-300]), np.array([1e300]), np.zeros(1))[0] == pytest.approx(1e300)


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
    moved = divergence(np.array([0.5]), np.array([0.5 * FAINT]), np.array([1e9]))[0]
    assert moved > 1e8
    huge = divergence(np.array([1e305]), np.array([1.0]), np.array([0.0]))[0]
    assert huge == pytest.approx(1e305 * 305 * np.log(10), rel=1e-12)
    model = np.array([1e-302, 0.3])  # of two, one is faint
    both = divergence(np.array([0.2, 0.2]), model, np.array([695.4, 1e9]))
    assert both[1] == pytest.approx(0.2 * np.log(0.2 / 0.3) + 0.1, rel=1e-12)
    assert both[0] == pytest.approx(0.2 * (np.log(0.2) + 694.4), rel=1e-12)


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
