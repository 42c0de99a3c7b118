"""Weak duality for the whole catalogue; the map from the asked to the working problem (M9, M10, M11, M12)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import FORMS, LOSSES, PENALTIES, problem, vectors
from dualgap.arrays import Vector
from dualgap.losses import Loss
from dualgap.penalties import Penalty
from dualgap.problem.dual_point import feasible
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)
every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=str)
few = settings(max_examples=max(3, settings().max_examples // 4))


@st.composite
def problems(draw: st.DrawFn, loss: Loss, penalty: Penalty, form: str) -> Problem:
    """Dense or sparse, with an intercept or without, never the same numbers twice."""
    return problem(
        loss,
        penalty,
        form,
        seed=draw(st.integers(0, 10**6)),
        design=draw(st.sampled_from(["dense", "csc"])),
        intercept=draw(st.booleans()),
    )


def candidates(data: st.DataObject, asked: Problem) -> list[Vector]:
    """Dual vectors of every size: nothing, noise, and the slope of the loss at some weights."""
    w = data.draw(vectors(asked.p, 0.1))
    noise = data.draw(vectors(asked.n, 1.0))
    return [np.zeros(asked.n), noise, asked.a * noise, asked.slope(asked.design.matvec(w))]


@every_loss
@every_penalty
@few
@given(data=st.data())
def test_weak_duality(loss: Loss, penalty: Penalty, data: st.DataObject) -> None:
    """Whatever θ and w come in, the kernel's bound is below every objective it has ever seen: no slack."""
    for form in FORMS:
        asked = data.draw(problems(loss, penalty, form))
        lower, upper = asked.dual_bounds
        points = [asked.null_weights, data.draw(vectors(asked.p, 0.1)), data.draw(vectors(asked.p, 3.0))]
        seen = [asked.judged(w, theta, 1e-6) for theta in candidates(data, asked) for w in points]
        for one in seen:
            assert np.isfinite(asked.regulariser.value(one.w))
            assert one.primal == np.inf or one.primal == pytest.approx(asked.primal(one.w), rel=1e-9)
            assert 0.0 <= one.dual <= one.primal
            assert np.all((lower <= one.theta) & (one.theta <= upper))
        assert max(one.dual for one in seen if one.box is None) <= min(one.primal for one in seen)


@every_loss
@every_penalty
@few
@given(data=st.data())
def test_preconditioning_keeps_both_values(loss: Loss, penalty: Penalty, data: st.DataObject) -> None:
    """asked value = objective_unit × working value, for the primal and for the dual."""
    for form in FORMS:
        asked = data.draw(problems(loss, penalty, form))
        working = precondition(asked)
        inner, unit = working.problem, working.objective_unit
        u = inner.regulariser.feasible(0.3 * data.draw(vectors(inner.p, 1.0)))
        w = working.weights(u)
        if form == "penalised":
            assert asked.primal(w) == pytest.approx(unit * inner.primal(u), rel=1e-9)
        else:
            assert asked.regulariser.gauge.value(w) == pytest.approx(
                inner.regulariser.gauge.value(u), rel=1e-9
            )
            assert asked.risk(asked.design.matvec(w)) == pytest.approx(
                unit * inner.risk(inner.design.matvec(u)), rel=1e-9
            )
        np.testing.assert_allclose(working.coordinates(w), u, rtol=1e-6, atol=1e-8)
        for theta in candidates(data, inner):
            point, _ = feasible(inner, theta)
            np.testing.assert_allclose(working.working_theta(working.theta(point)), point, rtol=1e-14)
            value, astray = inner.dual(point), inner.astray(point, inner.correlation(point))
            if np.isfinite(value) and astray <= 1e-9 * float(np.abs(point).sum()):
                scale = unit * (abs(value) + float(np.abs(point) @ np.abs(inner.y)))
                assert asked.dual(working.theta(point)) == pytest.approx(
                    unit * value, rel=1e-7, abs=1e-8 * scale
                )
