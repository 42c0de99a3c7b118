"""Targets read again for a problem whose classes are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.fitting.inputs import read_labels, read_numbers


def read_targets(y: Any, n: int, classes: tuple[Any, ...] | None, positive: int = 1) -> Vector:
    """Numbers for a regression, ±1 for classes with number `positive` as +1."""
    if classes is None:
        return read_numbers(y, n)
    return np.where(class_numbers(y, n, classes) == positive, 1.0, -1.0)


def class_numbers(y: Any, n: int, classes: tuple[Any, ...]) -> Vector:
    """The number of each row's class among those of the fit."""
    found, which = read_labels(y, n)
    if not set(found.tolist()) <= set(classes):
        raise DataError(f"y has the classes {found.tolist()}, the fit had {list(classes)}.")
    return np.array([float(classes.index(label)) for label in found.tolist()])[which]
