"""Probabilities from decision values, monotone in them, the likeliest class always the predicted one.

Two classes: log-odds = slope₊ f for f > 0, slope₋ f for f < 0, both slopes positive and no offset, so that
the odds are even exactly where the prediction changes. More: softmax of slope · f. The slopes are fitted by
the logistic loss to decision values of rows that were held out, as in Platt (1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_softmax

from dualgap.arrays import Index, Matrix, Vector
from dualgap.fitting.fit import fit

FLATTEST = 1e-6  # slopes stay positive
RIDGE = 1e-4  # on slopes of scaled values: classes told apart without error have no largest likelihood


@dataclass(frozen=True, eq=False)
class Calibration:
    """The slopes below and above zero."""

    below: float
    above: float

    def log_probabilities(self, scores: Vector | Matrix) -> Matrix:
        """log P(class), a column per class."""
        if scores.ndim == 1:
            return own_probabilities(np.where(scores > 0, self.above, self.below) * scores)
        return np.asarray(log_softmax(self.above * scores, axis=1))


def own_probabilities(odds: Vector | Matrix) -> Matrix:
    """log P(class) from log-odds; beyond two classes each class's own, divided by their sum."""
    if odds.ndim == 1:
        return np.column_stack([log_expit(-odds), log_expit(odds)])
    return np.asarray(log_softmax(log_expit(odds), axis=1))


def calibrated(scores: Vector | Matrix, which: Index, weights: Vector) -> Calibration:
    """Slopes for held-out decision values of rows with these class numbers."""
    unit = float(np.sqrt(np.mean(np.square(scores)))) or 1.0
    if scores.ndim == 1:
        sides = np.column_stack([np.minimum(scores, 0.0), np.maximum(scores, 0.0)]) / unit
        found = fit(sides, which, loss="logistic", lam=RIDGE, fit_intercept=False, sample_weight=weights).coef
        below, above = np.maximum(found, FLATTEST) / unit
        return Calibration(float(below), float(above))
    share = weights / weights.sum()

    def unlikelihood(logarithm: float) -> float:
        slope = float(np.exp(logarithm))
        own = log_softmax(slope / unit * scores, axis=1)[np.arange(len(which)), which]
        return -float(share @ own) + RIDGE * slope**2

    best = minimize_scalar(unlikelihood, bounds=(np.log(FLATTEST), 10.0), method="bounded")
    slope = float(np.exp(best.x)) / unit
    return Calibration(slope, slope)
