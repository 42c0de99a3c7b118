"""All classes jointly, in blocks: the answer in memory, a θ that its kernel takes, and rules that lie."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.design import Dense
from dualgap.files.scanned import examine_scanned
from dualgap.fitting.joint_problem import joint_problem
from dualgap.proof.joint import check_joint
from streaming.rows import CENTRES, SCALES, memory, parquet, small_blocks

__all__ = ["small_blocks"]
K, P = 4, 5
OBJECTIVES: list[dict[str, Any]] = [
    {"penalty": "none"},
    {"penalty": "l1", "lam": 0.01},
    {"penalty": "l2", "lam": 0.01, "standardize": True},
    {"penalty": "elastic_net(0.5)", "lam": 0.02, "fit_intercept": False},
    {"penalty": "linf", "lam": 0.01},
    {"penalty": "l2_norm", "lam": 0.02},
    {"penalty": "l1", "budget": 0.4, "penalty_factors": [1.0, 0.0, 2.0, 1.0, 1.0]},
]


def classed(n: int = 5000, seed: int = 0) -> tuple[Any, Any]:
    """Rows, and one of four labels each."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, P))
    scores = Z @ rng.normal(size=(P, K)) + rng.gumbel(size=(n, K))
    return Z * SCALES + CENTRES, np.array(["e", "n", "s", "w"])[scores.argmax(axis=1)]


def agrees(found: Any, whole: Any) -> bool:
    return bool(found.objective >= whole.bound and whole.objective >= found.bound)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("asked", OBJECTIVES, ids=lambda one: " ".join(map(str, one.values())))
def test_the_softmax_in_blocks_is_that_in_memory(asked: dict[str, Any], tmp_path: Path) -> None:
    X, y = classed()
    rows = memory(X, y, tmp_path)
    found, whole = dg.fit(rows, loss="logistic", **asked), dg.fit(X, y, loss="logistic", **asked)
    assert found.converged and found.multiclass == "multinomial" and agrees(found, whole)
    assert found.coef.shape == (K, P) and not found.proven_zero[whole.coef != 0.0].any()
    again = found.certificate.recheck(rows)
    assert again.bound >= found.bound - 1e-9 * found.objective
    assert abs(again.objective - found.objective) <= 1e-9 * found.objective
    assert np.mean(found.predict(rows) == whole.predict(X)) > 0.999


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("weighted", [False, True])
def test_theta_written_out_passes_the_check_of_the_rows(weighted: bool) -> None:
    X, y = classed(3000, seed=1)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    rows = dg.dataset(X, y, weights=weight)
    found = dg.fit(rows, loss="logistic", penalty="l1", lam=0.01)
    shares = found.certificate.theta.slopes(X, np.zeros(len(y)), np.arange(len(y)))
    own, count = np.searchsorted(found.classes, y), len(y)
    shares = np.maximum(shares, 0.0)
    shares[np.arange(count), own] = 0.0
    theta = -shares
    theta[np.arange(count), own] = shares.sum(axis=1)
    s = np.ones(count) if weight is None else weight
    terms = replace(found.terms, sample_weight=s)
    problem = joint_problem(terms, Dense(X), own.astype(float), K)
    w = np.column_stack([found.coef, found.intercept]).ravel()
    judged = check_joint(problem, w, theta * (s / s.sum())[:, None], 1e-6)
    assert abs(judged.primal - found.objective) <= 1e-10 * found.objective
    assert judged.dual >= found.bound - 1e-6 * found.objective
    assert found.objective >= judged.dual and judged.primal >= found.bound


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("penalty", ["l1", "none"])
def test_rules_that_lie_prove_nothing_false(penalty: str, tmp_path: Path) -> None:
    X, y = classed(2000, seed=2)
    rows = memory(X, y, tmp_path)
    asked: dict[str, Any] = {"loss": "logistic", "penalty": penalty}
    asked |= {} if penalty == "none" else {"lam": 0.02}
    found, honest = dg.fit(rows, **asked), dg.fit(X, y, tol=1e-9, **asked)
    rng = np.random.default_rng(0)

    class Forged:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def slopes(self, X: Any, y: Any, numbers: Any) -> Any:
            shares = self.scale * rng.normal(size=(len(y), K))
            shares[:2, 0] = np.nan, np.inf
            return shares

    for scale in (0.0, 1e-3, 0.3, 1e9):
        again = replace(found.certificate, theta=Forged(scale), bound=np.inf).recheck(rows)
        assert again.bound <= honest.objective and again.objective >= honest.bound
    moved = replace(found.certificate, coef=found.coef * 1.05).recheck(rows)
    assert moved.objective > honest.objective and moved.bound <= honest.objective


@pytest.mark.usefixtures("small_blocks")
def test_files_models_and_checkpoints_of_all_classes_jointly(tmp_path: Path) -> None:
    X, y = classed(4000, seed=3)
    rows = parquet(X, y, tmp_path)
    kept = tmp_path / "half.npz"
    asked: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "lam": 0.01}
    with pytest.warns(dg.errors.NotCertifiedWarning):
        dg.fit(rows, max_iter=1, checkpoint=kept, **asked)
    assert kept.exists()
    found = dg.fit(rows, checkpoint=kept, **asked)
    assert found.converged and not kept.exists() and agrees(found, dg.fit(X, y, **asked))
    again = dg.load(found.save(tmp_path / "model.json"))
    assert again.certificate.recheck(rows).gap == pytest.approx(found.certificate.recheck(rows).gap)
    assert not examine_scanned(again, rows)[0]
    lied = replace(again, objective=0.9 * again.objective)
    assert examine_scanned(lied, rows)[0]


def test_what_is_too_wide_or_no_softmax_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    X, y = classed(600, seed=4)
    with pytest.raises(dg.errors.DataError, match="joint hinge"):
        dg.fit(memory(X, y, tmp_path), loss="hinge", lam=0.1, multiclass="crammer_singer")
    monkeypatch.setattr("dualgap.fitting.streamed_joint.WIDEST", 10)
    with pytest.raises(dg.errors.DataError, match="4 classes and 5 columns have 20 weights"):
        dg.fit(memory(X, y, tmp_path), loss="logistic", lam=0.1)
