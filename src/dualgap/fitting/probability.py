"""How likely each class is, for losses with log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax

from dualgap.arrays import Matrix, Vector
from dualgap.fitting.solution import Solution


def log_probabilities(solution: Solution, scores: Vector | Matrix) -> Matrix:
    """log P(class), a column per class, given the values of the decision function.

    Two classes: the log-odds of the loss. One class against the rest: each class's own probability, divided
    by their sum. Multinomial: softmax.
    """
    loss: Any = solution.terms.loss
    if scores.ndim == 1:
        odds = loss.log_odds(scores)
        return np.column_stack([log_expit(-odds), log_expit(odds)])
    joint = log_expit(loss.log_odds(scores)) if solution.parts else scores
    return np.asarray(log_softmax(joint, axis=1))
