"""Smooth losses with an l1 part over dense columns: few of them at a time, by their matrix.

Only two kinds of passes read the whole table: one for the prices at w = 0, and one a round, θX, which is the
gradient, what columns left out are worth, and the dual point at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.lasso.all_columns import all_columns, cheap
from dualgap.solvers.lasso.sample_start import of_a_sample
from dualgap.solvers.lasso.swept_start import SingleColumns
from dualgap.solvers.lasso.working_models import model_of
from dualgap.solvers.lasso.working_point import PricedColumns
from dualgap.solvers.prices import plain, prices
from dualgap.traits import Trait

ROUNDS = 60  # that no problem of a fair condition needs
LESS, PATIENCE = 0.9, 4  # rounds that leave more than this share of the violations, before others have a try
# What may be lost on the way to minima over the columns taken: operations, and steps of an interior point. On
# 171 × 1849 numbers far from zero signs never settled, and an interior point took a hundredth of the time.
LOST, STEPS = 1.5e9, 10.0


@dataclass
class WorkingSet:
    """Top columns → their centred Gram matrix → coordinate descent → θX; other losses by proximal Newton."""

    name: ClassVar[str] = "coordinate_descent"
    exact_zeros: ClassVar[bool] = True  # a column that is not worth its price has the weight 0, not 1e-10
    given_up: bool = field(default=False, compare=False)  # would other coordinates not help?

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Has each column a price, and do the models of the loss hold?

        Of sparse columns few must matter, as is seen at the start; a quadratic loss has a matrix that stays,
        and curvatures that jump change the few: squared hinge on text took 1.5 times as long.
        """
        if not problem.loss_has(Trait.SMOOTH):
            return False
        sparse = problem.design.features.sparse is not None
        if not plain(problem) and (not sparse or problem.loss_has(Trait.PIECEWISE_QUADRATIC)):
            return False
        return bool(np.count_nonzero(prices(problem)[0]) == problem.p - problem.intercept)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        n, p = problem.design.features.shape
        if problem.loss_has(Trait.QUADRATIC):
            if cheap(n, p):
                yield from all_columns(problem, start)
            single = SingleColumns(problem) if SingleColumns.fits(problem, start) else None
            if single is not None and single.nearly_all and not cheap(n, p):
                yield from all_columns(problem, start)
            found = single.swept() if single is not None else None
        else:
            found = of_a_sample(problem, start)
        point = PricedColumns(problem, start if found is None else replace(found, wanted=start.wanted))
        model = model_of(point)
        best, waited = np.inf, 0
        most = LOST + STEPS * problem.design.stored * min(n, p)
        for _ in range(ROUNDS):
            if point.crowded:
                pull = np.append(point.pull, point.theta_sum) if problem.intercept else point.pull
                yield Iterate(
                    point.asked(), point.theta, point.z, correlation=pull, certify=False, look=False
                )
                return
            proof = point.proof()
            yield Iterate(point.asked(), certify=False, look=False) if proof is None else proof
            waited = 0 if point.off < LESS * best else waited + 1
            best = min(best, point.off)
            self.given_up = model.lost > most
            if waited > PATIENCE or self.given_up:
                return
            model.improve()
