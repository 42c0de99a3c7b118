"""Paths of rows on a device: every strength fitted there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.fitting.resident import (
    GIVEN_UP,
    ResidentReading,
    fit_columns,
    largest_strength,
    outcome_of,
    read_resident,
)
from dualgap.fitting.solution import Solution
from dualgap.paths.curve_choice import PathRequest
from dualgap.paths.streamed import StreamedPath
from dualgap.paths.strengths import ABOVE, falling
from dualgap.traits import Trait


def resident_path(
    X: Any, y: Any, sample_weight: Any, device: Any, request: PathRequest, asked: dict[str, Any]
) -> StreamedPath | None:
    """The path on the device; None where only the host can follow it."""
    got = read_resident(X, y, sample_weight, device, {**asked, "lam": 1.0})
    if got is None or len(got.targets) > 1:
        return None
    lams = request.lams if request.lams is not None else grid(got, request)
    try:
        found = [one for one, _ in fit_columns(got, lams, request.limits)[0]]
    except GIVEN_UP:
        return None

    def solve(lam: float | None, budget: float | None) -> Solution:
        known = [one for one in found if lam is not None and one.terms.lam == lam]
        if known:
            return known[0]
        if lam is None:
            from dualgap.fitting.fit import fit

            return fit(
                X,
                y,
                sample_weight=sample_weight,
                device=device,
                budget=budget,
                tol=request.limits.tolerance,
                **asked,
            )
        return refitted(got, lam, request.limits)

    gaps = np.array([one.relative_gap for one in found])
    coefs = np.array([one.coef for one in found])
    return StreamedPath(lams, coefs, np.array([float(one.intercept) for one in found]), gaps, solve)


def refitted(got: ResidentReading, lam: float, limits: Any) -> Solution:
    """The fit of all rows at a strength."""
    terms = replace(got.reading.terms, lam=lam, budget=None)
    return outcome_of(got, got.solved([got.pursuit(terms, limits)], limits)[0], limits)


def grid(got: ResidentReading, request: PathRequest) -> Vector:
    """Strengths from the λ without weights down to a share of it, evenly in the logarithm."""
    top, (n, p) = largest_strength(got), got.rows.matrix.shape
    squares = Trait.QUADRATIC in got.reading.terms.regulariser.traits
    share = (
        (1e-2 if n < p else 1e-3) / (ABOVE if squares else 1.0) if request.ratio is None else request.ratio
    )
    return falling(top, top * share, request.count) if top > 0.0 else np.ones(1)
