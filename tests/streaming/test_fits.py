"""Every source and every loss: the answer in memory within both gaps, and a θ that the kernel takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from cases import taken
from dualgap.design import Dense, WithOnes
from dualgap.fitting.names import loss_named
from dualgap.losses import Loss
from dualgap.problem.problem import Problem
from dualgap.proof.check import check
from dualgap.streaming.asked import Targets
from dualgap.traits import Trait
from streaming.rows import LOSSES, SOURCES, drawn, memory, parquet, small_blocks, targets

__all__ = ["small_blocks"]
OBJECTIVES: list[dict[str, Any]] = [
    {"penalty": "none"},
    {"penalty": "l1", "lam": 0.02},
    {"penalty": "l2", "lam": 0.01, "standardize": True},
    {"penalty": "elastic_net(0.5)", "lam": 0.02, "fit_intercept": False},
    {"penalty": "linf", "lam": 0.01},
    {"penalty": "l2_norm", "lam": 0.02},
    {"penalty": "lp(1.5)", "budget": 0.3},
    {"penalty": "l1", "budget": 0.4, "penalty_factors": [1.0, 0.0, 2.0, 1.0, 1.0]},
]


def written_out(solution: Any, rows: Any) -> Any:
    """θ as a vector: −a·u, row by row, in the order of the blocks."""
    classes = solution.classes
    rule, reader, found = solution.certificate.theta, Targets(classes), []
    for block in rows.source.blocks():
        X, y, weight, numbers = reader.of(block)
        u = np.zeros(len(y)) if rule is None else rule.slopes(X, y, numbers)
        u = np.clip(u, *solution.terms.loss.domain(y))
        found.append(-u if weight is None else -u * weight)
    theta = np.concatenate(found)
    return theta / len(theta)


def agrees(streamed: Any, whole: Any) -> bool:
    """Each objective is above the other's bound."""
    return bool(streamed.objective >= whole.bound and whole.objective >= streamed.bound)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("source", SOURCES, ids=lambda one: one.__name__)
