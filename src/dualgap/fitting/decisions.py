"""What weights say of rows: the decision function, the class, how likely it is, the loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design import Design
from dualgap.losses import Loss
from dualgap.losses.joint import joint_hinge
from dualgap.losses.shifted import with_offset


def decisions(design: Design, coef: NDArray[np.float64], intercept: Any) -> NDArray[np.float64]:
    """Xw + b, a column per class beyond two."""
    if coef.ndim == 1:
        return np.asarray(design.matvec(coef) + intercept)
    return np.column_stack([design.matvec(w) + b for w, b in zip(coef, intercept, strict=True)])


def said(scores: NDArray[np.float64]) -> Index:
    """The number of the class that each row is given."""
    return (scores > 0.0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)


def own_probabilities(odds: Vector | Matrix) -> Matrix:
    """log P(class) from log-odds; beyond two classes each class's own, divided by their sum."""
    if odds.ndim == 1:
        return np.column_stack([log_expit(-odds), log_expit(odds)])
    return np.asarray(log_softmax(log_expit(odds), axis=1))


def log_probabilities(loss: Any, scores: Vector | Matrix, multiclass: str | None) -> Matrix:
    """log P(class), a column per class, for losses with log-odds; softmax of the joint form."""
    if multiclass == "multinomial" and scores.ndim == 2:
        return np.asarray(log_softmax(scores, axis=1))
    return own_probabilities(loss.log_odds(scores))


def explained(
    loss: Loss, targets: Vector, scores: Vector, weights: Vector, offset: Vector | None = None
) -> float:
    """D² = 1 − deviance / deviance of the best constant; NaN where that has none to explain.

    Scores are with the offset, and so is the constant.
    """
    deviance = float(weights @ loss.value(targets, scores))
    total = float(weights @ losses_of_constant(loss, targets, weights, offset))
    return 1.0 - deviance / total if 0.0 < total < np.inf else float("nan")


def losses_of_constant(loss: Loss, targets: Vector, weights: Vector, offset: Vector | None = None) -> Vector:
    """The loss of every row where the best constant is all that is known."""
    shifted, pairs = with_offset(loss, targets, offset)
    return shifted.value(pairs, np.full(len(targets), shifted.best_constant(pairs, weights)))


def row_losses(loss: Loss, targets: Vector, scores: Any, multiclass: str | None, classes: bool) -> Vector:
    """The loss of every row; beyond two classes the joint one, or the sum over the classes, or outputs.

    `targets` are numbers, or with `classes` the numbers of classes.
    """
    if not classes:
        found = loss.value(targets, scores)
        return found if found.ndim == 1 else np.asarray(found.sum(axis=1))
    if scores.ndim == 1:
        return loss.value(np.where(targets == 1, 1.0, -1.0), scores)
    if multiclass == "multinomial" and joint_hinge(loss):
        own = np.arange(len(targets)), targets.astype(np.intp)
        ahead = 1.0 + scores - scores[own][:, None]
        ahead[own] = 0.0
        return np.asarray(ahead.max(axis=1))
    if multiclass == "multinomial":
        return np.asarray(-log_softmax(scores, axis=1)[np.arange(len(targets)), targets.astype(np.intp)])
    each = [loss.value(np.where(targets == k, 1.0, -1.0), scores[:, k]) for k in range(scores.shape[1])]
    return np.asarray(np.sum(each, axis=0))
