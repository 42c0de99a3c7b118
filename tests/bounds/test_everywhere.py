"""Bounds and constraints wherever users type them, what is refused, and what is told of it."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.cli.main import main
from dualgap.errors import DataError, InfeasibleError, NoSolverError
from dualgap.files.verification import examine
from dualgap.proof.constraints import Constraints, contradicts

RNG = np.random.default_rng(5)
X = pd.DataFrame(RNG.normal(size=(80, 4)), columns=list("abcd"))
Y = X.to_numpy() @ [1.0, -0.5, 0.3, 0.0] + 0.3 * RNG.normal(size=80)
A = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 0.0, 0.0]])
ROWS: Any = (A, [0.5, None], [0.5, 0.2])
ASKED: dict[str, Any] = dict(loss="squared", penalty="l1", lam=0.05)
HELD: list[dict[str, Any]] = [
    {"bounds": (-0.1, 0.4)},
    {"constraints": ROWS},
    {"bounds": (0, 1), "constraints": ROWS},
]


@pytest.mark.parametrize(
    ("bounds", "low", "high"),
    [
        ("nonnegative", [0, 0, 0, 0], [np.inf] * 4),
        ("nonpositive", [-np.inf] * 4, [0, 0, 0, 0]),
        ((None, 0.3), [-np.inf] * 4, [0.3] * 4),
        (([0, None, -1, -np.inf], 2), [0, -np.inf, -1, -np.inf], [2] * 4),
        ({"b": (0, 1), 3: (None, 0)}, [-np.inf, 0, -np.inf, -np.inf], [np.inf, 1, np.inf, 0]),
    ],
)
def test_ways_to_write_bounds(bounds: Any, low: Any, high: Any) -> None:
    found = dg.fit(X, Y, **ASKED, bounds=bounds)
    assert found.terms.bounds is not None
    assert found.terms.bounds.low.tolist() == list(low) and found.terms.bounds.high.tolist() == list(high)
    assert np.all((found.coef >= low) & (found.coef <= high)) and found.converged


GROUPED: dict[str, Any] = dict(loss="squared", penalty="group_lasso", lam=0.05, groups=[0, 0, 1, 1])


def test_bounds_stated_as_rows_are_kept_priced_and_verified(tmp_path: Path) -> None:
    """Penalties that know no box: each bound is a linear constraint of one weight, kept to the last bit."""
    found = dg.fit(X, Y, **GROUPED, bounds={"a": (None, 0.4), "b": (0, None)}, constraints=ROWS)
    assert found.converged and found.coef[0] <= 0.4 and found.coef[1] >= 0.0
    proof = found.certificate
    assert proof.multipliers.shape == (4,) and proof.bound_multipliers.shape == (4,)
    assert proof.bound_multipliers[0] <= 0.0 <= proof.bound_multipliers[1]
    assert proof.bound_multipliers[2:].tolist() == [0.0, 0.0]
    assert "1 at a lower end" in found.summary() or "1 at an upper" in found.summary()
    loaded = dg.load(found.save(tmp_path / "model.json", data=(X, Y)))
    assert examine(loaded, X, Y)[0] == [] and loaded.summary() == found.summary()
    forged = dataclasses.replace(loaded.certificate, multipliers=10.0 * proof.multipliers + 1.0)
    assert forged.recheck(X, Y).bound < found.bound
    outside = dataclasses.replace(loaded.certificate, coef=found.coef + 0.1)
    assert outside.recheck(X, Y).objective == np.inf
    search = dg.cross_validate(
        X, Y, loss="squared", penalty="slope(0.1)", bounds="nonnegative", n_lams=3, cv=3, progress=False
    )
    assert np.all(search.solution.coef >= 0.0)
    judged = dg.certify(X, Y, found.coef, found.intercept, **GROUPED, bounds={"a": (None, 0.4)})
    assert judged.relative_gap > 1e-6  # optimal within more bounds, not within these alone
    with pytest.raises(DataError, match="miss"):
        dg.certify(X, Y, [-1.0, 0, 0, 0], 0.0, **GROUPED, bounds="nonnegative")


@pytest.mark.parametrize("held", HELD, ids=["bounds", "rows", "both"])
def test_files_paths_searches_and_assessments(held: dict[str, Any], tmp_path: Path) -> None:
    found = dg.fit(X, Y, **ASKED, **held)
    file = found.save(tmp_path / "model.json", data=(X, Y))
    loaded = dg.load(file)
    assert examine(loaded, X, Y)[0] == [] and loaded.summary() == found.summary()
    assert np.array_equal(loaded.coef, found.coef)
    path = dg.path(X, Y, loss="squared", penalty="l1", n_lams=4, **held)
    assert path.gaps.max() <= 1e-6
    search = dg.cross_validate(X, Y, loss="squared", penalty="l1", n_lams=4, cv=3, progress=False, **held)
    assert search.solution.converged
    judged = dg.certify(X, Y, found.coef, found.intercept, **ASKED, **held)
    assert judged.relative_gap <= 2e-6
    assert dg.explain(X, Y, **ASKED, **held).chosen in ("box_newton", "augmented_lagrangian")
    model = dg.LinearRegressor("squared", "l1", lam=0.05, **held).fit(X, Y)
    assert np.array_equal(model.coef_, found.coef)
    for part in (path.coefs[-1], search.solution.coef):
        if "bounds" in held:
            assert np.all((part >= held["bounds"][0]) & (part <= held["bounds"][1]))
        if "constraints" in held:
            assert abs((A @ part)[0] - 0.5) <= 1e-8 and (A @ part)[1] <= 0.2 + 1e-8


def test_scikit_learn_and_scipy_agree() -> None:
    from scipy.optimize import nnls
    from sklearn.linear_model import Lasso

    ours = dg.LinearRegressor("squared", "l1", lam=0.05, positive=True, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(
        ours.coef_, Lasso(alpha=0.025, positive=True, tol=1e-12).fit(X, Y).coef_, atol=1e-6
    )
    plain = dg.fit(X, Y, loss="squared", penalty="none", fit_intercept=False, bounds="nonnegative", tol=1e-10)
    np.testing.assert_allclose(plain.coef, nnls(X.to_numpy(), Y)[0], atol=1e-6)
    with pytest.raises(DataError, match="give one of both"):
        dg.LinearRegressor(positive=True, bounds=(0, 1)).fit(X, Y)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, ends, model = tmp_path / "x.csv", tmp_path / "ends.csv", tmp_path / "m.json"
    X.assign(y=Y).to_csv(data, index=False)
    ends.write_text("column,low,high\na,0,0.5\nb,,0\n")
    asked = ["fit", str(data), "--target", "y", "--lam", "0.05", "--penalty", "l1", "--out", str(model)]
    assert main([*asked, "--bounds", str(ends)]) == 0
    found = dg.load(model)
    assert 0 <= found.coef[0] <= 0.5 and found.coef[1] <= 0
    assert main(["verify", str(model), str(data)]) == 0
    assert main([*asked, "--nonnegative", "--force"]) == 0
    assert dg.load(model).coef.min() >= 0
    ends.write_text("z,0,1\n")
    assert main([*asked, "--bounds", str(ends), "--force"]) != 0
    assert "'z'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (dict(bounds=(0,)), "pair"),
        (dict(bounds={"z": (0, 1)}), "'z'"),
        (dict(bounds="positive"), "nonnegative"),
        (dict(bounds=([0, 0], None)), "2 lower bounds"),
        (dict(bounds=(np.nan, 1)), "NaN"),
        (dict(constraints=(1j * np.ones((1, 3)), 0.0, 1.0)), "Complex"),
        (dict(constraints=(np.ones((1, 3)), 0, 1)), "3 columns"),
        (dict(constraints=np.ones((1, 4))), "A, lower, upper"),
        (dict(penalty="l0", lam=None, budget=2, bounds="nonnegative"), "l0"),
        (dict(C=np.inf, lam=None, loss="hinge", penalty="l2", bounds="nonnegative"), "C=inf"),
    ],
)
def test_what_is_refused(more: dict[str, Any], words: str) -> None:
    y = np.where(Y > 0, 1, -1) if more.get("loss") == "hinge" else Y
    with pytest.raises((DataError, InfeasibleError), match=words):
        dg.fit(X, y, **{**ASKED, **more})


def test_more_that_is_refused() -> None:
    with pytest.raises(DataError, match="one_vs_rest"):
        dg.fit(X, RNG.integers(0, 3, 80), loss="logistic", lam=0.1, bounds="nonnegative")
    with pytest.raises(NoSolverError, match="grid"):
        dg.path(X, Y, loss="squared", penalty="l1", exact=True, bounds="nonnegative")
    with pytest.raises(DataError, match="in memory"):
        dg.fit(dg.moments(X.to_numpy(), Y), **ASKED, bounds="nonnegative")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (dict(constraints=(np.ones((2, 4)), [1, 2], [1, 2])), "constraints 0, 1"),
        (dict(bounds=(0, 0.2), constraints=(np.ones((1, 4)), 1, None)), "bounds of column 'a'"),
        (dict(constraints=(np.eye(4) - np.roll(np.eye(4), 1, axis=1), 0.1, None)), "constraints 0, 1, 2, 3"),
        (dict(bounds={"c": (2, 1)}), "'c'"),
        (dict(bounds=(0.5, 1), lam=None, budget=0.9), "budget"),
    ],
)
def test_what_cannot_be_met_is_named_and_shown(more: dict[str, Any], words: str) -> None:
    with pytest.raises(InfeasibleError, match=words) as error:
        dg.fit(X, Y, **{**ASKED, **more})
    if "constraints" not in more:
        return
    rows, lower, upper = more["constraints"]
    m = len(rows)
    ends = [np.array(np.broadcast_to(np.inf if e is None else e, m), float) for e in (lower, upper)]
    low, high = more.get("bounds", (-np.inf, np.inf))
    held = Constraints(np.asarray(rows, float), ends[0], ends[1])
    proof = [Fraction(float(v)) for v in error.value.proof]
    assert contradicts(held, np.full(4, low), np.full(4, high), proof)
    assert not contradicts(held, np.full(4, low), np.full(4, high), [Fraction(0)] * m)


def test_false_claims_are_not_believed() -> None:
    found = dg.fit(X, Y, **ASKED, bounds=(0, 0.4), constraints=ROWS)
    proof = found.certificate
    outside = dataclasses.replace(proof, coef=proof.coef + np.array([0.0, -1e-3, 0.0, 1e-3]))
    assert outside.recheck(X, Y).objective == np.inf
    off = dataclasses.replace(proof, coef=np.clip(proof.coef * (1 - 1e-6), 0, 0.4))
    assert off.recheck(X, Y).objective == np.inf  # the sum is no longer 0.5
    for change in (np.array([1.0, -1.0]), -proof.multipliers, np.full(2, np.nan), proof.multipliers * 1e6):
        again = dataclasses.replace(proof, multipliers=change).recheck(X, Y)
        assert again.bound <= found.objective


@pytest.mark.parametrize("penalty", ["l1", "l2", "linf", "group_lasso"])
def test_a_path_along_which_bounds_let_nothing_move(penalty: str) -> None:
    """Every column is better with a weight below zero, where none may be: one strength shows it all."""
    x, groups = X[["a"]].to_numpy(), {"groups": [0]} if penalty == "group_lasso" else {}
    path = dg.path(x, -x[:, 0], loss="squared", penalty=penalty, bounds="nonnegative", **groups)
    assert len(path) == 1 and not path.coefs.any() and path.gaps.max() <= 1e-6
    assert not path.solution(lam=0.3).coef.any()


@pytest.mark.parametrize("penalty", ["l1", "group_lasso"])
def test_a_fit_starts_from_one_with_and_without_constraints(penalty: str) -> None:
    """A dual point of as many rows and constraints is taken along, any other is left out."""
    more: dict[str, Any] = {"groups": [0, 0, 1, 1]} if penalty == "group_lasso" else {}
    asked: dict[str, Any] = dict(loss="poisson", penalty=penalty, lam=0.05, **more)
    y = np.arange(80) % 3
    held, loose = (dg.fit(X, y, **asked, constraints=rows) for rows in (ROWS, None))
    for start in (held, loose):
        assert dg.fit(X, y, **asked, constraints=ROWS, warm_start=start).converged
        assert dg.fit(X, y, **asked, warm_start=start).converged


def test_weights_under_a_budget_that_miss_a_constraint_by_rounding_keep_their_objective() -> None:
    """A step onto the constraint breaks the budget, which takes back a thousand times as much."""
    rows: Any = ([[1.0, 1.0]], [1000.0 + 1e-9], [1000.0 + 1e-9])
    asked: dict[str, Any] = dict(loss="squared", penalty="l1", budget=1.0, penalty_factors=[1e-3, 1e3])
    found = dg.certify(X[["a", "b"]], 1000.0 * X["a"] + Y, [1000.0, 0.0], 0.0, **asked, constraints=rows)
    assert found.objective == pytest.approx(np.mean(Y**2)) and found.certificate.violation <= 1e-8


SIDES = np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [-2.0, -1.0]]), np.array([1, 1, -1, -1])


@pytest.mark.parametrize("row", [([1.0, 0.0], 0.5, 0.5), ([1.0, 1.0], 1.0, 1.0), ([1.0, 0.0], -np.inf, 3.0)])
def test_a_way_out_that_a_constraint_ends_is_none(row: Any) -> None:
    A, lower, upper = row
    found = dg.fit(*SIDES, loss="logistic", penalty="none", constraints=([A], lower, upper))
    assert found.converged
    with pytest.raises(dg.errors.UnboundedError, match="separates"):
        dg.fit(*SIDES, loss="logistic", penalty="none", constraints=([[1.0, 0.0]], 0.0, np.inf))


def test_losses_that_overflow_wherever_weights_may_be_are_told_from_sets_that_are_empty() -> None:
    X = 1e6 * np.array([[1.0, 2.0], [-1.0, -1.0], [2.0, 1.0], [-2.0, -1.0]])
    with pytest.raises(DataError, match="exponential loss overflows"):
        dg.fit(
            *(X, SIDES[1] * np.array([1, 1, -1, 1])),
            loss="exponential",
            penalty="group_lasso",
            lam=0.01,
            groups=[0, 0],
            bounds=(0.05, 0.1),
        )


@pytest.mark.parametrize("penalty", ["elastic_net(0.5)", "l1", "lp(3)"])
def test_rows_and_signs_that_leave_some_weights_one_value(penalty: str) -> None:
    """Rising weights of which one is ≥ 0 and a later one ≤ 0: all between are zero."""
    p, rng = 60, np.random.default_rng(2)
    T = rng.normal(size=(80, p))
    t = T @ np.sort(rng.normal(size=p)) / 8.0 + rng.normal(size=80)
    kind = rng.integers(0, 4, p)
    low = np.choose(kind, [0.0, -np.inf, -0.1, -np.inf])
    high = np.choose(kind, [np.inf, 0.0, 0.4, np.inf])
    first, last = np.flatnonzero(kind == 0)[0], np.flatnonzero(kind == 1)[-1]
    rises = (np.diff(np.eye(p), axis=0), 0.0, np.inf)
    found = dg.fit(T, t, loss="squared", penalty=penalty, lam=0.01, bounds=(low, high), constraints=rises)
    assert found.converged and first < last
    assert np.abs(found.coef[first : last + 1]).max() <= 1e-9


def test_rows_that_are_missed_by_less_than_floats_can_tell() -> None:
    """A step in units of that is no number, of which a linear program knew nothing to do."""
    places = [4, 4, 2, 0, 0, 2, 3]
    found = dg.fit(
        np.eye(5)[places],
        np.array([0.0, 0.0, 0.0, 2.0, 3.0, 0.0, 3.0]),
        loss="tweedie(1.9)",
        penalty="sparse_group(0.1)",
        lam=0.02170050409683559,
        groups=[2, 0, 1, 1, 0],
        bounds=([-1e-8, 0.0, -0.1, -0.1, -1.0], [0.49999999, np.inf, np.inf, -0.099, 0.0]),
        constraints=([[1.0, 1.0, -1.0, 0.1, 1.0], [0.0, 0.0, 0.0, 0.0, 0.1]], [-0.0099, 0.0], [-0.0099, 0.0]),
    )
    assert found.converged and found.certificate.violation <= 1e-12
