"""Predictions counted from offsets: fits, paths, searches, assessments and forged certificates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exact import fits, forged
from exact.draws import Array, Case, Rng, problem
from exact.statement import MEANS, parse
from exact.trial import Trial

LOGARITHMS = 30.0  # of an exposure: e to it is a number with room to spare


def run(rng: Rng) -> Trial:
    """One case."""
    case = shifted(problem(rng), rng)
    return forged.attacked(case, rng) if rng.random() < 0.3 else fits.asked(case, rng)


def shifted(case: Case, rng: Rng) -> Case:
    """The case with an offset, as far as it can have one."""
    if len(set(case.y.tolist())) > 2 and case.y.dtype.kind not in "f":
        return case
    return replace(case, keywords={**case.keywords, "offset": offset(case, rng)})


def offset(case: Case, rng: Rng) -> Array:
    """Small beside the targets or far larger; constant, of a few values, or the targets themselves."""
    n, name = len(case.X), parse(case.keywords["loss"])[0]
    numbers = case.y.dtype.kind == "f" and name not in MEANS
    size = float(np.abs(case.y).max(initial=0.0)) or 1.0 if numbers else 1.0
    draw = int(rng.integers(7))
    found = rng.normal(size=n) * size * 10.0 ** rng.uniform(-3, 1)
    if draw == 0:
        found = np.full(n, found[0])
    elif draw == 1:
        found = rng.choice([0.0, 1.0, -2.0], size=n)
    elif draw == 2:  # sums that round, and cancel
        found = found + size * 2.0 ** rng.integers(10, 50)
    elif draw == 3 and numbers:
        found = case.y * (1.0 + 2.0**-52 * rng.integers(-2, 3, n))
    elif draw == 4:
        found = found * 10.0 ** rng.uniform(-12, 12, n)
    if name in (*MEANS, "exponential", "logistic"):
        found = np.clip(found, -LOGARITHMS, LOGARITHMS)
    return np.where(np.isfinite(found), found, 0.0)
