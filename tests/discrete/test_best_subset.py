"""Best subset with the squared loss: equal to trying every subset, and honest where that is out of reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import dualgap as dg
from brute_force import Subsets, best_squares
from dualgap.arrays import Matrix, Vector
from dualgap.drive.trace import Record
from dualgap.errors import DataError, NoSolverError, NotCertifiedWarning

HEURISTICS = ("greedy_forward", "greedy_backward", "hard_thresholding")


def draw(seed: int, n: int, p: int = 7, noise: float = 1.0) -> tuple[Matrix, Vector, Vector]:
    """Correlated columns of very different size, repeated and dependent ones among them; ties; weights.

    Numbers have few digits, so that what depends does so exactly.
    """
    rng = np.random.default_rng(seed)
    X = np.round(1024.0 * (rng.normal(size=(n, p)) + (seed % 3) * rng.normal(size=(n, 1)))) / 1024.0
    y = X[:, 0] - X[:, 2] + 0.5 * X[:, p - 1] + noise * rng.normal(size=n)
    if seed % 4 == 1:
        X[:, 3] = X[:, 2] - 2.0 * X[:, 1]
    if seed % 4 == 2:
        X[:, 5], X[:, 4] = X[:, 1], 1.0
    if seed % 5 == 3:
        X, y = np.round(X), np.round(y)
    X = X * 8.0 ** rng.integers(-3, 4, p) + (seed % 2) * 3.0
    return X, y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("seed", range(48))
def test_equal_to_trying_every_subset(seed: int) -> None:
    X, y, weights = draw(seed, n=(30, 7, 15)[seed % 3])
    ridge, intercept = (0.0, 0.0, 0.1)[seed // 2 % 3], seed % 5 > 0
    always = (2,) if seed % 7 == 0 else ()
    factors = [0.0 if j in always else 1.0 for j in range(7)]
    price = (0.0, 0.05)[seed % 2] * float(y.var())
    limit = 99 if price else (2, 3, 5)[seed % 3]
    penalty = f"l0_l2({ridge})" if ridge else "l0"
    strength = {"lam": price} if price else {"budget": limit}
    rule = Subsets(price, limit, ridge * (price or 1.0), intercept, always)
    best = best_squares(X, y, weights, rule)
    found = dg.fit(
        X, y, loss="squared", penalty=penalty, fit_intercept=intercept, sample_weight=weights,
        penalty_factors=factors, **strength,
    )  # fmt: skip
    null = found.facts["null"]
    assert found.objective == pytest.approx(best, rel=1e-7, abs=1e-10 * null)
    assert found.converged and found.bound <= best + 1e-9 * max(best, 1e-4 * null)
    assert found.status.startswith("Proven")
    for solver in HEURISTICS:
        good = dg.fit(
            X, y, loss="squared", penalty=penalty, fit_intercept=intercept, sample_weight=weights,
            penalty_factors=factors, solver=solver, tol=1e9, **strength,
        )  # fmt: skip
        assert good.objective >= best - 1e-9 * max(best, 1e-4 * null)
        assert good.bound <= best + 1e-9 * max(best, 1e-4 * null)


@pytest.mark.parametrize("size", range(7))
def test_diabetes(size: int) -> None:
    X, y = load_diabetes(return_X_y=True)
    found = dg.fit(X, y, loss="squared", penalty="l0", budget=size)
    assert found.n_nonzero == size
    best = best_squares(X, y, np.ones(len(y)), Subsets(limit=size)) if size < 4 else found.objective
    assert found.objective == pytest.approx(best, rel=1e-10)
    again = found.certificate.recheck(X, y)
    assert again.objective == pytest.approx(found.objective, rel=1e-12)
    assert again.bound == pytest.approx(found.bound, rel=1e-9)
    assert found.certificate.theta is None


def wide(n: int, p: int, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, ::10][:, :4].sum(axis=1) + rng.normal(size=n)


def test_hard_instances_end_with_an_honest_gap() -> None:
    X, y = wide(60, 40)
    exact = dg.fit(X, y, loss="squared", penalty="l0", budget=6)
    assert exact.converged
    with pytest.warns(NotCertifiedWarning, match="iteration limit"):
        short = dg.fit(X, y, loss="squared", penalty="l0", budget=6, max_iter=1)
    assert not short.converged and short.n_iter == 1
    assert short.bound <= exact.objective <= short.objective
    assert short.relative_gap > 1e-6
    bounds = [record.bound for record in exact.trace]
    assert bounds == sorted(bounds) and max(bounds) <= exact.objective * (1 + 1e-12)


def test_more_columns_than_rows() -> None:
    X, y = wide(30, 500)
    with pytest.warns(NotCertifiedWarning, match="no useful bound"):
        found = dg.fit(X, y, loss="squared", penalty="l0", budget=8)
    assert found.bound == 0.0 and found.n_nonzero == 8
    proven = dg.fit(X, y, loss="squared", penalty="l0_l2(1.0)", budget=3)
    assert proven.converged


def test_few_columns_without_a_bound_are_enumerated() -> None:
    X, y = wide(8, 14)
    found = dg.fit(X, y, loss="squared", penalty="l0", budget=3)
    best = best_squares(X, y, np.ones(8), Subsets(limit=3))
    assert found.converged and found.objective == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("solver", ["auto", *HEURISTICS])
def test_room_for_all_and_room_for_none(solver: str) -> None:
    X, y = wide(50, 6)
    full = dg.fit(X, y, loss="squared", penalty="none")
    everything = dg.fit(X, y, loss="squared", penalty="l0", budget=6, solver=solver)
    assert everything.objective == pytest.approx(full.objective, rel=1e-9)
    nothing = dg.fit(X, y, loss="squared", penalty="l0", budget=0, solver=solver, tol=1e9)
    assert nothing.objective == pytest.approx(y.var(), rel=1e-12) and not nothing.coef.any()


def test_more_room_than_rank() -> None:
    X, y = wide(6, 12)
    found = dg.fit(X, y, loss="squared", penalty="l0", budget=8)
    assert found.converged and found.objective <= 1e-12 * y.var()


def test_rows_drawn_twice_weigh_double() -> None:
    X, y = wide(40, 12)
    times = np.random.default_rng(1).integers(1, 4, 40)
    weighted = dg.fit(X, y, loss="squared", penalty="l0", budget=4, sample_weight=times)
    repeated = dg.fit(np.repeat(X, times, 0), np.repeat(y, times), loss="squared", penalty="l0", budget=4)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-9)


def test_units_do_not_matter_without_a_square_and_standardize_settles_them_with_one() -> None:
    X, y = wide(40, 12)
    units = 10.0 ** np.arange(-6, 6)
    plain = dg.fit(X, y, loss="squared", penalty="l0", budget=4)
    scaled = dg.fit(X * units, y, loss="squared", penalty="l0", budget=4)
    np.testing.assert_allclose(scaled.coef * units, plain.coef, rtol=1e-7, atol=1e-12)
    one = dg.fit(X, y, loss="squared", penalty="l0_l2(0.1)", lam=0.2, standardize=True)
    other = dg.fit(X * units, y, loss="squared", penalty="l0_l2(0.1)", lam=0.2, standardize=True)
    np.testing.assert_allclose(other.coef * units, one.coef, rtol=1e-7, atol=1e-12)


def test_the_callback_sees_both_values_and_can_stop() -> None:
    X, y = wide(60, 40)
    seen: list[Record] = []

    def watch(record: Record) -> bool:
        seen.append(record)
        return len(seen) == 2

    with pytest.warns(NotCertifiedWarning, match="callback"):
        found = dg.fit(X, y, loss="squared", penalty="l0", budget=6, callback=watch)
    assert all(record.bound <= record.best for record in seen)
    assert found.objective == pytest.approx(seen[-1].best, rel=1e-12) and found.bound == seen[-1].bound


def test_interrupted_it_returns_what_it_has() -> None:
    X, y = wide(60, 40)

    def interrupt(record: Record) -> bool:
        raise KeyboardInterrupt

    with pytest.warns(NotCertifiedWarning, match="Interrupted"):
        found = dg.fit(X, y, loss="squared", penalty="l0", budget=6, callback=interrupt)
    assert found.n_nonzero == 6 and found.bound <= found.objective


def test_a_time_limit_is_kept() -> None:
    X, y = wide(80, 70)
    with pytest.warns(NotCertifiedWarning, match="time limit"):
        found = dg.fit(X, y, loss="squared", penalty="l0", budget=25, max_time=0.2)
    assert found.seconds < 5.0 and 0.0 < found.bound < found.objective


def test_solvers_by_object_and_refusals() -> None:
    X, y = wide(40, 12)
    found = dg.fit(
        X, y, loss="squared", penalty="l0", budget=3, solver=dg.discrete.BranchAndBound(seconds=9.0)
    )
    assert found.solver == "branch_and_bound"
    with pytest.raises(NoSolverError, match="not convex"):
        dg.fit(X, y, loss="squared", penalty="l0", budget=3, solver="newton")
    with pytest.raises(NoSolverError, match="branch_and_bound"):
        dg.fit(X, y, loss="squared", penalty="l0", budget=3, solver="arrangement")
    with pytest.raises(DataError, match="0 \\(always in\\) or 1"):
        dg.fit(X, y, loss="squared", penalty="l0", budget=3, penalty_factors=np.full(12, 0.5))
    assert {"branch_and_bound", "greedy_forward", "hitting_set", "newton"} <= set(dg.list_solvers())
    explained = dg.explain(X, y, loss="squared", penalty="l0", budget=3)
    assert explained.chosen == "branch_and_bound" and "greedy_backward" in str(explained)


def test_what_l0_l2_minimises() -> None:
    X, y = wide(40, 12)
    kept = dg.fit(X, y, loss="squared", penalty="l0_l2(0.5)", budget=3)
    residual = y - kept.predict(X)
    assert kept.objective == pytest.approx(np.mean(residual**2) + 0.5 * np.sum(kept.coef**2), rel=1e-12)
    paid = dg.fit(X, y, loss="squared", penalty="l0_l2(0.5)", lam=0.2)
    residual = y - paid.predict(X)
    expected = np.mean(residual**2) + 0.2 * (paid.n_nonzero + 0.5 * np.sum(paid.coef**2))
    assert paid.objective == pytest.approx(expected, rel=1e-12)
    assert "0.5 * (sum w_j^2) subject to #{w_j != 0} <= 3" in kept.summary()


def test_sizes_in_turn() -> None:
    from dualgap.discrete.subset.path import subset_path
    from dualgap.fitting.reading import read

    X, y = wide(60, 10)
    reading = read(X, y, loss="squared", penalty="l0", lam=1.0)
    problem = reading.terms.problem(reading.table.design, y)
    answers = subset_path(problem, range(11))
    values = [answer.bounds.primal for answer in answers]
    assert values == sorted(values, reverse=True) and all(answer.proven for answer in answers)
    assert values[3] == pytest.approx(best_squares(X, y, np.ones(60), Subsets(limit=3)), rel=1e-9)


def test_a_warm_start_is_never_worsened() -> None:
    X, y = wide(60, 40)
    exact = dg.fit(X, y, loss="squared", penalty="l0", budget=6)
    with pytest.warns(NotCertifiedWarning):
        warm = dg.fit(X, y, loss="squared", penalty="l0", budget=6, max_iter=1, warm_start=exact)
    assert warm.objective == pytest.approx(exact.objective, rel=1e-12)


def test_sparse_designs() -> None:
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10)) * (rng.random((60, 10)) < 0.3) + 0.0
    y = X[:, 0] - X[:, 3] + rng.normal(size=60)
    dense = dg.fit(X, y, loss="squared", penalty="l0", budget=3)
    sparse = dg.fit(sp.csr_array(X), y, loss="squared", penalty="l0", budget=3)
    np.testing.assert_allclose(sparse.coef, dense.coef, rtol=1e-8)


@pytest.mark.parametrize("penalty", ["l0", "l0_l2(0.3)"])
def test_many_columns_by_rows_of_the_gram_matrix(penalty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = wide(40, 60)
    X[:, 7] = 2.0
    for solver in ("greedy_forward", "hard_thresholding"):
        keywords: dict[str, Any] = {
            "penalty": penalty,
            "budget": 5,
            "solver": solver,
            "tol": 1e9,
        }
        monkeypatch.setattr("dualgap.discrete.subset.gram.WIDE", 10_000)
        narrow = dg.fit(X, y, loss="squared", **keywords)
        monkeypatch.setattr("dualgap.discrete.subset.gram.WIDE", 10)
        by_rows = dg.fit(X, y, loss="squared", **keywords)
        assert by_rows.objective <= narrow.objective * (1 + 1e-9) or solver == "hard_thresholding"
        assert by_rows.objective <= 1.05 * narrow.objective and by_rows.n_nonzero == 5
        assert by_rows.bound == 0.0
    monkeypatch.setattr("dualgap.discrete.subset.gram.LARGEST", 10)
    with pytest.warns(NotCertifiedWarning, match="Too many columns"):
        found = dg.fit(X, y, loss="squared", penalty=penalty, budget=5)
    assert found.objective == pytest.approx(by_rows.objective, rel=1e-12)


@pytest.mark.parametrize("solver", HEURISTICS)
@pytest.mark.parametrize("always", [0, 1, 2])
@pytest.mark.parametrize("shift", [0.0, 3.0, 1e4])
def test_weights_are_least_squares_on_the_set(shift: float, always: int, solver: str) -> None:
    """From the Gram matrix where it is good enough, from the data where it is not."""
    X, y, weights = draw(0, 40)
    X = X * np.array([1e-3, 1.0, 50.0, 1.0, 1.0, 7.0, 1.0]) + shift
    factors = np.repeat([1.0, 0.0], [7 - always, always])
    found = dg.fit(
        X, y + 5.0, loss="squared", penalty="l0", budget=3, penalty_factors=factors, sample_weight=weights,
        solver=solver, tol=1e9,
    )  # fmt: skip
    chosen = np.flatnonzero(found.coef)
    centred = X[:, chosen] - weights @ X[:, chosen] / weights.sum()
    root = np.sqrt(weights)
    expected = np.linalg.lstsq(centred * root[:, None], root * (y - weights @ y / weights.sum()), rcond=None)[
        0
    ]
    np.testing.assert_allclose(found.coef[chosen], expected, rtol=1e-8)
