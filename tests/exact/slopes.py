"""Fits under sorted prices, on nasty data."""

from __future__ import annotations

import dataclasses

from exact.draws import Rng, problem
from exact.fits import asked
from exact.trial import Trial

SHARES = (0.1, 0.5, 1.0, 0.01)


def run(rng: Rng) -> Trial:
    """A case of `fits`, its penalty replaced; of many classes there is none."""
    while True:
        case = problem(rng)
        if case.keywords["penalty"] != "none" and len(set(case.y.tolist())) != 3:
            break
    keywords = {k: v for k, v in case.keywords.items() if k not in ("groups", "penalty_factors")}
    keywords["penalty"] = f"slope({float(rng.choice(SHARES))!r})"
    return asked(dataclasses.replace(case, keywords=keywords), rng)
