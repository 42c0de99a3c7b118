"""The first hundred iterates of every solver are those of a transcription of the source."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
import transcriptions as source
from dualgap.arrays import Vector
from dualgap.drive.solver import Iterate
from dualgap.fitting.reading import read

X, Y, LABELS = source.data()
P = X.shape[1] + 1
FEW = 100


def run(solver: Any, y: Vector, matrix: Any = X, **keywords: Any) -> list[Vector]:
    """The iterates themselves, on the problem as it was asked."""
    reading = read(matrix, y, **keywords)
    problem = reading.terms.problem(reading.table.design, reading.targets())
    return [one.w for one in islice(solver.iterates(problem, Iterate(np.zeros(problem.p))), FEW)]


def same(found: list[Vector], expected: Iterator[Vector]) -> None:
    wanted = list(islice(expected, len(found)))
    assert len(wanted) == len(found) > 0
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("step", [0.05, lambda k: 1.0 / (k + 20), dg.steps.Ratio(2.0, 30.0)])
def test_gradient_descent_is_algorithm_22(step: Any) -> None:
    found = run(dg.solvers.GradientDescent(step), Y, loss="squared", penalty="l2", lam=0.1)
    schedule = (lambda k: 0.05) if isinstance(step, float) else (lambda k: 2.0 / (30.0 + k))
    schedule = step if callable(step) else schedule
    same(found, source.gradient_descent(source.squared_slope(X, Y, 0.1), P, schedule))


def test_the_step_one_over_curvature_is_the_largest_eigenvalue() -> None:
    Z = source.with_ones(X)
    top = float(np.linalg.eigvalsh(0.25 * Z.T @ Z / len(Y))[-1]) + 2.0 * 0.1
    found = run(dg.solvers.GradientDescent(), LABELS, loss="logistic", penalty="l2", lam=0.1)
    same(found, source.gradient_descent(source.logistic_slope(X, LABELS, 0.1), P, lambda k: 1.0 / top))


def test_subgradient_is_algorithm_23() -> None:
    step = dg.steps.InverseRoot(0.7)
    found = run(dg.solvers.Subgradient(step), LABELS, loss="hinge", penalty="l2", lam=0.1)
    expected = source.gradient_descent(source.hinge_slope(X, LABELS, 0.1), P, lambda k: 0.7 / k**0.5)
    same(found, expected)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_momentum_and_nesterov(loss: str) -> None:
    slope = {"hinge": source.hinge_slope, "logistic": source.logistic_slope}[loss](X, LABELS, 0.1)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lam": 0.1}
    same(run(dg.solvers.Momentum(0.02, 0.8), LABELS, **asked), source.momentum(slope, P, 0.02, 0.8))
    same(run(dg.solvers.Nesterov(0.02, 0.8), LABELS, **asked), source.nesterov(slope, P, 0.02, 0.8))


def test_proximal_gradient_is_ista_and_fista() -> None:
    for accelerated, transcription in ((False, source.ista), (True, source.fista)):
        solver = dg.solvers.ProximalGradient(0.1, accelerated=accelerated)
        found = run(solver, Y, loss="squared", penalty="l1", lam=0.4)
        same(found, transcription(X, Y, 0.4, 0.1))


def test_projected_gradient_onto_a_ball() -> None:
    found = run(dg.solvers.ProjectedGradient(0.1), Y, loss="squared", penalty="l2_norm", budget=1.5)
    same(found, source.projected(X, Y, 1.5, 0.1))


def rows_drawn(passes: int, *, uniform: bool, seed: int = 3) -> list[int]:
    random, n = np.random.default_rng(seed), len(Y)
    parts = [random.integers(0, n, n) if uniform else random.permutation(n) for _ in range(passes)]
    return [int(i) for part in parts for i in part]


@pytest.mark.parametrize("matrix", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_pegasos(matrix: Any) -> None:
    solver = dg.solvers.Pegasos(random_state=3)
    found = run(solver, LABELS, matrix, loss="hinge", penalty="l2", lam=0.05)[:20]
    steps = list(source.pegasos(X, LABELS, 0.1, rows_drawn(20, uniform=True)))
    same(found, iter(steps[len(Y) - 1 :: len(Y)]))


def test_pegasos_averaged_is_the_mean_of_all_steps() -> None:
    solver = dg.solvers.Pegasos(random_state=3, averaged=True)
    found = run(solver, LABELS, loss="hinge", penalty="l2", lam=0.05)[:5]
    steps = np.array(list(source.pegasos(X, LABELS, 0.1, rows_drawn(5, uniform=True))))
    means = np.cumsum(steps, axis=0) / np.arange(1, len(steps) + 1)[:, None]
    same(found, iter(means[len(Y) - 1 :: len(Y)]))


def test_logistic_by_stochastic_ascent() -> None:
    solver = dg.solvers.StochasticGradient(dg.steps.Harmonic(), random_state=3)
    found = run(solver, LABELS, loss="logistic", penalty="none")[:10]
    drawn = rows_drawn(10, uniform=False)
    steps = list(source.stochastic_ascent(X, (LABELS + 1.0) / 2.0, lambda k: 1.0 / (k + 1), drawn))
    same(found, iter(steps[len(Y) - 1 :: len(Y)]))


def test_mini_batches_take_the_mean_slope_and_the_weights() -> None:
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(Y))
    solver = dg.solvers.StochasticSubgradient(0.01, batch=7, order="given")
    asked: dict[str, Any] = {"loss": "absolute", "penalty": "elastic_net(0.5)", "lam": 0.2}
    found = run(solver, Y, sample_weight=weights, **asked)[:3]
    Z, w, expected, share = source.with_ones(X), np.zeros(P), [], weights / weights.mean()
    for _ in range(3):
        for first in range(0, len(Y), 7):
            part = slice(first, first + 7)
            slope = Z[part].T @ (share[part] * np.sign(Z[part] @ w - Y[part])) / len(Y[part])
            features = np.append(np.sign(w[:-1]) + 2.0 * 0.5 * w[:-1], 0.0)
            w = w - 0.01 * (slope + 0.2 * features)
        expected.append(w)
    same(found, iter(expected))


def test_a_prediction_handed_on_is_that_of_the_weights() -> None:
    reading = read(X, LABELS, loss="logistic", penalty="l1", lam=0.01)
    problem = reading.terms.problem(reading.table.design, reading.targets())
    for solver in (dg.solvers.ProximalGradient(), dg.solvers.Nesterov(0.1)):
        for one in islice(solver.iterates(problem, Iterate(np.zeros(P))), FEW):
            assert one.prediction is not None
            np.testing.assert_allclose(one.prediction, problem.predict(one.w), atol=1e-12)
