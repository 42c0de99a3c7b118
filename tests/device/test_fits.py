"""Every cell that a device serves: the host's answer within both gaps, and a proof that the host takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from device.rows import LOSSES, PLACE, drawn, put, small_samples, targets, torch
from dualgap.errors import DataError, NotCertifiedWarning, UnboundedError
from dualgap.losses import Loss

__all__ = ["small_samples"]
OBJECTIVES: list[dict[str, Any]] = [
    {"penalty": "l2", "lam": 0.01},
    {"penalty": "l1", "lam": 0.02},
    {"penalty": "elastic_net(0.5)", "lam": 0.02, "fit_intercept": False},
    {"penalty": "none", "fit_intercept": False},
    {"penalty": "l2", "C": 0.03, "standardize": True, "penalty_factors": [1.0, 0.0, 2.0, 1.0, 1.0, 1.0]},
]


FACTORS = [1.0, 0.0, 2.0, 1.0, 0.5, 1.0]
WEIGHED: list[dict[str, Any]] = [
    {"penalty": "none"},
    {"penalty": "l1", "lam": 0.02, "penalty_factors": FACTORS},
    {"penalty": "elastic_net(0.3)", "C": 0.05, "standardize": True, "penalty_factors": FACTORS},
    {"penalty": "l2", "lam": 0.01, "standardize": True, "fit_intercept": False},
]


def agrees(one: Any, other: Any) -> bool:
    """Each objective is above the other's bound."""
    return bool(one.objective >= other.bound and other.objective >= one.bound)


@pytest.mark.parametrize("asked", OBJECTIVES, ids=lambda one: " ".join(map(str, one.values())))
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_cell_is_proven_there_and_again_on_the_host(loss: Loss, asked: dict[str, Any]) -> None:
    X, y, labels = drawn(800)
    y = targets(loss, y, labels)
    found, whole = dg.fit(put(X), put(y), loss=loss, **asked), dg.fit(X, y, loss=loss, **asked)
    assert found.converged and found.solver.startswith("resident"), found.status
    assert agrees(found, whole)
    assert isinstance(found.coef, np.ndarray)
    again = found.certificate.recheck(X, y)
    assert again.gap <= 1e-6 * again.objective
    assert abs(again.objective - found.objective) <= 1e-9 * found.objective


@pytest.mark.parametrize("asked", WEIGHED, ids=lambda one: " ".join(map(str, one.values())))
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_weighed_rows_of_four_bytes_are_proven_there_and_again(loss: Loss, asked: dict[str, Any]) -> None:
    X, y, labels = drawn(700, seed=31)
    X, y = X.astype(np.float32), targets(loss, y, labels)
    weight = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    found = dg.fit(put(X), put(y), loss=loss, sample_weight=put(weight), **asked)
    assert found.converged and found.solver.startswith("resident"), found.status
    assert agrees(found, dg.fit(X.astype(float), y, loss=loss, sample_weight=weight, **asked))
    again = found.certificate.recheck(X.astype(float), y)
    assert again.gap <= 1e-6 * again.objective
    assert abs(again.objective - found.objective) <= 1e-9 * found.objective


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber(1.0)", "hinge", "absolute", "quantile(0.3)"])
def test_more_rows_than_the_sample_has(loss: str, penalty: str) -> None:
    X, y, labels = drawn(6000, seed=3)
    y = labels if loss in ("logistic", "hinge") else y
    found = dg.fit(put(X), put(y), loss=loss, penalty=penalty, lam=0.01)
    assert found.converged and found.n_iter > 1
    assert agrees(found, dg.fit(X, y, loss=loss, penalty=penalty, lam=0.01))
    assert found.certificate.recheck(X, y).gap <= 1e-6 * found.objective


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("penalty", ["l2", "l1", "none"])
@pytest.mark.parametrize("loss", ["hinge", "quantile(0.9)", "epsilon_insensitive(0.5)"])
def test_kinks_are_found_in_a_few_passes(loss: str, penalty: str) -> None:
    X, y, labels = drawn(12_000, seed=20)
    y = labels if loss == "hinge" else y
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "sample_weight": weight}
    asked |= {} if penalty == "none" else {"lam": 1e-3}
    found = dg.fit(put(X), put(y), **asked)
    assert found.converged and found.solver == "resident band" and found.n_iter <= 5
    assert agrees(found, dg.fit(X, y, **asked))
    assert found.certificate.recheck(X, y).gap <= 1e-6 * found.objective


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_weights_count(loss: str) -> None:
    X, y, labels = drawn(2000, seed=4)
    y = y if loss == "squared" else labels
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    asked: dict[str, Any] = {"loss": loss, "C": 0.02, "penalty": "l2"}
    found = dg.fit(put(X), put(y), sample_weight=put(weight), **asked)
    assert found.converged and agrees(found, dg.fit(X, y, sample_weight=weight, **asked))
    assert found.certificate.recheck(X, y).gap <= 1e-6 * found.objective


