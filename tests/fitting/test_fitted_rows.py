"""What a solution tells of its rows: lazily, without the columns, and right long before all digits are."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification

import dualgap as dg
from dualgap.errors import DataError

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive(0.2)", "squared_epsilon_insensitive(0.2)")


def data(loss: str, seed: int = 0) -> tuple[Any, Any]:
    X, y = make_classification(150, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=seed)
    if "hinge" in loss:
        return X, y
    return X, X @ [1.0, 2.0, 0.0, -1.0] + 0.3 * np.random.default_rng(seed).normal(size=len(X))


@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_support_is_known_before_all_digits_are(loss: str, C: float) -> None:
    X, y = data(loss)
    exact = dg.fit(X, y, loss=loss, C=C, tol=1e-12).rows
    rough = dg.fit(X, y, loss=loss, C=C, tol=1e-6).rows
    np.testing.assert_array_equal(rough.support, exact.support)
    np.testing.assert_array_equal(exact.support, np.flatnonzero(exact.dual_coef))


@pytest.mark.parametrize("loss", LOSSES)
def test_without_the_other_rows_the_answer_is_the_same(loss: str) -> None:
    X, y = data(loss)
    whole = dg.fit(X, y, loss=loss, lam=0.01, tol=1e-10)
    kept = whole.rows.support
    assert 0 < len(kept) < len(y) or loss == "squared_hinge"
    part = dg.fit(X[kept], y[kept], loss=loss, lam=0.01 * len(y) / len(kept), tol=1e-10)
    np.testing.assert_allclose(part.coef, whole.coef, atol=1e-5)


def test_rows_that_do_not_count_support_nothing() -> None:
    X, y = data("hinge")
    weights = (np.arange(len(y)) % 3).astype(float)
    rows = dg.fit(X, y, loss="hinge", C=1.0, sample_weight=weights, tol=1e-9).rows
    assert not np.any(weights[rows.support] == 0.0)
    assert rows.slack.shape == rows.kind.shape == (150,)
    np.testing.assert_array_equal(rows.slack > 1e-9, np.isin(rows.kind, ["inside", "misclassified"]))


def test_a_search_and_a_path_tell_the_same() -> None:
    X, y = data("hinge")
    alone = dg.fit(X, y, loss="hinge", lam=0.05, tol=1e-9).rows
    along = dg.path(X, y, loss="hinge", penalty="l2", lams=[0.5, 0.05], tol=1e-9).solution(lam=0.05).rows
    np.testing.assert_allclose(along.slack, alone.slack, atol=1e-6)
    model = dg.LinearClassifierCV("hinge", lams=[0.05], cv=3, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.slack_, alone.slack, atol=1e-6)


def test_pickles_keep_what_files_do_not(tmp_path: Path) -> None:
    X, y = data("hinge")
    model = dg.LinearClassifier("hinge").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.support_, model.support_)
    np.testing.assert_array_equal(again.slack_, model.slack_)
    loaded = dg.load(model.solution_.save(tmp_path / "machine.json"))
    assert set(loaded.rows.support) >= set(model.support_)
    with pytest.raises(DataError, match="gone"):
        _ = loaded.rows.slack


def test_attributes_are_there_after_a_fit_alone() -> None:
    X, y = data("hinge")
    model = dg.LinearClassifier("hinge").fit(X, y)
    for name in ("support_", "slack_", "kind_", "dual_coef_", "margin_", "coef_", "classes_", "n_iter_"):
        assert hasattr(model, name) and not hasattr(clone(model), name)


def test_a_search_has_no_dual_coefficients() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 2
    rows = dg.fit(X, y, loss="hinge", penalty="l0", budget=1, tol=0.1).rows
    assert rows.slack.shape == (12,)
    with pytest.raises(DataError):
        _ = rows.dual_coef


def test_an_estimator_computes_nothing_and_keeps_zeros_away() -> None:
    rng = np.random.default_rng(0)
    X = sp.random(4000, 3000, density=0.005, format="csr", random_state=0)
    y = (X @ rng.normal(size=3000) + 0.1 * rng.normal(size=4000) > 0).astype(int)
    dg.fit(X, y, loss="hinge", C=1.0)  # imports and compiles
    alone = peak(lambda: dg.fit(X, y, loss="hinge", C=1.0))
    model = dg.LinearClassifier("hinge")
    assert peak(lambda: model.fit(X, y)) <= 1.1 * alone
    told = peak(lambda: (model.support_, model.slack_, model.kind_, model.dual_coef_))
    assert told <= 100 * 8 * len(y)


def peak(call: Callable[[], Any]) -> int:
    """The most bytes that a call holds at once."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most
