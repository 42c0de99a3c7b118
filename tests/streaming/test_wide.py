"""Many columns, sparse or dense: gradients a scan, no sum of products, and the answer in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap.blocks.source import RowBlock
from dualgap.errors import DataError
from dualgap.files.scanned import examine_scanned
from dualgap.solvers.metrics import HeldGram, Priced
from dualgap.streaming.sample_curvature import SampleCurvature
from streaming.test_fits import agrees

N, P, A_ROW = 4000, 600, 8


@pytest.fixture
def many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples and blocks so small that a few thousand rows are many of them."""
    monkeypatch.setattr("dualgap.blocks.source.ROWS", 700)
    monkeypatch.setattr("dualgap.streaming.wide.LEAST", 1 << 10)
    monkeypatch.setattr("dualgap.streaming.sampling.ALL", 0)
    monkeypatch.setattr("dualgap.streaming.sampling.ROWS", 1500)
    monkeypatch.setattr("dualgap.streaming.sampling.PER_COLUMN", 1)


@pytest.fixture(autouse=True)
def never_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever fills sparse blocks with zeros, or reads sparse blocks as dense ones, is found out."""

    def refused(self: Any, *args: Any, **more: Any) -> Any:
        raise AssertionError("a sparse block was made dense")

    whole = sp.csr_array.toarray

    def checked(self: Any, *args: Any, **more: Any) -> Any:
        block = self.shape[0] > 300 and self.shape[1] > P // 2 and self.shape[0] != self.shape[1]
        return refused(self) if block else whole(self, *args, **more)

    monkeypatch.setattr(sp.csr_array, "toarray", checked)


def texts(seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Rows of words, some of them common; numbers, labels and counts."""
    rng = np.random.default_rng([seed, 2])
    common = 1.0 / np.arange(1, P + 1) ** 0.8
    words = rng.choice(P, N * A_ROW, p=common / common.sum())
    X = sp.csr_array(
        (rng.exponential(size=N * A_ROW), words, np.arange(0, N * A_ROW + 1, A_ROW)), shape=(N, P)
    )
    X.sum_duplicates()
    z = X @ (rng.normal(size=P) * (rng.random(P) < 0.2))
    y = z + rng.normal(size=N)
    return X, y, (z + rng.logistic(size=N) > z.mean()) * 1, rng.poisson(np.exp(np.clip(z, -2.0, 1.0)))


def _targets(loss: str, y: Any, labels: Any, counts: Any) -> Any:
    found = {"poisson": counts} | dict.fromkeys(("logistic", "hinge", "squared_hinge"), labels)
    return found.get(loss, y)


def _chunks(X: Any, y: Any, weight: Any = None) -> Any:
    def blocks() -> Iterator[tuple[Any, ...]]:
        for i in range(0, len(y), 999):
            more = () if weight is None else (weight[i : i + 999],)
            yield X[i : i + 999], y[i : i + 999], *more

    return dg.dataset(blocks)


@pytest.mark.usefixtures("many_columns")
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net(0.5)"])
@pytest.mark.parametrize(
    "loss", ["squared", "logistic", "huber", "squared_hinge", "poisson", "hinge", "absolute"]
)
def test_sparse_rows_are_solved_as_in_memory(loss: str, penalty: str) -> None:
    X, y, labels, counts = texts()
    y = _targets(loss, y, labels, counts)
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "lam": 0.01}
    for rows in (dg.dataset(X, y), _chunks(X, y)):
        found, whole = dg.fit(rows, **asked), dg.fit(X, y, **asked)
        assert found.converged, found.status
        assert agrees(found, whole) and found.scans < 25.0
        again = found.certificate.recheck(rows)
        assert again.bound >= found.bound - 1e-9 * found.objective
        assert np.allclose(found.predict(rows), found.predict(X))


@pytest.mark.usefixtures("many_columns")
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_weights_factors_scales_and_offsets_of_sparse_rows(loss: str, tmp_path: Path) -> None:
    X, y, labels, counts = texts(1)
    y, rng = _targets(loss, y, labels, counts), np.random.default_rng(3)
    weight, shift = rng.integers(0, 3, N).astype(float), rng.normal(size=N)
    factors = np.ones(P)
    factors[[3, 40]] = 0.0, 2.0
    asked: dict[str, Any] = {"loss": loss, "penalty": "l1", "lam": 0.01, "penalty_factors": factors}
    asked["standardize"] = True
    rows = dg.dataset(X, y, weights=weight, offset=shift)
    found = dg.fit(rows, **asked)
    whole = dg.fit(X, y, sample_weight=weight, offset=shift, **asked)
    assert found.converged and agrees(found, whole)
    kept = dg.load(found.save(tmp_path / "model.json"))
    assert not examine_scanned(kept, rows)[0]
    plain = dg.fit(_chunks(X, y, weight), loss=loss, penalty="l2", C=0.1, fit_intercept=False)
    assert agrees(
        plain, dg.fit(X, y, sample_weight=weight, loss=loss, penalty="l2", C=0.1, fit_intercept=False)
    )


