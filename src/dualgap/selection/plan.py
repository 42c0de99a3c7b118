"""What all folds share: the strengths, and how each of them is solved."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.drive.solver import Solver
from dualgap.fitting.objective import column_scales
from dualgap.fitting.reading import Reading
from dualgap.paths.curve_choice import PathRequest
from dualgap.paths.family import at_first, family_of
from dualgap.paths.many_classes import ManyClassesPath, common_grid, families_of
from dualgap.paths.path import Path
from dualgap.paths.request import path_of
from dualgap.paths.strengths import default_ratio, falling, largest
from dualgap.traits import Trait

FORMS = ("penalised", "constrained")


@dataclass(frozen=True, eq=False)
class Plan:
    """Strengths from the strongest regularisation to the weakest: λ falls, budgets rise."""

    form: str
    strengths: Vector
    multiclass: str
    exact: bool | None
    solver: str | Solver
    limits: Limits
    standardize: bool
    missing: int = 0  # weaker strengths that the time did not suffice to find

    def request(self, lams: Vector | None) -> PathRequest:
        """What to ask of a path; λ as users see it."""
        return PathRequest(self.exact, lams, 1, None, None, self.solver, self.limits)

    def at(self, reading: Reading, strength: float) -> Reading:
        """The data with the objective at one strength."""
        lam, budget = (strength, None) if self.form == "penalised" else (None, strength)
        return dataclasses.replace(reading, terms=dataclasses.replace(reading.terms, lam=lam, budget=budget))


def part(reading: Reading, rows: Any, *, standardize: bool = False) -> Reading:
    """Some of the rows; where asked, columns are standardised by these rows alone."""
    design = reading.table.design.rows(rows)
    weights, scale = reading.terms.sample_weight[rows], reading.terms.scale
    offset = None if reading.terms.offset is None else reading.terms.offset[rows]
    if standardize:
        scale = column_scales(design, weights, centred=reading.terms.fit_intercept)
    return dataclasses.replace(
        reading,
        table=dataclasses.replace(reading.table, design=design),
        terms=dataclasses.replace(reading.terms, sample_weight=weights, scale=scale, offset=offset),
        y=reading.y[rows],
    )


def convex(reading: Reading) -> bool:
    """Are loss and penalty both?"""
    terms = reading.terms
    gauge = terms.penalty.gauge(terms.factors, terms.scale)
    return Trait.CONVEX in terms.loss.traits and Trait.CONVEX in gauge.traits


def grid_of_lams(reading: Reading, count: int, ratio: float | None) -> Vector:
    """From the least λ at which all penalised weights are zero on all rows, evenly in the logarithm."""
    if reading.several:
        found = common_grid(reading, count, ratio) if _moves(reading) else np.zeros(0)
    else:
        shared = family_of(at_first(reading), reading.targets())
        top = largest(shared) * shared.unit
        share = default_ratio(shared.problem) if ratio is None else ratio
        found = falling(top, top * share, count) if top > 0.0 else np.zeros(0)
    return found if len(found) else np.ones(1)  # no weight helps at any strength: one will do


def _moves(reading: Reading) -> bool:
    return any(largest(one) > 0.0 for one in families_of(reading))


def grid_of_budgets(reading: Reading, plan: Plan, lams: Vector) -> tuple[Vector, int]:
    """The budgets that the solutions at these λ use on all rows, rising; how many λ were not reached."""
    if reading.several:
        path: Path = ManyClassesPath(reading, plan.multiclass, lams, plan.solver, plan.limits)
        gauge = reading.terms.penalty.gauge(reading.terms.factors, reading.terms.scale)
        sizes = np.array([[gauge.value(w) for w in coef] for coef in path.coefs])
        # one class against the rest, or an output alone, has a budget of its own; the joint forms have one
        apart = plan.multiclass in ("one_vs_rest", "outputs")
        found = sizes.max(axis=1) if apart else path.budgets
    else:
        path = path_of(reading, plan.request(lams))
        found = path.budgets
    return np.unique(found), len(lams) - len(path)
