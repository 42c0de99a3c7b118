"""Kernel problems: every convex loss is certified, and optimality conditions hold as laws."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import LOSSES, taken
from dualgap import losses
from dualgap.drive.limits import Limits, Status
from dualgap.drive.run import Outcome
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.solve import solve
from dualgap.kernels import Gaussian, Gram, Kernel, Laplacian, LinearKernel, Polynomial, gram_of
from dualgap.kernels.gram import symmetric
from dualgap.losses import Loss
from dualgap.traits import Trait

KERNELS: tuple[Kernel, ...] = (Gaussian(0.3), Laplacian(0.3), Polynomial(0.5, 2), LinearKernel())


def machine(
    loss: Loss, kernel: Kernel, seed: int, *, C: float = 1.0, intercept: bool = True
) -> KernelProblem:
    rng = np.random.default_rng(seed)
    n = 40
    X = rng.normal(size=(n, 3))
    X[5:10] = X[:5]  # repeated rows, some under another target
    z = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    y = np.where(z > 0, 1.0, -1.0) if Trait.CLASSIFICATION in loss.traits else taken(loss, z)
    weights = rng.integers(1, 4, n).astype(float)
    gram = gram_of(kernel, X, centred=intercept)
    return KernelProblem(gram, y, weights / weights.sum(), loss, 1.0 / (C * n), intercept)


def solved(problem: KernelProblem, tolerance: float = 1e-8) -> Outcome:
    outcome = solve(problem, Limits(tolerance))
    assert outcome.status is Status.CERTIFIED, (problem.loss, problem.gram.kernel, outcome.solver)
    return outcome


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_loss_with_every_kernel_is_certified(loss: Loss, kernel: Kernel, intercept: bool) -> None:
    for C in (0.01, 10.0):
        problem = machine(loss, kernel, 0, C=C, intercept=intercept)
        best = solved(problem).bounds
        K = problem.stated.products.times
        f = K(best.w[:-1]).value + best.w[-1]
        value = problem.risk(f) + problem.lam * float(best.w[:-1] @ K(best.w[:-1]).value)
        assert value == pytest.approx(best.primal, rel=1e-7, abs=1e-12)


@given(st.integers(0, 10_000), st.floats(-2, 3), st.sampled_from(KERNELS))
def test_conditions_of_the_support_vector_machine(seed: int, exponent: float, kernel: Kernel) -> None:
    """0 ≤ α ≤ C, Σ α y = 0; α = 0 outside the margin, α at its bound inside."""
    problem = machine(losses.Hinge(), kernel, seed, C=10.0**exponent)
    best = solved(problem, 1e-9).bounds
    alpha = best.theta * problem.y / problem.a
    margin = problem.y * (problem.precise(best.w[:-1]) + best.w[-1])
    assert np.all((alpha >= 0.0) & (alpha <= 1.0 + 1e-12))
    assert abs(best.theta.sum()) <= 1e-12
    # complementarity is the gap, row by row: each term of it is non-negative
    terms = problem.a * (np.maximum(1.0 - margin, 0.0) - alpha * (1.0 - margin))
    assert np.all(terms >= -1e-12)
    assert terms.sum() <= 2e-9 * max(best.primal, 1e-4) + 1e-12


@given(st.integers(0, 10_000), st.sampled_from(LOSSES), st.floats(-2, 2))
def test_the_bound_is_below_every_objective(seed: int, loss: Loss, exponent: float) -> None:
    problem = machine(loss, Gaussian(0.5), seed, C=10.0**exponent)
    best = solved(problem, 1e-6).bounds
    rng = np.random.default_rng(seed)
    for size in (0.0, 0.1, 1.0):
        beta = rng.normal(size=problem.n) * size
        beta -= beta.mean()
        f = problem.gram.product(beta)
        assert best.dual <= problem.primal(beta, f, problem.best_intercept(f)) + 1e-9


def test_large_tables_go_by_rows_in_single_precision() -> None:
    rng = np.random.default_rng(0)
    n = 1700
    X = rng.normal(size=(n, 4))
    y = np.where(np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    gram = Gram(Gaussian(0.2), X, cache_bytes=8e6)
    problem = KernelProblem(gram, y, np.full(n, 1 / n), losses.Hinge(), 1 / n, True)
    best = solved(problem, 1e-7).bounds
    assert gram.quick.store.dtype == np.float32
    assert gram.quick.store.nbytes + gram.exact.store.nbytes <= 8e6
    whole = Gaussian(0.2)(X, X)
    beta = best.theta / (2 * problem.lam)
    assert problem.dual(best.theta, float(best.theta @ whole @ best.theta)) == pytest.approx(
        best.dual, rel=1e-9
    )
    assert problem.primal(beta, whole @ beta, float(best.w[-1])) >= best.dual - 1e-12


def test_no_free_vector_leaves_an_interval_for_the_constant() -> None:
    """Two classes of equal rows: every α is at its bound and b may lie anywhere between."""
    X = np.repeat([[0.0], [1.0]], 4, axis=0)
    y = np.repeat([-1.0, 1.0], 4)
    problem = KernelProblem(Gram(Gaussian(1.0), X), y, np.full(8, 1 / 8), losses.Hinge(), 10.0, True)
    best = solved(problem, 1e-10).bounds
    assert best.w[-1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_rows_diagonal_and_matrix_agree(kernel: Kernel) -> None:
    X: Any = np.random.default_rng(1).normal(size=(30, 4)) + 5.0
    K = kernel(X, X)
    np.testing.assert_allclose(np.diagonal(K), kernel.diagonal(X), rtol=1e-12)
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    room = np.empty((7, 30))
    np.testing.assert_allclose(kernel.against(X)(X[:7], room), K[:7], rtol=1e-12)
    single = kernel(X.astype(np.float32), X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, K, rtol=2e-4)
    assert np.linalg.eigvalsh(K)[0] >= -1e-9 * K.max()


@pytest.mark.parametrize("apart", [0.0, 30.0, 1e4])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_distances_keep_their_digits(offset: float, apart: float) -> None:
    """Two clouds far apart: ‖x‖² + ‖x'‖² − 2 x·x' would leave nothing of the distances within them."""
    X = np.random.default_rng(2).normal(size=(40, 3)) + offset
    X[:20, 0] += apart
    far = X.astype(np.longdouble)
    for gamma in (1e-3, 0.3, 5.0):
        true = np.exp(-np.longdouble(gamma) * ((far[:, None] - far[None]) ** 2).sum(axis=2))
        assert float(np.abs(Gaussian(gamma)(X, X) - true).max()) <= 3e-13


def test_a_matrix_is_symmetric_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    K = np.random.default_rng(3).normal(size=(300, 300))
    np.testing.assert_array_equal(symmetric(K), 0.5 * (K + K.T))
    monkeypatch.setattr("dualgap.kernels.gram.SMALL", 200)  # beyond that by tiles
    found = symmetric(K)
    np.testing.assert_array_equal(found, 0.5 * (K + K.T))
    assert symmetric(found) is found
    monkeypatch.undo()
    X = np.random.default_rng(4).normal(size=(200, 5))
    for kernel in KERNELS:
        for centred in (False, True):
            whole, gram = kernel(X, X), Gram(kernel, X, centred=centred)
            np.testing.assert_array_equal(gram.given, 0.5 * (whole + whole.T))
            np.testing.assert_array_equal(gram.whole, gram.whole.T)
            if centred:
                np.testing.assert_allclose(gram.whole.sum(axis=0), 0.0, atol=1e-10 * np.abs(whole).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_proof_is_of_the_matrix_as_given(kernel: Kernel) -> None:
    """Solvers see it centred; what is reported was computed on what the kernel gives."""
    problem = machine(losses.Hinge(), kernel, 1, C=100.0)
    best = solved(problem).bounds
    X = rows_of(problem)
    K = symmetric(kernel(X, X))
    f = K @ best.w[:-1] + best.w[-1]
    value = problem.risk(f) + problem.lam * float(best.w[:-1] @ K @ best.w[:-1])
    assert value == pytest.approx(best.primal, rel=1e-8)
    assert sum(map(Fraction, best.theta.tolist())) == 0


def rows_of(problem: KernelProblem) -> Any:
    """The table that was given."""
    return problem.gram.table if problem.gram.span is None else problem.gram.span


def test_large_coefficients_are_settled_in_twice_the_digits() -> None:
    """Without them the active set cannot tell which rows lie on a kink, and nothing is proven."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=60)
    for loss in (losses.EpsilonInsensitive(0.1), losses.Huber(0.5), losses.Squared()):
        for C in (1e6, 1e8):
            gram = gram_of(Gaussian(1e-3), X, centred=True)
            problem = KernelProblem(gram, y, np.full(60, 1 / 60), loss, 1.0 / (60 * C), True)
            best = solved(problem, 1e-6).bounds
            f = problem.precise(best.w[:-1])
            assert problem.risk(f + best.w[-1]) <= best.primal


def test_a_run_without_digits_says_what_would_help() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    gram = gram_of(Polynomial(1.0, 3), X, centred=True)
    y = X[:, 0] + rng.normal(size=60)
    problem = KernelProblem(gram, y, np.full(60, 1 / 60), losses.Squared(), 1e-12, True)
    outcome = solve(problem, Limits(1e-9))
    assert outcome.status is Status.STALLED
    assert "smaller C" in outcome.sentence
    assert outcome.bounds.dual <= outcome.bounds.primal
