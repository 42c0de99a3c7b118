"""All classes jointly: agreement with scikit-learn and with the general solvers, on tables of every kind."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import dualgap as dg
from dualgap.drive.limits import Limits
from dualgap.fitting.joint import JointFits
from dualgap.fitting.reading import read

SECOND = {"l2": "multinomial_lagrangian", "l1": "multinomial_interior_point"}


def drawn(n: int, p: int, classes: int, seed: int = 0, scale: float = 1.0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, p))
    scores = X @ (scale * random.standard_normal((p, classes))) + random.gumbel(size=(n, classes))
    y = np.argmax(scores, axis=1)
    y[:classes] = np.arange(classes)
    return X, y


@given(
    n=st.integers(20, 80),
    p=st.integers(1, 30),
    classes=st.integers(3, 7),
    seed=st.integers(0, 10**6),
    lam=st.sampled_from([1e-6, 1e-3, 0.1, 10.0]),
    penalty=st.sampled_from(["l2", "l1", "elastic_net(0.5)"]),
    flags=st.tuples(st.booleans(), st.booleans()),
)
def test_the_fast_solvers_find_what_the_general_one_finds(
    n: int, p: int, classes: int, seed: int, lam: float, penalty: str, flags: tuple[bool, bool]
) -> None:
    intercept, scaled = flags
    X, y = drawn(n, p, classes, seed)
    random = np.random.default_rng(seed)
    X = X * np.exp(random.uniform(-4, 4, p)) + random.uniform(-3, 3, p) if scaled else X
    how: dict[str, Any] = {
        "loss": "logistic",
        "penalty": penalty,
        "lam": lam,
        "fit_intercept": intercept,
        "sample_weight": random.uniform(0.2, 3.0, n),
        "penalty_factors": random.uniform(0.5, 2.0, p),
    }
    found = dg.fit(X, y, **how)
    assert found.converged
    assert found.solver == ("multinomial_newton" if penalty == "l2" else "multinomial_working_set")
    other = dg.fit(X, y, solver=SECOND.get(penalty, SECOND["l1"]), **how)
    size = max(other.objective, 1e-4 * np.log(classes))
    assert found.bound <= other.objective + 1e-9 * size
    assert abs(found.objective - other.objective) <= 2.1e-6 * size
    again = found.certificate.recheck(X, y)
    assert again.bound == pytest.approx(found.bound, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("lam", [1e-1, 1e-4])
@pytest.mark.parametrize(("n", "p", "classes"), [(400, 13, 40), (300, 60, 5), (40, 200, 4), (3000, 3, 3)])
def test_squares_agree_with_scikit_learn(n: int, p: int, classes: int, lam: float) -> None:
    X, y = drawn(n, p, classes, scale=0.5)
    weights = np.random.default_rng(1).integers(1, 4, n).astype(float)
    C = 1.0 / (2.0 * lam * weights.sum())
    model = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=weights)
    for table in (X, sp.csr_array(X)):
        found = dg.fit(
            table, y, loss="logistic", penalty="l2", lam=lam, sample_weight=weights, tol=1e-10, max_time=60
        )
        assert found.converged
        assert found.solver == "multinomial_newton"
        np.testing.assert_allclose(found.coef, model.coef_, atol=2e-3 * np.abs(model.coef_).max())
        np.testing.assert_allclose(found.predict_proba(table), model.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net(0.1)"])
@pytest.mark.parametrize("lam", [1e-2, 1e-5, 1e-8])
def test_separable_classes(penalty: str, lam: float) -> None:
    X, y = drawn(120, 3, 4)
    X = X + 6.0 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])[y]
    found = dg.fit(X, y, loss="logistic", penalty=penalty, lam=lam)
    assert found.converged
    assert np.all(found.predict(X) == y)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_sparse_and_wide_tables(penalty: str) -> None:
    random = np.random.default_rng(3)
    X = sp.random(150, 900, density=0.03, format="csr", random_state=random)
    y = np.asarray(np.argmax(X @ random.standard_normal((900, 5)), axis=1))
    found = dg.fit(X, y, loss="logistic", penalty=penalty, lam=1e-3)
    full = dg.fit(X.toarray(), y, loss="logistic", penalty=penalty, lam=1e-3)
    assert found.converged
    assert full.converged
    assert found.objective == pytest.approx(full.objective, rel=2e-6)
    if penalty == "l1":
        assert 0 < np.count_nonzero(found.coef) < 0.2 * found.coef.size


def test_many_rows_start_on_a_sample() -> None:
    X, y = drawn(6000, 4, 5)
    for penalty in ("l2", "l1"):
        found = dg.fit(X, y, loss="logistic", penalty=penalty, lam=1e-3)
        few = dg.fit(X, y, loss="logistic", penalty=penalty, lam=1e-3, solver=SECOND[penalty])
        assert found.objective == pytest.approx(few.objective, rel=2e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
def test_broad_tables_learn_from_their_steps(tol: float, intercept: bool) -> None:
    """More than a hundred columns, classes some rare and some all alone; alone, and one after another."""
    X, y = drawn(600, 110, 6, scale=0.2)
    y = np.maximum(y - 2, 0)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(y))
    how: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "tol": tol, "fit_intercept": intercept}
    for lam in (0.1, 1e-3, 1e-6):
        found = dg.fit(X, y, lam=lam, sample_weight=weights, **how)
        assert found.converged
        assert found.certificate.recheck(X, y).bound == pytest.approx(found.bound, rel=1e-9)
    assert np.all(dg.path(X, y, sample_weight=weights, n_lams=12, **how).gaps <= tol)


def test_at_the_largest_strength_no_weight() -> None:
    X, y = drawn(100, 5, 4)
    found = dg.fit(X, y, loss="logistic", penalty="l1", lam=10.0)
    assert found.converged
    assert not found.coef.any()


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net(0.5)", "linf"])
def test_a_class_without_rows_in_a_fold(penalty: str) -> None:
    """Its probability goes to nothing, and the others are fitted as if it were not there."""
    X, y = drawn(90, 4, 3)
    reading = read(X, y, loss="logistic", penalty=penalty, lam=0.01)
    keep = y != 2
    part = dataclasses.replace(
        reading,
        table=dataclasses.replace(reading.table, design=reading.table.design.rows(keep)),
        terms=dataclasses.replace(reading.terms, sample_weight=reading.terms.sample_weight[keep]),
        y=reading.y[keep],
    )
    found = JointFits(part, "auto", Limits(1e-6)).fit(0.01, None)
    assert found.converged
    assert np.all(np.isfinite(found.coef))


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_points_of_a_path_are_fits(penalty: str) -> None:
    X, y = drawn(200, 8, 6)
    path = dg.path(X, y, loss="logistic", penalty=penalty, n_lams=12)
    assert np.all(path.gaps <= 1e-6)
    for k in (0, 5, 11):
        alone = dg.fit(X, y, loss="logistic", penalty=penalty, lam=float(path.lams[k]), tol=1e-9)
        assert path.objectives[k] == pytest.approx(alone.objective, rel=2e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lam", [1e-3, 0.1])
def test_two_solvers_of_the_joint_hinge_prove_one_optimum(weighted: bool, lam: float) -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 8)), rng.integers(0, 4, 60)
    X[:, 3] = 0.0
    X[:5] = 0.0  # rows that say nothing
    asked: dict[str, Any] = {"loss": "hinge", "penalty": "l2", "lam": lam, "multiclass": "crammer_singer"}
    asked |= {"fit_intercept": False, "sample_weight": rng.integers(0, 3, 60) if weighted else None}
    found = [dg.fit(X, y, solver=name, **asked) for name in ("joint_hinge_ascent", "joint_hinge_lagrangian")]
    assert all(one.converged for one in found)
    assert found[0].bound <= found[1].objective and found[1].bound <= found[0].objective
    assert found[0].coef == pytest.approx(found[1].coef, abs=2.0 * np.sqrt(1e-6 / lam))
