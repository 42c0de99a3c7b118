"""Sparse rows on a device: the host's answer within both gaps, products within the error that they state."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from device.rows import LOSSES, PLACE, small_samples, targets, torch
from dualgap.device.arrivals import to_host
from dualgap.device.matrix import held
from dualgap.errors import DataError
from dualgap.losses import Loss

__all__ = ["small_samples"]
OBJECTIVES: list[dict[str, Any]] = [
    {"penalty": "l2", "lam": 0.01},
    {"penalty": "l1", "lam": 0.02, "fit_intercept": False},
    {"penalty": "elastic_net(0.5)", "C": 0.1, "penalty_factors": [0.0] + [1.0] * 11, "standardize": True},
    {"penalty": "none"},
]


def drawn(n: int = 300, p: int = 12, share: float = 0.3, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows with many zeros, targets that are numbers, labels."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, p, density=share, format="csr", random_state=seed, data_rvs=rng.standard_normal)
    z = X @ (rng.normal(size=p) * (rng.random(p) < 0.4)) + 0.3
    return X, z + 0.5 * rng.standard_t(5, size=n), np.where(z + rng.logistic(size=n) > 0.0, 1, 0)


def put(X: Any) -> Any:
    """By rows, on the device."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = (torch.from_numpy(one) for one in (X.indptr, X.indices, X.data))
        return torch.sparse_csr_tensor(*parts, X.shape).to(PLACE)


def agrees(one: Any, other: Any) -> bool:
    """Each objective is above the other's bound."""
    return bool(one.objective >= other.bound and other.objective >= one.bound)


@pytest.mark.parametrize("asked", OBJECTIVES, ids=lambda one: " ".join(map(str, one.values())))
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_cell_is_proven_there_and_again_on_the_host(loss: Loss, asked: dict[str, Any]) -> None:
    X, y, labels = drawn()
    y = targets(loss, y, labels)
    found, whole = dg.fit(put(X), y, loss=loss, **asked), dg.fit(X, y, loss=loss, **asked)
    assert found.converged and found.solver.startswith("resident"), found.status
    assert agrees(found, whole)
    again = found.certificate.recheck(X, y)
    assert again.gap <= 1e-6 * again.objective
    assert abs(again.objective - found.objective) <= 1e-9 * found.objective


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber(1.0)", "squared_hinge"])
def test_more_columns_than_rows(loss: str, penalty: str) -> None:
    X, y, labels = drawn(150, 900, 0.05, seed=1)
    y = labels if loss in ("logistic", "squared_hinge") else y
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "lam": 0.02 if penalty == "l2" else 0.1}
    found = dg.fit(put(X), y, **asked)
    assert found.converged and found.solver == f"resident {'products' if penalty == 'l2' else 'columns'}"
    assert agrees(found, dg.fit(X, y, **asked))


def test_dense_rows_of_more_columns_are_solved_by_products_too() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 600))
    y = np.where(X[:, 0] + rng.logistic(size=60) > 0.0, 1, 0)
    asked: dict[str, Any] = {"loss": "squared_hinge", "penalty": "l2", "lam": 0.01}
    found = dg.fit(torch.from_numpy(X).to(PLACE), y, **asked)
    assert found.converged and found.solver == "resident products" and agrees(found, dg.fit(X, y, **asked))


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("loss", ["hinge", "quantile(0.3)"])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_kinks_in_more_rows_than_the_sample_has(loss: str, penalty: str) -> None:
    X, y, labels = drawn(6000, 10, seed=3)
    y = labels if loss == "hinge" else y
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "lam": 0.01, "sample_weight": weight}
    found = dg.fit(put(X), y, **asked)
    assert found.converged and found.solver == "resident band" and agrees(found, dg.fit(X, y, **asked))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "scipy", "four bytes"])
def test_any_sparse_array_is_taken(kind: str) -> None:
    X, _, labels = drawn(seed=4)
    there: Any = put(X)
    if kind == "four bytes":
        there = there.to(torch.float32)
    elif kind != "csr":
        there = X if kind == "scipy" else getattr(there, f"to_sparse_{kind}")()
    asked: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "lam": 0.01}
    found = dg.fit(there, labels, device=PLACE if kind == "scipy" else None, **asked)
    assert found.converged and found.solver == "resident products"
    if kind != "four bytes":
        assert agrees(found, dg.fit(X, labels, **asked))
    if kind != "scipy":
        assert abs(to_host(there) - X).max() <= 1e-6
        scores, said = found.decision_function(there), found.predict(there)
        assert scores.device.type == PLACE and np.allclose(
            to_host(scores), found.decision_function(X), rtol=1e-5
        )
        assert np.mean(to_host(said) == found.predict(X)) > 0.99
        assert dg.certify(there, labels, found.coef, found.intercept, **asked).relative_gap <= 1e-5


