"""Which point of a path is shown in full, with its weights, its proof and its predictions."""

from __future__ import annotations

import dataclasses

import numpy as np

from dualgap.errors import DataError
from dualgap.report.points import errors_along, points
from dualgap.report.subject import Subject, at_point

AFFORDABLE = 20_000_000  # rows times points, beyond which nothing is computed at every point of a path


def pick(about: Subject) -> Subject:
    """The least loss on the test rows, else the least BIC, else the middle."""
    path = about.path
    if not about.picked or path is None:
        return about
    if about.test is not None:
        found = points(path)
        at = float(found.at[np.argmin(errors_along(about, found, about.test, "test rows").loss)])
        solution = path.solution(lam=at) if found.symbol == "λ" else path.solution(budget=at)
        return dataclasses.replace(
            about, solution=solution, picked="the point with the least loss on the test rows"
        )
    if np.isnan(path.lams).any() or not cheap(about, "risks"):
        return about
    try:
        k = int(np.argmin(path.criterion("bic")))
    except DataError:
        return about
    return dataclasses.replace(
        about, solution=at_point(path, k), picked="the point of the path with the least BIC"
    )


def cheap(about: Subject, name: str) -> bool:
    """Is a value at every point of the path known already, or soon computed?"""
    assert about.path is not None
    return name in vars(about.path) or len(about.path) * about.solution.facts["n"] <= AFFORDABLE
