"""Under a strong price the optimum is small, but it is not zero, and neither is the answer."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap as dg
from dualgap.losses import CATALOGUE
from dualgap.traits import Trait

ROWS = np.random.default_rng(4).normal(size=(60, 3)) + 5.0


def _targets(loss: dg.losses.Loss) -> np.ndarray:
    z = ROWS @ [0.3, -0.2, 0.1]
    if Trait.CLASSIFICATION in loss.traits:
        return np.where(z + np.sin(9 * np.arange(60)) > np.quantile(z, 0.3), 1, -1)
    return 1.0 / (1.0 + np.exp(-z)) if loss.name == "binomial" else np.exp(z)


@pytest.mark.parametrize("name", [n for n in CATALOGUE if Trait.CONVEX in CATALOGUE[n]().traits])
def test_weights_shrink_as_one_over_the_strength(name: str) -> None:
    """w λ tends to a constant, so that ten times the price gives a tenth of the weights."""
    loss = CATALOGUE[name]()
    y, lam = _targets(loss), 1e7
    once = dg.fit(ROWS, y, loss=loss, penalty="l2", lam=lam)
    tight = dg.fit(ROWS, y, loss=loss, penalty="l2", lam=lam, tol=1e-12)
    assert once.converged
    assert tight.coef.any() == (name != "perceptron")  # whose loss is zero at zero
    assert np.linalg.norm(once.coef - tight.coef) < np.linalg.norm(tight.coef) or name == "perceptron"
    if Trait.SMOOTH in loss.traits:
        more = dg.fit(ROWS, y, loss=loss, penalty="l2", lam=10 * lam)
        np.testing.assert_allclose(10 * more.coef, once.coef, rtol=1e-3)


def test_zero_stays_where_the_price_has_an_edge() -> None:
    """Beyond λ_max the lasso's and the elastic net's weights are zero, each of them proven."""
    y = ROWS @ [0.3, -0.2, 0.1]
    for penalty in ("l1", "elastic_net(0.5)"):
        found = dg.fit(ROWS, y, loss="huber(0.2)", penalty=penalty, lam=1e6)
        assert not found.coef.any()
        assert found.converged
