"""Cross-validation of rows on a device: folds by the place of a row, all of them fitted and scored there."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dualgap.errors import DataError
from dualgap.fitting.resident import GIVEN_UP, fit_columns, fold_weights, read_resident
from dualgap.paths.curve_choice import PathRequest
from dualgap.paths.resident import grid, refitted
from dualgap.selection.search import Search


def resident_search(
    data: tuple[Any, Any, Any],
    device: Any,
    folds: Any,
    request: PathRequest,
    rule: Any,
    asked: dict[str, Any],
) -> Search | None:
    """Score every strength on rows held out, choose one, and fit it on all rows; None: the host's matter."""
    began = time.perf_counter()
    if not isinstance(folds, int | np.integer) or folds < 2:
        raise DataError("Rows on a device are split into a number of folds: cv=5.")
    got = read_resident(*data, device, {**asked, "lam": 1.0})
    if got is None or len(got.targets) > 1:
        return None
    weights = fold_weights(got, int(folds))
    if not np.all(weights > 0.0):
        raise DataError(f"There are too few rows for {folds} folds; give fewer.")
    lams = request.lams if request.lams is not None else grid(got, request)
    try:
        table = fit_columns(got, lams, request.limits, int(folds))
    except GIVEN_UP:
        return None
    found = Search(
        form="penalised",
        strengths=lams,
        scores=np.array([[score for _, score in row] for row in table]),
        gaps=np.array([[one.relative_gap for one, _ in row] for row in table]),
        n_nonzero=np.array([[one.n_nonzero for one, _ in row] for row in table]),
        fold_weights=weights,
        score="loss",
        rule=rule,
        terms=got.reading.terms,
        n_folds=int(folds),
        tolerance=request.limits.tolerance,
        refit=lambda lam: refitted(got, lam, request.limits),
    )
    found.solution  # noqa: B018 - the fit on all rows
    found.seconds = time.perf_counter() - began
    return found
