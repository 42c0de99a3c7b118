"""Smooth losses with a squared penalty or none: Newton with an exact line search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate
from dualgap.linalg.line_search import convex_step
from dualgap.problem.problem import Problem
from dualgap.proof.statement import SMALL
from dualgap.solvers.borrowed_metric import BorrowedMetric
from dualgap.solvers.curvature_floor import CurvatureFloor, has_flat_pieces
from dualgap.solvers.normal_equations import (
    LARGEST,
    Factored,
    ModelPoint,
    Primal,
    direct,
    fitted,
    system,
    work,
)
from dualgap.solvers.plain_newton import PlainNewton
from dualgap.solvers.prices import lacks_squares, plain, prices
from dualgap.solvers.sampling import sampled
from dualgap.solvers.tall_point import NARROW, sample_size
from dualgap.traits import Trait

STEPS_GUESS, HARD_GUESS = 5.0, 20.0  # the latter of inexact steps among flat pieces
LIMIT = 500  # steps: the end where no minimum exists and the slopes never vanish
QUIET = 1e-19  # a step that promises less than this share of the objective is rounding
NEAR = 0.03  # steps that promise more than this share of the objective are not worth a certificate yet
LEFT = 10.0  # nor those that will leave so many times the gap wanted
ROUGH, ROUGH_LIMIT = 1e-2, 20  # the same for the intermediate problems of a continuation, and their steps
COARSEST = 0.2  # relative residual of a step by conjugate gradients
SLOW = 0.1  # a step that promises more than this share of the one before
PATIENCE = 5  # slow steps far from the optimum, where that need not be rounding
SAMPLE_ROWS, LOOSE_ROWS = 2, 20  # for each column in a sample, with a ridge and without
SAMPLE_WORK = 1e8  # operations of a step below which a sample spares nothing
SAMPLE_PROMISE, SAMPLE_STEPS = 0.3, 8  # how well a sample is solved, beside what its answer is off by
CHORD, CHORD_SAFETY = 0.3, 10.0  # a change of curvature by this share leaves the old factor of use
CHORD_FALL = 0.5  # unless it hardly gets on: of what the step before promised
SMALL_TABLE = 1_000_000  # numbers whose matrices are made in milliseconds: a choice
NEAR_TABLE, LARGEST_TABLE = 8_000_000, 30_000_000  # numbers near the processor in 4 bytes; and copied at all
THIN, THIN_STEPS = 0.05, 40  # share of the places of a table that hold a number; more steps ask for scales
FIRM = 1e-2  # a ridge of this size, on columns of unit size, needs no continuation


@solver("newton")
@dataclass(frozen=True)
class Newton:
    """w ← w − s (XᵀHX + Λ)⁻¹ ∇P(w), s from a search along the line.

    Losses that are only piecewise quadratic have rows without curvature; these are lent a share of the
    loss's bound (`CurvatureFloor`), so that no direction is flat. Large sparse problems take inexact steps
    by conjugate gradients (Dembo, Eisenstat and Steihaug, 1982). Where no minimum exists the iterates run
    away until the slopes vanish. Cost per step: one product XᵀHX, or XXᵀ, and its Cholesky factor.
    """

    name: ClassVar[str] = "newton"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacking = lacks_squares(problem)
        return lacking if problem.loss_has(Trait.SMOOTH) else ("the loss is not smooth", *lacking)

    def cost(self, problem: Problem) -> float:
        ridge = prices(problem)[1]
        hard = has_flat_pieces(problem) and not direct(problem.design, ridge)
        return (HARD_GUESS if hard else STEPS_GUESS) * (STEP + work(problem.design, ridge))

    def at_once(self, problem: Problem) -> PlainNewton | BorrowedMetric | ThinNewton | None:
        """Each column with a ridge, and a loss that bends everywhere: few numbers, or more rows, or few in
        each column where no other method holds. With flat pieces, few numbers in more rows.
        """
        n, p = problem.design.features.shape
        pieces = has_flat_pieces(problem)
        if self.missing(problem) or problem.free.sum() != problem.intercept:
            return None
        if not plain(problem):
            return ThinNewton() if not pieces and ThinNewton.fits(problem) else None
        if pieces:
            few = p <= n and n * p <= SMALL_TABLE and problem.loss_has(Trait.BOUNDED_CURVATURE)
            return PlainNewton() if few else None
        tall = n >= p and p <= LARGEST and not problem.loss_has(Trait.QUADRATIC)
        if problem.loss_has(Trait.BOUNDED_CURVATURE):
            near = n * p <= NEAR_TABLE and p > NARROW and (tall or n < p)
            if n * p <= SMALL_TABLE or near or (tall and n * p <= LARGEST_TABLE and not sample_size(problem)):
                return PlainNewton()
        return BorrowedMetric() if tall else None

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        ridge = prices(problem)[1]
        aim = _Aim(start.wanted)
        here, lent = _from_a_sample(problem, ridge, start)
        for factor in _continuation(problem, ridge):
            goal = replace(aim, rough=ROUGH if factor > 1.0 else 0.0)
            model = _Model(problem, factor * ridge, goal.wanted, lent)
            for iterate in _descend(model, here, goal):
                here = iterate
                yield iterate


class ThinNewton:
    """Steps by conjugate gradients on sparse columns as they were asked: thin ones need no centre."""

    name: ClassVar[str] = "newton"

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Are columns thin, and too many for a matrix; and does the loss bend without bound?"""
        design = problem.design
        if design.sparse is None or design.stored > THIN * design.shape[0] * design.shape[1]:
            return False
        return not (problem.loss_has(Trait.BOUNDED_CURVATURE) or direct(design, prices(problem)[1]))

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        """One a step; those worth a proof with slopes that sum to zero."""
        model = _Model(problem, prices(problem)[1], start.wanted)
        for found in islice(_descend(model, start, _Aim(start.wanted)), THIN_STEPS):
            if not found.certify or found.theta is None:
                yield replace(found, look=False, certify=False)
                continue
            theta, h = found.theta, model.curvature
            if problem.intercept:
                theta = theta - (float(theta.sum()) / float(h.sum())) * h
            yield replace(found, theta=theta, outright=True)


