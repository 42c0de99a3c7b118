"""The multinomial problem of an objective: as asked, and in good coordinates."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.design import Design
from dualgap.fitting.objective import Objective
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.multinomial.working import JointWorking
from dualgap.penalties import Penalised, Regulariser
from dualgap.penalties.forms import unregularised
from dualgap.problem.precondition import precondition


def joint_regulariser(terms: Objective, classes: int) -> Regulariser:
    """The penalty of the whole matrix, row after row; scale zero leaves each class's intercept free."""
    width = len(terms.scale) + terms.fit_intercept
    if terms.budget is None and not terms.lam:
        return unregularised(classes * width)
    factors, scale = terms.factors, terms.scale
    if terms.fit_intercept:
        factors, scale = np.append(factors, 1.0), np.append(scale, 0.0)
    gauge = terms.penalty.gauge(np.tile(factors, classes), np.tile(scale, classes))
    if terms.budget is not None:
        return terms.penalty.within(gauge, terms.budget)
    assert terms.lam is not None
    return Penalised(gauge, terms.lam)


def joint_problem(terms: Objective, design: Design, numbers: Vector, classes: int) -> MultinomialProblem:
    """The problem on these data, `numbers` being class numbers; rows of weight zero are left out."""
    one = terms.problem(design, numbers)
    regulariser = joint_regulariser(terms, classes)
    return MultinomialProblem(one.design, one.y, one.a, one.loss, regulariser, one.intercept, classes)


def joint_working(
    asked: MultinomialProblem, terms: Objective, design: Design, numbers: Vector
) -> JointWorking:
    """Columns centred and scaled as for one class against the rest."""
    single = precondition(terms.problem(design, np.where(numbers == 0, 1.0, -1.0)))
    classes, width = asked.classes, single.problem.p
    if single.basis is not None:
        regulariser: Regulariser = unregularised(classes * width)
    else:
        mask, factor = single.keep, 1.0 / single.scale
        if asked.intercept:
            mask, factor = np.append(mask, True), np.append(factor, 1.0)
        gauge = asked.regulariser.gauge.restricted(np.tile(mask, classes))
        regulariser = asked.regulariser.with_gauge(gauge).substituted(np.tile(factor, classes), 1.0)
    inner = single.problem
    problem = MultinomialProblem(
        inner.design, asked.y, inner.a, inner.loss, regulariser, inner.intercept, classes
    )
    return JointWorking(
        asked,
        problem,
        single.keep,
        single.centre,
        single.scale,
        single.basis,
        single.unit,
        single.offset,
        single,
    )
