"""A path over the number of columns: the best subset of every size k = 0 … K, each with what is proven."""

from __future__ import annotations

import dataclasses
import warnings
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Vector
from dualgap.discrete import subset_path
from dualgap.discrete.subset.path import at_size
from dualgap.discrete.subset.selection import selection
from dualgap.drive.limits import Limits
from dualgap.drive.solver import Solver
from dualgap.errors import DataError, NotCertifiedWarning, needed
from dualgap.fitting.reading import Reading
from dualgap.fitting.searched import assemble, fit_searched
from dualgap.fitting.solution import Solution
from dualgap.paths.criterion import counted, priced
from dualgap.paths.path import Pareto, Path, one_of, predictions
from dualgap.paths.solved_path import SolvedPath
from dualgap.problem.problem import Problem

SIZES = 20  # the largest size where none is asked for


class SubsetPath(SolvedPath):
    """Best subsets, `sizes` rising; `objectives[i]`, `bounds[i]`, `proven[i]`, `coefs[i]` are of `sizes[i]`.

    Where a size is not proven its weights are the best found, and no set of that size gets below its bound.
    """

    breakpoints = True
    inverse = False
    constant = True

    def __init__(
        self, reading: Reading, sizes: NDArray[np.int64], solver: str | Solver, limits: Limits
    ) -> None:
        self._reading, self.form = reading, "constrained"
        self._solver, self._limits = solver, limits
        problem = _problem(reading)
        answers = subset_path(problem, sizes.tolist(), limits, solver)
        if not answers:
            raise KeyboardInterrupt
        self.sizes = sizes[: len(answers)]
        self._stopped = len(answers) < len(sizes)
        self._solutions = [
            assemble(self._at_size(int(size)), at_size(problem, int(size)), answer, limits)
            for size, answer in zip(self.sizes, answers, strict=True)
        ]

    def _with(self, lam: float | None, budget: float | None) -> Reading:
        return dataclasses.replace(
            self._reading, terms=dataclasses.replace(self._reading.terms, lam=lam, budget=budget)
        )

    def _at_size(self, size: int) -> Reading:
        return self._with(None, float(size))

    # -- the points ----------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        if not self.stopped:
            return "All sizes are there."
        return f"Interrupted: there are no sizes above {self.sizes[-1]}."

    @property
    def exact(self) -> bool:
        """Is every size proven?"""
        return bool(self.proven.all())

    @cached_property
    def lams(self) -> Vector:
        """NaN: a size has no λ."""
        return np.full(len(self.sizes), np.nan)

    @cached_property
    def budgets(self) -> Vector:
        return self.sizes.astype(np.float64)

    @cached_property
    def bounds(self) -> Vector:
        """What no set of that size gets below."""
        return np.array([one.bound for one in self._solutions])

    @cached_property
    def proven(self) -> Mask:
        """Which sizes are proven to the tolerance."""
        return np.array([one.converged for one in self._solutions])

    @property
    def statuses(self) -> tuple[str, ...]:
        """How the search of every size ended, as a sentence."""
        return tuple(one.status for one in self._solutions)

    @cached_property
    def risks(self) -> Vector:
        share = self.terms.sample_weight / self.terms.sample_weight.sum()
        here = predictions(self._reading.table.design, self.coefs, self.intercepts)
        return np.asarray(self.terms.loss.value(self._reading.targets(), here) @ share)

    # -- anywhere ------------------------------------------------------------------------------------

    def solution(self, *, lam: float | None = None, budget: float | None = None) -> Solution:
        """A Solution with its certificate: of a size, or of the penalised problem, searched for from here."""
        name, value = one_of(lam, budget)
        if name == "budget":
            at = np.flatnonzero(self.sizes == np.floor(value))
            if len(at):
                return self._solutions[int(at[0])]
            return self._searched(self._at_size(int(value)), self._largest_within(value))
        paid = self.objectives + value * self.n_nonzero
        return self._searched(self._with(value, None), self._solutions[int(np.argmin(paid))])

    def _largest_within(self, budget: float) -> Solution | None:
        inside = np.flatnonzero(self.sizes <= budget)
        return self._solutions[int(inside[-1])] if len(inside) else None

    def _searched(self, reading: Reading, start: Solution | None) -> Solution:
        if not reading.terms.lam and reading.terms.budget is None:
            raise DataError("lam must be above 0 on a path over sizes; budget=k is the best set of k.")
        return fit_searched(reading, _problem(reading), self._solver, self._limits, start)

    def budget(self, lam: float) -> float:
        return self.size(self.coef(lam=lam))

    def lam(self, budget: float) -> float:
        raise DataError("No λ belongs to a size: the best subset need not be the best at any λ.")

    def pareto(self) -> Pareto:
        ahead = np.concatenate([[np.inf], np.minimum.accumulate(self.risks)[:-1]])
        best = self.risks < ahead - 1e-13 * np.abs(self.risks).max()
        used = np.array([self.size(w) for w in self.coefs[best]])
        return Pareto(used, self.risks[best], self.lams[best])

    def criterion(self, name: str) -> Vector:
        """ "aic" or "bic" of the best set found of every size; the weights count as if chosen beforehand.

        With the square of l0_l2 they count by the trace of ∂(Xw)/∂y on the set.
        """
        return priced(self, name, self._degrees)

    def _degrees(self, _: Path) -> Vector:
        problem = _problem(self._reading)
        weights = self.coefs
        if problem.intercept:
            weights = np.column_stack([weights, self.intercepts])
        return counted(self, problem, weights, np.tile(selection(problem).ridge, (len(weights), 1)), "l0")

    def chosen(self, budget: float) -> tuple[str, ...]:
        """The names of the columns that the best set of a size holds."""
        coef = self.coef(budget=budget)
        names = self.names or tuple(f"x{j}" for j in range(len(coef)))
        return tuple(names[j] for j in np.flatnonzero(coef))

    def frame(self) -> Any:
        """A pandas DataFrame with a row per size: k, objective, bound, relative gap, proven, columns, …"""
        pd = needed("pandas", "frames", "A frame")
        rows = [
            {
                "k": int(size),
                "objective": one.objective,
                "bound": one.bound,
                "relative_gap": one.relative_gap,
                "proven": one.converged,
                "columns": ", ".join(self.chosen(float(size))),
                "nodes": one.n_iter,
                "seconds": one.seconds,
                "status": one.status,
            }
            for size, one in zip(self.sizes, self._solutions, strict=True)
        ]
        return pd.DataFrame(rows)

    def plot(
        self, *, x: str = "budget", ax: Any = None, test: Any = None, names: Any = None, top: int = 12
    ) -> Any:
        """Objective and weights against k; see `dualgap.paths.plot.draw_subsets`."""
        from dualgap.paths.plot import draw_subsets

        if x != "budget":
            raise DataError(f"A path over sizes is drawn against them, x='budget', not {x!r}.")
        return draw_subsets(self, ax=ax, test=test, names=names, top=top)

    def size(self, coef: Vector) -> float:
        counted = self.terms.factors != 0.0
        return float(np.count_nonzero(coef[counted]))

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        terms = self.terms
        return (
            f"SubsetPath({terms.loss} + {terms.penalty}: sizes {self.sizes[0]} to {self.sizes[-1]}, "
            f"{int(self.proven.sum())} of {len(self)} proven)"
        )


