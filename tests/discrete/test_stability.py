"""dg.stability: selection frequencies over resamples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.errors import DataError


def frame(n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    strong, noise = rng.normal(size=n), rng.normal(size=n)
    twin = noise + 0.1 * rng.normal(size=n)
    X = pd.DataFrame({"strong": strong, "one": noise, "twin": twin, "none": rng.normal(size=n)})
    return X, 3.0 * strong + noise + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize("method", ["bootstrap", "subsample"])
def test_frequencies_show_what_is_certain_and_what_is_not(method: str) -> None:
    X, y = frame()
    found = dg.stability(
        X, y, loss="squared", penalty="l0", budget=2, resamples=40, method=method, random_state=0
    )
    assert found.coefs.shape == (40, 4) and found.names == ("strong", "one", "twin", "none")
    assert found.frequencies[0] == 1.0 and 0.0 < found.frequencies[2] < 1.0
    assert found.frequencies.sum() == pytest.approx(2.0) and found.unproven == 0
    assert sum(share for _, share in found.sets) == pytest.approx(1.0)
    assert "strong" in str(found) and "chosen on all rows" in str(found)
    again = dg.stability(
        X, y, loss="squared", penalty="l0", budget=2, resamples=40, method=method, random_state=0
    )
    np.testing.assert_array_equal(found.coefs, again.coefs)


def test_draws_are_weights() -> None:
    X, y = frame()
    found = dg.stability(X, y, loss="squared", penalty="l1", lam=0.1, resamples=3, random_state=1)
    rng = np.random.default_rng(1)
    times = rng.multinomial(60, np.full(60, 1 / 60))
    rows = np.repeat(np.arange(60), times)
    copied = dg.fit(X.iloc[rows], y[rows], loss="squared", penalty="l1", lam=0.1)
    np.testing.assert_allclose(found.coefs[0], copied.coef, atol=1e-5)


def test_classes_are_never_lost() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = np.where(np.arange(30) < 3, 1, 0)
    found = dg.stability(X, y, loss="logistic", penalty="l2", lam=0.1, resamples=30, random_state=0)
    assert np.all(found.frequencies == 1.0)
    with pytest.raises(DataError, match="method"):
        dg.stability(X, y, loss="logistic", penalty="l2", lam=0.1, method="jackknife")
    with pytest.raises(DataError, match="resamples"):
        dg.stability(X, y, loss="logistic", penalty="l2", lam=0.1, resamples=0)


def test_the_picture() -> None:
    import matplotlib

    matplotlib.use("Agg")
    X, y = frame()
    axes = dg.stability(X, y, loss="squared", penalty="l0", budget=2, resamples=5, random_state=0).plot()
    assert len(axes.patches) == 4 and "l0" in axes.get_title()
    matplotlib.pyplot.close(axes.figure)
