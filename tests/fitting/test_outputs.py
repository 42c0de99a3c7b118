"""Several outputs: each alone or by one price for each column, against fits alone, scikit-learn and cvxpy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet, LinearRegression, MultiTaskElasticNet, MultiTaskLasso, Ridge

import dualgap as dg
from dualgap.errors import DataError, NoSolverError

LOSSES = (
    "squared",
    "absolute",
    "quantile(0.3)",
    "huber(0.7)",
    "epsilon_insensitive(0.2)",
    "squared_epsilon_insensitive(0.2)",
    "poisson",
)


CURVED = ("squared", "huber(0.7)", "squared_epsilon_insensitive(0.2)")  # at most so much, which proves zeros


def data(n: int = 80, p: int = 6, m: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Three columns tell something, the others nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 2.0
    W = np.zeros((p, m))
    W[:3] = rng.normal(size=(3, m))
    return X, X @ W + rng.normal(size=(n, m)) + np.arange(m)


def targets(loss: str) -> tuple[Any, Any]:
    X, Y = data()
    return X, np.round(np.exp(np.clip(0.3 * Y, -2, 2))) if loss == "poisson" else Y


@pytest.mark.parametrize("penalty", ["none", "l1", "l2", "elastic_net(0.5)", "linf", "group_lasso"])
@pytest.mark.parametrize("loss", ["squared", "absolute", "poisson"])
def test_each_alone_is_a_fit_of_each_column(loss: str, penalty: str) -> None:
    X, Y = targets(loss)
    how: dict[str, Any] = {} if penalty == "none" else {"lam": 0.1}
    if penalty == "group_lasso":
        how["groups"] = [0, 0, 1, 1, 2, 2]
    found = dg.fit(X, Y, loss=loss, penalty=penalty, **how)
    alone = [dg.fit(X, y, loss=loss, penalty=penalty, tol=5e-7, **how) for y in Y.T]
    assert found.converged
    assert found.coef.shape == (3, 6) and found.intercept.shape == (3,)
    assert found.objective == pytest.approx(sum(one.objective for one in alone), rel=2e-6)
    np.testing.assert_allclose(found.bound, sum(one.bound for one in alone), rtol=2e-6)
    np.testing.assert_allclose(found.decision_function(X), X @ found.coef.T + found.intercept, rtol=1e-9)
    assert found.predict(X).shape == Y.shape
    again = found.certificate.recheck(X, Y)
    assert (again.objective, again.bound) == pytest.approx((found.objective, found.bound), rel=1e-12)


@pytest.mark.parametrize("penalty", ["l21", "l21_l2(0.5)"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_one_price_for_each_column(loss: str, intercept: bool, penalty: str) -> None:
    X, Y = targets(loss)
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    how: dict[str, Any] = {
        "loss": loss,
        "penalty": penalty,
        "fit_intercept": intercept,
        "sample_weight": weights,
        "penalty_factors": [1.0, 2.0, 0.5, 1.0, 0.0, 1.0],
    }
    found = dg.fit(X, Y, lam=0.2, **how)
    assert found.converged and found.certificate.form == "joint"
    used = found.coef.any(axis=0)
    assert np.array_equal(used, (found.coef != 0.0).all(axis=0)), "a column is in for all outputs or for none"
    again = found.certificate.recheck(X, Y)
    assert (again.objective, again.bound) == pytest.approx((found.objective, found.bound), rel=1e-12)
    strong = dg.fit(X, Y, lam=1e4, **how)
    assert not strong.coef[:, np.arange(6) != 4].any(), "but for the column without a price"
    assert strong.coef[:, 4].any() and not strong.proven_zero[:, 4].any()
    if loss in CURVED:
        assert strong.proven_zero[:, np.arange(6) != 4].all()


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber(0.7)"])
@pytest.mark.parametrize("how", [{"lam": 0.3}, {"budget": 1.5}])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_cvxpy_agrees(loss: str, how: dict[str, float], alpha: float) -> None:
    cp = pytest.importorskip("cvxpy")
    X, Y = data(n=40)
    W, b = cp.Variable((6, 3)), cp.Variable(3)
    r = X @ W + np.ones((40, 1)) @ cp.reshape(b, (1, 3), order="C") - Y
    each = {"squared": cp.square(r), "absolute": cp.abs(r), "huber(0.7)": _huber_unit() * cp.huber(r, 0.7)}[
        loss
    ]
    size, mean = cp.sum(cp.norm(W, 2, axis=1)) + alpha * cp.sum_squares(W), cp.sum(each) / 40
    if "lam" in how:
        program = cp.Problem(cp.Minimize(mean + how["lam"] * size))
    else:
        program = cp.Problem(cp.Minimize(mean), [size <= how["budget"]])
    best = program.solve(solver="CLARABEL")
    found = dg.fit(X, Y, loss=loss, penalty=f"l21_l2({alpha})" if alpha else "l21", tol=1e-8, **how)
    assert found.objective == pytest.approx(best, rel=1e-6)
    assert found.bound <= best * (1.0 + 1e-7)


def _huber_unit() -> float:
    """How many squares this huber is near zero; cvxpy's is one."""
    return float(dg.losses.Huber(0.7).value(np.zeros(1), np.array([0.1]))[0] / 0.01)


