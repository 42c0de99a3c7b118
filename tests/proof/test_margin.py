"""C = ∞ in the trusted kernel: margins are kept as real numbers or not at all, and both values are true."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap import losses
from dualgap.errors import InfeasibleError, NotCertifiedWarning
from dualgap.fitting.hard_margin import HardMargin
from dualgap.fitting.inputs import read_table
from dualgap.penalties import L2, Penalised
from dualgap.penalties.separable import Separable
from dualgap.proof import kernel
from dualgap.proof import margin as module
from dualgap.proof.check import SHARE, SLACK, Checked
from dualgap.proof.kernel import DEFINITE, Entries, KernelStatement
from dualgap.proof.margin import check_kernel_margin, check_margin, widest
from dualgap.proof.rounding import FEW, U
from exact.arithmetic import rational
from exact.machines import Machine, dot, rationals


def plane_problem(X: Any, y: Any, *, intercept: bool = True, factors: Any = None) -> Any:
    n, p = X.shape
    factors = np.ones(p) if factors is None else np.asarray(factors, dtype=np.float64)
    terms = HardMargin(losses.Hinge(), L2(), 1.0, None, intercept, np.ones(n), factors, np.ones(p))
    return terms.problem(read_table(X).design, np.asarray(y, dtype=np.float64))


def truth(X: Any, y: Any, w: Any, theta: Any, factors: Any, intercept: bool) -> tuple[Any, Any]:
    """‖w‖² or None where the margin is not kept, and Σ|θ| − ¼‖v‖² or None; exactly."""
    coef, b = (w[:-1], rational(w[-1])) if intercept else (w, Fraction(0))
    weights, price = rationals(coef), rationals(factors)
    margins = [rational(label) * (dot(rationals(x), weights) + b) for x, label in zip(X, y, strict=True)]
    square = sum((f * v * v for f, v in zip(price, weights, strict=True)), Fraction(0))
    dual = rationals(theta)
    if any(rational(label) * t < 0 for label, t in zip(y, dual, strict=True)) or (
        intercept and sum(dual) != 0
    ):
        return square if min(margins) >= 1 else None, None
    v = [dot(rationals(column), dual) for column in np.asarray(X).T]
    bound = sum(map(abs, dual)) - sum(t * t / f for t, f in zip(v, price, strict=True)) / 4
    return square if min(margins) >= 1 else None, bound


def judge(found: Checked, X: Any, y: Any, factors: Any, intercept: bool) -> None:
    square, bound = truth(X, y, found.w, found.theta, factors, intercept)
    assert bound is not None
    if square is None:
        assert found.primal == np.inf and found.dual == 0.0
    else:
        assert rational(found.primal) >= square
        assert found.dual == 0.0 or rational(found.dual) <= bound


def separated(seed: int, n: int = 12, p: int = 3, offset: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(np.arange(n) % 2 > 0, 1.0, -1.0)
    X[:, 0] = y * (0.3 + rng.exponential(size=n))
    return X + offset, y


@pytest.mark.parametrize("tolerance", [0.0, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_planes(offset: float, intercept: bool, tolerance: float) -> None:
    """Of any w and θ both values are true; a w short of the margin by one bit is worth ∞."""
    rng = np.random.default_rng(0)
    for seed in range(25):
        X, y = separated(seed, offset=offset if intercept else 0.0)
        factors = rng.uniform(0.5, 2.0, 3)
        problem = plane_problem(X, y, intercept=intercept, factors=factors)
        w = np.array([4.0, 0.0, 0.0]) + 0.01 * rng.normal(size=3)
        b = -float(X.mean(axis=0) @ w)
        theta = y * rng.exponential(size=len(y))
        for scale in (1.0, 0.1, -1.0):
            point = np.append(scale * w, scale * b) if intercept else scale * w
            for dual in (theta, 1e-3 * theta, -theta, rng.normal(size=len(y)), np.zeros(len(y))):
                judge(check_margin(problem, point, dual, tolerance), X, y, factors, intercept)


def test_one_bit_short() -> None:
    X, y = np.array([[0.0], [2.0]]), np.array([-1.0, 1.0])
    problem, theta = plane_problem(X, y), np.array([-0.5, 0.5])
    exact = check_margin(problem, np.array([1.0, -1.0]), theta)
    assert exact.primal == pytest.approx(1.0, rel=1e-12) and exact.dual == pytest.approx(0.75, rel=1e-12)
    assert exact.primal >= 1.0 and exact.dual <= 0.75
    for w in ([1.0 - U, -1.0], [1.0, -1.0 - 2 * U], [1.0, -1.0 + U]):
        short = check_margin(problem, np.array(w), theta)
        assert short.primal == np.inf and short.dual == 0.0


def test_what_was_accepted_before() -> None:
    """An offset of 1e9, of which a room of 1e-9 made ‖w‖² = 0.25 where the least is 1."""
    X, y = np.array([[1e9], [1e9 + 2.0]]), np.array([-1.0, 1.0])
    problem = plane_problem(X, y)
    theta = np.array([-1.0, 1.0])
    false = check_margin(problem, np.array([0.5, -0.5 * (1e9 + 1.0)]), theta)
    assert false.primal == np.inf
    true = check_margin(problem, np.array([1.0, -(1e9 + 1.0)]), theta)
    assert true.primal == pytest.approx(1.0, rel=1e-12) and true.gap <= 1e-9
    model = dg.fit(X, [0, 1], loss="hinge", C=np.inf)
    assert model.converged and model.objective >= 1.0
    assert model.objective == pytest.approx(1.0, rel=1e-6)
    forged = replace(model.certificate, coef=np.array([0.5]), intercept=-0.5 * (1e9 + 1.0))
    assert forged.recheck(X, [0, 1]).objective == np.inf


def test_every_column_needs_a_price() -> None:
    X, y = separated(0)
    problem = plane_problem(X, y, factors=[1.0, 0.0, 1.0])
    found = check_margin(problem, np.array([4.0, 0.0, 0.0, 0.0]), y * 0.1)
    assert found.primal == pytest.approx(16.0) and found.dual == 0.0


def test_a_price_that_is_passed_proves_nothing() -> None:
    """‖w‖₁ instead of a square: v beyond its price has no conjugate, and within it the bound is true."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    problem = plane_problem(X, y, intercept=False)
    ones = replace(problem, regulariser=Penalised(Separable(np.ones(1), np.zeros(1)), 1.0))
    w = np.array([4.0])  # 1 is enough, and the least
    for size, bound in ((0.25, 0.5), (2.0, 0.0)):  # Σ|θ| where |v| ≤ 1
        found = check_margin(ones, w, size * y)
        assert found.primal == pytest.approx(4.0) and found.dual == pytest.approx(bound, rel=1e-9)
    wide = plane_problem(X * [1.0, 3.0], y, intercept=False)
    two = replace(wide, regulariser=Penalised(Separable(np.ones(2), np.zeros(2)), 1.0))
    assert check_margin(two, np.array([1.0, 0.0]), 0.5 * y).dual <= 1.0 / 3.0  # which (0, 1/3) attains


