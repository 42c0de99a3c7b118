"""Products made at once for several statements: the same bounds, and none for other numbers than theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.proof.rows import Rows


def test_a_product_is_that_of_the_numbers_asked_about() -> None:
    rng = np.random.default_rng(0)
    X, W, T = rng.normal(size=(2500, 7)), rng.normal(size=(3, 7)), rng.normal(size=(3, 2500))
    shared, alone = Rows(X), Rows(X)
    shared.times_ahead(W)
    shared.against_ahead(T)
    W[0] *= 2.0  # whoever gave them may go on with them
    T[0] *= 2.0
    for w, theta in zip(W, T, strict=True):
        for one, other in (
            (shared.times_roughly(w), alone.times_roughly(w)),
            (shared.times(w), alone.times(w)),
            (shared.against_roughly(theta), alone.against_roughly(theta)),
            (shared.against(theta), alone.against(theta)),
        ):
            np.testing.assert_allclose(one[0], other[0], rtol=0.0, atol=2.0 * np.max(other[-1]))
            np.testing.assert_array_equal(one[-1], other[-1])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", ["l2", "none"])
def test_outputs_side_by_side_are_those_alone(penalty: str, intercept: bool) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 5)) + 1.0
    Y = (
        X @ rng.normal(size=(5, 4))
        + rng.normal(size=(90, 4)) * [1.0, 0.0, 10.0, 1e-3]
        + [0.0, 1.0, -5.0, 1e3]
    )
    how: dict[str, Any] = {"loss": "squared", "penalty": penalty, "fit_intercept": intercept}
    how |= {"lam": 0.1} if penalty == "l2" else {}
    for weights in (None, rng.integers(0, 3, 90).astype(float)):
        both = dg.fit(X, Y, sample_weight=weights, **how)
        assert both.converged
        for k, y in enumerate(Y.T):
            one = dg.fit(X, y, sample_weight=weights, tol=5e-7, **how)
            np.testing.assert_allclose(both.coef[k], one.coef, atol=1e-6 * np.abs(one.coef).max())
            assert both.parts[k].objective == pytest.approx(one.objective, rel=1e-6, abs=1e-20)
    twice = np.column_stack([X, X[:, 0]])
    assert dg.fit(twice, Y, **how).converged  # no factor: each alone
