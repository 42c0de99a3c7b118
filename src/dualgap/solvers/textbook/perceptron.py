"""The perceptron: w ← w + α y x on every mistake, until there is none, or a proof that there always is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.proof_schedule import affordable, glance
from dualgap.drive.registry import candidates, solver
from dualgap.drive.solver import Iterate
from dualgap.losses import Hinge
from dualgap.penalties.forms import unregularised
from dualgap.problem.problem import Problem
from dualgap.problem.repeated import reduced
from dualgap.solvers.textbook.passes import rows_of
from dualgap.traits import Trait

DOUBT = 50  # passes with mistakes before separability is looked into
TOLERANCE = 1e-7  # relative gap of the linear program; its θ is checked, so that this decides nothing


@solver("perceptron", manual=True, given=True)
@dataclass(frozen=True)
class Perceptron:
    """w ← w + α y x on every row with y(w·x + b) ≤ 0, row after row (Rosenblatt, 1958); an iterate is a pass.

    On separable data it stops after at most (R/γ)² mistakes, R the length of the longest row and γ the
    margin of any separating plane, both with the constant column. Else it would go on for ever: after
    `doubt` passes the question is put to a linear program, and the run ends with its dual point, θ ≠ 0 with
    y θ ≥ 0 and Xᵀθ = 0, which no separating plane could allow. That θ is the certificate of the solution.

    `averaged` answers with the mean of the weights after every row. See `Votes` for the voted form.
    """

    name: ClassVar[str]
    step: float = 1.0
    averaged: bool = False
    doubt: int = DOUBT
    horizon: ClassVar[int] = 10_000

    def missing(self, problem: Problem) -> tuple[str, ...]:
        missing = []
        labels = problem.loss_has(Trait.CLASSIFICATION)
        if problem.y.ndim > 1:
            return ("rows have an offset, which no sign of y corrects",)
        if not labels or problem.loss.value(np.ones(1), np.zeros(1))[0] != 0.0:
            missing.append("the loss is not the perceptron's")
        if not problem.free.all():
            missing.append('there is a penalty (give penalty="none")')
        return tuple(missing)

    def cost(self, problem: Problem) -> float:
        return 100 * 4.0 * problem.design.stored

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        from dualgap.solvers.textbook.stochastic_passes import perceptron_pass

        lines, y, has = rows_of(problem.design), np.array(problem.y), problem.intercept
        w = np.array(start.w[:-1] if has else start.w)
        state = (w, np.array([float(start.w[-1]) if has else 0.0, 0.0, 0.0]), np.zeros_like(w))
        mistakes, k, known = 0, 0, None
        while True:
            k += 1
            fresh = perceptron_pass(lines, y, self.step, has, state, self.averaged)
            mistakes += fresh
            answer = _weights(state, has, averaged=self.averaged)
            if fresh == 0:
                planes = [_weights(state, has, averaged=False), answer, *([] if known is None else [known])]
                yield self._separated(problem, planes, mistakes)
                return
            if k == self.doubt and affordable(problem):
                known, theta = _opinion(problem)
                if theta is not None:
                    remark = _refutation(problem, theta, mistakes)
                    yield Iterate(answer, theta, step=self.step, answer=True, remark=remark)
                    return
            look = glance(problem, k)[0]
            yield Iterate(answer, step=self.step, certify=False, answer=True, look=look)

    def _separated(self, problem: Problem, planes: list[Vector], mistakes: int) -> Iterate:
        """The last iterate, with the bound on the mistakes beside those made; `planes` with the last w, the
        answer and what is known.
        """
        plane, answer = planes[:2]
        if margin(problem, answer) <= 0.0:
            answer = plane
        best = max(margin(problem, one) for one in planes)
        radius = float(np.sqrt(problem.design.row_square_norms().max()))
        remark = (
            f"The classes are separated, after {mistakes} mistakes; with R = {radius:.4g} and a plane of "
            f"margin γ = {best:.4g} there can be at most (R/γ)² = {(radius / best) ** 2:.4g}."
        )
        return Iterate(answer, np.zeros(problem.n), step=self.step, answer=True, remark=remark)


def _weights(state: tuple[Vector, Vector, Vector], intercept: bool, *, averaged: bool) -> Vector:
    w, (b, seen, part), total = state
    if averaged and seen > 0:
        w, b = w - total / seen, b - part / seen
    return np.append(w, b) if intercept else np.array(w)


def margin(problem: Problem, w: Vector) -> float:
    """min y (x·w)/‖w‖, the constant column among the others."""
    length = float(np.linalg.norm(w))
    return float((problem.y * problem.predict(w)).min()) / length if length > 0 else 0.0


def _opinion(problem: Problem) -> tuple[Vector | None, Vector | None]:
    """Solve min Σ a (1 − y x·w)₊, zero if and only if the classes can be separated.

    Returns a plane that separates, or the θ that no such plane allows.
    """
    from dualgap.drive.limits import Limits
    from dualgap.drive.run import drive

    hinge = replace(problem, loss=Hinge(), regulariser=unregularised(problem.p))
    working = reduced(hinge)
    best = drive(working, lambda: candidates(working.problem, "auto"), None, Limits(TOLERANCE)).bounds
    if margin(problem, best.w) > 0.0:
        return best.w, None
    return None, best.theta if best.dual > 0.0 and best.box is None else None


def _refutation(problem: Problem, theta: Vector, mistakes: int) -> str:
    used = int(np.count_nonzero(theta))
    where = f"is zero but for {used} rows and has the signs of the labels there"
    if used == problem.n:
        where = "has the signs of the labels"
    combined = "the rows of X and the ones" if problem.intercept else "the rows of X"
    return (
        f"No plane separates these classes: after {mistakes} mistakes the perceptron would go on for ever. "
        f"Proof: certificate.theta {where}, and it combines {combined} to zero."
    )


@dataclass(frozen=True, eq=False)
class Votes:
    """The voted perceptron (Freund and Schapire, 1999): every w that occurred, with the rows it survived.

    A vote of planes is not a plane, so this is a model of its own, not a solver.
    """

    planes: Vector  # one row per plane, the intercept last
    lives: Vector

    @classmethod
    def cast(cls, X: Vector, y: Vector, *, passes: int = 10, step: float = 1.0) -> Votes:
        """Run the perceptron over rows X with labels ±1 or {0, 1}; the second counts as −1 and +1."""
        rows = np.column_stack([X, np.ones(len(X))])
        signs = np.where(np.asarray(y) > 0, 1.0, -1.0)
        w, life = np.zeros(rows.shape[1]), 0
        planes, lives = [], []
        for i in np.tile(np.arange(len(rows)), passes):
            if signs[i] * (rows[i] @ w) > 0.0:
                life += 1
                continue
            planes.append(w)
            lives.append(life)
            w, life = w + step * signs[i] * rows[i], 1
        return cls(np.array([*planes, w]), np.array([*lives, life], dtype=np.float64))

    def decision_function(self, X: Vector) -> Vector:
        """Votes for +1 minus votes for −1, as a share of all."""
        sides = np.sign(X @ self.planes[:, :-1].T + self.planes[:, -1])
        return np.asarray(sides @ self.lives / self.lives.sum())

    def predict(self, X: Vector) -> Vector:
        """±1 by majority."""
        return np.where(self.decision_function(X) > 0.0, 1.0, -1.0)
