from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import dualgap as dg
from dualgap.errors import DataError

RNG = np.random.default_rng(2)
FRAME = pd.DataFrame(RNG.normal(size=(60, 5)) * [1, 10, 1, 1, 1], columns=["age", "income", "u", "v", "w"])
y = 2.0 * FRAME["age"].to_numpy() + 0.3 * FRAME["income"].to_numpy() + RNG.normal(size=60)
LABELS = np.where(y > 0, "buys", "leaves")
LASSO = dg.fit(FRAME, y, loss="squared", penalty="l1", lam=0.5)
LOGISTIC = dg.fit(FRAME, LABELS, loss="logistic", penalty="l2", lam=0.01)


def test_gap_is_objective_minus_bound() -> None:
    assert LASSO.gap == max(LASSO.objective - LASSO.bound, 0.0)
    assert LASSO.relative_gap == pytest.approx(LASSO.gap / LASSO.objective)


def test_predictions() -> None:
    scores = FRAME.to_numpy() @ LOGISTIC.coef + LOGISTIC.intercept
    np.testing.assert_allclose(LOGISTIC.decision_function(FRAME), scores)
    assert np.array_equal(LOGISTIC.predict(FRAME), np.where(scores > 0, "leaves", "buys"))
    np.testing.assert_allclose(LASSO.predict(FRAME), FRAME.to_numpy() @ LASSO.coef + LASSO.intercept)


def test_probabilities_of_two_classes() -> None:
    table = LOGISTIC.predict_proba(FRAME)
    scores = LOGISTIC.decision_function(FRAME)
    np.testing.assert_allclose(table[:, 1], 1 / (1 + np.exp(-scores)))
    np.testing.assert_allclose(table.sum(axis=1), 1.0)


def test_exponential_loss_has_probabilities_too() -> None:
    solution = dg.fit(FRAME, LABELS, loss="exponential", penalty="l2", lam=0.01)
    table = solution.predict_proba(FRAME)
    np.testing.assert_allclose(table[:, 1], 1 / (1 + np.exp(-2 * solution.decision_function(FRAME))))


def test_other_losses_have_none() -> None:
    solution = dg.fit(FRAME, LABELS, loss="hinge", penalty="l2", lam=0.01)
    with pytest.raises(DataError, match="hinge loss gives no probabilities"):
        solution.predict_proba(FRAME)
    with pytest.raises(DataError, match="no probabilities"):
        LASSO.predict_proba(FRAME)


def test_other_columns_are_refused() -> None:
    with pytest.raises(DataError, match="X has 4 columns, the fit had 5"):
        LASSO.predict(FRAME.iloc[:, :4])
    with pytest.raises(DataError, match="Column 0 of X is 'income'"):
        LASSO.predict(FRAME[["income", "age", "u", "v", "w"]])


def test_coefficient_error_holds() -> None:
    loose = dg.fit(FRAME, LABELS, loss="logistic", penalty="l2", lam=0.01, tol=1e-2)
    tight = dg.fit(FRAME, LABELS, loss="logistic", penalty="l2", lam=0.01, tol=1e-12)
    assert loose.coef_error is not None
    assert np.linalg.norm(loose.coef - tight.coef) <= loose.coef_error
    assert LASSO.coef_error is None
    assert "not strongly convex" in LASSO.coef_error_reason


def test_proven_zeros_are_zero() -> None:
    solution = dg.fit(FRAME, y, loss="squared", penalty="l1", lam=1.0)
    tight = dg.fit(FRAME, y, loss="squared", penalty="l1", lam=1.0, tol=1e-12)
    assert solution.proven_zero.any()
    assert not tight.coef[solution.proven_zero].any()
    assert not solution.coef[solution.proven_zero].any()


def test_pickled_it_is_the_same() -> None:
    copy = pickle.loads(pickle.dumps(LASSO))
    assert np.array_equal(copy.coef, LASSO.coef)
    assert copy.certificate.recheck(FRAME, y).gap == LASSO.certificate.recheck(FRAME, y).gap


def test_summary_of_a_regression() -> None:
    text = LASSO.summary()
    assert text.startswith("mean squared loss + 0.5 * (sum |w_j|)\n60 rows, 5 columns")
    for words in ("objective", "proven bound", "relative gap", "best constant", "per std. dev.", "intercept"):
        assert words in text
    assert f"{LASSO.coef[1]:.6g}" in text
    assert f"{LASSO.coef[1] * FRAME['income'].std(ddof=0):.6g}" in text