def test_planes_of_sparse_tables() -> None:
    X, y = separated(3)
    X[np.abs(X) < 0.5] = 0.0
    X[:, 0] += y
    dense = dg.fit(X, y, loss="hinge", C=np.inf)
    thin = dense.certificate.recheck(sp.csr_array(X), y)
    assert thin.objective == pytest.approx(dense.objective, rel=1e-12)
    assert thin.gap <= 1e-6 * thin.objective


def test_the_gap_is_what_it_says() -> None:
    """Σ|θ|(m − 1) + ‖w − v/2‖² to a few roundings, by a table of small whole numbers."""
    X, y = np.array([[3.0, 1.0], [2.0, -1.0], [-2.0, 0.5], [-3.0, 2.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    problem = plane_problem(X, y)
    w, theta = np.array([1.0, 0.25, 0.5]), np.array([1.0, 2.0, -2.0, -1.0]) / 32
    found = check_margin(problem, w, theta, 1.0)
    margins = y * (X @ w[:-1] + w[-1]) - 1.0
    assert margins.min() >= 0.0
    v = X.T @ theta
    gap = float(np.abs(theta) @ margins + ((w[:-1] - v / 2) ** 2).sum())
    assert found.gap == pytest.approx(gap, rel=1e-12)
    assert found.primal == pytest.approx(1.0625, rel=1e-12)
    assert 0.0 < found.rounding < 1e-12


def test_charges_of_a_plane() -> None:
    """What rounding may cost is that of the value, of the margins, and of the formulas; and no more."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    problem = plane_problem(X, y, intercept=False)
    w, theta = np.array([2.0]), np.array([0.5, -0.5])
    found = check_margin(problem, w, theta, 1.0)
    error = problem.misses(w)[1]
    v, reach = problem.rows.against(theta)
    bracket, _ = problem.regulariser.fenchel_young(w, v, reach)
    doubt = problem.regulariser.priced(w)[1] + FEW * 4.0
    along = 2.0 * float(abs(v[0]) + reach[0])
    rounding = 2 * doubt + float(error) * 1.0 + SLACK * (4.0 + bracket + along)
    assert found.rounding == pytest.approx(rounding, rel=1e-9)
    assert found.primal == pytest.approx(4.0 + doubt, rel=1e-15)
    assert found.gap == pytest.approx(1.0 + bracket + rounding, rel=1e-13)
    nothing = check_margin(problem, np.zeros(1), np.zeros(2), 1.0)
    assert nothing.primal == np.inf and nothing.rounding == 0.0


def test_feasible_points() -> None:
    y = np.array([1.0, -1.0, 1.0, -1.0])
    given = np.array([0.5, 0.25, -1.0, -0.125])
    np.testing.assert_array_equal(module._feasible(given, y, intercept=False), [0.5, 0.0, 0.0, -0.125])
    np.testing.assert_array_equal(module._feasible(given, y, intercept=True), [0.125, 0.0, 0.0, -0.125])


def test_more_digits_where_they_can_help() -> None:
    nothing = np.zeros(0)

    def poor(primal: float, gap: float, rounding: float, tolerance: float) -> bool:
        return module._poor(
            Checked(nothing, nothing, primal, primal - gap, rounding, nothing, nothing), tolerance
        )

    assert poor(np.inf, np.inf, 0.0, 1.0)
    assert not poor(2.0, 1.0, 1.0, 0.5)
    assert poor(2.0, 1.0, 1.0, 0.49)
    assert not poor(2.0, 1.0, SHARE * 0.5, 0.25)
    assert poor(2.0, 1.0, SHARE * 0.51, 0.25)


# --- surfaces -----------------------------------------------------------------------------------------------


def surface_problem(K: Any, y: Any, intercept: bool) -> KernelStatement:
    n = len(y)
    return KernelStatement(Entries.held(K), y, np.full(n, 1 / n), losses.Hinge(), 0.0, intercept)


def surface_truth(K: Any, y: Any, found: Checked, tau: Fraction) -> tuple[Any, Any]:
    machine = Machine(K, y, np.ones(len(y)), "hinge", 1.0, tau)
    beta, b, theta = rationals(found.w[:-1]), rational(found.w[-1]), rationals(found.theta)
    margins = [rational(label) * (z + b) for label, z in zip(y, machine.image(beta), strict=True)]
    bound = sum(map(abs, theta)) - machine.square(theta) / 4
    return machine.square(beta) if min(margins) >= 1 else None, bound


@pytest.mark.parametrize("tolerance", [0.0, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_surfaces(intercept: bool, tolerance: float) -> None:
    rng = np.random.default_rng(1)
    kept = 0
    for seed in range(20):
        X, y = separated(seed, n=8, p=2)
        K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        problem = surface_problem(K, y, intercept)
        solved = np.linalg.solve(K, y)
        solved = solved - intercept * solved.mean()
        for beta in (3.0 * solved, solved, 1e4 * solved, -solved, 5.0 * y):
            b = float(rng.normal()) * 0.1
            for theta in (2.0 * beta, y * rng.exponential(size=8), rng.normal(size=8)):
                found = check_kernel_margin(problem, beta, b, theta, tolerance)
                assert not intercept or sum(rationals(found.theta)) == 0
                assert np.all(y * found.theta >= 0.0)
                assert found.w[-1] == (b if intercept else 0.0)
                most = rational(DEFINITE) * rational(np.sqrt(8))
                for tau in (Fraction(0), most / 2, most):
                    square, bound = surface_truth(K, y, found, tau)
                    if found.primal < np.inf:
                        kept += 1
                        assert square is not None and rational(found.primal) >= square
                    assert found.dual == 0.0 or rational(found.dual) <= bound
    assert kept > 100


def test_the_gap_of_a_surface() -> None:
    K, y = np.array([[2.0, -1.0], [-1.0, 3.0]]), np.array([1.0, -1.0])
    problem = surface_problem(K, y, True)
    beta, theta = np.array([1.0, -1.0]), np.array([0.5, -0.5])
    found = check_kernel_margin(problem, beta, 0.25, theta, 1.0)
    margins = y * (K @ beta + 0.25) - 1.0
    d = beta - theta / 2
    assert found.primal == pytest.approx(float(beta @ K @ beta), rel=1e-12)
    assert found.gap == pytest.approx(float(np.abs(theta) @ margins + d @ K @ d), rel=1e-12)
    assert 0.0 < found.rounding < 1e-11
    short = check_kernel_margin(problem, 0.25 * beta, 0.0, theta, 1.0)
    assert short.primal == np.inf and short.dual == 0.0


def test_a_margin_that_tau_takes_away() -> None:
    """A coefficient against its label: the diagonal, raised, lowers its margin."""
    K, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 1.0])
    shift = DEFINITE * np.sqrt(2.0)
    against, along = np.array([-1.0, 1.0]), np.array([1.0, 1.0])
    problem = surface_problem(K, y, True)
    enough = 1.0 + 2.0**-40
    assert check_kernel_margin(problem, along, enough - 1.0 + 8 * U, np.zeros(2), 1.0).primal < np.inf
    for room, kept in ((0.5 * shift, False), (4.0 * shift, True)):
        found = check_kernel_margin(problem, against, 2.0 + room, np.zeros(2), 1e-30)
        assert (found.primal < np.inf) == kept
    charged = check_kernel_margin(problem, along, 1.0, along, 1e-30)
    assert charged.rounding >= 2 * shift * 2.0  # of the square, and of the margins that θ pays for


def test_charges_of_a_surface() -> None:
    K, y = np.array([[4.0]]), np.array([1.0])
    problem = surface_problem(K, y, False)
    beta, theta = np.array([0.5]), np.array([0.5])
    found = check_kernel_margin(problem, beta, 0.0, theta, 1.0)
    image = problem.products.times(beta)
    _, error = problem.misses(image, 0.0)
    square, doubt = image.along(beta)
    rise = float(beta @ image.shift)
    doubt += FEW * (square + rise)
    value = square + rise + doubt
    assert found.primal == value
    more = 0.5**2 * 4.0 / 4.0
    loose = 0.5 * float(error[0] + abs(image.shift[0]))
    assert found.gap == pytest.approx(0.5 * 1.0 + more, rel=1e-12)
    exact = rise + 2 * doubt + loose + SLACK * (value + more)
    assert found.rounding == pytest.approx(exact, rel=0.2)
    assert found.rounding >= exact


@pytest.mark.parametrize("intercept", [True, False])
def test_no_surface_is_wider(intercept: bool) -> None:
    """Σ|θ|/√(θᵀKθ) bounds ‖f‖ from below: exactly, for any θ; and the best θ says what is attained."""
    rng = np.random.default_rng(2)
    for seed in range(20):
        X, y = separated(seed, n=6, p=2)
        K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        problem = surface_problem(K, y, intercept)
        theta = module._feasible(y * rng.exponential(size=6), y, intercept=intercept)
        width = widest(problem, theta)
        machine = Machine(K, y, np.ones(6), "hinge", 1.0, rational(DEFINITE) * rational(np.sqrt(6)))
        dual = rationals(theta)
        assert rational(width) ** 2 * sum(map(abs, dual)) ** 2 >= machine.square(dual)
        plain = float(np.sqrt(theta @ K @ theta) / np.abs(theta).sum())
        assert width == pytest.approx(plain, rel=1e-10)
    assert widest(problem, -theta) == np.inf
    assert widest(problem, np.zeros(6)) == np.inf
    with np.errstate(all="ignore"):
        for bad in (np.nan, np.inf, 1e308):
            assert widest(problem, y * bad) == np.inf


def test_the_width_of_two_points() -> None:
    """k = 1 and e^−2 between them: the surface of largest margin has ½√(2 − 2e^−2) on either side."""
    K = np.array([[1.0, np.exp(-2.0)], [np.exp(-2.0), 1.0]])
    problem = surface_problem(K, np.array([1.0, -1.0]), True)
    assert widest(problem, np.array([3.0, -3.0])) == pytest.approx(
        0.5 * np.sqrt(2 - 2 * np.exp(-2.0)), rel=1e-14
    )
    twins = surface_problem(np.ones((2, 2)), np.array([1.0, -1.0]), True)
    assert 0.0 < widest(twins, np.array([1.0, -1.0])) <= 1e-7


# --- every charge made loud, against the formulas written out -----------------------------------------------


@pytest.fixture
def loud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roundings of a size that nobody can overlook; the gap is left in place of the bound."""
    for name, value in {"FEW": 1 / 64, "SLACK": 1 / 16}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "gamma", lambda k: k / 512)
    monkeypatch.setattr(module, "total", lambda values: float(values.sum()) * (1 + 1 / 32))
    monkeypatch.setattr(module, "told", lambda found: found)


def test_loud_planes(loud: None, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = separated(1, n=6)
    problem = plane_problem(X, y, factors=[0.5, 1.0, 2.0])
    monkeypatch.setattr("dualgap.proof.rows.gamma", lambda k: k / 512)
    monkeypatch.setattr("dualgap.proof.rows.lost", lambda k: k / 4096)
    monkeypatch.setattr(Penalised, "priced", lambda self, w: (self.value(w), 0.25))
    for w in (np.array([4.0, 0.1, -0.2, 0.3]), np.array([0.1, 0.1, -0.2, 0.3])):
        theta = module._feasible(y * np.arange(1.0, 7.0), y, intercept=True)
        for exact in (False, True):
            for kept in (False, True):
                found = module._plane(problem, w, theta, kept, exact=exact)
                t, error = problem.misses(w, exact=exact)
                v, reach = problem.rows.against(theta, exact=exact)
                v, reach = np.append(v, 0.0), np.append(reach, 0.0)
                bracket, _ = problem.regulariser.fenchel_young(w, v, reach)
                value, doubt = problem.regulariser.priced(w)
                doubt += value / 64
                paid = float((np.abs(theta) * np.maximum(y * t - 1.0, 0.0)).sum()) * (1 + 1 / 32)
                loose = float((np.abs(theta) * error).sum()) * (1 + 1 / 32)
                along = float(np.abs(w) @ (np.abs(v) + reach))
                rounding = 2 * doubt + loose + (value + bracket + along) / 16
                assert found.primal == (pytest.approx(value + doubt, rel=1e-12) if kept else np.inf)
                assert found.rounding == pytest.approx(rounding, rel=1e-12)
                assert found.dual == pytest.approx(paid + bracket + rounding, rel=1e-12)
                np.testing.assert_array_equal(found.correlation, v)
                np.testing.assert_array_equal(found.reach, reach)


@pytest.mark.parametrize("turn", [1.0, -1.0])
@pytest.mark.parametrize("sink", [0.0, 30.0])
def test_loud_surfaces(sink: float, turn: float, loud: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sink` makes βᵀKβ negative, as rounding can; `turn` puts coefficients against their labels."""
    monkeypatch.setattr(kernel, "DEFINITE", 1 / 50)
    monkeypatch.setattr(kernel, "gamma", lambda k: k / 512)
    rng = np.random.default_rng(3)
    A = rng.normal(size=(4, 5))
    K, y = A @ A.T - sink * np.eye(4), np.array([1.0, -1.0, -1.0, 1.0])
    problem = surface_problem(K, y, True)
    beta = turn * y * np.array([0.5, 1.0, 1.5, 2.0])
    theta = module._feasible(y * rng.exponential(size=4), y, intercept=True)
    for exact in (False, True):
        found = module._surface(problem, beta, 0.2, theta, exact=exact)
        image = problem.products.times(beta, exact=exact)
        t, error = problem.misses(image, 0.2)
        square, off = image.along(beta)
        rise = float(np.abs(beta) @ np.abs(image.shift)) * (1 + 1 / 64 + 4 / 512)
        doubt = off + max(-square, 0.0) + (abs(square) + rise) / 64
        value = max(square, 0.0) + rise + doubt
        bracket, more = kernel.distance_between(problem.products, image, beta, theta, 1.0, value, exact=exact)
        paid = float((np.abs(theta) * np.maximum(y * t - 1.0, 0.0)).sum()) * (1 + 1 / 32)
        loose = float((np.abs(theta) * (error + np.abs(image.shift))).sum()) * (1 + 1 / 32)
        rounding = rise + 2 * doubt + more + loose + (value + bracket) / 16
        assert found.rounding == pytest.approx(rounding, rel=1e-12)
        assert found.dual == pytest.approx(paid + bracket + rounding, rel=1e-12)
        away = y * image.shift
        kept = np.all(y * t - 1.0 + np.minimum(away, 0.0) >= error * (1 + 1 / 64) + np.abs(away) / 64)
        assert found.primal == (pytest.approx(value, rel=1e-12) if kept else np.inf)
        assert found.correlation.shape == found.reach.shape == (0,)


@pytest.mark.parametrize(
    ("label", "shift", "error", "needed"),
    [
        (1.0, -0.25, 0.0, 1.25 + 0.25 / 64),  # τ takes it away
        (-1.0, 0.25, 0.0, 1.25 + 0.25 / 64),
        (1.0, 0.25, 0.0, 1.0 + 0.25 / 64),  # τ adds to it, or does not
        (-1.0, -0.25, 0.0, 1.0 + 0.25 / 64),
        (1.0, 0.0, 0.25, 1.0 + 0.25 * (1 + 1 / 64)),
        (-1.0, 0.0, 0.25, 1.0 + 0.25 * (1 + 1 / 64)),
    ],
)
def test_each_part_of_a_margin_that_is_kept(
    label: float, shift: float, error: float, needed: float, loud: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row just beyond what it must be, at it, and just short of it."""
    problem = surface_problem(np.eye(1), np.array([label]), True)
    image = kernel.Product(np.ones(1), np.zeros(1), np.zeros(1), np.ones(1), np.full(1, shift))
    monkeypatch.setattr(kernel.Entries, "times", lambda self, v, *, exact=False: image)
    for slip, kept in ((1e-9, True), (0.0, True), (-1e-9, False)):
        t = np.array([label * (needed + slip)])
        monkeypatch.setattr(
            kernel.KernelStatement, "misses", lambda self, image, b, t=t: (t, np.array([error]))
        )
        with np.errstate(all="ignore"):
            found = module._surface(problem, np.ones(1), 0.0, np.zeros(1), exact=False)
        assert (found.primal < np.inf) == kept


def test_loud_widths(loud: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "DEFINITE", 1 / 50)
    monkeypatch.setattr(kernel, "lost", lambda k: k / 4096)
    monkeypatch.setattr(kernel, "gamma", lambda k: k / 512)
    K = np.array([[2.0, 0.5], [0.5, 3.0]])
    problem = surface_problem(K, np.array([1.0, -1.0]), True)
    theta = np.array([2.0, -2.0])
    image = problem.products.times(theta, exact=True)
    square, doubt = image.along(theta)
    square += doubt + float(theta @ image.shift) * (1 + 1 / 64 + 2 / 512)
    expected = np.sqrt(square) / (4.0 * (1 - 1 / 64)) * (1 + 1 / 64)
    assert widest(problem, theta) == pytest.approx(expected, rel=1e-12)
    sunk = surface_problem(-K, np.array([1.0, -1.0]), True)
    image = sunk.products.times(theta, exact=True)
    square = image.along(theta)[1] + float(theta @ image.shift) * (1 + 1 / 64 + 2 / 512)
    expected = np.sqrt(square) / (4.0 * (1 - 1 / 64)) * (1 + 1 / 64)
    assert widest(sunk, theta) == pytest.approx(expected, rel=1e-12)


def test_when_more_digits_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both checks look again where the first look was poor, and keep the better half of each."""
    X, y = separated(2)
    w, theta = np.array([9.0, 0.0, 0.0, 0.0]), y * 0.1
    seen: list[bool] = []
    real = module._plane

    def watched(*args: Any, exact: bool) -> Checked:
        seen.append(exact)
        return real(*args, exact=exact)

    monkeypatch.setattr(module, "_plane", watched)
    check_margin(plane_problem(X, y), w, theta, 1e9)
    assert seen == [False]
    check_margin(plane_problem(X, y), w, theta)
    assert seen == [False, False, True]
    K = np.eye(12) * 3.0
    surfaces: list[bool] = []
    surface = module._surface

    def looked(*args: Any, exact: bool) -> Checked:
        surfaces.append(exact)
        return surface(*args, exact=exact)

    monkeypatch.setattr(module, "_surface", looked)
    check_kernel_margin(surface_problem(K, y, True), y, 0.0, theta, 1e9)
    assert surfaces == [False]
    check_kernel_margin(surface_problem(K, y, True), y, 0.0, theta)
    assert surfaces == [False, False, True]


# --- what the fits say --------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
def test_planes_that_are_fitted_keep_their_margin(offset: float) -> None:
    for seed in range(5):
        X, y = separated(seed, n=20)
        X = np.round(X * 2**10) / 2**10 + offset
        found = dg.fit(X, y, loss="hinge", C=np.inf)
        again = found.certificate.recheck(X, y)
        assert again.objective == found.objective and again.bound == found.bound
        square, bound = truth(
            X, y, np.append(found.coef, found.intercept), found.certificate.theta, np.ones(3), True
        )
        assert square is not None and square <= rational(found.objective)
        assert rational(found.bound) <= bound
        assert found.converged


def test_surfaces_that_are_fitted_keep_their_margin() -> None:
    for seed in range(5):
        X, y = separated(seed, n=20)
        model = dg.KernelClassifier(C=np.inf, gamma=0.5).fit(X, y)
        K = model.kernel_(X, X)
        found = model.solution_
        proof = found.certificate
        point = Checked(np.append(proof.coef, proof.intercept), proof.theta, 0, 0, 0, K, K)
        square, bound = surface_truth(0.5 * (K + K.T), y, point, Fraction(0))
        assert square is not None and square <= rational(found.objective)
        assert rational(found.bound) <= bound and found.converged
        again = proof.recheck(K, y)
        assert again.objective == found.objective and again.bound == found.bound


def test_hulls_a_bit_apart_are_not_said_to_meet() -> None:
    """1e-12 of the spread apart: a plane, as real numbers, or the truth that its margin is small."""
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5 + 1e-12], [0.0, 3.0]])
    y = [0, 0, 1, 1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotCertifiedWarning)
            found = dg.fit(X, y, loss="hinge", C=np.inf)
    except InfeasibleError as error:
        assert "margin of at most" in str(error) and "hulls" not in str(error).split("error.proof")[0]
    else:
        assert found.objective < np.inf
    with pytest.raises(InfeasibleError, match="hulls of the two classes meet"):
        dg.fit(np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [0.0, 3.0]]), y, loss="hinge", C=np.inf)
