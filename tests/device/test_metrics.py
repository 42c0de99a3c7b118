"""Steps whose curvature stays on the device: those of the model that has all of it on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from device.rows import put
from dualgap.device.matrix import DeviceMatrix
from dualgap.solvers.metrics import Priced
from dualgap.streaming import resident_priced
from dualgap.streaming.resident_priced import PricedThere


class Asked(DeviceMatrix):
    """Counts the numbers that come to the host."""

    numbers = 0

    def host(self, values: Any) -> Any:
        self.numbers += values.numel()
        return super().host(values)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("free", [0, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_a_step_is_that_of_the_whole_model(
    ridge: float, free: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_priced, "FIRST", 8)
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(300, 120)) + 0.5 * rng.normal(size=(300, 1))
    H, price, more = A.T @ A / 300, np.full(120, 0.3), np.full(120, ridge)
    price[:free] = 0.0
    matrix = Asked(put(A))
    there, here = PricedThere(matrix, put(H), more, price), Priced(H, more, price)
    w = np.zeros(120)
    for k in range(3):
        g = -H @ (rng.normal(size=120) * (rng.random(120) < 0.1)) + 0.1 * rng.normal(size=120)
        one, other = there.step(g, w), here.step(g, w)
        assert np.allclose(one, other, rtol=1e-6, atol=1e-8)
        assert np.count_nonzero(w + one) < 120
        s, w = one, w + one
        t = 1.1 * H @ s + 0.01 * s
        there.learn(s, t)
        here.learn(s, t)
        assert k or matrix.numbers < 0.7 * H.size  # the columns that count, not all of them


def test_nothing_is_asked_for_where_nothing_is_worth_its_price() -> None:
    matrix = Asked(put(np.ones((3, 5))))
    found = PricedThere(matrix, put(np.eye(5)), np.zeros(5), np.ones(5)).step(np.full(5, 0.5), np.zeros(5))
    assert not found.any() and matrix.numbers == 5