@dataclass(frozen=True)
class _Aim:
    """The relative gap wanted; or no more than a start for what comes next: a step that promises `rough`."""

    wanted: float
    rough: float = 0.0

    def near(self, promise: float, accuracy: float) -> bool:
        """Is the answer worth a certificate, after a step that promised so much and was solved so well?"""
        left = promise * max(promise, accuracy * accuracy)
        return not self.rough and (left <= LEFT * self.wanted or (promise <= NEAR and not self.wanted))


def _from_a_sample(problem: Problem, ridge: Vector, start: Iterate) -> tuple[Iterate, Factored | None]:
    """The minimiser on some of the rows, if there are many for each column and it is a better start.

    With it the factor of the last step there, which is nearly that of all rows.
    """
    design = problem.design
    if has_flat_pieces(problem) or not direct(design, ridge) or work(design, ridge) < SAMPLE_WORK:
        return start, None
    few = sampled(problem, SAMPLE_ROWS if ridge.any() else LOOSE_ROWS)
    if few is None:
        return start, None
    enough = _Aim(0.0, rough=SAMPLE_PROMISE * problem.p / few.n)
    model, near = _Model(few, ridge, 0.0), start.w
    for iterate in islice(_descend(model, Iterate(near), enough), SAMPLE_STEPS):
        near = iterate.w
    prediction = problem.predict(near)
    better = problem.primal(near, prediction) < problem.primal(start.w)
    return (Iterate(near, prediction=prediction), model.weights_factor) if better else (start, None)


def _continuation(problem: Problem, ridge: Vector) -> Iterator[float]:
    """Where the loss has flat pieces and the ridge is slight, larger ridges first.

    Each answer starts the next one near its pieces; without this, hard margins take hundreds of steps.
    """
    slight = ridge[ridge > 0.0]
    if has_flat_pieces(problem) and len(slight):
        first = float(np.ceil(np.log10(FIRM / np.quantile(slight, 0.05))))
        for power in range(int(max(first, 0.0)), 0, -1):
            yield 10.0**power
    yield 1.0


