"""Newton's method for all classes at once under squares: conjugate gradients with one metric for all classes.

Far from the optimum on a sample of the rows first where there are many, and, where products cost more than
exponentials, by steps of the metric alone, mended by secants: one product each. All in 4-byte numbers, unless
their rounding would spoil the proof. The last step goes on until the dual point ahead of it loses too little
to matter: that saves one to three steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.linalg.cholesky import cholesky
from dualgap.linalg.line_search import search
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.multinomial.softmax import ROUNDED, Softmax, SoftmaxSteps, worth_a_sample
from dualgap.multinomial.table import Metric, hessian
from dualgap.solvers.metrics import Plain
from dualgap.traits import Trait

ROUGHEST = (
    0.15  # share of a residual that a step may leave: at 0.25 digits and 20000 × 20 × 20 took a step more
)
PRODUCTS = 300  # with the Hessian, for one step
NEAR = 0.03  # promise of a start from which it is gone on with in 8-byte numbers
LONGEST = 8.0  # times a step by the Hessian itself: inexact ones lead astray
WHOLE = 100  # coordinates up to which the Hessian is formed: half the time of products on iris
ENOUGH = 0.3  # share of the gap wanted that the last step may lose to conjugate gradients
LEARNS = 12  # steps with secants at most: with 9 and 16 ten classes of 2000 × 300 took a tenth longer
LASTLY = 0.2  # times the root of the gap wanted: promise at which a Newton step is worth more than those
CLOSING = 0.7  # the same, at which a Newton step goes on as the last: at 1 it took ten times as many products
LOOSE = 0.3  # share of the curvature left that wants a new metric, where steps with secants serve: a choice
TIGHT = 0.7  # the same elsewhere: a choice
SINGLE = 3e-7  # gap wanted that 4-byte numbers can show, whatever they are
EPSILON = 6e-8  # their rounding; errors of scores nearly cancel over the rows, the objective's is their root
NOISE = 1e-8  # of gradients in them, whose columns have length one: 1e-9 to 5e-9 reckoned on 5000 rows
SPOILT = 0.1  # share of the gap wanted that this may cost
LOOKS = 2  # at dual points from 4-byte numbers, before steps are made in 8-byte numbers
WITHIN = 100.0  # times the gap wanted: a step that promises this much more may be the last


@solver("multinomial_newton", kind="multinomial")
@dataclass(frozen=True)
class MultinomialNewton:
    """Newton steps by conjugate gradients: squares as the penalty, any number of classes and columns."""

    def missing(self, problem: MultinomialProblem) -> tuple[str, ...]:
        """Every column needs a square."""
        reasons = []
        if problem.regulariser.constrained or Trait.QUADRATIC not in problem.regulariser.traits:
            reasons.append("the penalty is not a sum of squares")
        elif problem.free_features.any():
            reasons.append("some columns have no price")
        return tuple(reasons)

    def cost(self, problem: MultinomialProblem) -> float:
        """Some 100 products with the Hessian, or some ten Hessians."""
        return min(400.0 * problem.classes * problem.design.stored, 10.0 * problem.p**2 * problem.n)

    def iterates(self, problem: MultinomialProblem, start: Iterate) -> Iterator[Iterate]:
        """One iterate a step; the last with the dual point ahead of it."""
        model = Softmax(problem, problem.table)
        elastic = problem.regulariser.gauge.elastic
        assert elastic is not None and not problem.regulariser.constrained
        R = 2.0 * problem.regulariser.strength * elastic.l2.reshape(problem.classes, -1)[0]
        W = start.w.reshape(problem.classes, -1)
        step = worth_a_sample(problem, W)
        if step:
            few = _Descent(model.every(step), R, W, start.wanted)
            yield from few.sampled()
            W = few.W
        yield from _Descent(model, R, W, start.wanted).steps()


class _Descent(SoftmaxSteps):
    """In 4-byte numbers until `double`."""

    def __init__(self, model: Softmax, R: Vector, W: Matrix, wanted: float) -> None:
        self.R = R
        self.double, self.eta = model.problem.p <= WHOLE and model.step == 1, ROUGHEST
        self._metric: tuple[Metric, float] | None = None
        self._secants, self._before = Plain(self._by_metric, np.zeros(1, dtype=np.float32)), (W, W)
        self._learns = LEARNS if model.table.broad and not self.double else 0
        self._looks, self._moved = LOOKS, LOOSE if self._learns else TIGHT
        super().__init__(model, W, wanted)
        self.longest = LONGEST if self.double else 1.0

    def _place(self, W: Any) -> None:
        super()._place(W.astype(np.float64 if self.double else np.float32))

    def _price(self, W: Any) -> float:
        return 0.5 * float((np.square(W, dtype=np.float64) @ self.R).sum())

    def steps(self) -> Iterator[Iterate]:
        """Those of `run`, in 8-byte numbers at once from a start that is near."""
        warm = self.W[:, : self.W.shape[1] - self.problem.intercept].any()
        if not self.double and warm and self._near():
            self.double, self._learns = True, 0
            self._place(self.W)
        yield from self.run()

    def _blurred(self) -> float:
        """The promise, with what an inexact step leaves of it."""
        return self.promise * max(self.promise, self.eta**2)

    def _may_be_last(self) -> bool:
        if self.rough:
            return self.promise <= self.wanted**0.5 and self._single()
        return self._blurred() <= WITHIN * self.wanted

    def _ahead(self) -> tuple[Matrix | None, float]:
        self._looks -= self.rough
        return super()._ahead()

    def _single(self) -> bool:
        """Do gradients in 4-byte numbers carry as far as a proof?"""
        if self._learns or not self._looks or self.model.step > 1 or self.wanted < SINGLE:
            return False
        noise = 0.5 * NOISE**2 * self.problem.classes * float((1.0 / self.R[self.R > 0.0]).sum())
        noise += EPSILON * float(np.linalg.norm(self.Z)) * float(self.model.a.max())
        return noise <= SPOILT * self.wanted * self.value

    def advance(self) -> float:
        """One step; in 8-byte numbers when gradients in 4-byte numbers no longer do."""
        near = not self._learns and self.model.step == 1 and self._blurred() <= ROUNDED
        if near and not self.double and not self._single():
            self.double = True
            self._place(self.W)
        model, R = self.model, self.R.astype(self.W.dtype)
        self.eta = _forcing(self.promise, self.wanted)
        weighted = model.weighted(self.P)
        g = model.gradient(weighted)
        g += R * self.W
        if self._learns:
            length = self._learning(g)
            return self.advance() if length is None else length
        d = self._direction(weighted, g, last=self.double or near)
        return self._move(d, float(np.vdot(g.T, d.T)), 1e-15 if self.double else 1e-6)

    def _learning(self, g: Any) -> float | None:
        """A step by the metric and what steps have taught it; None where Newton's are worth more."""
        if self._learns < LEARNS:
            W, before = self._before
            self._secants.learn((self.W - W).ravel(), (g - before).ravel())
        self._before = self.W, g
        d = self._secants.step(g.ravel(), self.W.ravel()).reshape(g.shape)
        slope = float(np.vdot(g, d))
        self._learns -= 1
        self.promise = self._share(slope)
        if self.promise <= LASTLY * self.wanted**0.5:
            self._learns = 0
        elif not self._learns:  # Newton's steps have far to go
            self._moved = TIGHT
        if not self._learns:
            return None
        return self._downhill(d, slope) or None

    def _downhill(self, d: Any, slope: float) -> float:
        """Along d to where the slope has nearly gone; how far that was."""
        model, dZ = self.model, self.model.scores(d)
        weighted = dZ * model.a.astype(dZ.dtype)
        own = float(weighted.ravel()[model.own].sum())
        pulled, bent = float((self.W * d).sum(axis=0) @ self.R), float(np.square(d).sum(axis=0) @ self.R)

        def along(t: float) -> tuple[float, float, Any]:
            Z = self.Z + np.float32(t) * dZ
            P, risk = model.probabilities(Z)
            return float(np.vdot(P, weighted)) - own + pulled + t * bent, np.nan, (Z, P, risk)

        t, found = search(along, slope)
        if found is None:
            self._learns = 0
        else:
            self.W = self.W + np.float32(t) * d
            self.Z, self.P, risk = found
            self.value = risk + self._price(self.W)
        return t

    def _by_metric(self, r: Any) -> Any:
        return self._apply(r.reshape(self.W.shape)).ravel()

    def _near(self) -> bool:
        """Does a step by the metric alone promise little?"""
        g = self.model.gradient(self.model.weighted(self.P))
        g += self.R.astype(g.dtype) * self.W
        return float(np.vdot(g.T, self._apply(g).T)) <= NEAR * self.value

    def _apply(self, r: Any) -> Any:
        """Nearly the inverse Hessian times r, by a metric that is renewed when probabilities have moved."""
        P = self.P if self.P.dtype == np.float32 else self.P.astype(np.float32)
        sure = 1.0 - float(np.vdot(P, P)) / P.shape[1]
        low = self._moved
        if self._metric is None or not low <= sure / max(self._metric[1], 1e-300) <= 1.0 / low:
            a, R = self.model.a.astype(np.float32), self.R.astype(np.float32)
            self._metric = self.model.table.metric(P, a, R), sure
        return self._metric[0](r)

    def _direction(self, weighted: Any, g: Any, *, last: bool) -> Any:
        if self.double and self.problem.p <= WHOLE:
            return self._whole(g)
        P = self.P if g.dtype == np.float32 else self.P.astype(np.float32)
        weighted = weighted if g.dtype == np.float32 else weighted.astype(np.float32)
        R, table = self.R.astype(np.float32), self.model.table
        self._apply(np.zeros_like(g, dtype=np.float32))
        assert self._metric is not None

        def product(V: Any) -> Any:
            found = table.curved(P, weighted, V)
            found += R * V
            return found

        size = float(np.abs(g).max()) or 1.0  # 4-byte numbers end at 1e-38
        right = (g / size).astype(np.float32)
        goal = (size, self.value, self.wanted) if last else None
        d = _conjugate(product, self._metric[0], right, self.eta, R, goal)
        return d.astype(g.dtype) * g.dtype.type(size)

    @cached_property
    def _array(self) -> Matrix:
        """The columns with their ones, where the Hessian is made of them again and again."""
        return self.problem.design.toarray()

    def _whole(self, g: Matrix) -> Matrix:
        """With the Hessian itself."""
        system = hessian(self._array, self.problem.a, self.P)
        system.flat[:: len(system) + 1] += np.tile(self.R, self.problem.classes)
        return -cholesky(system)(g.ravel()).reshape(g.shape)

    def _loses(self, theta: Matrix, pi: Matrix) -> tuple[Matrix, float]:
        v = self.model.pull(theta.T.astype(self.W.dtype))
        priced = self.R > 0.0
        return theta, 0.5 * float((np.square(v[:, priced]) / self.R[priced]).sum())