@pytest.mark.usefixtures("many_columns")
@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_many_dense_columns_cost_gradients(loss: str, penalty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualgap.streaming.wide.COLUMNS", 30)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, 60))
    X[:, 1:] += 0.5 * X[:, :-1]
    X[:, ::5] += 3.0
    z = X @ (rng.normal(size=60) * (rng.random(60) < 0.3))
    y = z + rng.normal(size=N) if loss != "logistic" else (z - z.mean() + rng.logistic(size=N) > 0.0) * 1
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "lam": 0.02}
    for held in (6000, 50):  # with products of columns from the first scan, and without
        monkeypatch.setattr("dualgap.streaming.wide.HELD", held)
        found = dg.fit(dg.dataset(X, y), **asked)
        assert found.solver == "streamed gradients" and found.converged and found.scans < 14.0
        assert agrees(found, dg.fit(X, y, **asked))


@pytest.mark.usefixtures("many_columns")
def test_paths_folds_classes_and_limits_of_sparse_rows(tmp_path: Path) -> None:
    X, y, labels, _ = texts(5)
    rows = dg.dataset(X, y)
    path = dg.path(rows, loss="squared", penalty="l1", lams=[0.1, 0.03])
    whole = dg.fit(X, y, loss="squared", penalty="l1", lam=0.03)
    assert path.gaps.max() <= 1e-6 and agrees(path.solution(lam=0.03), whole)
    search = dg.cross_validate(dg.dataset(X, labels), loss="logistic", penalty="l2", lams=[0.1, 0.01], cv=2)
    assert search.solution.converged and search.gaps.max() <= 1e-6
    names = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    asked: dict[str, Any] = {"loss": "logistic", "lam": 0.02, "multiclass": "one_vs_rest"}
    assert agrees(dg.fit(dg.dataset(X, names), **asked), dg.fit(X, names, **asked))
    kept, one = tmp_path / "half.npz", {"loss": "logistic", "penalty": "l1", "lam": 0.01}
    with pytest.warns(dg.errors.NotCertifiedWarning):
        half = dg.fit(dg.dataset(X, labels), max_iter=1, checkpoint=kept, **one)
    assert kept.exists() and half.bound <= half.objective < np.inf
    assert dg.fit(dg.dataset(X, labels), checkpoint=kept, **one).converged and not kept.exists()


@pytest.mark.usefixtures("many_columns")
def test_what_sparse_rows_cannot_do_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _, _ = texts(6)
    broken = X.copy()
    broken.data[broken.indptr[1234]] = np.nan
    word = broken.indices[broken.indptr[1234]]
    with pytest.raises(DataError, match=rf"NaN\) in column {word}, row 1235"):
        dg.fit(dg.dataset(broken, y), loss="huber", penalty="l1", lam=0.01)
    with pytest.raises(DataError, match="sparse: fit the rows"):
        dg.moments(dg.dataset(X, y))
    monkeypatch.setattr("dualgap.blocks.chunks.LARGEST", 100)
    with pytest.raises(DataError, match="Block 0 is sparse"):
        dg.fit(_chunks(X, y), loss="huber", penalty="linf", lam=0.01)
    monkeypatch.setattr("dualgap.fitting.streamed.free_bytes", lambda: 1 << 10)
    with pytest.raises(DataError, match="GiB"):
        dg.fit(dg.dataset(X, y), loss="huber", penalty="linf", lam=0.01)


def test_curvature_of_a_sample_is_the_matrix_that_it_stands_for() -> None:
    rng = np.random.default_rng(7)
    X = sp.random_array((60, 9), density=0.4, rng=rng, format="csr")
    h, ridge, whole = rng.random(60), rng.random(9), rng.random(9) + 0.5
    price = np.where(np.arange(9) % 4 == 1, 0.0, 0.05)
    g, w, s, t = rng.normal(size=9), rng.normal(size=9), rng.normal(size=9), rng.normal(size=9)
    t *= np.sign(s @ t)
    for rows in (X, X.toarray()):
        found = SampleCurvature(rows, h, ridge, whole, tied=True)
        G = np.column_stack([found.times(e) for e in np.eye(9)])
        assert np.allclose(G, G.T) and np.linalg.eigvalsh(G).min() > 0.0
        assert np.allclose(np.diagonal(G), whole + ridge)
        assert np.allclose(found.solve(g), np.linalg.solve(G, g), rtol=1e-2, atol=1e-2)
        one, other = Priced(found, ridge, price), Priced(np.eye(9), np.zeros(9), price)
        other.gram, other.ridge = HeldGram(G), ridge
        for _ in range(2):
            assert np.allclose(one.step(g, w), other.step(g, w), atol=1e-8)
            one.learn(s, t)
            other.learn(s, t)


def test_free_columns_of_sparse_blocks_are_read_by_runs() -> None:
    """The groups of the proof ask for some rows of a column."""
    from dualgap.proof.rows import Rows

    X = sp.random_array((50, 4), density=0.5, rng=np.random.default_rng(8), format="csr")
    for run in (slice(0, 20), slice(20, 50)):
        assert np.array_equal(Rows(X).cells(run, 2), X.toarray()[run, 2])
    assert len(RowBlock(X, np.zeros(50)).taken(np.arange(3))) == 3
