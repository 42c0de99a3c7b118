"""The zero_one loss: equal to trying every set of rows, with ties, repeated rows, weights and penalties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dualgap as dg
from brute_force import fewest_errors
from dualgap.arrays import Matrix, Vector
from dualgap.errors import NotCertifiedWarning

EXACT = ("arrangement", "hitting_set")


def draw(seed: int) -> tuple[Matrix, Vector, Vector]:
    rng = np.random.default_rng(seed)
    n, p = (7, 8, 9)[seed % 3], (1, 2, 3, 4)[seed % 4]
    X = rng.normal(size=(n, p))
    if seed // 2 % 3 == 0:
        X = rng.integers(0, 3, (n, p)).astype(float)
    elif seed // 2 % 3 == 1:
        X = np.round(X, 1)
    if seed % 5 == 1 and p > 1:
        X[:, 1] = 2.0 * X[:, 0]
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X * 10.0 ** (seed % 7 - 3), y, rng.integers(1, 4, n).astype(float) if seed % 2 else np.ones(n)


@pytest.mark.parametrize("seed", range(36))
def test_equal_to_trying_every_set_of_rows(seed: int) -> None:
    X, y, weights = draw(seed)
    intercept = seed % 7 > 1
    best = fewest_errors(X, y, weights, intercept=intercept)
    for solver in EXACT:
        found = dg.fit(
            X,
            y,
            loss="zero_one",
            penalty="none",
            solver=solver,
            fit_intercept=intercept,
            sample_weight=weights,
        )
        assert found.objective == pytest.approx(best, abs=1e-12)
        assert found.converged and found.bound == pytest.approx(best, abs=1e-6 * max(best, 1e-4))
        wrong = (y * found.decision_function(X) <= 0.0) @ weights / weights.sum()
        assert wrong == pytest.approx(found.objective, abs=1e-12)
    near = dg.fit(
        X, y, loss="zero_one", penalty="none", solver="local_planes", fit_intercept=intercept,
        sample_weight=weights, tol=1e9,
    )  # fmt: skip
    assert near.objective >= best - 1e-12 >= near.bound - 2e-12


def overlapping(n: int, p: int, seed: int = 1) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, p))
    X[:, 0] += 1.28 * y
    return X, y


@pytest.mark.parametrize(("n", "p", "errors"), [(100, 4, 4), (100, 5, 1)])
def test_few_errors_in_several_dimensions(n: int, p: int, errors: int) -> None:
    X, y = overlapping(n, p)
    found = dg.fit(X, y, loss="zero_one", penalty="none")
    assert found.converged and round(found.objective * n) == errors


@pytest.mark.parametrize(("n", "p"), [(100, 2), (60, 3), (30, 4)])
def test_both_ways_agree_on_larger_data(n: int, p: int) -> None:
    X, y = overlapping(n, p)
    first, second = (dg.fit(X, y, loss="zero_one", penalty="none", solver=solver) for solver in EXACT)
    assert first.converged and second.converged
    assert first.objective == pytest.approx(second.objective, abs=1e-12)


def test_a_grid_of_repeated_rows() -> None:
    """Every plane through two of these points goes through others: nothing is in general position."""
    rng = np.random.default_rng(0)
    X = np.array(list(itertools.product(range(3), range(3)))).repeat(6, axis=0).astype(float)
    y = np.where(X.sum(axis=1) + rng.normal(size=54) > 2.0, 1.0, -1.0)
    results = {dg.fit(X, y, loss="zero_one", penalty="none", solver=solver).objective for solver in EXACT}
    assert len({round(value, 12) for value in results}) == 1


def test_the_gap_is_honest_when_time_is_short() -> None:
    X, y = overlapping(300, 8, seed=3)
    y = np.where(np.random.default_rng(0).random(300) < 0.3, -y, y)
    with pytest.warns(NotCertifiedWarning, match="time limit"):
        found = dg.fit(X, y, loss="zero_one", penalty="none", max_time=1.0)
    assert 0.0 < found.bound < found.objective


@pytest.mark.parametrize(
    "penalty", ["l1", "l2", "l2_norm", "linf", "elastic_net(0.5)", "lp(0.5)", "bridge(0.5)"]
)
def test_a_penalty_can_be_shrunk_away(penalty: str) -> None:
    X, y = overlapping(40, 2)
    plain = dg.fit(X, y, loss="zero_one", penalty="none")
    paid = dg.fit(X, y, loss="zero_one", penalty=penalty, lam=10.0)
    assert paid.converged and "not attained" in paid.status
    assert paid.bound == pytest.approx(plain.objective, abs=1e-9)
    assert plain.objective < paid.objective <= plain.objective * (1 + 1e-6)
    kept = dg.fit(X, y, loss="zero_one", penalty=penalty, budget=1e-3)
    assert kept.converged and kept.objective == pytest.approx(plain.objective, abs=1e-12)
    none = dg.fit(X, y, loss="zero_one", penalty=penalty, budget=0)
    assert none.objective == pytest.approx(0.5) and not none.coef.any()


@pytest.mark.parametrize("seed", range(6))
def test_with_a_count_of_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 3))
    y = np.where(np.arange(8) % 2 == 0, 1.0, -1.0)
    errors = {
        chosen: fewest_errors(X[:, list(chosen)], y, np.ones(8))
        for size in range(4)
        for chosen in itertools.combinations(range(3), size)
    }
    kept = dg.fit(X, y, loss="zero_one", penalty="l0", budget=2)
    assert kept.converged
    assert kept.objective == pytest.approx(min(e for c, e in errors.items() if len(c) <= 2), abs=1e-12)
    paid = dg.fit(X, y, loss="zero_one", penalty="l0", lam=0.05)
    assert paid.objective == pytest.approx(min(e + 0.05 * len(c) for c, e in errors.items()), abs=1e-12)
    assert paid.bound <= paid.objective and paid.converged


def test_any_two_labels() -> None:
    X, y = overlapping(30, 2)
    words = np.where(y > 0, "yes", "no")
    found = dg.fit(X, words, loss="zero_one", penalty="none")
    assert np.mean(found.predict(X) != words) == pytest.approx(found.objective, abs=1e-12)
    assert found.certificate.recheck(X, words).bound == pytest.approx(found.bound, abs=1e-9)
