"""The multinomial problem of an objective: as asked, and in good coordinates."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from dualgap.arrays import Vector
from dualgap.design import Design
from dualgap.fitting.objective import Objective
from dualgap.fitting.reading import Reading
from dualgap.fitting.signs import refuse_signs
from dualgap.losses.joint import joint_hinge
from dualgap.multinomial.hinge import JointHingeProblem
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.multinomial.working import JointWorking
from dualgap.penalties import Penalised, Regulariser
from dualgap.penalties.forms import unregularised
from dualgap.problem.precondition import Working, precondition


def joint_regulariser(terms: Objective, classes: int) -> Regulariser:
    """The penalty of the whole matrix, row after row; scale zero leaves each class's intercept free."""
    width = len(terms.scale) + terms.fit_intercept
    if terms.budget is None and not terms.lam:
        return unregularised(classes * width)
    factors, scale = terms.factors, terms.scale
    if terms.fit_intercept:
        factors, scale = np.append(factors, 1.0), np.append(scale, 0.0)
    penalty = terms.penalty.tiled(classes, terms.fit_intercept)
    gauge = penalty.gauge(np.tile(factors, classes), np.tile(scale, classes))
    if terms.budget is not None:
        return terms.penalty.within(gauge, terms.budget)
    assert terms.lam is not None
    return Penalised(gauge, terms.lam)


def joint_problem(terms: Objective, design: Design, numbers: Vector, classes: int) -> MultinomialProblem:
    """The problem on these data, `numbers` being class numbers; rows of weight zero are left out."""
    one = terms.problem(design, numbers)
    regulariser = joint_regulariser(terms, classes)
    kind = JointHingeProblem if joint_hinge(one.loss) else MultinomialProblem
    return kind(one.design, one.y, one.a, one.loss, regulariser, one.intercept, classes)


@dataclass(frozen=True, eq=False)
class JointFamily:
    """The joint problem of some data at any strength; what the strengths share is made once."""

    reading: Reading
    working: JointWorking

    def at(self, lam: float | None, budget: float | None = None) -> tuple[Reading, JointWorking]:
        """The data with the objective at a strength, or under a budget; both problems there."""
        terms = replace(self.reading.terms, lam=lam, budget=budget)
        asked, single = self.working.asked, self.working.single
        outer = asked.with_regulariser(joint_regulariser(terms, asked.classes))
        inner = self.working.problem.with_regulariser(_inner(outer, single))
        return replace(self.reading, terms=terms), replace(self.working, asked=outer, problem=inner)


def joint_family(reading: Reading) -> JointFamily:
    """Columns centred and scaled as for one class against the rest."""
    refuse_signs(reading.terms, "classes fitted jointly", 'say multiclass="one_vs_rest".')
    assert reading.classes is not None
    terms, design, numbers = reading.terms, reading.table.design, reading.y
    asked = joint_problem(terms, design, numbers, len(reading.classes))
    single = precondition(terms.problem(design, np.where(numbers == 0, 1.0, -1.0)))
    inner, regulariser = single.problem, _inner(asked, single)
    problem = type(asked)(
        inner.design, asked.y, inner.a, inner.loss, regulariser, inner.intercept, asked.classes
    )
    kept = {one.name: getattr(single, one.name) for one in fields(single)}
    return JointFamily(reading, JointWorking(**{**kept, "asked": asked, "problem": problem}, single=single))


def _inner(asked: MultinomialProblem, single: Working) -> Regulariser:
    """The penalty in the coordinates of the solvers."""
    if single.basis is not None:
        return unregularised(asked.classes * single.problem.p)
    mask, factor = single.keep, 1.0 / single.scale
    if asked.intercept:
        mask, factor = np.append(mask, True), np.append(factor, 1.0)
    gauge = asked.regulariser.gauge.restricted(np.tile(mask, asked.classes))
    return asked.regulariser.with_gauge(gauge).substituted(np.tile(factor, asked.classes), 1.0)
