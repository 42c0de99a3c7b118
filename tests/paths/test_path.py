"""The object: forms, Pareto set, pictures; and the pieces behind it."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cases
import dualgap as dg
from dualgap.losses import Loss
from dualgap.paths.homotopy.course import BENT_KINK, BENT_SLOPE, CURVATURE, KINK_AT, SLOPE_AT
from dualgap.paths.homotopy.offset import best_offset
from dualgap.paths.homotopy.pieces import row_pieces
from dualgap.traits import Trait
from path_instances import PAIRS, ordinary

PIECEWISE = [loss for loss in cases.LOSSES if Trait.PIECEWISE_QUADRATIC in loss.traits]


@pytest.mark.parametrize("loss", PIECEWISE, ids=str)
@given(data=st.data())
def test_pieces_are_the_derivative(loss: Loss, data: Any) -> None:
    y = data.draw(cases.targets(loss, 6))
    a = data.draw(cases.shares(6))
    z = data.draw(cases.vectors(6, 20.0))
    pieces = row_pieces(loss.terms(y), a, np.random.default_rng(0))
    piece = (pieces[KINK_AT, :, 1:-1] < z[:, None]).sum(axis=1)
    each = np.arange(6)
    slope = pieces[SLOPE_AT, each, piece] + pieces[CURVATURE, each, piece] * z
    smooth = (np.abs(pieces[KINK_AT, :, 1:-1] - z[:, None]) > 1e-9).all(axis=1)
    assert slope[smooth] == pytest.approx((a * loss.derivative(y, z))[smooth], rel=1e-12, abs=1e-12)
    scale = np.maximum(np.abs(pieces[KINK_AT, :, 1:-1]), 1.0)
    assert np.all(np.abs(pieces[BENT_KINK, :, 1:-1] - pieces[KINK_AT, :, 1:-1]) <= 1e-7 * scale)
    assert np.all(np.diff(pieces[BENT_KINK], axis=1) >= 0.0)
    assert pieces[BENT_SLOPE] == pytest.approx(pieces[SLOPE_AT], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("loss", PIECEWISE, ids=str)
@given(data=st.data())
def test_the_offset_minimises_the_loss(loss: Loss, data: Any) -> None:
    y = data.draw(cases.targets(loss, 7))
    a = data.draw(cases.shares(7))
    found = best_offset(row_pieces(loss.terms(y), a, np.random.default_rng(0)))
    best = float(a @ loss.value(y, np.full(7, loss.best_constant(y, a))))
    if found is None:
        assert best == pytest.approx(0.0, abs=1e-6)
    else:
        assert float(a @ loss.value(y, np.full(7, found.value))) == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("loss", "penalty"), PAIRS[::2])
def test_the_constrained_form_is_proven_too(loss: str, penalty: str) -> None:
    X, y = ordinary(loss, 40, 4, seed=1)
    path = dg.path(X, y, loss=loss, penalty=penalty, form="constrained", lam_min_ratio=1e-2)
    assert np.max(path.gaps) <= 1e-8
    assert path.form == "constrained"


@pytest.mark.parametrize(("loss", "penalty"), [("squared", "l1"), ("hinge", "l2"), ("logistic", "l1")])
def test_no_point_of_the_pareto_set_is_dominated(loss: str, penalty: str) -> None:
    X, y = ordinary(loss, 50, 5, seed=2)
    path = dg.path(X, y, loss=loss, penalty=penalty)
    pareto = path.pareto()
    assert len(pareto.lams) >= len(path) // 3
    assert np.all(np.diff(pareto.budgets) > 0.0)
    assert np.all(np.diff(pareto.risks) < 0.0)
    slopes = np.diff(pareto.risks) / np.diff(pareto.budgets)
    assert np.all(np.diff(slopes) >= -1e-3 * np.abs(slopes[:-1]) - 1e-9)  # convex: risk falls less and less


def test_solutions_carry_certificates_that_can_be_checked() -> None:
    X, y = ordinary("hinge", 40, 4, seed=3)
    path = dg.path(X, y, loss="hinge", penalty="l1", standardize=True)
    for asked in ({"lam": 0.1 * float(path.lams[0])}, {"budget": 0.5 * float(path.budgets[-1])}):
        found = path.solution(**asked)
        again = found.certificate.recheck(X, y)
        assert again.objective == pytest.approx(found.objective, rel=1e-12)
        assert again.gap <= 1e-9 * found.objective
        assert found.converged
        assert np.isin(found.predict(X), [-1.0, 1.0]).all()


def test_points_are_what_they_say() -> None:
    X, y = ordinary("epsilon_insensitive(0.5)", 40, 4, seed=4)
    path = dg.path(X, y, loss="epsilon_insensitive(0.5)", penalty="l1")
    assert len(path.lams) == len(path.coefs) == len(path.intercepts) == len(path.gaps) == len(path)
    assert path.budgets == pytest.approx(np.abs(path.coefs).sum(axis=1), abs=1e-12)
    z = X @ path.coefs[-1] + path.intercepts[-1]
    assert path.risks[-1] == pytest.approx(np.maximum(np.abs(z - y) - 0.5, 0.0).mean())
    assert path.n_nonzero[0] == 0
    assert path.n_nonzero[-1] == 4
    assert "exact everywhere" in repr(path)


@pytest.mark.parametrize("x", ["lam", "budget", "norm"])
@pytest.mark.parametrize(("loss", "penalty"), [("squared", "l1"), ("hinge", "l2"), ("absolute", "l1")])
def test_pictures_name_the_lines_and_count_the_weights(x: str, loss: str, penalty: str) -> None:
    mpl.use("Agg")
    X, y = ordinary(loss, 40, 4, seed=5)
    frame = pd.DataFrame(X, columns=["alpha", "beta", "gamma", "delta"])
    path = dg.path(frame, y, loss=loss, penalty=penalty)
    figure = path.plot(x=x, test=(frame, y))
    left, right = figure.axes[:2]
    assert {text.get_text() for text in left.texts} == {"alpha", "beta", "gamma", "delta"}
    assert len(right.lines) == 3
    lines = [line for line in left.lines if len(line.get_xdata()) > 2]
    assert len(lines) == 4
    assert len({str(line.get_linestyle()) + str(line.get_color()) for line in lines}) == 4
    mpl.pyplot.close(figure)


def test_a_logarithmic_picture_follows_the_bends() -> None:
    mpl.use("Agg")
    X, y = ordinary("squared", 40, 3, seed=6)
    path = dg.path(X, y, loss="squared", penalty="l1")
    figure = path.plot()
    line = max(figure.axes[0].lines, key=lambda one: len(one.get_xdata()))
    at, drawn = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    exact = np.array([path.coef(lam=lam) for lam in at])
    assert np.abs(exact - drawn[:, None]).min(axis=1).max() <= 1e-9 * np.abs(exact).max()
    mpl.pyplot.close(figure)
