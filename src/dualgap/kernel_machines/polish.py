"""From an answer that is right to its gap to an exact one: the active set from where the answer is."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.kernel_machines.box import box_of
from dualgap.kernel_machines.finish import ActiveSet
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernels import LinearGram
from dualgap.losses import Loss
from dualgap.problem.certificate import Bounds

NEAR = (1e-6, 1e-4, 1e-3)  # of the unit: rows this near to a kink are guessed to lie on it


def polished(
    X: Matrix,
    y: Vector,
    a: Vector,
    loss: Loss,
    lam: float,
    prediction: Vector,
    *,
    intercept: bool,
) -> tuple[Bounds, Vector] | None:
    """(bounds with w = (β, b), Xᵀβ) of Σ a L(y, Xw + b) + λ‖w‖² from predictions near the optimum."""
    problem = KernelProblem(LinearGram(X), y, a, loss, lam, intercept)
    box = box_of(problem)
    pull = box.kink - np.tile(prediction, box.terms)
    for near in NEAR:
        held = np.where(pull > 0, box.high, box.low)
        middle = 0.5 * (box.low + box.high)
        parts = np.where(np.abs(pull) <= near * box.unit, middle, held)
        if not np.all(np.isfinite(parts)):
            return None
        try:
            for found in ActiveSet(box, problem.gram, intercept, parts).run():
                if found is not None:
                    best = problem.bounds(found.beta, found.f, found.b)
                    return best, best.w[:-1] @ X
        except np.linalg.LinAlgError:
            continue
    return None