@pytest.mark.parametrize("loss", ["squared", "logistic", "absolute"])
def test_four_byte_rows_are_what_they_are(loss: str) -> None:
    X, y, labels = drawn(2000, seed=5)
    y, X = (labels if loss == "logistic" else y), X.astype(np.float32)
    found = dg.fit(put(X), put(y), loss=loss, penalty="l2", lam=0.01)
    assert found.converged and agrees(found, dg.fit(X.astype(float), y, loss=loss, penalty="l2", lam=0.01))


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int8", "int32", "bool"])
def test_numbers_of_other_kinds_are_widened_exactly(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = drawn(900, seed=33)
    there = put(np.round(4.0 * X / np.abs(X).max(axis=0))).to(getattr(torch, kind))
    target = put(np.column_stack([y, y]))[:, 0]  # not side by side
    asked: dict[str, Any] = {"loss": "squared", "penalty": "l1", "lam": 0.05}
    found = dg.fit(there, target, **asked)
    here = there.to(torch.float64).cpu().numpy()
    assert found.converged and agrees(found, dg.fit(here, y, **asked))
    assert found.certificate.recheck(here, y).gap <= 1e-6 * found.objective
    monkeypatch.setattr("dualgap.device.arrivals.free_bytes", lambda place: float(there.numel() * 2))
    with pytest.raises(DataError, match="GiB"):
        dg.fit(there, target, **asked)


def test_arrays_of_the_host_are_taken_there_and_streamed_where_they_have_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, labels = drawn(2000, seed=6)
    whole = dg.fit(X, labels, loss="logistic", penalty="l2", lam=0.01)
    assert agrees(dg.fit(X, labels, loss="logistic", penalty="l2", lam=0.01, device=PLACE), whole)
    from dualgap.device import matrix

    streamed = matrix.HostMatrix(torch.from_numpy(X), torch.device(PLACE))
    monkeypatch.setattr(matrix, "held", lambda X, place=None: streamed)
    monkeypatch.setattr("dualgap.fitting.resident.held", lambda X, place=None: streamed)
    for loss, target in (("logistic", labels), ("absolute", y)):
        found = dg.fit(X, target, loss=loss, penalty="l2", lam=0.01, device=PLACE)
        assert found.converged and agrees(found, dg.fit(X, target, loss=loss, penalty="l2", lam=0.01))


@pytest.mark.parametrize("asked", WEIGHED[1:], ids=lambda one: " ".join(map(str, one.values())))
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "hinge", "quantile(0.3)"])
def test_rows_without_room_are_streamed(
    loss: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dualgap.device.matrix.stays", lambda tensor, place: False)
    monkeypatch.setattr("dualgap.device.matrix.free_bytes", lambda place: 10.0)
    monkeypatch.setattr("dualgap.device.matrix.LOT", 1 << 10)
    X, y, labels = drawn(9000, seed=32)
    X, y = X / np.abs(X).max(axis=0), {"logistic": labels, "hinge": labels, "poisson": np.abs(y)}.get(loss, y)
    weight = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    asked = {"loss": loss, "sample_weight": weight, **asked}
    found = dg.fit(X, y, device=PLACE, **asked)
    assert found.converged and found.solver.startswith("resident") and agrees(found, dg.fit(X, y, **asked))
    assert found.certificate.recheck(X, y).gap <= 1e-6 * found.objective


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_classes_one_against_the_rest(loss: str) -> None:
    X, y, _ = drawn(1500, seed=7)
    y = np.digitize(y, [-1.0, 1.0]) + 3
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lam": 0.01}
    found, whole = dg.fit(put(X), put(y), **asked), dg.fit(X, y, **asked)
    assert found.converged and agrees(found, whole)
    assert np.mean(found.predict(X) == whole.predict(X)) > 0.99
    assert found.certificate.recheck(X, y).gap <= 1e-6 * found.objective


def test_what_a_device_does_not_serve_is_solved_on_the_host() -> None:
    X, y, _ = drawn(300, seed=8)
    asked: dict[str, Any] = {"loss": "squared", "penalty": "linf", "lam": 0.1}
    found = dg.fit(put(X), put(y), **asked)
    assert found.converged and not found.solver.startswith("resident")
    assert np.array_equal(found.coef, dg.fit(X, y, **asked).coef)


def test_predictions_are_where_the_rows_are() -> None:
    X, _, labels = drawn(800, seed=9)
    found = dg.fit(put(X), put(labels), loss="logistic", penalty="l2", lam=0.01)
    for name in ("decision_function", "predict", "predict_proba"):
        there, here = getattr(found, name)(put(X)), getattr(found, name)(X)
        assert there.device.type == PLACE and np.allclose(there.cpu().numpy(), here, rtol=1e-12)
    with pytest.raises(DataError, match="columns"):
        found.predict(put(X[:, :3]))
    y = np.digitize(X[:, 0], [-1.0, 1.0]) * 2 + 5
    for target, loss in ((X[:, 0] + 1.0, "absolute"), (y, "squared_hinge"), (abs(X[:, 0]), "poisson")):
        found = dg.fit(put(X), put(target), loss=loss, penalty="l1", lam=0.01)
        there, here = found.predict(put(X)), found.predict(X)
        assert there.device.type == PLACE and np.allclose(there.cpu().numpy(), here, rtol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "absolute"])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_paths_are_proven_at_every_strength(loss: str, penalty: str) -> None:
    X, y, labels = drawn(1000, seed=10)
    y = labels if loss == "logistic" else y
    path = dg.path(put(X), put(y), loss=loss, penalty=penalty, n_lams=4, exact=False)
    assert np.all(path.gaps <= 1e-6)
    host = dg.path(X, y, loss=loss, penalty=penalty, lams=path.lams, exact=False)
    assert path.n_nonzero[0] <= 1 or penalty == "l2"
    for k, lam in enumerate(path.lams):
        found = path.solution(lam=lam)
        assert agrees(found, host.solution(lam=lam)), k
        again = found.certificate.recheck(X, y)
        assert again.gap <= 1e-6 * again.objective
        assert abs(again.objective - found.objective) <= 1e-9 * found.objective


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("penalty", ["l2", "elastic_net(0.5)"])
@pytest.mark.parametrize("loss", ["squared", "poisson", "squared_hinge", "huber(1.0)", "exponential"])
def test_strengths_together_are_what_each_is_alone(loss: str, penalty: str) -> None:
    X, y, labels = drawn(3000, seed=21)
    X = X / np.abs(X).max(axis=0)
    y = {"poisson": np.round(np.abs(y)), "squared_hinge": labels, "exponential": labels}.get(loss, y)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "sample_weight": put(weight)}
    lams = [1.0, 0.1, 1e-2, 1e-3, 1e-5]
    for tied in (True, False):
        path = dg.path(put(X), put(y), lams=lams, exact=False, fit_intercept=tied, **asked)
        assert np.all(path.gaps <= 1e-6)
        for lam in lams:
            alone = dg.fit(put(X), put(y), lam=lam, fit_intercept=tied, **asked)
            assert agrees(path.solution(lam=lam), alone)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber(1.0)", "gamma", "hinge", "quantile(0.3)"])
