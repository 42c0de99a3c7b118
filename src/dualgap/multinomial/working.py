"""The multinomial problem as asked, and in good coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class JointWorking(Working):
    """`single` maps the coordinates of one class; all classes share it."""

    asked: MultinomialProblem
    problem: MultinomialProblem
    single: Working

    def weights(self, u: Vector) -> Vector:
        blocks = [
            self.single.weights(block) for block in u.reshape(self.asked.classes, self.single.problem.p)
        ]
        return centred(np.array(blocks), self.asked).ravel()

    def coordinates(self, w: Vector) -> Vector:
        return np.concatenate(
            [self.single.coordinates(block) for block in w.reshape(self.asked.classes, self.single.asked.p)]
        )


def centred(w: Vector, asked: Problem) -> Vector:
    """Free columns summing to zero over the classes: the shortest of the weights that predict the same."""
    free = asked.free.reshape(w.shape)[0]
    w[:, free] -= w[:, free].mean(axis=0)
    return w