def test_every_source_gives_the_answer_in_memory(source: Any, loss: Loss, tmp_path: Path) -> None:
    X, y, labels = drawn()
    y = targets(loss, y, labels)
    rows = source(X, y, tmp_path)
    found, whole = (
        dg.fit(rows, loss=loss, penalty="l2", lam=0.01),
        dg.fit(X, y, loss=loss, penalty="l2", lam=0.01),
    )
    assert found.converged and found.relative_gap <= 1e-6
    assert agrees(found, whole)
    assert (
        np.array_equal(found.predict(X[:50]), whole.predict(X[:50]))
        or Trait.CLASSIFICATION not in loss.traits
    )
    again = found.certificate.recheck(rows)
    assert again.bound >= found.bound - 1e-9 * found.objective
    assert abs(again.objective - found.objective) <= 1e-9 * found.objective


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("asked", OBJECTIVES, ids=lambda one: " ".join(map(str, one.values())))
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_cell_is_proven(loss: Loss, asked: dict[str, Any], tmp_path: Path) -> None:
    X, y, labels = drawn(4000, seed=1)
    y = targets(loss, y, labels)
    found, whole = dg.fit(memory(X, y, tmp_path), loss=loss, **asked), dg.fit(X, y, loss=loss, **asked)
    assert found.converged, found.status
    assert agrees(found, whole)
    assert found.proven_zero[whole.coef != 0.0].sum() == 0 or found.relative_gap > 0.0


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_theta_written_out_passes_the_check_of_the_rows(loss: Loss, tmp_path: Path) -> None:
    X, y, labels = drawn(3000, seed=2)
    y = targets(loss, y, labels)
    rows = parquet(X, y, tmp_path)
    found = dg.fit(rows, loss=loss, penalty="l1", lam=0.01)
    theta = written_out(found, rows)
    shown = y if found.classes is None else np.where(y == found.classes[1], 1.0, -1.0)
    problem = Problem(
        WithOnes(Dense(X)),
        shown.astype(float),
        np.full(len(y), 1.0 / len(y)),
        loss,
        found.terms.regulariser,
        True,
    )
    judged = check(problem, np.append(found.coef, found.intercept), theta, 1e-6)
    assert abs(judged.primal - found.objective) <= 1e-10 * found.objective
    assert judged.dual >= found.bound - 1e-8 * found.objective
    assert judged.primal >= found.bound and found.objective >= judged.dual


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_weights_and_C_count_as_in_memory(loss: str, tmp_path: Path) -> None:
    X, y, labels = drawn(3000, seed=3)
    y = y if loss == "squared" else labels
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    asked: dict[str, Any] = {"loss": loss, "C": 0.02, "penalty_factors": [1, 0, 2, 1, 1]}
    found = dg.fit(dg.dataset(X, y, weights=weight), **asked)
    whole = dg.fit(X, y, sample_weight=weight, **asked)
    assert found.converged and agrees(found, whole)
    assert found.terms.lam == pytest.approx(whole.terms.lam, rel=1e-12)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_products_made_by_the_loop_for_many_of_them(
    loss: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("dualgap.streaming.smooth.LINES", 0)
    X, y, labels = drawn(5000, seed=12)
    y = y if loss == "huber" else labels
    weight = np.random.default_rng(0).random(5000)
    asked: dict[str, Any] = {"loss": loss, "penalty": "elastic_net", "lam": 0.01, "standardize": True}
    found = dg.fit(dg.dataset(X, y, weights=weight), **asked)
    whole = dg.fit(X, y, sample_weight=weight, **asked)
    assert found.converged and agrees(found, whole)


@pytest.mark.usefixtures("small_blocks")
def test_one_class_against_the_rest_shares_scans(tmp_path: Path) -> None:
    X, y, _ = drawn(4000, seed=4)
    names = np.array(["low", "middle", "top"])[np.digitize(y, [-1.0, 1.0])]
    rows = parquet(X, names, tmp_path)
    found = dg.fit(rows, loss="hinge", penalty="l2", lam=0.01)
    whole = dg.fit(X, names, loss="hinge", penalty="l2", lam=0.01)
    assert found.converged and agrees(found, whole) and found.coef.shape == (3, 5)
    assert found.scans < 5.0
    assert found.certificate.recheck(rows).gap <= 1.01 * found.gap
    assert np.array_equal(found.predict(rows), found.predict(X))


@pytest.mark.usefixtures("small_blocks")
def test_forged_claims_are_rejected(tmp_path: Path) -> None:
    """Whatever the rule says, and however far the weights are off, the scan says what is true."""
    X, y, _ = drawn(3000, seed=5)
    rows = memory(X, y, tmp_path)
    honest = dg.fit(X, y, loss="huber", penalty="l1", lam=0.02)
    found = dg.fit(rows, loss="huber", penalty="l1", lam=0.02)
    rng = np.random.default_rng(0)

    class Forged:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def slopes(self, X: Any, y: Any, numbers: Any) -> Any:
            u = self.scale * rng.normal(size=len(y))
            u[:2] = np.nan, np.inf
            return u

    for scale in (0.0, 1e-3, 1.0, 1e9):
        lied = replace(found.certificate, theta=Forged(scale), bound=np.inf, objective=0.0)
        again = lied.recheck(rows)
        assert again.bound <= honest.objective
        assert again.objective >= honest.bound
    moved = replace(found.certificate, coef=found.coef * 1.01)
    assert moved.recheck(rows).objective > found.objective
    assert moved.recheck(rows).bound <= honest.objective


@pytest.mark.usefixtures("small_blocks")
def test_certify_says_what_it_says_in_memory(tmp_path: Path) -> None:
    X, y, labels = drawn(3000, seed=6)
    for loss, target in (("squared", y), ("logistic", labels), ("absolute", y)):
        coef = np.full(5, 0.1)
        asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lam": 0.05}
        found = dg.certify(memory(X, target, tmp_path), coef, 0.3, **asked)
        whole = dg.certify(X, target, coef, 0.3, **asked)
        assert found.objective == pytest.approx(whole.objective, rel=1e-9)
        assert found.bound == pytest.approx(whole.bound, rel=1e-5)


@pytest.mark.usefixtures("small_blocks")
def test_the_time_limit_and_interruptions_leave_the_best_there_is(tmp_path: Path) -> None:
    X, _, labels = drawn(4000, seed=7)
    rows = memory(X, labels, tmp_path)
    with pytest.warns(dg.errors.NotCertifiedWarning):
        one = dg.fit(rows, loss="logistic", penalty="l2", lam=0.01, max_iter=1)
    assert not one.converged and np.isfinite(one.objective) and one.bound >= 0.0

    def stop(record: Any) -> bool:
        raise KeyboardInterrupt

    with pytest.warns(dg.errors.NotCertifiedWarning, match="Interrupted"):
        two = dg.fit(rows, loss="logistic", penalty="l2", lam=0.01, callback=stop)
    assert two.scans < 3.0 and np.isfinite(two.objective)


def test_what_is_searched_in_memory_is_refused_with_its_size(tmp_path: Path) -> None:
    X, y, labels = drawn(500)
    with pytest.raises(dg.errors.DataError, match="GiB"):
        dg.fit(memory(X, y, tmp_path), loss="squared", penalty="l0", budget=2)
    with pytest.raises(dg.errors.DataError, match="GiB"):
        dg.fit(memory(X, labels, tmp_path), loss="zero_one", penalty="none")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_fit_goes_on_from_its_checkpoint(loss: str, tmp_path: Path) -> None:
    X, _, labels = drawn(4000, seed=8)
    rows, kept = memory(X, labels, tmp_path), tmp_path / "half.npz"
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "checkpoint": kept}
    with pytest.warns(dg.errors.NotCertifiedWarning):
        dg.fit(rows, lam=0.01, max_iter=1, **asked)
    assert kept.exists()
    with pytest.raises(dg.errors.DataError, match="another problem"):
        dg.fit(rows, lam=0.02, **asked)
    with pytest.raises(dg.errors.DataError, match="other columns"):
        dg.fit(memory(X[:, :4], labels, tmp_path), lam=0.01, **asked)
    found = dg.fit(rows, lam=0.01, **asked)
    whole = dg.fit(X, labels, loss=loss, penalty="l2", lam=0.01)
    assert found.converged and agrees(found, whole) and not kept.exists()
    with pytest.raises(dg.errors.DataError, match="No checkpoint can be written"):
        dg.fit(rows, lam=0.01, **asked | {"checkpoint": tmp_path / "nowhere" / "half.npz"})


