from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.drive.limits import Status
from dualgap.errors import DataError, NoSolverError, NotCertifiedWarning
from dualgap.fitting.solution import Solution

RNG = np.random.default_rng(1)
X = RNG.normal(size=(40, 4))
y = X @ [1.0, 2.0, 0.0, -1.0] + RNG.standard_t(3, 40)
LABELS = np.where(y > 0, 1.0, -1.0)
WIDE = RNG.normal(size=(12, 60))

CLASSIFY = ("hinge", "squared_hinge", "logistic", "exponential", "perceptron")
REGRESS = ("squared", "absolute", "quantile(0.9)", "huber(1.35)", "epsilon_insensitive(0.1)")
STRENGTHS: tuple[dict[str, Any], ...] = ({"lam": 0.05}, {"budget": 1.5}, {"budget": 0.0}, {"lam": 0.0})
PENALTIES = ("l1", "l2", "l2_norm", "elastic_net(0.5)", "linf", "lp(1.5)")

DEGENERATE: dict[str, tuple[Any, Any]] = {
    "two rows": (X[:2], np.array([1.0, -1.0])),
    "constant column": (np.column_stack([X, np.full(40, 7.0)]), y),
    "zero column": (np.column_stack([X, np.zeros(40)]), y),
    "duplicate columns": (np.column_stack([X, X]), y),
    "only constants": (np.ones((40, 3)), y),
    "only zeros": (np.zeros((40, 3)), y),
    "more columns than rows": (WIDE, WIDE[:, 0] + RNG.normal(size=12)),
    "one column": (X[:, :1], y),
    "ties": (np.round(X), np.round(y)),
    "repeated rows": (np.repeat(X[:5], 8, axis=0), np.repeat(y[:5], 8)),
    "collinear": (np.column_stack([X, X.sum(axis=1)]), y),
}
TARGETS: dict[str, tuple[Any, Any]] = {
    "one row": (X[:1], y[:1]),
    "constant target": (X, np.full(40, 3.3)),
    "zero target": (X, np.zeros(40)),
    "exact fit": (X, X @ np.arange(4.0)),
}


def proven(solution: Solution, table: Any, target: Any) -> None:
    """Converged, and the certificate says the same when it is recomputed."""
    assert solution.converged
    assert solution.relative_gap <= 1e-6
    again = solution.certificate.recheck(table, target)
    size = max(abs(solution.objective), 1e-9)
    assert abs(again.objective - solution.objective) <= 1e-9 * size
    assert abs(again.bound - solution.bound) <= 1e-8 * size


@pytest.mark.parametrize("loss", [*CLASSIFY, *REGRESS])
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_fits(case: str, loss: str) -> None:
    table, target = DEGENERATE[case]
    if loss in CLASSIFY:
        target = np.where(target > np.median(target), 1.0, -1.0)
    for penalty in PENALTIES:
        solution = dg.fit(table, target, loss=loss, penalty=penalty, lam=0.05)
        proven(solution, table, target)


@pytest.mark.parametrize("loss", REGRESS)
@pytest.mark.parametrize("case", TARGETS)
def test_degenerate_targets_fit(case: str, loss: str) -> None:
    table, target = TARGETS[case]
    for penalty in PENALTIES:
        for strength in STRENGTHS:
            proven(dg.fit(table, target, loss=loss, penalty=penalty, **strength), table, target)


@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_budget_of_zero_leaves_the_constant(loss: str, penalty: str) -> None:
    target = y if loss == "squared" else LABELS
    solution = dg.fit(X, target, loss=loss, penalty=penalty, budget=0.0)
    assert not solution.coef.any()
    assert solution.objective == pytest.approx(solution.facts["null"], rel=1e-12)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_strength_of_zero_is_no_penalty(penalty: str) -> None:
    free = dg.fit(X, y, loss="squared", penalty="none")
    solution = dg.fit(X, y, loss="squared", penalty=penalty, lam=0.0)
    assert solution.objective == pytest.approx(free.objective, rel=1e-9)


def test_the_three_strengths_agree() -> None:
    lam = 0.1
    weights = RNG.uniform(0.5, 2.0, 40)
    first = dg.fit(X, y, loss="absolute", penalty="l1", lam=lam, sample_weight=weights)
    second = dg.fit(X, y, loss="absolute", penalty="l1", C=1 / (lam * weights.sum()), sample_weight=weights)
    size = float(np.abs(first.coef).sum())
    third = dg.fit(X, y, loss="absolute", penalty="l1", budget=size, sample_weight=weights)
    assert second.objective == pytest.approx(first.objective, rel=2e-6)
    assert third.objective == pytest.approx(first.objective - lam * size, rel=1e-5)


def test_dependent_columns_get_the_shortest_weights() -> None:
    table = np.column_stack([X, X[:, 0], X[:, 1] - X[:, 2]])
    solution = dg.fit(table, y, loss="squared", penalty="none")
    centred = table - table.mean(axis=0)
    shortest = np.linalg.lstsq(centred, y - y.mean(), rcond=1e-10)[0]
    np.testing.assert_allclose(solution.coef, shortest, atol=1e-8)


