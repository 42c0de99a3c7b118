"""A row given twice is a row of twice the weight: merged for the solvers, shared out in the certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualgap as dg
from cases import DESIGNS, FORMS, problem
from dualgap.arrays import Index
from dualgap.problem.problem import Problem
from dualgap.problem.repeated import Merged, equal_rows, reduced


def _repeated(form: str = "penalised", design: str = "dense-ones") -> tuple[Problem, Index]:
    plain = problem(dg.losses.Huber(), dg.penalties.L1(), form, seed=3, design=design.removesuffix("-ones"))
    rng = np.random.default_rng(0)
    which = rng.permutation(np.repeat(np.arange(plain.n), rng.integers(1, 4, plain.n)))
    a = rng.uniform(0.5, 1.5, len(which))
    return replace(plain, design=plain.design.rows(which), y=plain.y[which], a=a / a.sum()), which


@pytest.mark.parametrize("design", DESIGNS)
def test_groups_are_the_rows_that_were_repeated(design: str) -> None:
    asked, which = _repeated(design=design)
    first, group = equal_rows(asked)
    assert len(first) == len(np.unique(which))
    assert np.all(np.diff(first) > 0)
    np.testing.assert_array_equal(which[first][group], which)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, 1e-9, 1e9]), st.sampled_from([-1.0, 1.0])), min_size=1))
def test_rows_are_merged_only_if_every_number_is_equal(rows: list[tuple[float, float]]) -> None:
    table = np.array(rows)
    plain = problem(dg.losses.Hinge(), dg.penalties.L2(), "penalised", seed=0, intercept=False)
    shares = np.full(len(rows), 1.0 / len(rows))
    asked = replace(plain, design=DESIGNS["dense"](table[:, :1]), y=table[:, 1], a=shares)
    first, group = equal_rows(asked)
    assert len(first) == len(set(rows))
    np.testing.assert_array_equal(table[first][group], table)


@pytest.mark.parametrize("form", FORMS)
def test_dual_points_keep_their_value(form: str) -> None:
    asked, _ = _repeated(form)
    working = reduced(asked)
    assert isinstance(working, Merged) and working.problem.n < asked.n
    inner = working.problem
    theta, _ = inner.feasible(inner.slope(inner.predict(inner.null_weights)))
    spread, _ = asked.feasible(working.theta(theta))
    assert asked.dual(spread) == pytest.approx(inner.dual(theta) * working.objective_unit, rel=1e-9)
    np.testing.assert_allclose(working.working_theta(spread), theta, rtol=1e-9, atol=1e-15)


def test_distinct_rows_are_left_alone() -> None:
    plain = problem(dg.losses.Squared(), dg.penalties.L2(), "penalised", seed=1)
    assert not isinstance(reduced(plain), Merged)


@pytest.mark.parametrize("loss", ["absolute", "hinge", "epsilon_insensitive(0.1)", "exponential"])
@pytest.mark.parametrize("penalty", ["l1", "linf", "l2"])
def test_weights_and_repetitions_give_the_same_weights(loss: str, penalty: str) -> None:
    rng = np.random.default_rng(5)
    X, times = rng.normal(size=(20, 30)), rng.integers(0, 4, 20)
    y = np.where(rng.random(20) < 0.5, 1.0, -1.0)
    weighted = dg.fit(X, y, loss=loss, penalty=penalty, C=1.0, sample_weight=times)
    Xr, yr = X.repeat(times, axis=0), y.repeat(times)
    repeated = dg.fit(Xr, yr, loss=loss, penalty=penalty, C=1.0)
    np.testing.assert_allclose(repeated.coef, weighted.coef, rtol=1e-7, atol=1e-9)
    checked = repeated.certificate.recheck(Xr, yr)
    assert checked.bound == pytest.approx(repeated.bound, rel=1e-12)
    assert checked.objective - checked.bound <= 1e-6 * max(abs(checked.objective), 1e-4)