def test_products_of_long_lines_are_within_the_error_that_they_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualgap.device.sparse.PIECE", 7)
    X = drawn(40, 6, 0.8, seed=5)[0]
    X = sp.hstack([X, sp.csr_matrix((40, 1))]).tocsr() * sp.diags([1.0, 1e6, 1e-6, 1.0, 1.0, 1.0, 1.0])
    X, rng = sp.csr_matrix(X), np.random.default_rng(5)
    matrix, dense = held(put(X)), X.toarray()
    w, thetas = rng.normal(size=7), rng.normal(size=(2, 40))
    value, _, error = matrix.times(w)
    for i in range(40):
        exact = sum(Fraction(x) * Fraction(v) for x, v in zip(dense[i].tolist(), w.tolist(), strict=True))
        assert abs(Fraction(float(value[i])) - exact) <= Fraction(error)
    for rows, part in ((matrix, slice(0, 40)), (matrix.taken(slice(5, 23)), slice(5, 23))):
        found, off = rows.against_many([torch.from_numpy(one[part]).to(PLACE) for one in thetas])
        for k in range(2):
            for j in range(7):
                terms = zip(dense[part, j].tolist(), thetas[k, part].tolist(), strict=True)
                exact = sum((Fraction(x) * Fraction(t) for x, t in terms), Fraction(0))
                assert abs(Fraction(float(found[k, j])) - exact) <= Fraction(float(off[k, j]))
    assert np.array_equal(matrix.tops, abs(dense).max(axis=0))
    assert all(np.array_equal(to_host(matrix.cells(slice(3, 30), j)), dense[3:30, j]) for j in range(7))
    assert np.array_equal(matrix.block(4, 9).toarray(), dense[4:9])


def test_a_place_that_is_stored_twice_holds_the_sum() -> None:
    X, _, labels = drawn(seed=6)
    twice = sp.csr_matrix((np.repeat(X.data, 2) / 2.0, np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)
    matrix = held(put(twice))
    assert np.array_equal(matrix.tops, abs(X.toarray()).max(axis=0))
    asked: dict[str, Any] = {"loss": "logistic", "penalty": "l1", "lam": 0.01}
    assert agrees(dg.fit(put(twice), labels, **asked), dg.fit(X, labels, **asked))


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["logistic", "absolute"])
def test_paths_and_folds(loss: str, penalty: str) -> None:
    X, y, labels = drawn(seed=7)
    y = labels if loss == "logistic" else y
    path = dg.path(put(X), y, loss=loss, penalty=penalty, n_lams=3, exact=False)
    assert np.all(path.gaps <= 1e-6)
    for lam in path.lams:
        assert agrees(path.solution(lam=lam), dg.fit(X, y, loss=loss, penalty=penalty, lam=lam))
    found = dg.cross_validate(put(X), y, loss=loss, penalty=penalty, lams=[0.1, 0.01], cv=3)
    other = dg.cross_validate(dg.dataset(X, y), loss=loss, penalty=penalty, lams=[0.1, 0.01], cv=3)
    assert np.allclose(found.scores, other.scores, rtol=2e-3) and np.all(found.gaps <= 1e-6)


def test_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, labels = drawn(seed=8)
    asked: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "lam": 0.01}
    broken = X.copy()
    broken.data[7] = np.nan
    with pytest.raises(DataError, match=f"NaN.*column {X.indices[7]}"):
        dg.fit(put(broken), labels, **asked)
    astray = X.copy()
    astray.indices = astray.indices + 5
    with pytest.raises(DataError, match="indices"):
        dg.fit(put(astray), labels, **asked)
    monkeypatch.setattr("dualgap.device.arrivals.free_bytes", lambda place: 10.0)
    with pytest.raises(DataError, match="GiB"):
        dg.fit(put(X), labels, **asked)
