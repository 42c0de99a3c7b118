"""A path for more than two classes, or for several outputs: each alone, or jointly, on a grid of λ."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.drive.run import as_part
from dualgap.drive.solver import Solver
from dualgap.errors import DataError
from dualgap.fitting.multiclass import fits_of, form_of, in_a_row
from dualgap.fitting.outputs import OutputFits
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.paths.family import Family, at_first, family_of
from dualgap.paths.path import one_of
from dualgap.paths.solved_path import SolvedPath
from dualgap.paths.strengths import default_ratio, falling, largest


class ManyClassesPath(SolvedPath):
    """Solutions from the largest λ to the smallest; `coefs[k]` has a row per class or output."""

    exact = False
    breakpoints = False

    def __init__(
        self, reading: Reading, form: str, lams: Vector, solver: str | Solver, limits: Limits
    ) -> None:
        self._reading, self.form = reading, form
        self._solver, self._limits = solver, limits
        with as_part():
            fits = fits_of(reading, form, solver, limits)
            self._solutions = in_a_row(fits, lams, penalised=True, limits=limits)
        self._strengths = lams[: len(self._solutions)]
        self._stopped = len(self._solutions) < len(lams)

    def _fitted(self, lam: float | None, budget: float | None, start: Solution) -> Solution:
        with as_part():
            return fits_of(self._reading, self.form, self._solver, self._limits).fit(lam, budget, start)

    @cached_property
    def lams(self) -> Vector:
        return self._strengths

    @cached_property
    def budgets(self) -> Vector:
        return np.array([one.price for one in self._solutions]) / self.lams

    @cached_property
    def risks(self) -> Vector:
        return self.objectives - self.lams * self.budgets

    def solution(self, *, lam: float | None = None, budget: float | None = None) -> Solution:
        name, value = one_of(lam, budget)
        if name == "budget":
            nearest = int(np.argmin(np.abs(self.budgets - value)))
            return self._fitted(None, value, self._solutions[nearest])
        nearest = int(np.argmin(np.abs(self.lams - value)))
        if self.lams[nearest] == value:
            return self._solutions[nearest]
        return self._fitted(value, None, self._solutions[nearest])

    def budget(self, lam: float) -> float:
        return self.solution(lam=lam).price / lam

    def lam(self, budget: float) -> float:
        raise DataError(
            "The λ of a budget is known for two classes or one output only; compare path.budgets."
        )

    def criterion(self, name: str) -> Vector:
        raise DataError("AIC and BIC are to be had for two classes or one output; use dg.cross_validate.")

    @property
    def labels(self) -> tuple[str, ...]:
        """What the rows of weights are of: outputs, or classes."""
        reading = self._reading
        return tuple(map(str, reading.outputs or reading.labels or range(reading.count)))

    def plot(
        self,
        *,
        x: str = "lam",
        ax: Any = None,
        test: Any = None,
        names: Any = None,
        top: int = 6,
        titles: Any = None,
    ) -> Any:
        """A panel for each class or output; see `dualgap.paths.plot.draw_many`."""
        from dualgap.paths.plot import draw_many

        if ax is not None or test is not None:
            raise DataError(
                "ax= and test= are for two classes or one output; of more there is a panel for each."
            )
        return draw_many(self, x=x, names=names, top=top, titles=titles)


def families_of(reading: Reading) -> list[Family]:
    """What all strengths share, of each class against the rest or each output alone."""
    alone = [reading.alone(k) for k in range(reading.count)]
    return [family_of(at_first(one), one.targets(k)) for k, one in enumerate(alone)]


def common_grid(reading: Reading, count: int, ratio: float | None) -> Vector:
    """From the least λ at which all weights of all classes are zero."""
    families = families_of(reading)
    if form_of(reading, "auto") == "joint":
        top = OutputFits(reading, "auto", Limits()).top()
    else:
        top = max(largest(one) * one.unit for one in families)
    share = default_ratio(families[0].problem) if ratio is None else ratio
    return falling(top, top * share, count) if top > 0.0 else np.ones(1)
