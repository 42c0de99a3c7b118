from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_digits, load_iris, load_wine

import dualgap as dg
from dualgap.drive.limits import Status
from dualgap.errors import DataError, NoSolverError, NotCertifiedWarning
from dualgap.fitting.joint_problem import joint_problem
from dualgap.fitting.reading import read
from dualgap.fitting.solution import Solution
from dualgap.multinomial.lagrangian import MultinomialLagrangian
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.multinomial.table import hessian

WINE, WINE_LABELS = load_wine(return_X_y=True)
IRIS, IRIS_LABELS = load_iris(return_X_y=True)
RNG = np.random.default_rng(5)
X = RNG.normal(size=(90, 4))
LABELS = np.argmax(X @ RNG.normal(size=(4, 3)) + RNG.gumbel(size=(90, 3)), axis=1)
PENALTIES = ("l1", "l2", "l2_norm", "elastic_net(0.5)", "linf", "lp(1.5)")
STRENGTHS: tuple[dict[str, Any], ...] = ({"lam": 0.01}, {"C": 0.5}, {"budget": 1.0})


def penalty_value(penalty: str, w: Any) -> float:
    """h of the flattened matrix, in plain NumPy."""
    size = np.abs(np.ravel(w))
    values = {
        "l1": size.sum(),
        "l2": (size**2).sum(),
        "l2_norm": np.sqrt((size**2).sum()),
        "elastic_net(0.5)": size.sum() + 0.5 * (size**2).sum(),
        "linf": size.max(),
        "lp(1.5)": (size**1.5).sum() ** (1 / 1.5),
    }
    return float(values[penalty])


def dual_norm(penalty: str, v: Any) -> float:
    size = np.abs(np.ravel(v))
    order = {"l1": np.inf, "l2_norm": 2.0, "linf": 1.0, "lp(1.5)": 3.0}[penalty]
    return float(np.linalg.norm(size, order))


def penalty_conjugate(penalty: str, v: Any, lam: float | None, budget: float | None) -> float:
    """g*(v) in plain NumPy; the elastic net's ball by a fine grid over its multiplier."""
    size = np.abs(np.ravel(v))
    if budget is None:
        assert lam is not None
        if penalty == "l2":
            return float((size**2).sum() / (4 * lam))
        if penalty == "elastic_net(0.5)":
            return float((np.maximum(size - lam, 0.0) ** 2).sum() / (2 * lam))
        return 0.0 if dual_norm(penalty, v) <= lam * (1 + 1e-9) else np.inf
    if penalty == "l2":
        return float(np.sqrt(budget) * np.linalg.norm(size))
    if penalty == "elastic_net(0.5)":
        prices = size.max() * np.exp(np.linspace(-12, 0.01, 200_001))
        totals = np.zeros_like(prices)
        for entry in size:
            totals += np.maximum(entry - prices, 0.0) ** 2
        return float((prices * budget + totals / (2 * prices)).min())
    return budget * dual_norm(penalty, v)


def judge(
    solution: Solution, table: Any, labels: Any, penalty: str, **strength: float
) -> tuple[float, float]:
    """Both values of the multinomial problem, from the arrays alone."""
    n = len(labels)
    lam = strength.get("lam")
    if "C" in strength:
        lam = 1 / (strength["C"] * n)
    budget = strength.get("budget")
    scores = table @ solution.coef.T + solution.intercept
    hot = labels[:, None] == np.unique(labels)
    loss = float((logsumexp(scores, axis=1) - scores[hot]).mean())
    h = penalty_value(penalty, solution.coef)
    if budget is not None:
        assert h <= budget * (1 + 1e-9)
    primal = loss + (0.0 if lam is None else lam * h)
    theta = solution.certificate.theta
    np.testing.assert_allclose(theta.sum(axis=0), 0.0, atol=1e-9 * np.abs(theta).sum())
    pi = hot - n * theta
    assert pi.min() >= -1e-9
    np.testing.assert_allclose(pi.sum(axis=1), 1.0, atol=1e-9)
    entropy = -float((pi * np.log(np.maximum(pi, 1e-300))).sum()) / n
    return primal, entropy - penalty_conjugate(penalty, table.T @ theta, lam, budget)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("strength", STRENGTHS, ids=str)