def test_cross_validation_is_that_of_rows_in_blocks(loss: str, penalty: str) -> None:
    X, y, labels = drawn(1200, seed=11)
    X, y = (
        X / np.abs(X).max(axis=0),
        {"logistic": labels, "hinge": labels, "gamma": abs(y) + 0.1}.get(loss, y),
    )
    lams = [0.3, 0.03, 0.003]
    found = dg.cross_validate(put(X), put(y), loss=loss, penalty=penalty, lams=lams, cv=3)
    other = dg.cross_validate(dg.dataset(X, y), loss=loss, penalty=penalty, lams=lams, cv=3)
    assert np.allclose(found.scores, other.scores, rtol=2e-3) and np.all(found.gaps <= 1e-6)
    assert found.solution.converged


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_models_are_saved_and_verified_against_the_rows(loss: str, tmp_path: Path) -> None:
    X, _, labels = drawn(1200, seed=12)
    found = dg.fit(put(X), put(labels), loss=loss, penalty="l1", lam=0.01)
    again = dg.load(found.save(tmp_path / "model.dualgap"))
    assert np.array_equal(again.coef, found.coef)
    assert again.certificate.recheck(X, labels).gap <= 1e-6 * found.objective


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "hinge"])
def test_false_claims_are_rejected(loss: str) -> None:
    X, y, labels = drawn(1000, seed=13)
    y = labels if loss in ("logistic", "hinge") else np.abs(y)
    found = dg.fit(put(X), put(y), loss=loss, penalty="l1", lam=0.02)
    proof = found.certificate
    best = dg.fit(X, y, loss=loss, penalty="l1", lam=0.02, tol=1e-9).objective
    rule = replace(proof.theta, w=proof.theta.w + 0.3)
    for claim in (
        replace(proof, coef=proof.coef + 0.1),
        replace(proof, bound=proof.objective * 2.0),
        replace(proof, theta=rule),
        replace(proof, theta=None),
    ):
        for rows in ((X, y), (put(X), put(y))):
            said = claim.recheck(*rows)
            assert said.objective >= best * (1.0 - 1e-9) and said.bound <= best * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"device": "nonsense"}, "no name of a device"),
        ({"device": "cuda:77"}, "device"),
        ({"sample_weight": [1.0]}, "one number for each"),
        ({"penalty_factors": [1.0]}, "penalty_factors"),
        ({"lam": -1.0}, "lam"),
        ({"lam": None}, "exactly one strength"),
    ],
)
def test_bad_wishes_are_said(asked: dict[str, Any], words: str) -> None:
    X, y, _ = drawn(50)
    with pytest.raises(DataError, match=words):
        dg.fit(put(X), put(y), **{"loss": "squared", "penalty": "l2", "lam": 0.1, **asked})