def _forcing(promise: float, wanted: float) -> float:
    """How accurate a step is worth being: far away not very, and never better than what is wanted."""
    promise = min(max(promise, 1e-12), 1.0)
    return float(min(ROUGHEST, max(1e-3, min(promise**0.5, 3.0 * promise), (0.03 * wanted) ** 0.5 / promise)))


def _conjugate(
    product: Callable[[Any], Any],
    metric: Metric,
    g: Any,
    eta: float,
    R: Any,
    last: tuple[float, float, float] | None,
) -> Any:
    """H d = −g to a share eta. If the step may be the last, on until Σr²/(2R), which is what the dual point
    ahead loses, is a part of the gap wanted; `last` is the unit of g, the objective and that gap.
    """
    d, r = np.zeros_like(g), -g
    s = metric(r)
    q = s.copy()
    size = first = float(np.vdot(r.T, s.T))
    priced = R > 0.0
    for _ in range(PRODUCTS):
        image = product(q)
        along = float(np.vdot(q.T, image.T))
        if not along > 0.0:
            break
        d += (size / along) * q
        r -= (size / along) * image
        s = metric(r)
        before, size = size, float(np.vdot(r.T, s.T))
        enough = size <= eta * eta * first
        if last is not None:
            unit, value, wanted = last
            promise = -float(np.vdot(g.T, d.T)) * unit**2
            if promise <= CLOSING * wanted**0.5 * value:
                lost = 0.5 * unit**2 * float((np.square(r[:, priced]) / R[priced]).sum())
                enough = lost <= ENOUGH * wanted * value or size <= 1e-14 * first
        if enough:
            break
        q *= size / before
        q += s
    return d
