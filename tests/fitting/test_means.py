"""Losses of means: every penalty in both forms proven, other programs agree, means are what is predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector
from dualgap.errors import DataError, NotCertifiedWarning, UnboundedError
from dualgap.losses import Loss

MEANS = ("poisson", "gamma", "tweedie(1.1)", "tweedie(1.5)", "tweedie(1.9)", "binomial")
PENALTIES = ("none", "l1", "l2", "l2_norm", "elastic_net(0.5)", "linf", "lp(1.5)", "lp(3)")


def rows(loss: str, n: int = 120, p: int = 6, seed: int = 0) -> tuple[Matrix, Vector]:
    """Ordinary data: means follow the columns, some counts and amounts are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    z = X @ rng.normal(size=p) * 0.4 + 0.5
    if loss == "poisson":
        return X, rng.poisson(np.exp(z)).astype(float)
    if loss == "binomial":
        return X, rng.binomial(6, 1.0 / (1.0 + np.exp(-z))) / 6.0
    amounts = rng.gamma(2.0, 0.5 * np.exp(z))
    return X, amounts if loss == "gamma" else np.where(rng.random(n) < 0.3, 0.0, amounts)


@pytest.mark.parametrize("loss", MEANS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_every_penalty_in_both_forms_is_proven(loss: str, penalty: str) -> None:
    X, y = rows(loss)
    forms: list[dict[str, Any]] = [{"lam": 0.05}, {"lam": 1e-4}, {"budget": 0.7}]
    for form in forms if penalty != "none" else [{}]:
        for intercept in (True, False):
            found = dg.fit(X, y, loss=loss, penalty=penalty, fit_intercept=intercept, **form)
            assert found.converged, (form, intercept, found.relative_gap)
            again = found.certificate.recheck(X, y)
            assert again.gap <= 2e-6 * max(again.objective, 1e-4 * found.facts["null"])


@pytest.mark.parametrize(
    ("name", "loss"), [("Poisson", "poisson"), ("Gamma", "gamma"), ("Tweedie", "tweedie(1.5)")]
)
def test_scikit_learn_agrees(name: str, loss: str) -> None:
    from sklearn import linear_model

    X, y = rows(loss)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    more = {"power": 1.5, "link": "log"} if name == "Tweedie" else {}
    model = getattr(linear_model, f"{name}Regressor")(alpha=0.2, tol=1e-10, max_iter=5000, **more)
    model.fit(X, y, sample_weight=weights)
    found = dg.fit(X, y, loss=loss, penalty="l2", lam=0.1, sample_weight=weights, tol=1e-12)
    np.testing.assert_allclose(found.coef, model.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.predict(X), model.predict(X), rtol=1e-5)
    ours = dg.LinearRegressor(loss=loss, lam=0.1).fit(X, y, sample_weight=weights)
    assert ours.score(X, y, weights) == pytest.approx(model.score(X, y, weights), rel=1e-4)
    judged = dg.certify(X, y, model, sample_weight=weights)
    assert judged.relative_gap < 1e-6


def test_tweedie_models_that_are_no_loss_of_ours_are_refused() -> None:
    from sklearn.linear_model import TweedieRegressor

    X, y = rows("gamma")
    for power, link in ((3.0, "auto"), (0.0, "log")):
        model = TweedieRegressor(power=power, link=link, max_iter=1000).fit(X, y)
        with pytest.raises(DataError, match="power="):
            dg.certify(X, y, model)
    judged = dg.certify(X, y, TweedieRegressor(power=0.0, alpha=0.3, tol=1e-10).fit(X, y))
    assert judged.relative_gap < 1e-6


@pytest.mark.parametrize("loss", ["poisson", "gamma", "binomial"])
@pytest.mark.parametrize("form", [{"lam": 0.05}, {"budget": 0.6}])
def test_a_conic_solver_agrees(loss: str, form: dict[str, float]) -> None:
    cp = pytest.importorskip("cvxpy")
    X, y = rows(loss, 60, 4)
    w, b = cp.Variable(4), cp.Variable()
    z = X @ w + b
    risks = {
        "poisson": lambda: cp.sum(cp.exp(z) - cp.multiply(y, z)),
        "gamma": lambda: cp.sum(cp.multiply(y, cp.exp(-z)) + z),
        "binomial": lambda: cp.sum(cp.logistic(z) - cp.multiply(y, z)),
    }
    risk, size = risks[loss]() / len(y), cp.norm1(w)
    limits = [] if "lam" in form else [size <= form["budget"]]
    cp.Problem(cp.Minimize(risk + form.get("lam", 0.0) * size), limits).solve(solver=cp.CLARABEL)
    found = dg.fit(X, y, loss=loss, penalty="l1", tol=1e-9, **form)
    np.testing.assert_allclose(found.coef, w.value, atol=1e-4)
    assert found.intercept == pytest.approx(float(b.value), abs=1e-4)


def test_shares_are_labels_counted_together() -> None:
    """k successes of m are k rows of the one class and m − k of the other."""
    X, y = rows("binomial", 40, 3)
    trials = np.full(40, 6.0)
    shares = dg.fit(X, y, loss="binomial", penalty="l2", C=0.5, sample_weight=trials, tol=1e-10)
    hits = np.round(6.0 * y).astype(int)
    twice, labels = np.repeat(X, 6, axis=0), np.concatenate([[1] * k + [0] * (6 - k) for k in hits])
    apart = dg.fit(twice, labels, loss="logistic", penalty="l2", C=0.5, tol=1e-10)
    np.testing.assert_allclose(shares.coef, apart.coef, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(shares.predict(X), apart.predict_proba(X)[:, 1], rtol=1e-4)


@pytest.mark.parametrize(
    ("loss", "bad", "words"),
    [
        ("poisson", -1.0, "targets of at least 0"),
        ("gamma", 0.0, "positive targets"),
        ("tweedie(1.5)", -0.5, "targets of at least 0"),
        ("binomial", 1.5, "from 0 to 1"),
    ],
)
def test_targets_outside_the_range_are_refused_in_one_sentence(loss: str, bad: float, words: str) -> None:
    X, y = rows(loss)
    y[3] = bad
    for ask in (dg.fit, dg.path, dg.cross_validate):
        with pytest.raises(DataError, match=words):
            ask(X, y, loss=loss, penalty="l1", **({"lam": 0.1} if ask is dg.fit else {}))
    y[3] = 0.5
    found = dg.fit(X, y, loss=loss, penalty="l1", lam=0.1)
    y[3] = bad
    with pytest.raises(DataError, match=words):
        found.certificate.recheck(X, y)


def test_counts_without_a_minimiser_name_the_direction() -> None:
    """A column that is not zero only where the count is zero: its weight has no end."""
    X, y = rows("poisson")
    X[:, 2] = 0.0
    X[np.flatnonzero(y == 0.0)[:4], 2] = 1.0
    for loss in ("poisson", "tweedie(1.5)", "binomial"):
        with pytest.raises(UnboundedError, match=r"4 rows move") as told:
            dg.fit(X, np.minimum(y, 1.0) * 0.5 if loss == "binomial" else y, loss=loss, penalty="none")
        moved = X @ told.value.direction + told.value.intercept
        assert np.all(moved[y > 0] == 0.0) and np.all(moved <= 0.0) and np.any(moved < 0.0)
    assert dg.fit(X, y, loss="poisson", penalty="l2", lam=1e-6).converged
    assert dg.fit(X, y + 0.5, loss="gamma", penalty="none").converged


def test_targets_that_are_all_the_least_leave_the_intercept_without_end() -> None:
    X, _ = rows("poisson")
    for loss, target, sign in (("poisson", 0.0, -1.0), ("tweedie(1.5)", 0.0, -1.0), ("binomial", 1.0, 1.0)):
        with pytest.raises(UnboundedError, match="every target is") as told:
            dg.fit(X, np.full(len(X), target), loss=loss, penalty="l2", lam=1.0)
        assert told.value.intercept == sign and not np.any(told.value.direction)
        assert dg.fit(X, np.full(len(X), target), loss=loss, lam=1.0, fit_intercept=False).converged


@pytest.mark.parametrize("loss", MEANS)
def test_predictions_are_means_everywhere(loss: str, tmp_path: Any) -> None:
    X, y = rows(loss)
    found = dg.fit(X, y, loss=loss, penalty="l2", lam=0.01)
    z = X @ found.coef + found.intercept
    mean: Vector = found.terms.loss.mean(z)
    np.testing.assert_allclose(found.linear_predictor(X), z, rtol=1e-12)
    np.testing.assert_allclose(found.predict(X), mean, rtol=1e-12)
    model = dg.LinearRegressor(loss=loss, lam=0.01).fit(X, y)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-12)
    np.testing.assert_allclose(model.linear_predictor(X), z, rtol=1e-12)
    assert 0.0 < model.score(X, y) < 1.0
    assert "D² =" in found.summary()
    loaded = dg.load(found.save(tmp_path / "model.json"))
    np.testing.assert_array_equal(loaded.predict(X), found.predict(X))
    scope: dict[str, Any] = {}
    exec(found.export(tmp_path / "model.py").read_text(), scope)
    assert scope["predict"](X[0].tolist()) == pytest.approx(mean[0], rel=1e-12)
    assert "EXP(" in found.export(tmp_path / "model.sql").read_text()


def test_the_path_and_the_search_know_means() -> None:
    X, y = rows("poisson")
    path = dg.path(X, y, loss="poisson", penalty="l1", n_lams=10)
    assert np.all(path.gaps <= 1e-6)
    one = dg.fit(X, y, loss="poisson", penalty="l1", lam=float(path.lams[5]))
    np.testing.assert_allclose(path.coefs[5], one.coef, atol=1e-3)
    assert np.isfinite(path.criterion("aic")).any()
    search = dg.cross_validate(
        X, y, loss="poisson", penalty="l1", cv=3, n_lams=8, score="d2_absolute_error_score"
    )
    assert search.solution.converged


@pytest.mark.parametrize("loss", ["poisson", "gamma", "binomial"])
def test_kernel_machines_predict_means(loss: str) -> None:
    X, y = rows(loss, 60, 3)
    model = dg.KernelRegressor(loss=loss, lam=0.01).fit(X, y)
    assert model.solution_.converged
    own: Loss = dg.losses.CATALOGUE[loss]()
    np.testing.assert_allclose(model.predict(X), own.mean(model.linear_predictor(X)))


@pytest.mark.filterwarnings("ignore:The relative duality gap")  # of next to nothing
@pytest.mark.parametrize("end", [0.0, 1.0])
@pytest.mark.parametrize("penalty", ["l1", "l2", "linf", "lp(1.5)", "group_lasso", "slope(0.1)"])
def test_a_mean_that_rounds_to_the_end_of_the_range(end: float, penalty: str) -> None:
    X, _ = rows("binomial", n=12, p=3)
    y, weight = np.full(12, end), np.ones(12)
    y[0], weight[0] = 0.5, 1e-30  # of all targets it is 1e-31, which beside one is nothing
    groups = {"groups": [0, 0, 1]} if penalty == "group_lasso" else {}
    asked = {"loss": "binomial", "penalty": penalty, "lam": 0.1, "max_time": 1.0}
    found = dg.fit(X, y, sample_weight=weight, **asked, **groups)
    assert np.all(np.isfinite(found.coef)) and np.isfinite(found.intercept)
    assert found.objective < 1e-20


@pytest.mark.parametrize("loss", ["poisson", "binomial", "tweedie(1.5)"])
@pytest.mark.parametrize("penalty", ["l1", "l2", "group_lasso", "sparse_group(0.3)", "slope(0.1)"])
def test_targets_all_at_an_end_have_no_minimiser(loss: str, penalty: str) -> None:
    X, _ = rows(loss, n=12, p=3)
    groups = {"groups": [0, 0, 1]} if "group" in penalty else {}
    for end in (0.0, 1.0) if loss == "binomial" else (0.0,):
        with pytest.raises(UnboundedError, match="intercept") as told:
            dg.fit(X, np.full(12, end), loss=loss, penalty=penalty, lam=0.1, **groups)
        assert told.value.intercept == (1.0 if end else -1.0)
        assert not told.value.direction.any()


@pytest.mark.parametrize(
    ("loss", "level"), [("poisson", 3.0), ("gamma", 3.3), ("tweedie(1.5)", 2.0), ("binomial", 0.3)]
)
def test_targets_that_are_all_the_same_are_fitted_and_that_is_said(loss: str, level: float) -> None:
    X = np.random.default_rng(0).standard_normal((40, 4))
    with pytest.warns(NotCertifiedWarning, match="Every row is fitted as closely as numbers can be"):
        found = dg.fit(X, np.full(40, level), loss=loss, penalty="l1", lam=0.1)
    assert not found.coef.any()
    assert found.predict(X) == pytest.approx(np.full(40, level), rel=1e-12)