def _descend(model: _Model, start: Iterate, aim: _Aim) -> Iterator[Iterate]:
    """Newton until a step promises nothing, or, if that is all that is asked, little."""
    problem, ridge, w = model.problem, model.ridge, start.w
    design = problem.design
    z = problem.predict(w) if start.prediction is None else start.prediction
    theta = problem.slope(z)
    correlation = start.correlated(problem, theta)
    linear = np.zeros(problem.p)
    accuracy, quiet, slow, before = COARSEST, 0, 0, np.inf
    for _ in range(ROUGH_LIMIT if aim.rough else LIMIT):
        scale = abs(problem.risk(z) + 0.5 * float(ridge @ (w * w))) + SMALL * abs(problem.null)
        point = ModelPoint(w, -theta, linear, -correlation)
        direction, along, promise = model.step(point, z, accuracy, scale)
        quiet = quiet + 1 if promise <= QUIET * scale else 0
        step = convex_step(_slope_along(problem, ridge, (w, z), (direction, along)))
        if quiet > 2 or (step == 0.0 and not quiet):
            return
        step = step or 1.0
        model.floor.learn(step)
        near = aim.near(promise / scale, accuracy)
        w, z = w + step * direction, z + step * along
        accuracy = _accuracy(promise / scale, aim.wanted)
        slow = slow + 1 if promise > SLOW * before else 0
        if slow > (0 if promise <= NEAR * scale else PATIENCE):
            model.equations.refine()
        before = promise if model.settled else np.inf
        ahead = theta - model.curvature * along if near and step == 1.0 else None
        exact = model.equations.products is design
        found = fitted(problem, Iterate(w, ahead, z, certify=near, outright=near and not problem.free.any()))
        yield found if exact or not near else replace(found, prediction=None)
        if aim.rough and promise <= aim.rough * scale:
            return
        if near and not exact:
            z = design.matvec(w)
        theta = problem.slope(z)
        correlation = (design if near else model.equations.products).transpose_matvec(theta)


class _Model:
    """The quadratic model around a point. Its minimiser w + d comes with a dual point θ − h ∘ Xd.

    There Xᵀθ = Λ(w + d) holds exactly, so that a slight ridge does not magnify what is left of the gradient.
    """

    def __init__(self, problem: Problem, ridge: Vector, wanted: float, lent: Factored | None = None) -> None:
        self.problem, self.ridge, self.wanted, self._lent = problem, ridge, wanted, lent
        self.equations = system(problem.design, ridge, lambda: problem.column_squares)
        self.floor = CurvatureFloor(problem)
        self.curvature = np.zeros(problem.n)
        self._factored: Factored | None = None
        self._promise = np.inf

    def step(
        self, point: ModelPoint, z: Vector, accuracy: float, scale: float
    ) -> tuple[Vector, Vector, float]:
        """The step, X times it, and what it promises; with the last factor, where that will do.

        The first one with the factor lent, if there is one.
        """
        lent, self._lent = self._lent, None
        if lent is not None:
            return self._solve(lent, point, accuracy)
        ahead = self.floor.curvature(z)
        if self._factored is not None and self.equations.costly:
            changed = float(np.abs(ahead - self.curvature).sum()) / float(ahead.sum())
            enough = self.wanted * scale / (CHORD_SAFETY * max(changed * changed, 1e-300))
            before = self._promise
            if changed < CHORD and before**2 / scale <= enough:  # what to expect of a full step
                found = self._solve(self._factored, point, accuracy)
                if found[2] <= min(enough, CHORD_FALL * before):
                    return found
        self.curvature, self._factored = ahead, self.equations.factored(ahead)
        return self._solve(self._factored, point, accuracy)

    @property
    def settled(self) -> bool:
        """Was the last step taken with a factor of this model?"""
        return self._factored is not None

    @property
    def weights_factor(self) -> Factored | None:
        """The last factor, if it is one over the weights, which other rows may borrow."""
        return self._factored if isinstance(self.equations, Primal) else None

    def _solve(self, factored: Factored, point: ModelPoint, accuracy: float) -> tuple[Vector, Vector, float]:
        direction = factored.step(point, accuracy)
        along = self.equations.products.matvec(direction)
        self._promise = -float(point.slope @ along + (self.ridge * point.w) @ direction)
        return direction, along, self._promise


def _accuracy(promise: float, wanted: float) -> float:
    """How well to solve for the next step, which is going to promise about the square of this one."""
    if promise <= 0.0:
        return 1e-8
    ahead = promise * promise
    return float(min(COARSEST, max(1e-8, promise**0.5, (0.1 * wanted / ahead) ** 0.5)))


def _slope_along(
    problem: Problem, ridge: Vector, here: tuple[Vector, Vector], ahead: tuple[Vector, Vector]
) -> Callable[[float], float]:
    """d/ds of the objective at w + s·direction."""
    (w, z), (direction, along) = here, ahead
    constant, linear = float((ridge * w) @ direction), float((ridge * direction) @ direction)

    def slope(s: float) -> float:
        return float(-problem.slope(z + s * along) @ along) + constant + s * linear

    return slope
