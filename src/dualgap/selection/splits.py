"""Which rows are fitted and which are held out, fold by fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from dualgap.arrays import Index
from dualgap.errors import DataError
from dualgap.fitting.reading import Reading

DEFAULT = 5  # folds
CV = "cv must be a number of folds, a splitter or pairs of row numbers"


@dataclass(frozen=True, eq=False)
class Fold:
    """Row numbers: `train` is fitted, `test` is scored."""

    number: int
    train: Index
    test: Index


def read_folds(cv: Any, reading: Reading, X: Any, groups: Any, random_state: Any) -> list[Fold]:
    """The folds of a number, a scikit-learn splitter, or pairs of row numbers.

    A number means stratified folds for classes and folds that keep groups whole where groups are given;
    they are drawn at random if `random_state` is not None, in the order of the rows otherwise.
    """
    n = reading.table.design.shape[0]
    cv = DEFAULT if cv is None else cv
    groups = _read_groups(groups, n)
    targets: Any = reading.y
    if reading.classes is not None:  # numbers for folds made here, since labels may be of any kind
        targets = targets.astype(np.intp)
        targets = targets if isinstance(cv, int | np.integer) else reading.classes[targets]
    splitter = _splitter(cv, reading, groups, random_state)
    try:
        pairs = list(splitter.split(X, targets, groups))
    except (ValueError, TypeError) as error:
        raise DataError(f"cv={cv!r} cannot split these rows: {error}") from error
    folds = [Fold(k, *(_read_rows(part, n, k) for part in pair)) for k, pair in enumerate(pairs)]
    weights = reading.terms.sample_weight
    kept = [fold for fold in folds if weights[fold.test].any()]  # rows that weigh nothing score nothing
    if not kept:
        raise DataError(f"cv={cv!r} holds out no row that has weight.")
    for fold in kept:
        _refuse_poor(fold, reading)
    return kept


def _read_groups(groups: Any, n: int) -> Any:
    if groups is None:
        return None
    array = np.asarray(groups)
    if array.shape != (n,):
        raise DataError(f"groups must name a group for each of the {n} rows, not have shape {array.shape}.")
    return array


def _splitter(cv: Any, reading: Reading, groups: Any, random_state: Any) -> Any:
    if isinstance(cv, str | bytes | bool):
        raise DataError(f"{CV}, not {cv!r}.")
    if not isinstance(cv, int | np.integer):
        try:
            return check_cv(cv)
        except ValueError as error:
            raise DataError(f"{CV}: {error}") from None
    if cv < 2:
        raise DataError(f"cv must be at least 2 folds, not {cv}.")
    classes = reading.classes is not None
    if groups is not None:
        kind = StratifiedGroupKFold if classes else GroupKFold
        return kind(int(cv)) if random_state is None else _shuffled(kind, int(cv), random_state)
    kind = StratifiedKFold if classes else KFold
    return kind(int(cv)) if random_state is None else kind(int(cv), shuffle=True, random_state=random_state)


def _shuffled(kind: Any, count: int, random_state: Any) -> Any:
    try:
        return kind(count, shuffle=True, random_state=random_state)
    except TypeError:  # GroupKFold could not shuffle before scikit-learn 1.6
        return kind(count)


def _read_rows(rows: Any, n: int, k: int) -> Index:
    array = np.asarray(rows)
    if array.dtype == bool and array.shape == (n,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise DataError(f"Fold {k}: rows must be given by their numbers.")
    if array.size and not (-n <= array.min() and array.max() < n):
        raise DataError(f"Fold {k} names a row that X, which has {n}, does not have.")
    return np.asarray(array, dtype=np.intp) % n  # a negative number counts from the end


def _refuse_poor(fold: Fold, reading: Reading) -> None:
    weights = reading.terms.sample_weight[fold.train]
    if not weights.any():
        raise DataError(f"Fold {fold.number} has no row with weight to fit.")
    if reading.classes is None:
        return
    totals = np.bincount(reading.y[fold.train].astype(np.intp), weights, len(reading.classes))
    if not totals.all():
        label = reading.classes.tolist()[int(np.argmin(totals))]
        raise DataError(
            f"Fold {fold.number} has no row of class {label!r} to fit; use stratified folds, or fewer."
        )
