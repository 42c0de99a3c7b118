"""Columns that ask much of a scan: constant ones, copies, far from zero, tiny or huge, of one row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from streaming.rows import drawn, parquet, small_blocks
from streaming.test_fits import agrees

__all__ = ["small_blocks"]
pytestmark = pytest.mark.usefixtures("small_blocks")
FREE = [0.0, 1.0, 1.0, 1.0, 1.0]


def of_loss(loss: str, y: Any, labels: Any) -> Any:
    """Targets that it takes."""
    if loss in ("hinge", "logistic", "squared_hinge"):
        return labels
    return np.exp(0.2 * y) if loss in ("poisson", "tweedie(1.5)") else y


@pytest.mark.parametrize("value", [3.7, 1e6])
@pytest.mark.parametrize("loss", ["squared", "logistic", "tweedie(1.5)", "huber", "hinge"])
def test_a_free_constant_column_is_another_intercept(loss: str, value: float) -> None:
    X, y, labels = drawn(3000)
    X[:, 0] = value
    y = of_loss(loss, y, labels)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l1", "lam": 0.02, "penalty_factors": FREE}
    found, whole = dg.fit(dg.dataset(X, y), **asked), dg.fit(X, y, **asked)
    assert found.converged and agrees(found, whole) and found.scans < 6.0


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "absolute"])
def test_copies_of_a_free_column_share_a_weight(loss: str) -> None:
    X, y, labels = drawn(3000, seed=1)
    X[:, 2] = -2.0 * X[:, 0]
    y = of_loss(loss, y, labels)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lam": 0.01, "penalty_factors": [0, 1, 0, 1, 1]}
    found, whole = dg.fit(dg.dataset(X, y), **asked), dg.fit(X, y, **asked)
    assert found.converged and agrees(found, whole) and np.abs(found.coef).max() < 100.0


@pytest.mark.parametrize("loss", ["squared_epsilon_insensitive(0.1)", "huber", "hinge", "quantile(0.5)"])
def test_a_level_that_one_row_has_is_fitted_without_a_price(loss: str) -> None:
    """The row is fitted exactly: what rounding leaves of its slope kept its column from being balanced."""
    X, y, labels = drawn(3000, seed=2)
    X[:, 1] = 0.0
    X[1234, 1] = 50.0
    y = of_loss(loss, y, labels)
    found, whole = (
        dg.fit(dg.dataset(X, y), loss=loss, penalty="none"),
        dg.fit(X, y, loss=loss, penalty="none"),
    )
    assert found.converged and agrees(found, whole) and found.scans < 6.0


@pytest.mark.parametrize("scale", [1e-5, 1e5])
@pytest.mark.parametrize(("loss", "penalty"), [("absolute", "l2"), ("hinge", "l1")])
def test_a_free_column_may_be_tiny_or_huge(loss: str, penalty: str, scale: float) -> None:
    X, y, labels = drawn(3000, seed=3)
    X[:, 0] *= scale
    y = of_loss(loss, y, labels)
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "lam": 1e-4, "penalty_factors": FREE}
    found, whole = dg.fit(dg.dataset(X, y), **asked), dg.fit(X, y, **asked)
    assert found.converged and agrees(found, whole)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_rounding_is_met_with_more_digits(loss: str) -> None:
    """Products are off by more than a small price beside huge numbers allows, until a scan is exact."""
    X, y, labels = drawn(3000, seed=4)
    X[:, 0] += 3e4
    y = of_loss(loss, y, labels)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2_norm", "lam": 3e-4}
    found, whole = dg.fit(dg.dataset(X, y), **asked), dg.fit(X, y, **asked)
    assert found.converged and agrees(found, whole)


def test_moments_are_checked_by_moments_where_rows_say_less(tmp_path: Path) -> None:
    """No column has a price, one holds three rows, and one is far from zero."""
    X, y, _ = drawn(3000, seed=5)
    X[:, 0] += 1e6
    X[:, 1] = 0.0
    X[[5, 1500, 2900], 1] = 1.0
    rows = parquet(X, y, tmp_path)
    found = dg.fit(rows, loss="squared", penalty="none")
    again = found.certificate.recheck(rows)
    assert found.converged and again.gap <= 1e-6 * again.objective


def test_factors_may_all_be_zero_in_a_model_file(tmp_path: Path) -> None:
    X, y, _ = drawn(500)
    found = dg.fit(dg.dataset(X, y), loss="huber", penalty="l1", lam=0.1, penalty_factors=np.zeros(5))
    kept = dg.load(found.save(tmp_path / "m.json"))
    assert np.array_equal(kept.coef, found.coef) and kept.terms.factors.sum() == 0.0