def test_zeros_are_exact() -> None:
    for loss, penalty, target in (
        ("hinge", "l1", LABELS),
        ("absolute", "l1", y),
        ("squared", "elastic_net(0.5)", y),
    ):
        solution = dg.fit(WIDE, target[:12], loss=loss, penalty=penalty, lam=0.1, solver="interior_point")
        assert 0 < solution.n_nonzero <= 20
        proven(solution, WIDE, target[:12])


def test_constrained_zeros_are_exact() -> None:
    for penalty in ("l1", "elastic_net(0.5)"):
        solution = dg.fit(WIDE, y[:12], loss="squared", penalty=penalty, budget=0.5, solver="interior_point")
        assert 0 < solution.n_nonzero <= 20
        proven(solution, WIDE, y[:12])


def test_standardize_is_the_fit_on_standardised_columns() -> None:
    table = X * [1.0, 100.0, 0.01, 5.0] + 3.0
    standard = (table - table.mean(axis=0)) / table.std(axis=0)
    first = dg.fit(table, y, loss="squared", penalty="l1", lam=0.2, standardize=True)
    second = dg.fit(standard, y, loss="squared", penalty="l1", lam=0.2)
    assert first.objective == pytest.approx(second.objective, rel=2e-6)
    np.testing.assert_allclose(first.coef * table.std(axis=0), second.coef, atol=1e-3)


def test_the_same_call_gives_the_same_answer() -> None:
    calls = [dg.fit(X, LABELS, loss="hinge", penalty="l1", lam=0.05) for _ in range(2)]
    assert np.array_equal(calls[0].coef, calls[1].coef)
    assert calls[0].objective == calls[1].objective


def test_one_iteration_warns_with_numbers() -> None:
    with pytest.warns(NotCertifiedWarning, match=r"gap is \d\.\d\de.*above tol=1e-06.*at most") as caught:
        solution = dg.fit(X, y, loss="absolute", penalty="l1", lam=0.05, max_iter=1)
    assert len(caught) == 1
    assert not solution.converged
    assert solution.status == Status.ITERATIONS.value
    assert solution.objective >= solution.bound
    assert "NOT" in repr(solution)


def test_no_time_warns() -> None:
    with pytest.warns(NotCertifiedWarning, match="time limit"):
        solution = dg.fit(X, y, loss="absolute", penalty="l1", lam=0.05, max_time=1e-9)
    assert np.isfinite(solution.relative_gap)


def test_a_callback_sees_the_gap_shrink_and_may_stop() -> None:
    seen: list[float] = []

    def stop(record: Any) -> bool:
        seen.append(record.gap)
        return len(seen) == 3

    with pytest.warns(NotCertifiedWarning, match="callback asked to stop"):
        solution = dg.fit(X, y, loss="absolute", penalty="l1", lam=0.05, callback=stop)
    assert len(seen) == 3
    assert seen == sorted(seen, reverse=True)
    assert solution.status == Status.STOPPED.value


def test_an_interrupt_returns_the_best_so_far() -> None:
    def interrupt(record: Any) -> None:
        if record.iteration == 2:
            raise KeyboardInterrupt

    with pytest.warns(NotCertifiedWarning, match="Interrupted"):
        solution = dg.fit(X, y, loss="absolute", penalty="l1", lam=0.05, callback=interrupt)
    assert solution.status == Status.INTERRUPTED.value
    assert solution.bound <= dg.fit(X, y, loss="absolute", penalty="l1", lam=0.05).objective
    again = solution.certificate.recheck(X, y)
    assert again.gap == pytest.approx(solution.gap, rel=1e-9)


