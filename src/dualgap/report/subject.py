"""What a page is about: any of a fit, a path and a search, with the rows they saw and rows they did not."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.errors import DataError
from dualgap.files.verification import UNPROVEN, examine
from dualgap.fitting.effects import Effect
from dualgap.fitting.objective import Objective
from dualgap.fitting.offsets import without
from dualgap.fitting.solution import Solution
from dualgap.paths.path import Path
from dualgap.report.rows import HELD, TEST, PredictedRows, rows_of, same_rows, targets_of
from dualgap.selection.search import Search
from dualgap.tables.formula import FormulaRecipe
from dualgap.tables.recipe import Recipe

Pair = tuple[Any, ...]  # X and y, and the offset of rows that were not fitted
FITTED = "rows of the fit"
LARGEST = 1 << 26  # numbers in rows that are checked again for a page


@dataclass(frozen=True, eq=False)
class Origin:
    """Where the answer came from: the command, what was said on the way, what was done to the columns."""

    command: str = ""
    notes: tuple[str, ...] = ()
    recipe: Recipe | FormulaRecipe | None = None
    python: str = ""  # lines that do the same in Python, where they are known
    intervals: Any = None  # of the weights, where they were asked for
    effects: tuple[Effect, ...] | None = None  # of columns, where the rows as the file has them are known


@dataclass(frozen=True, eq=False)
class Subject:
    """One page. `solution` is the fit itself, the chosen one of a search, or one point of a path."""

    solution: Solution
    path: Path | None
    search: Search | None
    data: Pair | None
    test: Pair | None
    names: tuple[str, ...]
    origin: Origin
    picked: str = ""  # how one point of a path came to be shown

    @property
    def terms(self) -> Objective:
        """Loss, penalty and the weights of rows and columns."""
        return self.solution.terms

    @property
    def target(self) -> str:
        """The name of what is predicted."""
        recipe = self.origin.recipe
        return recipe.target if recipe is not None and recipe.target else "y"

    def read(self, X: Any) -> Any:
        """Rows with their columns made by the recipe, where there is one, and without that of the offset."""
        X = without(X, self.terms.offset_name)
        return X if self.origin.recipe is None else self.origin.recipe.read(X)

    @cached_property
    def fitted(self) -> PredictedRows | None:
        """The rows given as data, with their predictions."""
        if self.data is None:
            return None
        rows = rows_of(self.solution, *self.data, title=FITTED)
        if not len(self.terms.sample_weight):  # they were read in blocks: these may be some of them
            return dataclasses.replace(rows, title="rows given, of those that were scanned")
        if same_rows(self.solution, rows):
            return rows
        return dataclasses.replace(rows, title="rows given (not those of the fit)")

    @cached_property
    def objections(self) -> tuple[str, ...] | None:
        """What the rows of the fit, where they are given, say against its proof; None where none were asked.

        A search would have to be made again, which is for `dualgap verify`.
        """
        rows, proof = self.fitted, self.solution.certificate
        searched = proof is None or proof.search is not None
        if rows is None or self.data is None or rows.title != FITTED or searched:
            return None
        if len(rows) * len(self.names) > LARGEST:
            return None
        found, _ = examine(self.solution, self.read(self.data[0]), *self.data[1:])
        return tuple(said for said in found if not said.startswith(UNPROVEN))

    @property
    def proven(self) -> bool:
        """To its tolerance, and nothing speaks against it."""
        return self.solution.converged and not self.objections

    @cached_property
    def fresh(self) -> PredictedRows | None:
        """The rows that were held out, with their predictions."""
        return None if self.test is None else rows_of(self.solution, *self.test, title=TEST)

    @cached_property
    def held(self) -> PredictedRows | None:
        """The rows given as data, each predicted by weights that cross-validation found without it."""
        found = None if self.search is None else self.search.held_out
        n = len(self.terms.sample_weight)
        if found is None or self.data is None or np.shape(self.data[1])[:1] != (n,):
            return None
        targets = targets_of(self.solution, self.data[1], n)[found.rows]
        weights, offset = self.terms.sample_weight[found.rows], self.terms.offset
        shift = None if offset is None else offset[found.rows]
        return PredictedRows(
            HELD, targets, found.decisions, weights, True, found.folds, self.terms.loss, shift
        )

    @property
    def judged(self) -> PredictedRows | None:
        """The rows that say most: those that the weights have not seen, where there are any."""
        return self.fresh or self.held or self.fitted


def subject(thing: Any, along: Any, data: Any, test: Any, origin: Origin) -> Subject:
    """Read what was given."""
    thing = getattr(thing, "search_", getattr(thing, "solution_", thing))  # a fitted estimator
    path: Any = along
    search, picked = None, ""
    if isinstance(thing, Search):
        solution, search = thing.solution, thing
    elif isinstance(thing, Path):
        path, solution = thing, at_point(thing, len(thing) // 2)
        picked = "the point in the middle of the path"
    elif isinstance(thing, Solution):
        solution = thing
    else:
        raise DataError(
            "A page is made of a Solution, of what dg.path or dg.cross_validate return, or of a fitted "
            f"linear estimator, not of a {type(thing).__name__}."
        )
    if path is not None and not isinstance(path, Path):
        raise DataError(f"along= must be what dg.path returns, not a {type(path).__name__}.")
    recipe = origin.recipe or solution.recipe
    origin = dataclasses.replace(origin, recipe=recipe)
    names = _names(solution, recipe, data)
    return Subject(solution, path, search, _pair("data", data), _pair("test", test), names, origin, picked)


def _pair(name: str, rows: Any) -> Pair | None:
    if rows is None or (isinstance(rows, tuple | list) and len(rows) in (2, 3)):
        return None if rows is None else tuple(one for one in rows if one is not None)
    raise DataError(f"{name} must be a pair (X, y), or (X, y, offset).")


def _names(solution: Solution, recipe: Recipe | FormulaRecipe | None, data: Any) -> tuple[str, ...]:
    p = solution.coef.shape[-1]
    columns = getattr(data[0], "columns", None) if data is not None else None
    found = (solution.names, recipe.names if recipe else None, None if columns is None else map(str, columns))
    for names in (tuple(one) for one in found if one is not None):
        if len(names) == p:
            return names
    return tuple(f"x{j}" for j in range(p))


def at_point(path: Path, k: int) -> Solution:
    """The solution at one of the points of a path, with its certificate."""
    sizes = bool(np.isnan(path.lams[k]))
    return path.solution(budget=float(path.budgets[k])) if sizes else path.solution(lam=float(path.lams[k]))
