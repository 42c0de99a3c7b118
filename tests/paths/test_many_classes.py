"""Paths of more than two classes: every point a fit, for every loss and form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.errors import DataError


def _classes(seed: int, n: int = 60, p: int = 4) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, p))
    return X, np.array(["a", "b", "c"])[np.argmax(X[:, :3] + random.standard_normal((n, 3)), axis=1)]


@pytest.mark.parametrize(
    ("loss", "penalty", "multiclass"),
    [
        ("logistic", "l1", "multinomial"),
        ("logistic", "elastic_net(0.5)", "multinomial"),
        ("logistic", "l2", "one_vs_rest"),
        ("squared_hinge", "l1", "one_vs_rest"),
    ],
)
def test_every_point_is_a_fit(loss: str, penalty: str, multiclass: str) -> None:
    X, y = _classes(1)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    how: dict[str, Any] = {
        "loss": loss,
        "penalty": penalty,
        "multiclass": multiclass,
        "sample_weight": weights,
    }
    path = dg.path(X, y, n_lams=5, **how)
    assert np.all(path.gaps <= 1e-6)
    for k in (1, 4):
        fit = dg.fit(X, y, lam=float(path.lams[k]), tol=1e-8, **how)
        found = path.solution(lam=float(path.lams[k]))
        assert found.objective == pytest.approx(fit.objective, rel=2e-6)
        assert path.coefs[k] == pytest.approx(fit.coef, abs=0.02 * max(1.0, np.abs(fit.coef).max()))
        assert path.risks[k] + path.lams[k] * path.budgets[k] == pytest.approx(fit.objective, rel=2e-6)


@pytest.mark.parametrize(("loss", "scale"), [("logistic", 1.0), ("logistic", 100.0), ("hinge", 100.0)])
def test_no_class_has_a_weight_at_the_first_strength_and_one_has_below(loss: str, scale: float) -> None:
    X, y = _classes(3)
    path = dg.path(scale * X, y, loss=loss, penalty="l1", n_lams=3)
    assert path.n_nonzero[0] == 0
    if loss == "logistic":
        top = float(path.lams[0])
        below = dg.fit(scale * X, y, loss=loss, penalty="l1", lam=0.9 * top, multiclass="one_vs_rest")
        assert below.n_nonzero > 0


@pytest.mark.parametrize("multiclass", ["multinomial", "one_vs_rest"])
def test_a_budget_along_the_path(multiclass: str) -> None:
    X, y = _classes(4)
    how: dict[str, Any] = {"loss": "logistic", "penalty": "l1", "multiclass": multiclass}
    path = dg.path(X, y, n_lams=4, **how)
    found, fit = path.solution(budget=1.0), dg.fit(X, y, budget=1.0, tol=1e-8, **how)
    assert found.objective == pytest.approx(fit.objective, rel=2e-6)
    assert path.budget(float(path.lams[2])) == pytest.approx(path.budgets[2])
    with pytest.raises(DataError, match="two classes"):
        path.lam(1.0)


def test_the_order_of_the_classes_does_not_matter() -> None:
    X, y = _classes(5)
    other = np.array(["c", "a", "b"])[np.searchsorted(["a", "b", "c"], y)]
    one, two = (
        dg.path(X, labels, loss="logistic", penalty="l2", n_lams=4, tol=1e-9) for labels in (y, other)
    )
    assert two.lams == pytest.approx(one.lams)
    assert two.coefs == pytest.approx(one.coefs[:, [1, 2, 0]], abs=1e-3)
