"""Moments: added, saved, fitted; paths and folds without another scan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from streaming.rows import drawn, memory, small_blocks

__all__ = ["small_blocks"]


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_the_fit_of_moments_is_that_of_the_rows(offset: float, tmp_path: Path) -> None:
    X, y, _ = drawn(3000)
    X = X + offset
    sums = dg.moments(X[:1000], y[:1000]) + dg.moments(X[1000:], y[1000:])
    assert sums.shape == (3000, 5)
    kept = dg.Moments.load(sums.save(tmp_path / "sums.npz"))
    for asked in (
        {"penalty": "l1", "lam": 0.1},
        {"penalty": "l2", "lam": 0.1},
        {"penalty": "linf", "budget": 0.2},
    ):
        found = dg.fit(kept, loss="squared", tol=1e-5, **asked)
        whole = dg.fit(X, y, loss="squared", **asked)
        assert found.converged
        assert found.objective >= whole.bound and whole.objective >= found.bound


def test_moments_far_from_zero_say_what_rounding_leaves(tmp_path: Path) -> None:
    """Columns that are nearly constant beside their size: a bound is weaker, never wrong."""
    X, y, _ = drawn(2000)
    X = X / 100.0 + 1e8
    found = dg.fit(dg.moments(X, y), loss="squared", penalty="l2", lam=0.01, tol=0.5)
    whole = dg.fit(X, y, loss="squared", penalty="l2", lam=0.01, tol=0.5)
    assert found.objective >= whole.bound and whole.objective >= found.bound


@pytest.mark.usefixtures("small_blocks")
def test_the_path_is_exact_and_costs_no_scan_more(tmp_path: Path) -> None:
    X, y, _ = drawn(4000)
    rows = memory(X, y, tmp_path)
    path, whole = dg.path(rows, loss="squared", penalty="l1"), dg.path(X, y, loss="squared", penalty="l1")
    seen = rows.scans
    assert path.exact and len(path) == len(whole)
    assert np.allclose(path.lams, whole.lams, rtol=1e-9) and np.allclose(path.coefs, whole.coefs, atol=1e-9)
    assert np.allclose(path.intercepts, whole.intercepts, rtol=1e-7)
    assert np.max(path.gaps) <= 1e-6
    between = path.solution(lam=0.3)
    assert between.converged and between.objective == pytest.approx(
        whole.solution(lam=0.3).objective, rel=1e-7
    )
    assert path.solution(budget=0.2).converged
    assert rows.scans == seen < 1.5


@pytest.mark.usefixtures("small_blocks")
def test_folds_by_moments_are_fits_without_the_fold(tmp_path: Path) -> None:
    X, y, _ = drawn(4000)
    rows = memory(X, y, tmp_path)
    lams = np.array([0.5, 0.1, 0.01])
    search = dg.cross_validate(rows, loss="squared", penalty="l1", cv=4, lams=lams)
    assert rows.scans < 1.5
    fold = (np.arange(4000) // 64) % 4
    for k in range(4):
        for j, lam in enumerate(lams):
            own = dg.fit(X[fold != k], y[fold != k], loss="squared", penalty="l1", lam=lam, tol=1e-9)
            error = np.mean((own.predict(X[fold == k]) - y[fold == k]) ** 2)
            assert search.scores[k, j] == pytest.approx(error, rel=1e-5)
    assert search.solution.converged and search.gaps.max() <= 1e-6


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_paths_and_folds_of_other_losses_share_scans(loss: str, tmp_path: Path) -> None:
    X, _, labels = drawn(3000)
    rows = memory(X, labels, tmp_path)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lams": [0.1, 0.01]}
    path = dg.path(rows, **asked)
    assert rows.scans < 7.0
    for k, lam in enumerate(path.lams):
        whole = dg.fit(X, labels, loss=loss, penalty="l2", lam=lam)
        found = path.solution(lam=lam)
        assert path.gaps[k] <= 1e-6
        assert found.objective >= whole.bound and whole.objective >= found.bound
    search = dg.cross_validate(rows, cv=2, **asked)
    fold = (np.arange(3000) // 64) % 2
    own = dg.fit(X[fold != 1], labels[fold != 1], loss=loss, penalty="l2", lam=0.1, tol=1e-9)
    held = own.terms.loss.value(np.where(labels == 1, 1.0, -1.0), own.decision_function(X))[fold == 1].mean()
    assert search.scores[1, 0] == pytest.approx(held, rel=1e-3)
    assert search.solution.converged


def test_moments_of_other_columns_or_losses_are_refused() -> None:
    X, y, _ = drawn(100)
    with pytest.raises(dg.errors.DataError, match="different columns"):
        dg.moments(X, y) + dg.moments(X[:, :3], y)
    with pytest.raises(dg.errors.DataError, match="squared loss"):
        dg.fit(dg.moments(X, y), loss="absolute", penalty="l2", lam=0.1)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_folds_within_budgets_and_wrong_classes(loss: str, tmp_path: Path) -> None:
    X, y, labels = drawn(3000)
    rows = memory(X, y if loss == "squared" else labels, tmp_path)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l1", "budgets": [0.1, 0.4], "cv": 3}
    found = dg.cross_validate(rows, **asked)
    assert found.form == "constrained" and found.proven and found.solution.converged
    assert found.solution.terms.budget == found.budget and found.scores.shape == (3, 2)
    if loss == "squared":
        with pytest.raises(dg.errors.DataError, match="wrong classes"):
            dg.cross_validate(rows, **asked, score="zero_one")
        return
    wrong = dg.cross_validate(rows, **asked, score="zero_one")
    assert wrong.score == "zero_one" and np.all((wrong.scores > 0.0) & (wrong.scores < 0.6))
    alone = np.mean(wrong.solution.predict(X) != labels)
    assert abs(alone - wrong.mean[wrong.index]) < 0.05


def test_what_a_scan_cannot_hold_is_refused_with_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = drawn(300)
    monkeypatch.setattr("dualgap.fitting.streamed.free_bytes", lambda: 100)
    for loss in ("squared", "huber"):
        with pytest.raises(dg.errors.DataError, match="GiB"):
            dg.fit(memory(X, y, tmp_path), loss=loss, penalty="l2", lam=0.1)


def test_sparse_blocks_of_few_columns_are_read_with_their_zeros() -> None:
    import scipy.sparse as sp

    X, y, _ = drawn(600)
    X[X < 0.5] = 0.0

    def blocks() -> Any:
        for i in range(0, 600, 200):
            yield sp.csr_array(X[i : i + 200]), y[i : i + 200]

    found = dg.fit(dg.dataset(blocks), loss="huber", penalty="l1", lam=0.01)
    whole = dg.fit(X, y, loss="huber", penalty="l1", lam=0.01)
    assert found.converged and found.objective >= whole.bound and whole.objective >= found.bound


def test_predictions_want_the_columns_of_the_fit() -> None:
    X, y, _ = drawn(300)
    found = dg.fit(dg.dataset(X, y), loss="squared", penalty="l2", lam=0.1)
    assert np.allclose(found.predict(dg.dataset(X, y)), found.predict(X))
    with pytest.raises(dg.errors.DataError, match="4 columns, the fit had 5"):
        found.predict(dg.dataset(X[:, :4], y))