def test_scikit_learn_agrees() -> None:
    X, Y = data()
    theirs = MultiTaskLasso(alpha=0.2, tol=1e-12, max_iter=100_000).fit(X, Y)
    ours = dg.fit(X, Y, loss="squared", penalty="l21", lam=0.4, tol=1e-10)
    np.testing.assert_allclose(ours.coef, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept, theirs.intercept_, atol=1e-5)
    for model in (theirs, Ridge(alpha=3.0), LinearRegression(), ElasticNet(0.1, tol=1e-12)):
        assert dg.certify(X, Y, model.fit(X, Y)).relative_gap < 1e-9
    one = MultiTaskLasso(alpha=0.2, tol=1e-12).fit(X, Y[:, :1])
    assert dg.certify(X, Y[:, 0], one).relative_gap < 1e-9
    rough = MultiTaskLasso(alpha=0.2, max_iter=1, tol=1e-3)
    with pytest.warns(UserWarning, match="did not converge"):
        rough.fit(X, Y)
    told = dg.certify(X, Y, rough)
    assert told.relative_gap > 1e-4 and told.bound <= ours.objective <= told.objective
    with pytest.raises(DataError, match="has 3 targets, y 1"):
        dg.certify(X, Y[:, 0], theirs)


def test_sparse_columns_and_many_of_them() -> None:
    rng = np.random.default_rng(3)
    X = sp.random_array((60, 200), density=0.1, rng=rng, format="csc")
    Y = X[:, [3, 50]] @ rng.normal(size=(2, 4)) + 0.01 * rng.normal(size=(60, 4))
    for loss in ("squared", "huber(0.5)"):
        thin, full = (dg.fit(Z, Y, loss=loss, penalty="l21", lam=0.01) for Z in (X, X.toarray()))
        assert thin.converged and full.converged
        assert thin.objective == pytest.approx(full.objective, rel=2e-6)
        assert thin.proven_zero.sum() > 0


def test_a_single_output_is_the_lasso() -> None:
    X, Y = data()
    one = dg.fit(X, Y[:, 0], loss="squared", penalty="l21", lam=0.4)
    assert one.objective == pytest.approx(
        dg.fit(X, Y[:, 0], loss="squared", penalty="l1", lam=0.4).objective, rel=2e-6
    )
    assert one.coef.shape == (6,)
    column = dg.fit(X, Y[:, :1], loss="squared", penalty="l21", lam=0.4)
    assert column.coef.shape == (6,)


