"""The slips listed in docs/mathematics.md, section 7: the library follows the corrected column."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap as dg
import transcriptions as source
from dualgap.solvers.textbook.perceptron import Perceptron

X, Y, LABELS = source.data(60, 4)


def test_an_error_is_where_the_margin_is_not_positive() -> None:
    """(6.1), (6.2) and §6: y·z ≤ 0, not y·z > 0."""
    y, z = np.array([1.0, 1.0, -1.0, -1.0, 1.0]), np.array([2.0, -2.0, -2.0, 2.0, 0.0])
    assert dg.losses.ZeroOne().value(y, z).tolist() == [0.0, 1.0, 0.0, 1.0, 1.0]


def test_convex_is_a_second_derivative_that_is_not_negative() -> None:
    """§6.2: chords above the curve, for every convex loss."""
    y, low, high = np.ones(200), *np.random.default_rng(0).normal(0.0, 3.0, (2, 200))
    for loss in (dg.losses.Logistic(), dg.losses.Hinge(), dg.losses.Squared()):
        chord = 0.5 * (loss.value(y, low) + loss.value(y, high))
        assert np.all(loss.value(y, 0.5 * (low + high)) <= chord + 1e-12)


def test_the_count_is_of_weights() -> None:
    """§6.3: Σ 1[w_d ≠ 0], whatever the columns hold."""
    found = dg.fit(X, Y, loss="squared", penalty="l0", budget=2)
    assert np.count_nonzero(found.coef) == 2


def test_moving_a_feature_moves_the_prediction_by_its_weight() -> None:
    """(6.9): ∂ŷ/∂x₁ = w₁."""
    found = dg.fit(X, Y, loss="squared", penalty="l2", lam=0.1)
    moved = X + np.array([1.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(found.predict(moved) - found.predict(X), found.coef[0])


def test_the_hinge_falls_below_one_and_is_flat_above() -> None:
    """After (6.21), and the kink of lecture 8: slope −1 for z < 1, 0 for z > 1, anything between at z = 1."""
    hinge, z = dg.losses.Hinge(), np.array([-1.0, 0.0, 0.999, 1.001, 3.0])
    assert hinge.derivative(np.ones(5), z).tolist() == [-1.0, -1.0, -1.0, 0.0, 0.0]
    terms = hinge.terms(np.ones(1))
    assert (terms.kink[0, 0], terms.lower[0, 0], terms.upper[0, 0]) == (1.0, -1.0, 0.0)


def test_the_subgradient_of_the_hinge_points_against_the_label() -> None:
    """(6.23)–(6.25): −y x, so that a step adds +y x."""
    solver = dg.solvers.StochasticSubgradient(0.5, order="given")
    one = dg.LinearClassifier("hinge", "none", solver=solver, fit_intercept=False)
    one.partial_fit(X[:1], LABELS[:1], classes=[-1.0, 1.0])
    np.testing.assert_allclose(one.coef_[0], 0.5 * LABELS[0] * X[0])


def test_the_dual_of_the_whole_square_has_a_quarter() -> None:
    """Primal ‖w‖² + CΣξ: Σα − ¼ΣΣααyyk attains the optimum, with w = ½Σαyx."""
    C = 0.7
    found = dg.fit(X, LABELS, loss="hinge", penalty="l2", C=C, tol=1e-9)
    alpha = LABELS * found.certificate.theta * C * len(X)
    assert alpha.min() >= -1e-9 and alpha.max() <= C + 1e-9
    inner = (alpha * LABELS) @ X
    assert alpha.sum() - 0.25 * inner @ inner == pytest.approx(C * len(X) * found.objective, rel=1e-6)
    np.testing.assert_allclose(found.coef, 0.5 * inner, atol=1e-3)


def test_half_a_strength_gives_half_a_strength() -> None:
    """§8: Σ(w·x − y)² + ½λ w·w has the minimiser (½λI + Σxxᵀ)⁻¹Σxy."""
    strength = 3.0
    found = dg.fit(X, Y, loss="squared", lam=0.5 * strength / len(X), fit_intercept=False, tol=1e-12)
    expected = np.linalg.solve(0.5 * strength * np.eye(4) + X.T @ X, X.T @ Y)
    np.testing.assert_allclose(found.coef, expected, rtol=1e-6)


def test_the_perceptron_adds_the_label_times_the_row() -> None:
    """On a mistake w ← w + α y x, away from the side that was predicted."""
    with pytest.warns(dg.errors.NotCertifiedWarning):
        found = dg.fit(X, LABELS, loss="perceptron", penalty="none", solver=Perceptron(0.5), max_iter=1)
    expected = next(iter(source.perceptron(X, LABELS, 0.5, 1)))
    np.testing.assert_allclose(np.append(found.coef, found.intercept), expected, rtol=1e-12)