def _levels(n: int, counts: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Columns with a level that so many rows have, labels of both kinds among them, and counts."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(n, 5))
    for j, count in enumerate(counts):
        X[:, j] = j % 2
        X[rng.choice(n, count, replace=False), j] = 1 - j % 2
    z = X @ np.array([1.0, -1.0, 0.5, 0.3, -0.3])
    labels, numbers = (z + rng.logistic(size=n) > 0.0).astype(int), rng.poisson(np.exp(z - 1.0))
    for j in range(len(counts)):
        own = np.flatnonzero(X[:, j] != j % 2)
        labels[own[:2]], numbers[own[0]] = (0, 1), 1
    return X, labels, numbers


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["logistic", "poisson", "squared_hinge", "hinge"])
def test_levels_that_the_sample_has_hardly_met_cost_no_scan(loss: str, tmp_path: Path) -> None:
    X, labels, numbers = _levels(30_000, (3, 8, 15))
    y = numbers if loss == "poisson" else labels
    rows = parquet(X, y, tmp_path)
    found, whole = dg.fit(rows, loss=loss, penalty="none"), dg.fit(X, y, loss=loss, penalty="none")
    assert found.converged and agrees(found, whole) and found.scans < 5.0
    assert found.certificate.recheck(rows).gap <= 1.01 * found.gap + 1e-12
    found.save(tmp_path / "model.json")
    again = dg.load(tmp_path / "model.json").certificate.recheck(rows)
    assert again.bound >= found.bound - 1e-9 * found.objective


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["logistic", "poisson", "exponential"])
def test_a_class_that_hardly_one_row_has(loss: str, tmp_path: Path) -> None:
    X, _, _ = drawn(30_000, seed=10)
    rng = np.random.default_rng(0)
    chance = np.exp(X[:, 0])
    y = np.zeros(len(X), dtype=int)
    y[rng.choice(len(X), 40, replace=False, p=chance / chance.sum())] = 1
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lam": 1e-4}
    found, whole = dg.fit(parquet(X, y, tmp_path), **asked), dg.fit(X, y, **asked)
    assert found.converged and agrees(found, whole) and found.scans < 7.0


@pytest.mark.usefixtures("small_blocks")
def test_before_the_first_scan_is_over_there_are_the_weights_of_a_sample(tmp_path: Path) -> None:
    X, _, labels = drawn(20_000, seed=11)
    rows = parquet(X, labels, tmp_path)
    for loss in ("logistic", "hinge"):
        with pytest.warns(dg.errors.NotCertifiedWarning, match="before the first scan was over"):
            found = dg.fit(rows, loss=loss, penalty="l2", lam=0.01, max_time=1e-9)
        whole = dg.fit(X, labels, loss=loss, penalty="l2", lam=0.01)
        assert found.relative_gap == np.inf and not found.converged
        assert np.mean(found.predict(X) == whole.predict(X)) > 0.9


@pytest.mark.parametrize(
    ("seed", "loss", "asked"),
    [
        (14, "hinge", {"penalty": "l1", "budget": 0.5}),
        (10, "poisson", {"penalty": "l2_norm", "budget": 5.8}),
        (9, "exponential", {"penalty": "none"}),
        (34, "gamma", {"penalty": "none"}),
    ],
)
def test_a_small_sample_costs_scans_and_no_answer(
    seed: int, loss: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Steps that go too far are made again, with more rows as they are or with more of their curvature."""
    for name, value in (("ALL", 0), ("ROWS", (100, 400, 1500)[seed % 3]), ("PER_COLUMN", 1), ("KINKED", 0)):
        monkeypatch.setattr(f"dualgap.streaming.sampling.{name}", value)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8000, 8))
    X[:, 0], X[:, 1], X[:, 2] = rng.random(8000) < 0.01, 50.0 * X[:, 1], X[:, 2] + 30.0
    z = np.clip(X[:, 3] + 0.5 * X[:, 4] + 2.0 * X[:, 0], -6.0, 6.0)
    y = taken(loss_named(loss), z + rng.standard_t(5, size=8000))
    if Trait.CLASSIFICATION in loss_named(loss).traits:
        y = (z + rng.logistic(size=8000) > 1.0) * 1
    found, whole = dg.fit(memory(X, y, tmp_path), loss=loss, **asked), dg.fit(X, y, loss=loss, **asked)
    assert found.converged and agrees(found, whole) and found.scans < 16.0