def test_classes_jointly_take_it_too() -> None:
    X, Y = data()
    found = dg.fit(X, np.argmax(Y, axis=1), loss="logistic", penalty="l21", lam=0.15)
    assert found.converged
    used = found.coef.any(axis=0)
    assert np.array_equal(used, (found.coef != 0.0).all(axis=0)) and not used.all()


def test_paths_folds_and_starts() -> None:
    X, Y = data()
    path = dg.path(X, Y, loss="squared", penalty="l21", n_lams=8)
    assert path.coefs.shape == (8, 3, 6) and not path.coefs[0].any() and path.coefs[1].any()
    assert path.gaps.max() <= 1e-6 and np.all(np.diff(path.budgets) >= 0.0)
    lam = float(path.lams[4])
    np.testing.assert_allclose(
        path.coef(lam=lam), dg.fit(X, Y, loss="squared", penalty="l21", lam=lam).coef, atol=1e-3
    )
    within = path.solution(budget=float(path.budgets[4]))
    assert within.objective == pytest.approx(path.risks[4], rel=1e-5)
    apart = dg.path(X, Y, loss="absolute", penalty="l1", n_lams=5)
    assert apart.coefs.shape == (5, 3, 6)
    for penalty in ("l21", "l2"):
        search = dg.cross_validate(X, Y, loss="squared", penalty=penalty, n_lams=6, cv=4)
        assert search.solution.converged and search.solution.coef.shape == (3, 6)
        held = [dg.fit(X, Y, loss="squared", penalty=penalty, lam=lam) for lam in search.lams[:1]]
        assert search.mean[0] >= held[0].objective - held[0].price
    start = dg.fit(X, Y, loss="squared", penalty="l21", lam=0.4)
    assert dg.fit(X, Y, loss="squared", penalty="l21", lam=0.4, warm_start=start).n_iter <= start.n_iter


def test_offsets_frames_and_words() -> None:
    X, Y = data()
    shift = 0.5 * X[:, 0]
    plain = dg.fit(X, Y - shift[:, None], loss="squared", penalty="l21", lam=0.3)
    moved = dg.fit(X, Y, loss="squared", penalty="l21", lam=0.3, offset=shift)
    np.testing.assert_allclose(plain.coef, moved.coef, atol=1e-6)
    np.testing.assert_allclose(moved.predict(X, offset=shift), plain.predict(X) + shift[:, None], atol=1e-5)
    frame, columns = pd.DataFrame(X, columns=list("abcdef")), pd.DataFrame(Y, columns=["u", "v", "w"])
    named = dg.fit(frame, columns, loss="squared", penalty="l21", lam=0.3)
    assert named.outputs == ("u", "v", "w")
    assert "output 'v'" in named.summary() and "all outputs jointly" in named.summary()
    assert "each output alone" in dg.fit(frame, columns, loss="squared", lam=0.3).summary()
    assert dg.explain(X, Y, loss="squared", penalty="l21", lam=0.3).chosen == "output_descent"


def test_a_false_certificate_is_found_out() -> None:
    X, Y = data()
    found = dg.fit(X, Y, loss="squared", penalty="l21", lam=0.3)
    proof = found.certificate
    rng = np.random.default_rng(0)
    best = dg.fit(X, Y, loss="squared", penalty="l21", lam=0.3, tol=1e-11).objective
    for size in (1e-6, 1e-2, 1.0, 1e3):
        noise = size * rng.normal(size=proof.theta.shape)
        again = replace(proof, theta=proof.theta + noise, bound=1e9).recheck(X, Y)
        assert again.bound <= best
        other = replace(proof, coef=proof.coef + size * rng.normal(size=proof.coef.shape), objective=0.0)
        assert other.recheck(X, Y).objective >= best