@pytest.mark.parametrize("data", ["wine", "iris", "noise"])
def test_multinomial_on_raw_data(data: str, penalty: str, strength: dict[str, Any]) -> None:
    table, labels = {"wine": (WINE, WINE_LABELS), "iris": (IRIS, IRIS_LABELS), "noise": (X, LABELS)}[data]
    solution = dg.fit(table, labels, loss="logistic", penalty=penalty, **strength)
    assert solution.converged
    primal, dual = judge(solution, table, labels, penalty, **strength)
    assert solution.objective == pytest.approx(primal, rel=1e-8)
    assert solution.bound == pytest.approx(dual, rel=1e-7)
    assert -1e-9 * primal <= primal - dual <= 1.01e-6 * primal
    again = solution.certificate.recheck(table, labels)
    assert again.objective == pytest.approx(solution.objective, rel=1e-12)
    assert again.bound == pytest.approx(solution.bound, rel=1e-9)


@pytest.mark.parametrize("penalty", ["l2", "l1", "lp(3)"])
def test_multinomial_on_raw_digits(penalty: str) -> None:
    table, labels = load_digits(return_X_y=True)
    solution = dg.fit(table[:600], labels[:600], loss="logistic", penalty=penalty, lam=0.01)
    assert solution.converged
    assert solution.coef.shape == (10, 64)
    assert solution.certificate.recheck(table[:600], labels[:600]).gap <= 1e-6 * solution.objective


def test_multinomial_is_the_sklearn_model() -> None:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(IRIS, IRIS_LABELS)
    solution = dg.fit(IRIS, IRIS_LABELS, loss="logistic", penalty="l2", C=1.4, tol=1e-12)
    np.testing.assert_allclose(solution.coef, model.coef_, atol=1e-5)
    np.testing.assert_allclose(solution.predict_proba(IRIS), model.predict_proba(IRIS), atol=1e-5)


def test_two_classes_are_the_ordinary_logistic() -> None:
    labels = LABELS > 0
    joint = dg.fit(X, labels, loss="logistic", penalty="l2", lam=0.1, multiclass="multinomial")
    plain = dg.fit(X, labels, loss="logistic", penalty="l2", lam=0.1)
    assert joint.objective == plain.objective
    assert joint.coef.shape == (4,)


def test_weights_factors_standardising_and_no_intercept() -> None:
    weights = RNG.integers(0, 3, 90).astype(float)
    keywords: dict[str, Any] = {"loss": "logistic", "penalty": "l1", "lam": 0.02}
    weighted = dg.fit(X, LABELS, sample_weight=weights, **keywords)
    times = weights.astype(int)
    repeated = dg.fit(np.repeat(X, times, axis=0), np.repeat(LABELS, times), **keywords)
    assert weighted.objective == pytest.approx(repeated.objective, rel=2e-6)
    assert not weighted.certificate.theta[times == 0].any()
    table = X * [1.0, 10.0, 0.1, 3.0]
    standard = dg.fit(table, LABELS, standardize=True, **keywords)
    plain = dg.fit((table - table.mean(axis=0)) / table.std(axis=0), LABELS, **keywords)
    assert standard.objective == pytest.approx(plain.objective, rel=2e-6)
    free = dg.fit(X, LABELS, penalty_factors=[0.0, 1.0, 1.0, 2.0], **keywords)
    assert free.converged
    np.testing.assert_allclose(free.coef[:, 0].sum(), 0.0, atol=1e-12)
    through = dg.fit(X, LABELS, fit_intercept=False, **keywords)
    assert through.converged
    assert not through.intercept.any()