def test_summary_says_what_a_score_means() -> None:
    text = LOGISTIC.summary()
    assert "above 0 means 'leaves'" in text
    assert "proven within" in text


def test_summary_adds_up() -> None:
    price = 0.5 * np.abs(LASSO.coef).sum()
    assert f"= loss {LASSO.objective - price:.6g} + penalty {price:.6g}" in LASSO.summary()


def test_summary_of_many_columns_shows_the_largest() -> None:
    table = RNG.normal(size=(30, 90))
    solution = dg.fit(table, table[:, 7], loss="squared", penalty="l2", lam=0.1)
    text = solution.summary()
    assert "the 40 largest of 90" in text
    assert " x7 " in text


def test_summary_of_what_is_not_proven() -> None:
    with pytest.warns(dg.errors.NotCertifiedWarning):
        solution = dg.fit(FRAME, y, loss="absolute", penalty="l1", lam=0.1, max_iter=1)
    assert "NOT below the tolerance" in solution.summary()
    assert "iteration limit" in solution.summary()


def test_words_name_standardising_and_factors() -> None:
    solution = dg.fit(
        FRAME,
        y,
        loss="squared",
        penalty="elastic_net(0.25)",
        lam=0.1,
        standardize=True,
        penalty_factors={"u": 2.0},
    )
    first = solution.summary().splitlines()[0]
    assert "0.25 w_j^2" in first
    assert "per standard deviation" in first
    assert "penalty factors" in first


def test_html_is_escaped() -> None:
    table = pd.DataFrame({"<a&b>": [1.0, 2.0, 4.0]})
    solution = dg.fit(table, [1.0, 2.0, 3.0], loss="squared", penalty="l2", lam=0.1)
    assert "&lt;a&amp;b&gt;" in solution._repr_html_()


def test_what_is_proven_zero_is_worked_out_of_the_rows_that_were_fitted() -> None:
    """When somebody asks; nothing is said of a table that was changed in the meantime."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 8)), rng.normal(size=60)
    asked: dict[str, Any] = {"loss": "squared", "penalty": "l1", "lam": 0.2}
    now, later, sent = (dg.fit(X, y, **asked) for _ in range(3))
    first = now.proven_zero
    assert first.any() and first is now.proven_zero and not first[now.coef != 0].any()
    there = pickle.loads(pickle.dumps(sent))
    X *= 3.0
    assert np.array_equal(there.proven_zero, first) and np.array_equal(now.proven_zero, first)
    assert not later.proven_zero.any()


def test_nothing_is_proven_zero_of_columns_that_changed_places() -> None:
    """Whole numbers in another order have the same sum of squares, bit by bit."""
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 3, size=(60, 8)) * np.array([100.0, 1, 1, 1, 1, 1, 1, 1]), rng.normal(size=60)
    kept, moved = (dg.fit(X, y, loss="squared", penalty="l1", lam=0.2) for _ in range(2))
    assert kept.proven_zero.any()
    X[:] = X[:, ::-1].copy()
    assert not moved.proven_zero.any()


def test_nothing_is_proven_zero_by_products_that_were_kept() -> None:
    """What a box asks for ahead of its proof is of the table as it was."""
    rng = np.random.default_rng(7)
    X = rng.integers(0, 3, size=(60, 8)) * np.array([9.0, 1, 1, 1, 1, 1, 1, 1])
    y = 0.5 * X[:, 0] + rng.normal(size=60)
    asked: dict[str, Any] = {"loss": "squared", "penalty": "l1", "lam": 0.3, "bounds": (0, None)}
    kept, moved = (dg.fit(X, y, **asked) for _ in range(2))
    assert kept.proven_zero.any()
    X[:] = X[:, ::-1].copy()
    assert not moved.proven_zero.any()


def test_what_is_proven_zero_does_not_hang_on_threads() -> None:
    """Sums in another order are of the same table."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(3000, 20))
    y = X[:, 0] + 0.3 * rng.normal(size=3000)
    asked: dict[str, Any] = {"loss": "squared", "penalty": "l1", "lam": 0.1}
    alone, together = (dg.fit(X, y, **asked) for _ in range(2))
    with threadpool_limits(1):
        assert np.count_nonzero(alone.proven_zero) == 19
    with threadpool_limits(2):
        assert np.count_nonzero(together.proven_zero) == 19