def test_bad_rows_are_named() -> None:
    X, y, labels = drawn(60)
    broken = X.copy()
    broken[17, 3] = np.nan
    with pytest.raises(DataError, match=r"column 3.*row 18"):
        dg.fit(put(broken), put(y), loss="squared", penalty="l2", lam=0.1)
    with pytest.raises(DataError, match="row 5"):
        dg.fit(put(X), put(np.where(np.arange(60) == 5, np.nan, y)), loss="squared", penalty="l2", lam=0.1)
    with pytest.raises(DataError, match="one class"):
        dg.fit(put(X), put(labels * 0), loss="logistic", penalty="l2", lam=0.1)
    with pytest.raises(DataError, match="60 rows"):
        dg.fit(put(X), put(y[:20]), loss="squared", penalty="l2", lam=0.1)


@pytest.mark.parametrize("penalty", ["l2", "l2_norm"])
def test_what_holds_no_real_numbers_is_refused(penalty: str) -> None:
    """On the device, and where the host solves it: a cast would leave imaginary parts out unseen."""
    X, y, _ = drawn(60)
    asked: dict[str, Any] = {"loss": "squared", "penalty": penalty, "lam": 0.1}
    for rows, target, words in (
        (put(X + 1j), put(y), "Complex"),
        (put(X), put(y + 1j), "Complex"),
        (put(X), y + 1j, "Complex"),
        (put(X)[:0], put(y)[:0], "0"),
        (put(X)[:, :0], put(y), "0"),
        (put(X).to("meta"), put(y), "no numbers"),
    ):
        with pytest.raises(DataError, match=words):
            dg.fit(rows, target, **asked)
    with pytest.raises(DataError, match="Complex"):
        dg.fit(put(X), put(y), sample_weight=put(np.ones(60) + 1j), **asked)


def test_tensors_of_every_sort_are_rechecked() -> None:
    """With gradients, of two bytes, sparse, targets as a column; by the device's proof and the host's."""
    X, y, _ = drawn(60)
    for penalty in ("l2", "l2_norm"):
        asked: dict[str, Any] = {"loss": "squared", "penalty": penalty, "lam": 0.1}
        for rows in (put(X).requires_grad_(), put(X).to(torch.bfloat16), put(X).to_sparse()):
            for target in (put(y), put(y)[:, None]):
                found = dg.fit(rows, target, **asked)
                again = found.certificate.recheck(rows, target)
                assert found.converged and agrees(found, again)


