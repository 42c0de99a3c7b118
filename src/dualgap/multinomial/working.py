"""The multinomial problem as asked, and in good coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.linear import LinearPursuit
from dualgap.drive.solver import Iterate
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.problem.certificate import Bounds
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class JointWorking(Working):
    """`single` maps the coordinates of one class; all classes share it."""

    asked: MultinomialProblem
    problem: MultinomialProblem
    single: Working

    def weights(self, u: Vector) -> Vector:
        """Class by class as `single` does it, in one go."""
        asked, blocks = self.asked, u.reshape(self.asked.classes, -1)
        features = blocks[:, :-1] if asked.intercept else blocks
        if self.basis is not None:
            features = features @ self.basis.T
        kept = features / self.scale
        w = np.zeros((asked.classes, asked.width))
        w[:, : len(self.keep)][:, self.keep] = kept
        if asked.intercept:
            w[:, -1] = blocks[:, -1] - kept @ self.centre
        return centred(w, asked).ravel()

    def coordinates(self, w: Vector) -> Vector:
        return np.concatenate(
            [self.single.coordinates(block) for block in w.reshape(self.asked.classes, self.asked.width)]
        )


def centred(w: Vector, asked: Problem) -> Vector:
    """Free columns summing to zero over the classes: the shortest of the weights that predict the same."""
    free = asked.free.reshape(w.shape)[0]
    w[:, free] -= w[:, free].mean(axis=0)
    return w


class JointPursuit(LinearPursuit):
    """A look costs as much as a step of a solver here, and solvers see by themselves where w = 0 will do."""

    def starts(self, start: Iterate | None) -> Iterator[Iterate]:
        """w = 0 with the dual point 0, or the start given, without a look at it."""
        problem = self.problem
        nothing = np.zeros_like(problem.null_prediction)
        if start is not None:
            self.best = Bounds(start.w, nothing, np.inf, 0.0)
        else:
            yield Iterate(problem.null_weights, nothing, problem.null_prediction)