def _problem(reading: Reading) -> Problem:
    return reading.terms.problem(reading.table.design, reading.targets())


def subsets_of(reading: Reading, sizes: Any, solver: str | Solver, limits: Limits) -> SubsetPath:
    """The path of data that have been read, with a warning where a size is not proven."""
    if reading.many_classes:
        raise DataError(
            "A path over subset sizes is for two classes; with more fit one size at a time: budget=k."
        )
    found = SubsetPath(reading, _read_sizes(sizes, reading), solver, limits)
    if found.stopped:
        warnings.warn(found.status, NotCertifiedWarning, stacklevel=3)
    if not found.exact:
        _warn(found, limits.tolerance)
    return found


def _warn(found: SubsetPath, tolerance: float) -> None:
    worst = int(np.argmax(found.gaps))
    warnings.warn(
        f"{np.count_nonzero(~found.proven)} of {len(found)} sizes are not proven to tol={tolerance:g}; the "
        f"relative gap is largest at k={found.sizes[worst]}, {found.gaps[worst]:.2e}. "
        f"{found.statuses[worst]}",
        NotCertifiedWarning,
        stacklevel=4,
    )


def _read_sizes(sizes: Any, reading: Reading) -> NDArray[np.int64]:
    """0 … K for a whole number K, the sizes themselves for a list; rising."""
    most = int(np.count_nonzero(reading.terms.factors))
    if sizes is None:
        return np.arange(min(most, reading.table.design.shape[0], SIZES) + 1)
    try:
        given = np.asarray(sizes, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array([np.nan])
    whole = given.size > 0 and bool(np.all(np.isfinite(given) & (given >= 0) & (given == np.floor(given))))
    if given.ndim > 1 or not whole:
        raise DataError(f"sizes must be a whole number K (for 0 … K) or a list of them, not {sizes!r}.")
    if given.ndim == 0:
        return np.arange(min(int(given), most) + 1)
    return np.unique(np.minimum(given, most)).astype(np.int64)