@pytest.mark.parametrize("far", [1e4, 1e8])
def test_counts_of_columns_far_from_zero_are_fitted(far: float) -> None:
    """Where a step over the rows of the device ends in infinity, the host goes on."""
    X, y, _ = drawn(300)
    X, y = X + far, np.abs(np.round(y))
    asked: dict[str, Any] = {"loss": "poisson", "penalty": "l2", "lam": 0.01}
    found, whole = dg.fit(put(X), put(y), **asked), dg.fit(X, y, **asked)
    assert found.converged and agrees(found, whole)


def test_targets_that_are_all_alike_are_proven_or_refused() -> None:
    X, y, _ = drawn(60)
    found = dg.fit(put(X), put(np.full(60, y[0])), loss="squared", penalty="l2", lam=0.1)
    assert found.converged
    with pytest.raises(UnboundedError):
        dg.fit(put(X), put(0.0 * y), loss="poisson", penalty="l2", lam=0.1)
    found = dg.fit(put(X), put(0.0 * y), loss="poisson", penalty="l2", lam=0.1, fit_intercept=False)
    assert found.converged and agrees(
        found, dg.fit(X, 0.0 * y, loss="poisson", penalty="l2", lam=0.1, fit_intercept=False)
    )


def test_a_device_without_room_is_refused_in_gibibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = drawn(100)
    monkeypatch.setattr("dualgap.device.arrivals.free_bytes", lambda place: 10.0)
    with pytest.raises(DataError, match="GiB"):
        dg.fit(put(X), put(y), loss="squared", penalty="l2", lam=0.1)


def test_limits_and_callbacks_hold() -> None:
    X, _, labels = drawn(1500, seed=14)
    seen: list[Any] = []
    with pytest.warns(NotCertifiedWarning):
        dg.fit(
            put(X),
            put(labels),
            loss="logistic",
            penalty="l1",
            lam=1e-4,
            tol=1e-13,
            max_iter=2,
            callback=seen.append,
        )
    assert 1 <= len(seen) <= 2


@pytest.mark.parametrize("sparse", [False, True])
def test_arrays_of_cupy(sparse: bool) -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    X, _, labels = drawn(1500, seed=15)
    there = cupy.asarray(X)
    if sparse:
        there = pytest.importorskip("cupyx.scipy.sparse").csr_matrix(there)
    asked: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "lam": 0.01}
    found = dg.fit(there, cupy.asarray(labels), **asked)
    assert found.converged and agrees(found, dg.fit(X, labels, **asked))
    assert found.solver.startswith("resident") or sparse
    if not sparse:
        assert np.allclose(cupy.asnumpy(found.decision_function(there)), found.decision_function(X))


@pytest.mark.parametrize("asked", [{}, {"fit_intercept": False}, {"penalty_factors": True}], ids=str)
@pytest.mark.parametrize("penalty", ["l1", "elastic_net(0.5)"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber(1.0)", "squared_hinge"])
def test_many_more_columns_than_rows(loss: str, penalty: str, asked: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(90, 1500)) + 0.5 * rng.normal(size=(90, 1))
    z = X[:, :5] @ np.array([2.0, -1.0, 1.0, 0.5, -0.5]) + 1.0
    y = z + rng.standard_t(4, size=90) if loss in ("squared", "huber(1.0)") else np.where(z > 0.0, 1, 0)
    if "penalty_factors" in asked:
        asked = {"penalty_factors": np.append(0.0, rng.uniform(0.5, 2.0, size=1499))}
    asked = {"loss": loss, "penalty": penalty, "lam": 0.1, **asked}
    found, whole = dg.fit(put(X), put(y), **asked), dg.fit(X, y, **asked)
    assert found.converged and found.solver == "resident columns"
    assert agrees(found, whole)
    assert found.certificate.recheck(X, y).gap <= 1e-6 * found.objective


def test_more_columns_with_weights_than_rows_are_taken_in() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 3000))
    y = X[:, :200] @ rng.normal(size=200) + rng.normal(size=300)
    weight = rng.integers(0, 3, size=300).astype(float)
    asked: dict[str, Any] = {"loss": "squared", "penalty": "l1", "lam": 0.05}
    found = dg.fit(put(X), put(y), sample_weight=put(weight), **asked)
    assert found.converged and found.solver == "resident columns" and found.n_nonzero > 150
    assert agrees(found, dg.fit(X, y, sample_weight=weight, **asked))


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_hundreds_of_columns_with_a_price(loss: str) -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(4000, 300)) + 0.5 * rng.normal(size=(4000, 1))
    z = X[:, :20] @ rng.normal(size=20)
    y = z + rng.normal(size=4000) if loss == "squared" else np.where(z + rng.logistic(size=4000) > 0.0, 1, 0)
    factors = np.append(0.0, rng.uniform(0.5, 2.0, size=299))
    asked: dict[str, Any] = {"loss": loss, "penalty": "l1", "lam": 0.02, "penalty_factors": factors}
    found = dg.fit(put(X), put(y), **asked)
    assert found.converged and found.solver == "resident passes" and 0 < found.n_nonzero < 250
    assert agrees(found, dg.fit(X, y, **asked))
    assert found.certificate.recheck(X, y).gap <= 1e-6 * found.objective


