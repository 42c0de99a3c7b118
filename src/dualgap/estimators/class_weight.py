"""scikit-learn's class_weight: weights of classes that multiply those of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from dualgap.errors import DataError
from dualgap.estimators.base import shaped
from dualgap.fitting.inputs import read_labels, read_weights


def weighted_by_class(class_weight: Any, y: Any, sample_weight: Any) -> NDArray[np.float64]:
    """Row weights times class weights. What balances is the weight of a class, not its number of rows."""
    classes, which = read_labels(y, len(y))
    weights = read_weights(shaped(sample_weight), len(y))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise DataError(f'class_weight must be a dict, "balanced" or None, not {class_weight!r}.')
        totals = np.bincount(which, weights)
        factors = weights.sum() / (len(classes) * np.where(totals > 0, totals, 1.0))
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=y)
    return np.asarray(weights * factors[which])


def weighted_bit_by_bit(class_weight: Any, classes: Any, y: Any, sample_weight: Any) -> NDArray[np.float64]:
    """Row weights times class weights that do not depend on rows not seen yet."""
    if isinstance(class_weight, str):
        raise DataError("partial_fit cannot balance classes whose rows are still to come: give a dict.")
    weights = read_weights(shaped(sample_weight), len(y))
    factors = compute_class_weight(class_weight, classes=classes, y=classes)
    return np.asarray(weights * factors[np.searchsorted(classes, y).clip(0, len(classes) - 1)])