def test_without_a_penalty_the_shortest_weights() -> None:
    solution = dg.fit(np.column_stack([X, X[:, 0]]), LABELS, loss="logistic", penalty="none")
    assert solution.converged
    np.testing.assert_allclose(solution.coef.sum(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(solution.coef[:, 0], solution.coef[:, 4], atol=1e-9)


def test_sparse_and_frames() -> None:
    base = dg.fit(X, LABELS, loss="logistic", penalty="l1", lam=0.02)
    frame = pd.DataFrame(X, columns=list("abcd"))
    names = np.array(["red", "green", "blue"])[LABELS]
    framed = dg.fit(frame, names, loss="logistic", penalty="l1", lam=0.02)
    assert framed.objective == pytest.approx(base.objective, rel=2e-6)
    assert set(framed.predict(frame)) <= {"red", "green", "blue"}
    stored = dg.fit(sp.csr_array(X), LABELS, loss="logistic", penalty="l1", lam=0.02)
    assert stored.objective == pytest.approx(base.objective, rel=2e-6)


def test_more_columns_than_rows() -> None:
    table = RNG.normal(size=(25, 80))
    labels = np.arange(25) % 3
    for penalty in PENALTIES:
        solution = dg.fit(table, labels, loss="logistic", penalty=penalty, lam=0.05)
        assert solution.converged, penalty


def test_many_coordinates_go_by_conjugate_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    from dualgap.multinomial import interior, lagrangian

    exact = {p: dg.fit(X, LABELS, loss="logistic", penalty=p, lam=0.02).objective for p in PENALTIES}
    monkeypatch.setattr(lagrangian, "DENSE_LIMIT", 3)
    monkeypatch.setattr(interior, "DENSE_LIMIT", 3)
    for penalty, objective in exact.items():
        solution = dg.fit(X, LABELS, loss="logistic", penalty=penalty, lam=0.02)
        assert solution.objective == pytest.approx(objective, rel=2e-6)


def test_proven_zeros_and_coefficient_error() -> None:
    loose = dg.fit(WINE, WINE_LABELS, loss="logistic", penalty="l1", lam=0.05)
    tight = dg.fit(WINE, WINE_LABELS, loss="logistic", penalty="l1", lam=0.05, tol=1e-11)
    assert loose.proven_zero.shape == (3, 13)
    assert loose.proven_zero.any()
    assert not tight.coef[loose.proven_zero].any()
    assert loose.coef_error is None
    first = dg.fit(X, LABELS, loss="logistic", penalty="l2", lam=0.05, tol=1e-2)
    second = dg.fit(X, LABELS, loss="logistic", penalty="l2", lam=0.05, tol=1e-12)
    assert first.coef_error is not None
    assert np.linalg.norm(first.coef - second.coef) <= first.coef_error


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "exponential", "perceptron"])
def test_one_vs_rest_is_a_fit_per_class(loss: str) -> None:
    solution = dg.fit(WINE, WINE_LABELS, loss=loss, penalty="l2", lam=0.01, multiclass="one_vs_rest")
    assert solution.converged
    assert solution.relative_gap <= 1e-6
    assert len(solution.parts) == 3
    alone = [
        dg.fit(WINE, np.where(k == WINE_LABELS, 1, -1), loss=loss, penalty="l2", lam=0.01) for k in range(3)
    ]
    assert solution.objective == pytest.approx(sum(one.objective for one in alone), rel=2e-6)
    assert solution.certificate.theta.shape == (178, 3)
    again = solution.certificate.recheck(WINE, WINE_LABELS)
    assert again.objective == pytest.approx(solution.objective, rel=1e-12)
    assert again.bound == pytest.approx(solution.bound, rel=1e-9)


def test_auto_is_joint_for_logistic_alone() -> None:
    assert dg.fit(X, LABELS, loss="logistic", penalty="l2", lam=0.1).multiclass == "multinomial"
    assert dg.fit(X, LABELS, loss="hinge", penalty="l2", lam=0.1).multiclass == "one_vs_rest"
    with pytest.raises(DataError, match='"multinomial" is a form of the logistic loss'):
        dg.fit(X, LABELS, loss="hinge", penalty="l2", lam=0.1, multiclass="multinomial")
    with pytest.raises(DataError, match="Did you mean 'multinomial'"):
        dg.fit(X, LABELS, loss="logistic", penalty="l2", lam=0.1, multiclass="multinominal")


def test_probabilities_add_up() -> None:
    joint = dg.fit(X, LABELS, loss="logistic", penalty="l2", lam=0.01)
    scores = X @ joint.coef.T + joint.intercept
    np.testing.assert_allclose(joint.predict_proba(X), softmax(scores, axis=1))
    each = dg.fit(X, LABELS, loss="logistic", penalty="l2", lam=0.01, multiclass="one_vs_rest")
    own = 1 / (1 + np.exp(-each.decision_function(X)))
    np.testing.assert_allclose(each.predict_proba(X), own / own.sum(axis=1, keepdims=True))
    assert np.mean(joint.predict(X) == LABELS) > 0.5


@pytest.mark.parametrize("multiclass", ["multinomial", "one_vs_rest"])
def test_limits_warm_starts_and_stops(multiclass: str) -> None:
    keywords: dict[str, Any] = {"loss": "logistic", "penalty": "l1", "lam": 0.01, "multiclass": multiclass}
    base = dg.fit(WINE, WINE_LABELS, **keywords)
    warm = dg.fit(WINE, WINE_LABELS, warm_start=base, **keywords)
    assert warm.n_iter <= base.n_iter
    assert warm.objective == pytest.approx(base.objective, rel=2e-6)
    with pytest.warns(NotCertifiedWarning, match="iteration limit"):
        dg.fit(WINE, WINE_LABELS, max_iter=1, **keywords)
    with pytest.warns(NotCertifiedWarning, match="time limit"):
        dg.fit(WINE, WINE_LABELS, max_time=1e-9, **keywords)

    def interrupt(record: Any) -> None:
        if record.iteration == 2:
            raise KeyboardInterrupt

    with pytest.warns(NotCertifiedWarning, match="Interrupted"):
        stopped = dg.fit(WINE, WINE_LABELS, callback=interrupt, **keywords)
    assert stopped.status == Status.INTERRUPTED.value
    assert stopped.bound <= base.objective <= stopped.objective * (1 + 1e-6)
    with pytest.raises(DataError, match=r"shape \(2, 13\)"):
        dg.fit(WINE, WINE_LABELS, warm_start=(np.zeros((2, 13)), 0.0), **keywords)