@pytest.mark.parametrize("penalty", ["l1", "elastic_net(0.5)"])
@pytest.mark.parametrize("loss", ["huber(0.3)", "squared_hinge"])
@pytest.mark.parametrize("p", [120, 700])
def test_fewer_rows_with_curvature_than_columns_with_a_weight(p: int, loss: str, penalty: str) -> None:
    rng = np.random.default_rng(27)
    X = rng.normal(size=(25, p))
    y = rng.normal(size=25) + rng.standard_t(3, size=25)
    y = np.sign(y) if loss == "squared_hinge" else y
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "lam": 0.1}
    found = dg.fit(put(X), y, **asked)
    assert found.converged and agrees(found, dg.fit(X, y, **asked))
    path = dg.path(put(X), y, loss=loss, penalty=penalty, lams=[0.2, 0.1], exact=False)
    assert agrees(path.solution(lam=0.1), found)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("asked", WEIGHED, ids=lambda one: " ".join(map(str, one.values())))
@pytest.mark.parametrize("loss", ["logistic", "huber(1.0)"])
def test_the_metric_of_a_pass_is_made_part_by_part(
    loss: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dualgap.device.matrix.TILE", 256)
    monkeypatch.setattr("dualgap.device.matrix.GATHERED", 1 << 14)
    monkeypatch.setattr("dualgap.device.matrix.ROUGH", 3)  # 4-byte products
    X, y, labels = drawn(7000, seed=5)
    y = labels if loss == "logistic" else y
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    found = dg.fit(put(X), put(y), loss=loss, sample_weight=put(weight), **asked)
    assert found.converged and found.solver == "resident passes"
    assert agrees(found, dg.fit(X, y, loss=loss, sample_weight=weight, **asked))


def test_weights_and_labels_of_any_kind() -> None:
    X, _, labels = drawn(300)
    asked: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "lam": 0.01}
    whole = dg.fit(X, labels, **asked)
    for weight in (2.0, np.full((300, 1), 2.0), put(np.full((300, 1), 2.0))):
        assert agrees(dg.fit(put(X), labels, sample_weight=weight, **asked), whole)
    found = dg.fit(put(X), put(labels).to(torch.bfloat16), **asked)
    assert agrees(found, whole) and np.array_equal(found.classes, [0.0, 1.0])
    with pytest.raises(DataError, match="sample_weight"):
        dg.fit(put(X), labels, sample_weight=["much"] * 300, **asked)


def test_classes_that_are_fitted_jointly_are_the_hosts() -> None:
    X, _, _ = drawn(300)
    y = np.random.default_rng(0).integers(0, 3, size=300)
    asked: dict[str, Any] = {"loss": "hinge", "penalty": "l2", "lam": 0.1}
    found = dg.fit(put(X), y, multiclass="crammer_singer", **asked)
    assert agrees(found, dg.fit(X, y, multiclass="crammer_singer", **asked))
    with pytest.raises(DataError, match="one_vs_rest"):
        dg.fit(put(X), y, multiclass="ovr", **asked)
