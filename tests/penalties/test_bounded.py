"""Penalties in a box: the nearest point, its derivative, and what Fenchel and Young say of both."""

from __future__ import annotations

import numpy as np
import pytest

from cases import PENALTIES
from dualgap.penalties import Constrained, Penalised, Penalty
from dualgap.penalties.bounded import bounded
from dualgap.penalties.weight_bounds import WeightBounds

BOX = WeightBounds(
    np.array([-0.1, -np.inf, 0.05, -0.2, 0.0, -np.inf]), np.array([0.3, 0.1, np.inf, 0.4, np.inf, np.inf])
)
SCALE = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
STEP = 1e-6
HELD = [one for one in PENALTIES if one.name in ["none", "l1", "l2", "l2_norm", "elastic_net", "linf", "lp"]]


@pytest.mark.parametrize("constrained", [False, True], ids=["penalised", "constrained"])
@pytest.mark.parametrize("penalty", HELD, ids=str)
def test_the_nearest_point_in_the_box(penalty: Penalty, constrained: bool) -> None:
    gauge, rng = penalty.gauge(np.ones(5), SCALE).extended(), np.random.default_rng(1)
    form = bounded(Constrained(gauge, 0.35) if constrained else Penalised(gauge, 0.3), BOX)
    for _ in range(12):
        s, sigma = rng.normal(size=6) * rng.choice([0.3, 1.0, 5.0]), float(rng.choice([0.5, 2.0, 20.0]))
        half = form.dual_prox(s, sigma)
        assert half.point is not None and BOX.holds(half.point)
        w = np.where(form.free, s / sigma, half.point)
        assert np.allclose(s - sigma * w, half.v, atol=1e-12 * float(np.abs(s).max()))
        found = form.bracket(w, half.v, np.zeros(6))  # zero exactly where v is a slope at w
        pull = 0.0 if found.pull is None else float(found.pull.max())
        assert found.value + found.excess + pull <= 1e-11 * (1.0 + float(np.abs(s).sum()))
        bend = np.array([half.times(e) for e in np.eye(6)])
        sides = [[form.dual_prox(s + t * e, sigma).v for t in (STEP, -STEP)] for e in np.eye(6)]
        seen = np.array([(up - down) / (2.0 * STEP) for up, down in sides]).T
        assert np.allclose(bend[~form.free], seen[~form.free], atol=1e-5)


@pytest.mark.parametrize("constrained", [False, True], ids=["penalised", "constrained"])
@pytest.mark.parametrize("penalty", HELD, ids=str)
def test_no_point_of_the_box_breaks_the_inequality(penalty: Penalty, constrained: bool) -> None:
    """P(w) − P(w') is no more than the bracket says, for points that are anywhere."""
    gauge, rng = penalty.gauge(np.ones(5), SCALE).extended(), np.random.default_rng(2)
    form = bounded(Constrained(gauge, 0.9) if constrained else Penalised(gauge, 0.3), BOX)
    for _ in range(60):
        w, other = (form.kept(rng.normal(size=6) * rng.choice([0.05, 1.0])) for _ in range(2))
        v = np.append(rng.normal(size=5) * rng.choice([0.1, 1.0]), 0.0)
        reach = rng.choice([0.0, 1e-3]) * np.abs(rng.normal(size=6))
        value, excess, pull = form.bracket(w, v, reach)
        held = value + excess * form.priced(other)[0]
        held += 0.0 if pull is None else float(pull @ (np.abs(other) + np.abs(w)))
        near = v + rng.uniform(-1.0, 1.0, 6) * reach
        near[5] = 0.0
        gained = form.priced(w)[0] - form.priced(other)[0] + float(near @ (other - w))
        assert gained <= held + 1e-12