def test_summary_and_trace() -> None:
    for multiclass, words in (("multinomial", "jointly"), ("one_vs_rest", "against the rest")):
        solution = dg.fit(X, LABELS, loss="logistic", penalty="l1", lam=0.02, multiclass=multiclass)
        text = solution.summary()
        assert words in text
        assert "class 2" in text
        assert solution.trace[-1].gap == pytest.approx(solution.gap, rel=1e-3, abs=1e-9)


def test_solvers_by_name_and_explained() -> None:
    solution = dg.fit(X, LABELS, loss="logistic", penalty="l1", lam=0.02, solver="multinomial_lagrangian")
    assert solution.solver == "multinomial_lagrangian"
    with pytest.raises(NoSolverError, match="these do: auto, multinomial_interior_point"):
        dg.fit(X, LABELS, loss="logistic", penalty="l1", lam=0.02, solver="closed_form")
    told = dg.explain(X, LABELS, loss="logistic", penalty="l2", lam=0.02, tol=1e-3)
    assert told.chosen == "multinomial_newton"
    assert "multinomial_lagrangian" in str(told)
    assert dg.fit(X, LABELS, loss="logistic", penalty="l2", lam=0.02).solver == told.chosen


def _problem(penalty: str = "l2") -> MultinomialProblem:
    reading = read(X, LABELS, loss="logistic", penalty=penalty, lam=0.1)
    return joint_problem(reading.terms, reading.table.design, reading.y, 3)


def test_slopes_and_hessian_match_differences() -> None:
    problem = _problem()
    w = RNG.normal(size=problem.p)
    step = 1e-6
    gradient = -problem.correlation(problem.slope(problem.predict(w)))
    found = hessian(problem.design.toarray(), problem.a, softmax(problem.predict(w), axis=1).T)
    for j in range(problem.p):
        e = np.zeros(problem.p)
        e[j] = step
        up, down = problem.predict(w + e), problem.predict(w - e)
        assert (problem.risk(up) - problem.risk(down)) / (2 * step) == pytest.approx(gradient[j], abs=1e-8)
        ahead, behind = (problem.correlation(problem.slope(z)) for z in (up, down))
        change = (behind - ahead) / (2 * step)
        np.testing.assert_allclose(change, found[:, j], atol=1e-7)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_weak_duality_and_feasibility(penalty: str) -> None:
    problem = _problem(penalty)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        theta, v = problem.feasible(problem.a[:, None] * rng.normal(size=(90, 3)))
        np.testing.assert_allclose(v, problem.correlation(theta), atol=1e-12)
        bound = problem.dual(theta)
        assert np.isfinite(bound)
        for scale in (0.0, 0.1, 10.0):
            assert problem.primal(scale * rng.normal(size=problem.p)) >= bound


def test_row_losses_are_exact_where_tiny() -> None:
    problem = _problem()
    scores = 40.0 * problem.hot
    np.testing.assert_allclose(problem.row_losses(scores), 2.0 * np.exp(-40.0), rtol=1e-12)
    wrong = -40.0 * problem.hot
    np.testing.assert_allclose(problem.row_losses(wrong), 40.0 + np.log(2.0), rtol=1e-12)


def test_one_solver_fits_everything() -> None:
    assert MultinomialLagrangian().missing(_problem("lp(3)")) == ()
    assert MultinomialLagrangian().cost(_problem()) > 0


@pytest.mark.parametrize("penalty", ["l0", "l0_l2(0.1)", "lp(0.5)", "bridge(0.5)"])
def test_penalties_that_are_searched_hold_each_class_against_the_rest(penalty: str) -> None:
    strength: dict[str, Any] = {"budget": 1} if penalty.startswith("l0") else {"lam": 0.1}
    asked: dict[str, Any] = {"penalty": penalty, **strength, "max_time": 5.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        found = dg.fit(X[:40], LABELS[:40], loss="logistic", **asked)
    assert found.multiclass == "one_vs_rest"
    assert 0.0 < found.bound <= found.objective
    with pytest.raises(DataError, match="each class is held against the rest"):
        dg.fit(X, LABELS, loss="hinge", multiclass="crammer_singer", **asked)
    with pytest.raises(DataError, match="not 'multinomial'"):
        dg.fit(X, LABELS, loss="logistic", multiclass="multinomial", **asked)
