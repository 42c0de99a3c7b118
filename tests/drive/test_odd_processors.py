"""A fit goes the same way in a process whose numbers below 2⁻¹⁰²² another library has made zeros."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits

import dualgap as dg
from odd_processor import FLUSHED, UP, tellable, told

pytestmark = tellable


@pytest.mark.parametrize("bits", [FLUSHED, UP])
def test_many_classes_are_proven_there(bits: int) -> None:
    X, y = load_digits(return_X_y=True)
    asked = {"loss": "logistic", "penalty": "l2", "lam": 1e-6, "max_time": 30}
    plain = dg.fit(X / 16.0, y, **asked)
    with told(bits):
        odd = dg.fit(X / 16.0, y, **asked)
    assert plain.converged and odd.converged
    assert np.allclose(odd.coef, plain.coef, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("bits", [FLUSHED, UP])
@pytest.mark.parametrize("loss", ["squared", "absolute", "huber(1.35)"])
def test_paths_are_proven_there(bits: int, loss: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    plain = dg.path(X, y, loss=loss, penalty="l1")
    with told(bits):
        odd = dg.path(X, y, loss=loss, penalty="l1")
    assert np.all(odd.gaps <= 1e-6 * odd.risks)
    assert np.allclose(odd.lams, plain.lams, rtol=1e-6, atol=1e-12)
