"""Probabilities from decision values, monotone in them, the likeliest class always the predicted one.

Two classes: log-odds = slope₊ f for f > 0, slope₋ f for f < 0, both slopes positive and no offset, so that
the odds are even exactly where the prediction changes. More: softmax of slope · f. The slopes are fitted by
the logistic loss to decision values of rows that were held out, as in Platt (1999).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax
from sklearn.utils import check_random_state

from dualgap.arrays import Index, Matrix, Vector
from dualgap.fitting.decisions import own_probabilities
from dualgap.fitting.fit import fit
from dualgap.kernels.base import array_of

FLATTEST = 1e-6  # slopes stay positive
FOLDS = 5  # a choice, that of scikit-learn
SHARP = 1e-10  # the slopes are to be the same however the rows are given, once with weights or repeated
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


def folds(X: Any, which: Index, random_state: Any) -> Index:
    """A number for every row, the same for equal rows of a class; each class is spread evenly.

    Rows given twice must not be learnt from in one fold and judged in another, nor weigh more than rows of
    weight two. Without X every row is its own.
    """
    rows = np.arange(len(which))[:, None] if X is None else array_of(X)
    unique, where = np.unique(np.column_stack([which, rows]), axis=0, return_inverse=True)
    classes = unique[:, 0].astype(np.intp)
    count = min(FOLDS, int(np.bincount(classes).min()))
    number = np.zeros(len(unique), np.intp)
    rng = check_random_state(random_state)
    for k in np.unique(classes):
        members = rng.permutation(np.flatnonzero(classes == k))
        number[members] = np.arange(len(members)) % max(count, 1)
    return np.asarray(number[where.ravel()])


def calibrated(scores: Vector | Matrix, which: Index, weights: Vector) -> Calibration:
    """Slopes for held-out decision values of rows with these class numbers."""
    share = weights / weights.sum()
    unit = float(np.sqrt(np.mean(share @ np.square(scores)))) or 1.0
    if scores.ndim == 1:
        sides = np.column_stack([np.minimum(scores, 0.0), np.maximum(scores, 0.0)]) / unit
        asked: dict[str, Any] = {"lam": RIDGE, "fit_intercept": False, "tol": SHARP}
        found = fit(sides, which, loss="logistic", sample_weight=weights, **asked).coef
        below, above = np.maximum(found, FLATTEST) / unit
        return Calibration(float(below), float(above))
    slope = _best_slope(scores / unit, which, share) / unit
    return Calibration(slope, slope)


def _best_slope(scores: Matrix, which: Index, share: Vector) -> float:
    """The root of the derivative of Σ share · −log softmax(slope · score) + RIDGE slope², which rises."""
    own = scores[np.arange(len(which)), which]

    def derivative(slope: float) -> float:
        expected = (softmax(slope * scores, axis=1) * scores).sum(axis=1)
        return float(share @ (expected - own)) + 2.0 * RIDGE * slope

    if derivative(FLATTEST) >= 0.0:
        return FLATTEST
    high = 1.0
    while derivative(high) < 0.0:  # the ridge ends this
        high *= 2.0
    return float(brentq(derivative, FLATTEST, high, xtol=1e-15, rtol=1e-14))
