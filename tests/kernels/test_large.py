"""Tables beyond the size that is held whole: single precision finds the way, double precision the answer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dualgap import losses
from dualgap.drive.limits import Limits, Status
from dualgap.drive.trace import Record
from dualgap.kernel_machines import newton, solve
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.refined import SingleGram
from dualgap.kernels import Gaussian, Gram
from dualgap.linalg.support_factor import SupportFactor
from dualgap.losses import Loss

N = 1700
LOSSES: tuple[Loss, ...] = (
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.EpsilonInsensitive(0.3),
    losses.SquaredEpsilonInsensitive(0.3),
    losses.Absolute(),
    losses.Huber(0.5),
)


def large(loss: Loss, C: float, *, intercept: bool = True, n: int = N, cache: float = 5e8) -> KernelProblem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    X[100:120] = X[80:100]  # repeated rows, some under another target
    z = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.4 * rng.normal(size=n)
    y = np.where(z > 0, 1.0, -1.0) if "hinge" in loss.name else z
    return KernelProblem(Gram(Gaussian(0.2), X, cache), y, np.full(n, 1 / n), loss, 0.5 / (C * n), intercept)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_what_is_reported_holds_in_double_precision(loss: Loss, intercept: bool) -> None:
    problem = large(loss, 2.0, intercept=intercept)
    outcome = solve.solve(problem, Limits(1e-7))
    assert outcome.status is Status.CERTIFIED
    best, K = outcome.bounds, Gaussian(0.2)(problem.gram.table, problem.gram.table)
    beta = best.w[:-1]
    assert problem.primal(beta, K @ beta, float(best.w[-1])) == pytest.approx(best.primal, rel=1e-9)
    assert problem.dual(best.theta, float(best.theta @ K @ best.theta)) == pytest.approx(best.dual, rel=1e-9)


@pytest.mark.parametrize("C", [1.0, 10.0])
def test_the_active_set_ends_in_few_steps(C: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the fallback in double precision, and from the first stage alone."""
    monkeypatch.setattr(solve, "STAGES", (0.1,))
    monkeypatch.setattr(solve, "ActiveSet", None)
    for loss in (losses.Hinge(), losses.EpsilonInsensitive(0.3)):
        outcome = solve.solve(large(loss, C), Limits(1e-9))
        assert outcome.status is Status.CERTIFIED
        assert outcome.solver == "active_set"


def test_a_factor_carried_over_to_other_rows() -> None:
    """Some rows gone and one new, against the inverse itself."""
    gram, rng = large(losses.Hinge(), 1.0).gram, np.random.default_rng(1)
    order = rng.permutation(N)
    factor = SupportFactor(SingleGram(gram, np.full(N, 0.1), 0.003), (0.0,))
    factor.solve(np.sort(order[:300]), np.ones(300))
    moved = np.sort(order[10:301])
    X = gram.table[moved]
    K = Gaussian(0.2)(X, X) + 0.1 * np.eye(len(moved)) + 0.003
    right = rng.normal(size=len(moved)) + 3.0
    np.testing.assert_allclose(K @ factor.solve(moved, right), right, atol=5e-4)
    assert len(factor.base) == 300  # one factor for both


def test_products_of_shared_rows() -> None:
    gram = large(losses.Hinge(), 1.0).gram
    rng = np.random.default_rng(2)
    rows = np.sort(rng.permutation(N)[:700])
    coef = rng.normal(size=700)
    others = np.setdiff1d(np.arange(N), rows)
    K = Gaussian(0.2)(gram.table, gram.table)
    both = np.concatenate([rows, others])
    np.testing.assert_allclose(gram.product_at(both, rows, coef), K[np.ix_(both, rows)] @ coef, atol=1e-10)
    np.testing.assert_allclose(
        gram.product_at(others, rows, coef), K[np.ix_(others, rows)] @ coef, atol=1e-10
    )
    np.testing.assert_allclose(gram.single(rows), K[np.ix_(rows, rows)], atol=1e-5)


def test_rows_are_kept_within_the_bytes_given() -> None:
    problem = large(losses.Hinge(), 100.0, cache=6e6)
    outcome = solve.solve(problem, Limits(1e-3))
    assert outcome.status is Status.CERTIFIED
    assert problem.gram.quick.store.nbytes <= 3e6


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Squared()], ids=str)
def test_conjugate_gradients(loss: Loss, intercept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    problem = KernelProblem(Gram(Gaussian(0.3), X), y, np.full(300, 1 / 300), loss, 1e-3, intercept)
    held = list(newton.newton(problem, np.zeros(300), 0.0))[-1]
    monkeypatch.setattr(newton, "DENSE", 10)
    steps = list(newton.newton(problem, np.zeros(300), 0.0))
    assert None in steps  # pauses, in which the clock is read
    found = [step for step in steps if step is not None][-1]
    assert held is not None
    assert problem.relative(problem.bounds(*found).gap, problem.bounds(*found).primal) <= 1e-8
    np.testing.assert_allclose(found[1] + found[2], held[1] + held[2], atol=1e-4)


def test_an_interrupt_answers_with_the_gap() -> None:
    seen = itertools.count()

    def interrupt(record: Record) -> None:
        if next(seen) == 3:
            raise KeyboardInterrupt

    problem = large(losses.Hinge(), 100.0)
    outcome = solve.solve(problem, Limits(1e-9, callback=interrupt))
    assert outcome.status is Status.INTERRUPTED
    assert 0.0 < outcome.bounds.gap < np.inf
    assert outcome.bounds.primal <= problem.null


@pytest.mark.parametrize("seconds", [1e-6, 0.02])
@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Logistic()], ids=str)
def test_time_is_up(loss: Loss, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "DENSE", 10)
    problem = large(losses.Hinge(), 1000.0)
    problem = KernelProblem(problem.gram, problem.y, problem.a, loss, problem.lam, True)
    outcome = solve.solve(problem, Limits(1e-12, seconds=seconds))
    assert outcome.status is Status.TIME
    assert 0.0 <= outcome.bounds.gap < np.inf