def test_a_warm_start_needs_no_work() -> None:
    first = dg.fit(X, LABELS, loss="logistic", penalty="l1", lam=0.05, tol=1e-10)
    second = dg.fit(X, LABELS, loss="logistic", penalty="l1", lam=0.05, warm_start=first)
    assert second.n_iter == 0
    assert second.converged
    third = dg.fit(
        X, LABELS, loss="logistic", penalty="l1", lam=0.05, warm_start=(first.coef, first.intercept)
    )
    assert third.objective == pytest.approx(first.objective, rel=1e-6)


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"tol": -1.0}, "tol"),
        ({"tol": None}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"max_iter": "a"}, "max_iter"),
        ({"max_time": 0.0}, "max_time"),
        ({"max_time": "a"}, "max_time"),
        ({"callback": 3}, "callback"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
        ({"standardize": None}, "standardize"),
        ({"warm_start": 3}, "warm_start"),
        ({"warm_start": (np.ones(3), 0.0)}, "(3,)"),
        ({"warm_start": (np.full(4, np.nan), 0.0)}, "NaN"),
        ({"warm_start": (np.ones(4), "a")}, "warm_start"),
        ({"multiclass": "ovr"}, "one_vs_rest"),
        ({"multiclass": "multinomial"}, "logistic"),
    ],
)
def test_bad_keywords_are_refused(keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        dg.fit(X, y, loss="squared", penalty="l1", lam=0.1, **keywords)
    assert said in str(caught.value)


@pytest.mark.parametrize("solver", [3, None, dg.solvers.InteriorPoint, "newtn", "closed_form"])
def test_a_solver_that_cannot_is_refused(solver: Any) -> None:
    with pytest.raises(NoSolverError):
        dg.fit(X, y, loss="absolute", penalty="l1", lam=0.1, solver=solver)


def test_a_solver_may_be_an_object() -> None:
    solution = dg.fit(X, y, loss="squared", penalty="l1", lam=0.1, solver=dg.solvers.InteriorPoint())
    assert solution.solver == "interior_point"


def test_huge_and_tiny_columns_are_proven() -> None:
    wild = X * 10.0 ** np.array([-6, -3, 3, 6])
    for loss, target in (("squared", y), ("hinge", LABELS), ("logistic", LABELS)):
        for penalty in ("l1", "l2", "linf"):
            proven(dg.fit(wild, target, loss=loss, penalty=penalty, lam=0.1), wild, target)


def test_a_certificate_of_other_data_claims_what_is_true_of_them() -> None:
    solution = dg.fit(X, y, loss="absolute", penalty="none")
    other = X + RNG.normal(size=X.shape)
    again, best = solution.certificate.recheck(other, y), dg.fit(other, y, loss="absolute", penalty="none")
    assert again.bound <= best.objective and again.objective >= best.bound
    assert again.gap > 0.1 * again.objective
    with pytest.raises(DataError, match="40 rows"):
        solution.certificate.recheck(X[:-1], y[:-1])


def test_more_threads_give_the_same_answer_within_the_gap() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 60)), rng.normal(size=400)
    alone, together = (
        dg.fit(X, y, loss="huber(0.5)", penalty="l1", lam=0.02, n_threads=n, tol=1e-9) for n in (1, 2)
    )
    np.testing.assert_allclose(together.coef, alone.coef, atol=1e-5)
    assert together.converged
    with pytest.raises(DataError, match="n_threads must be a whole number"):
        dg.fit(X, y, loss="squared", lam=1.0, n_threads=0)


def test_an_answer_that_fails_is_no_worse_than_none() -> None:
    """Columns equal but for rounding: what is found in good coordinates has no digits left in these."""
    x = np.array([0.53422933, 0.97541592, -1.93525459, 0.62383456, -2.27784599])
    X = np.column_stack([1e6 + 3.0 * x / 7.0, x])
    y, weights = np.array([1.0, -1.0, 1.0, 1.0, 1.0]), np.array([1.0, 2.0, 2.0, 1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        found = dg.fit(X, y, loss="hinge", penalty="none", sample_weight=weights)
    assert found.bound <= found.objective <= 4.0 / 7.0 + 1e-12


def test_verbose_says_how_the_gap_closes(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    seen: list[object] = []
    quiet = dg.fit(X, y, loss="absolute", penalty="l1", lam=0.01)
    assert capsys.readouterr() == ("", "")
    told = dg.fit(
        X, y, loss="absolute", penalty="l1", lam=0.01, verbose=True, callback=lambda r: seen.append(r)
    )
    out, err = capsys.readouterr()
    assert not out and seen and np.array_equal(told.coef, quiet.coef)
    assert "iteration" in err.splitlines()[0] and "relative gap" in err.splitlines()[-1]


BUDGETED = (*PENALTIES, "group_lasso", "sparse_group(0.5)", "slope(0.1)", "fused(1)", "l21", "l21_l2(0.5)")


@pytest.mark.parametrize("value", [0.0, 7.0])
@pytest.mark.parametrize("penalty", BUDGETED)
def test_a_budget_for_columns_that_tell_nothing(penalty: str, value: float) -> None:
    asked: dict[str, Any] = {"groups": [0, 0, 1]} if "group" in penalty else {}
    columns, target = np.full((40, 3), value), np.column_stack([y, y[::-1]]) if "l21" in penalty else y
    for loss in ("squared", "absolute", "tweedie(1.5)"):
        z = np.maximum(target, 0.0) if loss.startswith("tweedie") else target
        found = dg.fit(columns, z, loss=loss, penalty=penalty, budget=1.0, **asked)
        alone = dg.fit(columns, z, loss=loss, penalty=penalty, lam=1.0, **asked)
        assert found.converged, loss
        assert found.objective == pytest.approx(alone.objective, rel=1e-9)


@pytest.mark.parametrize("penalty", ["l1", "l2", "linf"])
def test_a_budget_that_is_out_of_reach_is_told(penalty: str) -> None:
    with pytest.warns(NotCertifiedWarning, match=r"The budget of 1e\+100 is far beyond these weights"):
        dg.fit(X, y, loss="huber", penalty=penalty, budget=1e100)
