"""Steps that know their conditions, stopping rules that combine, divergence that is not silent."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import dualgap as dg
import transcriptions as source
from dualgap.drive.trace import Trace
from dualgap.errors import DataError, NoSolverError, NotCertifiedWarning
from dualgap.fitting.reading import read

X, Y, LABELS = source.data(60, 4)
RIDGE: dict[str, Any] = {"loss": "squared", "penalty": "l2", "lam": 0.1}
ROUNDED = 1e-12  # a proven objective is the true one from above, that of the trace as it comes

STEPS = [
    (dg.steps.Constant(0.1), False, lambda k: 0.1),
    (dg.steps.Harmonic(), True, lambda k: 1.0 / (k + 1)),
    (dg.steps.Ratio(3.0, 7.0), True, lambda k: 3.0 / (7.0 + k)),
    (dg.steps.InverseRoot(2.0), False, lambda k: 2.0 / np.sqrt(k)),
    (dg.steps.InverseStrength(), True, lambda k: 1.0 / (0.2 * k)),
    (dg.steps.Given(lambda k: 1.0 / k**2), None, lambda k: 1.0 / k**2),
]


def quiet(y: Any = Y, **keywords: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        return dg.fit(X, y, **keywords)


@pytest.mark.parametrize(("step", "robbins_monro", "formula"), STEPS)
def test_steps_are_their_formula_and_know_their_conditions(
    step: Any, robbins_monro: bool | None, formula: Any
) -> None:
    reading = read(X, Y, **RIDGE)
    problem = reading.terms.problem(reading.table.design, Y)
    length = step.schedule(problem)
    k = np.arange(1, 50)
    np.testing.assert_allclose([length(int(i)) for i in k], [formula(i) for i in k])
    assert step.robbins_monro is robbins_monro
    told = {True: " meet", False: "do not meet", None: "not known"}[robbins_monro]
    assert told in step.words()
    if robbins_monro is not None:
        assert pickle.loads(pickle.dumps(length))(3) == length(3)


def test_numbers_and_functions_are_steps() -> None:
    assert dg.steps.read_step(0.5) == dg.steps.Constant(0.5)
    assert dg.steps.read_step(lambda k: 1.0).robbins_monro is None
    with pytest.raises(DataError, match="positive"):
        dg.steps.read_step(-1.0)
    with pytest.raises(NoSolverError, match="bounded curvature"):
        quiet(LABELS, loss="hinge", lam=0.1, solver=dg.solvers.Subgradient(dg.steps.InverseCurvature()))


def test_stopping_rules_stop() -> None:
    rules = {
        dg.stopping.Iterations(7): 7,
        dg.stopping.Iterations(7) | dg.stopping.Iterations(3): 3,
        dg.stopping.Iterations(7) & dg.stopping.Iterations(3): 7,
    }
    for rule, count in rules.items():
        found = quiet(solver=dg.solvers.GradientDescent(1e-3), stop=rule, **RIDGE)
        assert found.n_iter == count
        assert "stopping rule" in found.status
    assert (
        quiet(solver=dg.solvers.GradientDescent(1e-6), stop=dg.stopping.Seconds(0.05), **RIDGE).seconds
        >= 0.05
    )


def test_changes_and_gap_stop() -> None:
    slow = dg.solvers.GradientDescent(0.01)
    found = quiet(solver=slow, stop=dg.stopping.ObjectiveChange(1e-3), tol=0.0, **RIDGE)
    last, before = found.trace[-1].objective, found.trace[-2].objective
    assert abs(last - before) <= 1e-3 * before
    earlier = found.trace[-3].objective
    assert abs(before - earlier) > 1e-3 * earlier
    patient = quiet(solver=slow, stop=dg.stopping.ObjectiveChange(1e-3, patience=5), tol=0.0, **RIDGE)
    assert patient.n_iter == found.n_iter + 4
    moved = quiet(solver=slow, stop=dg.stopping.ParameterChange(1e-2), tol=0.0, **RIDGE)
    assert 1 < moved.n_iter < 1000
    proven = quiet(solver=slow, stop=dg.stopping.Gap(0.05), tol=0.0, **RIDGE)
    assert 0.0 < proven.relative_gap <= 0.05


def test_held_out_plateau_stops_early() -> None:
    random = np.random.default_rng(0)
    few, others = random.standard_normal((30, 20)), random.standard_normal((200, 20))
    targets, truth = (rows[:, 0] + 2.0 * random.standard_normal(len(rows)) for rows in (few, others))
    score = dg.stopping.held_out_loss(others, truth, dg.losses.Squared())
    rule = dg.stopping.HeldOutPlateau(score, patience=3)
    with pytest.warns(NotCertifiedWarning, match="stopping rule"):
        found = dg.fit(few, targets, loss="squared", penalty="none", solver="gradient_descent", stop=rule)
    whole = dg.fit(few, targets, loss="squared", penalty="none")
    assert score(found.coef, found.intercept) < score(whole.coef, whole.intercept)


@pytest.mark.parametrize("name", ["GradientDescent", "Momentum", "Nesterov", "ProximalGradient"])
def test_a_step_too_long_says_so_and_the_step_it_names_works(name: str) -> None:
    solver = getattr(dg.solvers, name)
    found = quiet(solver=solver(5.0), **RIDGE)
    assert not found.converged
    assert "too long" in found.status
    named = float(found.status.split("1/L = ")[1].split()[0])
    assert quiet(solver=solver(named), **RIDGE).converged
    assert np.isfinite(found.objective) and found.objective <= found.trace[0].objective * (1 + ROUNDED)


def test_a_step_slightly_too_long_says_so_at_the_end() -> None:
    curvature = 1.0 / float(quiet(solver="gradient_descent", max_iter=1, **RIDGE).trace[1].step)
    found = quiet(solver=dg.solvers.GradientDescent(2.05 / curvature), max_iter=60, tol=0.0, **RIDGE)
    assert "above the first" in found.status and "1/L" in found.status


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_columns_of_size_a_thousand_under_stochastic_gradient(loss: str) -> None:
    y = LABELS if loss == "logistic" else Y
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lam": 1e-3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        best = dg.fit(1e3 * X, y, **asked)
        near = dg.fit(1e3 * X, y, solver="stochastic_gradient", **asked)
        wild = dg.fit(1e3 * X, y, solver=dg.solvers.StochasticGradient(0.1), max_iter=20, **asked)
    null = near.facts["null"]
    assert near.objective - best.objective <= 0.05 * (null - best.objective)
    assert "differ in size" in near.status
    assert "too long" in wild.status and "Steps that begin at" in wild.status
    assert wild.objective <= wild.trace[0].objective * (1 + ROUNDED)


def test_seeds_decide_the_draws() -> None:
    runs = [quiet(solver="stochastic_gradient", max_iter=2, random_state=seed, **RIDGE) for seed in (1, 1, 2)]
    assert np.array_equal(runs[0].coef, runs[1].coef)
    assert not np.array_equal(runs[0].coef, runs[2].coef)


def test_a_proof_is_made_at_the_end_though_not_at_every_step() -> None:
    found = quiet(solver=dg.solvers.GradientDescent(0.06), max_iter=37, **RIDGE)
    bounds = found.trace.column("bound")
    assert np.all(np.diff(bounds) >= 0.0)
    assert bounds[36] < bounds[37] == pytest.approx(found.bound)
    assert found.certificate.recheck(X, Y).bound == pytest.approx(found.bound)


def test_trace_is_a_frame_and_a_picture() -> None:
    import matplotlib

    matplotlib.use("Agg")
    found = quiet(solver="nesterov", max_iter=20, **RIDGE)
    assert isinstance(found.trace, Trace)
    frame = found.trace.frame()
    assert {"iteration", "seconds", "objective", "best", "gap", "step", "nonzero"} <= set(frame.columns)
    assert len(frame) == len(found.trace)
    assert np.all(np.diff(frame["best"]) <= 0)
    left, right = found.trace.plot(against="seconds")
    assert right.get_yscale() == "log" and len(left.lines) == 3


def test_comparison() -> None:
    import matplotlib

    matplotlib.use("Agg")
    slow = dg.solvers.GradientDescent(1e-3)
    compared = dg.compare(["gradient_descent", "nesterov", slow], X, Y, max_iter=30, **RIDGE)
    assert set(compared.solutions) == {"gradient_descent", "nesterov", "gradient_descent(step=0.001)"}
    frame = compared.frame()
    assert np.all(frame["above"] >= -1e-12)
    assert len(frame) == sum(len(s.trace) for s in compared.solutions.values())
    assert "nesterov" in str(compared)
    assert compared.optimum <= compared.reference.objective * (1.0 + 1e-12)
    axes = compared.plot()
    assert [one.get_xscale() for one in axes] == ["log", "log"]
    with pytest.raises(DataError, match="same label"):
        dg.compare(["nesterov", "nesterov"], X, Y, **RIDGE)
    with pytest.raises(DataError, match="at least one"):
        dg.compare([], X, Y, **RIDGE)