def test_what_cannot_be_had() -> None:
    X, Y = data()
    with pytest.raises(DataError, match="Several outputs are for regression losses"):
        dg.fit(X, Y > 0, loss="hinge", lam=1.0)
    with pytest.raises(DataError, match="is searched: fit the columns of y one by one"):
        dg.fit(X, Y, loss="squared", penalty="l0", budget=2)
    with pytest.raises(DataError, match="bounds= cannot be had with l21"):
        dg.fit(X, Y, loss="squared", penalty="l21", lam=0.1, bounds="nonnegative")
    broken = Y.copy()
    broken[7, 1] = np.nan
    with pytest.raises(DataError, match=r"Column 'y1' \(number 1\) of y: y contains NaN in row 7"):
        dg.fit(X, broken, loss="squared", lam=0.1)
    with pytest.raises(DataError, match="The binomial loss needs"):
        dg.fit(X, Y, loss="binomial", lam=0.1)
    with pytest.raises(NoSolverError, match="several outputs"):
        dg.path(X, Y, loss="squared", penalty="l1", exact=True)
    apart = dg.fit(X, Y, loss="squared", lam=0.3)
    with pytest.raises(DataError, match="of one output, and this fit has 3"):
        apart.intervals()
    with pytest.raises(DataError, match="y has 2 outputs, the Solution 3"):
        dg.certify(X, Y[:, :2], apart)
    with pytest.raises(DataError, match="is for 3 outputs, y has 2"):
        dg.fit(X, Y, loss="squared", penalty="l21", lam=0.3).certificate.recheck(X, Y[:, :2])


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_certify_reads_multi_task_elastic_nets(ratio: float) -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 8))
    Y = X[:, :2] @ rng.normal(size=(2, 3)) + rng.normal(size=(60, 3))
    model = MultiTaskElasticNet(alpha=0.2, l1_ratio=ratio, tol=1e-13, max_iter=100_000).fit(X, Y)
    judged = dg.certify(X, Y, model)
    assert judged.bound <= judged.objective <= judged.bound * (1.0 + 1e-6)
    level = 0.5 * 0.2 * (1.0 - ratio) * (model.coef_**2).sum()
    level += 0.2 * ratio * np.linalg.norm(model.coef_, axis=0).sum()
    theirs = 0.5 * ((Y - model.predict(X)) ** 2).sum() / 60 + level
    assert judged.objective == pytest.approx(2.0 * theirs, rel=1e-9)
    if 0.0 < ratio < 1.0:
        how: dict[str, Any] = {"penalty": "l21_l2(0.5)", "lam": 0.2}
        ours = dg.fit(X, Y, loss="squared", tol=1e-11, **how)
        np.testing.assert_allclose(ours.coef, model.coef_, atol=1e-6)
        bare = dg.fit(X, Y, loss="squared", fit_intercept=False, **how)
        best = dg.fit(X, Y, loss="squared", fit_intercept=False, tol=1e-12, **how)
        assert np.linalg.norm(bare.coef - best.coef) <= bare.coef_error + best.coef_error


def test_lengths_and_squares_in_classes_paths_and_of_one_output() -> None:
    X, Y = data()
    how: dict[str, Any] = {"penalty": "l21_l2(0.5)"}
    classes = dg.fit(X, np.argmax(Y, axis=1), loss="logistic", lam=0.1, **how)
    used = classes.coef.any(axis=0)
    assert classes.converged and np.array_equal(used, (classes.coef != 0.0).all(axis=0))
    path = dg.path(X, Y, loss="squared", n_lams=6, **how)
    assert path.gaps.max() <= 1e-6 and not path.coefs[0].any() and path.coefs[-1].any()
    one = dg.fit(X, Y[:, 0], loss="squared", lam=0.4, **how)
    alone = dg.fit(X, Y[:, 0], loss="squared", penalty="elastic_net(0.5)", lam=0.4)
    assert one.objective == pytest.approx(alone.objective, rel=2e-6)
    with pytest.raises(DataError, match="bounds= cannot be had with l21_l2"):
        dg.fit(X, Y, loss="squared", lam=0.1, bounds="nonnegative", **how)
