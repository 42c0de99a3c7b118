"""Newton's method for all classes at once under absolute values: on the weights that are not zero, or should
not be, with their Hessian as a matrix.

A step minimises the quadratic model plus the prices: coordinate descent finds which weights are zero, one
Cholesky factor with the signs found makes the others exact. The dual point ahead of the step is the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.linalg.cholesky import cholesky
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.multinomial.softmax import Softmax, SoftmaxSteps, worth_a_sample
from dualgap.multinomial.table import hessian

LARGEST = 3000  # coordinates that a step may have: its Hessian takes a second on 5000 rows
FIRST = 600  # coordinates that a step may have however few are not zero: a choice
GROWTH = 2  # times as many as are not zero: a choice
TOUCHING = 1e-3  # share of the price below it from which a weight may leave zero
ROUGH = 0.03  # promise of a step from which the dual point is worth a look
SWEEPS = 30  # of coordinate descent before each factor; they end when two in a row change no sign
ROUNDS, FAR = 30, 2  # of sweeps and factors for one step, near the optimum and far away
SMALL = 100  # coordinates up to which a factor in 8-byte numbers takes no longer
REFINEMENTS, REFINED = 4, 1e-8  # at most, and the share of the right side that may be left
SETTLED = 1e-9  # share of its price by which a weight at zero may be out of place
EXACT = 10**7  # rows times squared coordinates up to which 8-byte numbers cost a millisecond


@solver("multinomial_working_set", kind="multinomial")
@dataclass(frozen=True)
class MultinomialWorkingSet:
    """Newton steps on the weights that count: l1 and elastic_net, few weights of many or some hundred."""

    def missing(self, problem: MultinomialProblem) -> tuple[str, ...]:
        """Every column needs a price, some of them a kink."""
        elastic = problem.regulariser.gauge.elastic
        reasons = []
        if problem.regulariser.constrained or elastic is None or not elastic.l1.any():
            reasons.append("the penalty is neither l1 nor elastic_net")
        elif problem.free_features.any():
            reasons.append("some columns have no price")
        return tuple(reasons)

    def cost(self, problem: MultinomialProblem) -> float:
        """Some five Hessians."""
        return 5.0 * problem.n * min(problem.p, FIRST) ** 2

    def iterates(self, problem: MultinomialProblem, start: Iterate) -> Iterator[Iterate]:
        """One iterate a step; the last with the dual point ahead of it."""
        model, W = Softmax(problem, problem.table), start.w.reshape(problem.classes, -1)
        step = worth_a_sample(problem, W)
        if step:
            few = _Descent(model.every(step), W, start.wanted)
            yield from few.sampled()
            W = few.W
        yield from _Descent(model, W, start.wanted).run()


class _Descent(SoftmaxSteps):
    """On the weights that count."""

    def __init__(self, model: Softmax, W: Matrix, wanted: float) -> None:
        problem, regulariser = model.problem, model.problem.regulariser
        elastic = regulariser.gauge.elastic
        assert elastic is not None and not regulariser.constrained
        self.l1 = regulariser.strength * elastic.l1.reshape(problem.classes, -1)[0]
        self.R = 2.0 * regulariser.strength * elastic.l2.reshape(problem.classes, -1)[0]
        self.free = (self.l1 == 0.0) & (self.R == 0.0)
        self.sharp = (self.l1 > 0.0) & (self.R == 0.0)
        super().__init__(model, W, wanted)

    def _price(self, W: Matrix) -> float:
        return float((np.abs(W) @ self.l1).sum() + 0.5 * (np.square(W) @ self.R).sum())

    def _may_be_last(self) -> bool:
        return self.promise <= ROUGH

    def advance(self) -> float | None:
        """One step, and how long it was; None where too many weights want to count."""
        g = self.model.gradient(self.model.weighted(self.P))
        g += self.R * self.W
        which = self._set(g)
        if which is None:
            return None
        classes, columns = which
        H = self._hessian(classes, columns)
        here = self.W[classes, columns]
        model = _Model(H, here, -g[classes, columns], self.l1[columns], self.free[columns])
        model.whole = self._whole(columns)
        ahead = self.W.copy()
        ahead[classes, columns] = model.minimise(ROUNDS if self.promise <= ROUGH else FAR)
        ahead[:, self.sharp] -= _middle(ahead[:, self.sharp])
        d = ahead - self.W
        slope = float(np.vdot(g, d)) + float(((np.abs(self.W + d) - np.abs(self.W)) @ self.l1).sum())
        return self._move(d, slope, 1e-14)

    def _set(self, g: Matrix) -> tuple[Index, Index] | None:
        """The coordinates of the step, sorted by class: free ones, those not zero, and the most wanted."""
        live = (self.W != 0.0) | self.free
        with np.errstate(divide="ignore", invalid="ignore"):
            want = np.where(live, 0.0, np.abs(g) / self.l1)
        wanted = (want > 1.0 - TOUCHING) & ~live
        count, most = int(np.count_nonzero(live)), int(np.count_nonzero(wanted))
        if count > LARGEST:
            return None
        room = max(FIRST, GROWTH * count) - count
        if most > room:
            wanted &= want >= np.partition(want[wanted], most - room)[most - room]
        classes, columns = np.nonzero(live | wanted)
        return classes, columns

    def _whole(self, columns: Any) -> Any:
        """Where the columns with a kink stand all of whose classes take part: classes × such columns."""
        count = np.bincount(columns, minlength=len(self.l1))
        found = np.flatnonzero((count == len(self.W)) & self.sharp)
        return np.flatnonzero(np.isin(columns, found)).reshape(len(self.W), -1)

    def _hessian(self, classes: Any, columns: Any) -> Matrix:
        used, place = np.unique(columns, return_inverse=True)
        if self.n * len(classes) ** 2 <= EXACT and self.model.step == 1:
            X = self.problem.design.columns(used).toarray()
        else:
            X = self.model.table.columns(used)
        H: Matrix = hessian(X, self.model.a, self.P, classes, place).astype(np.float64)
        H.flat[:: len(H) + 1] += self.R[columns]
        free = np.flatnonzero(self.free[columns])
        if len(free):  # the same shift of all intercepts changes nothing; let it stay
            H[np.ix_(free, free)] += float(H[free, free].mean()) / len(free)
        return H

    def _loses(self, theta: Matrix, pi: Matrix) -> tuple[Matrix, float]:
        """Drawn into the prices that have no square."""
        v = np.abs(self.problem.design.transpose_matvecs(theta.T))
        sharp, curved = self.sharp, self.R > 0.0
        beyond = float((v[:, sharp] / self.l1[sharp]).max(initial=0.0))
        if beyond > 1.0:
            scale = (1.0 - 1e-13) / beyond
            theta, v = theta * scale, v * scale
            pi *= scale
            pi.ravel()[self.model.own] += 1.0 - scale
        excess = np.maximum(v[:, curved] - self.l1[curved], 0.0)
        return theta, 0.5 * float((np.square(excess) / self.R[curved]).sum())


class _Model:
    """½(u − w)ᵀH(u − w) − residual·(u − w) + Σ price |u|, and a u; `residual` is kept what it is at u."""

    def __init__(self, H: Matrix, w: Vector, residual: Vector, price: Vector, free: Mask) -> None:
        self.H, self.u, self.residual, self.price, self.free = H, w.copy(), residual.copy(), price, free
        self.whole = np.zeros((1, 0), dtype=np.intp)

    def minimise(self, rounds: int) -> Vector:
        """Sweeps to find the signs, then Newton's step with them, until no sign changes any more."""
        from dualgap.solvers.lasso.gram_sweeps import descend

        for _ in range(rounds):
            descend(self.H, self.u, self.residual, self.price, SWEEPS)
            self._shift()
            if self._newton() and self._settled():
                break
        return self.u

    def _shift(self) -> None:
        """A shift of a column in all classes alike changes prices alone: to the middle, where one is zero."""
        shift = _middle(self.u[self.whole])
        if shift.any():
            self.u[self.whole] -= shift
            moved = np.zeros_like(self.u)
            moved[self.whole] = -shift
            self.residual -= self.H @ moved  # which is rounding

    def _settled(self) -> bool:
        idle = (self.u == 0.0) & ~self.free
        return bool(np.all(np.abs(self.residual[idle]) <= self.price[idle] * (1.0 + SETTLED)))

    def _newton(self) -> bool:
        """Newton's step on the support; were all signs kept? Those that would change become zero, if that
        lowers the model, else the step ends where the first does.
        """
        support = np.flatnonzero((self.u != 0.0) | self.free)
        H, here, price = self.H[np.ix_(support, support)], self.u[support], self.price[support]
        sign = np.sign(here)
        step = _solved(H, self.residual[support] - price * sign)
        crossing = (price > 0.0) & ((here + step) * sign <= 0.0)
        ahead = np.where(crossing, 0.0, here + step)
        if crossing.any() and self._change(H, support, ahead) >= 0.0:
            length = float((here[crossing] / -step[crossing]).min())
            ahead = here + length * step
            ahead[crossing & (ahead * sign <= 1e-12 * np.abs(here))] = 0.0
        self.residual -= (ahead - here) @ self.H[support]
        self.u[support] = ahead
        return not crossing.any()

    def _change(self, H: Matrix, support: Index, ahead: Vector) -> float:
        """Of the model, if the support went there."""
        move, price = ahead - self.u[support], self.price[support]
        smooth = float(move @ (0.5 * (H @ move) - self.residual[support]))
        return smooth + float(price @ (np.abs(ahead) - np.abs(self.u[support])))


def _solved(H: Matrix, right: Vector) -> Vector:
    """H⁻¹ right: by a factor in 4-byte numbers and refinement, where that works."""
    goal = REFINED * float(np.linalg.norm(right))
    if len(H) > SMALL:
        solve = cholesky(H.astype(np.float32))
        x = solve(right)
        for _ in range(REFINEMENTS):
            left = right - H @ x
            if float(np.linalg.norm(left)) <= goal:
                return x
            x += solve(left)
    return np.asarray(cholesky(H.copy())(right))


def _middle(W: Matrix) -> Vector:
    """A median of each column, the one nearest to zero."""
    ordered = np.sort(W, axis=0)
    low, high = ordered[(len(W) - 1) // 2], ordered[len(W) // 2]
    return np.asarray(np.maximum(low, 0.0) + np.minimum(high, 0.0))
