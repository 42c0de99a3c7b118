"""What dg.cross_validate returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Matrix, Vector
from dualgap.errors import DataError, needed
from dualgap.fitting.objective import Objective
from dualgap.fitting.solution import Solution

RULES = ("min", "1se")


def mean_and_error(scores: Matrix, weights: Vector, repeats: float) -> tuple[Vector, Vector]:
    """Mean over folds, weighted by the weight they hold out, and its standard error.

    With K folds and weights a, error² = Σ a (s − mean)² / Σ a / (K − 1). Rows that are held out `repeats`
    times over are not that many more rows, so that the error of repeated folds is `repeats` times as large
    in square as K separate folds would make it. One fold alone has no error to show: NaN.
    """
    share = weights / weights.sum()
    mean = share @ scores
    if len(scores) < 2:
        return mean, np.full(len(mean), np.nan)
    spread = share @ (scores - mean) ** 2
    return mean, np.sqrt(repeats * spread / (len(scores) - 1))


def best(cost: Vector) -> int:
    """The least cost, at the strongest regularisation that has it."""
    return int(np.argmin(cost))


def within_one_error(cost: Vector, error: Vector) -> int:
    """The strongest regularisation whose cost is at most one standard error above the least."""
    k = best(cost)
    room = error[k] if np.isfinite(error[k]) else 0.0
    return int(np.argmax(cost <= cost[k] + room))


def choose(rule: Any, search: Search) -> int:
    """The number of the chosen strength."""
    if isinstance(rule, str):
        return search.index_min if rule == "min" else search.index_1se
    found = rule(search)
    if not isinstance(found, int | np.integer) or not 0 <= found < len(search.mean):
        raise DataError(
            f"rule must return the number of a strength, from 0 to {len(search.mean) - 1}, not {found!r}."
        )
    return int(found)


def read_rule(rule: Any) -> Any:
    """ "min", "1se", or a function of the Search that returns the number of a strength."""
    if rule in RULES or callable(rule):
        return rule
    raise DataError(f'rule must be "min", "1se" or a function of the search, not {rule!r}.')


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Xw + b of every row that was held out, by weights found without it, at the strength chosen.

    `rows` are their numbers, `folds` those of their folds; a row that was held out twice is there twice.
    """

    rows: Index
    folds: Index
    decisions: NDArray[np.float64]


@dataclass(eq=False, repr=False)
class Search:
    """Scores of every strength on rows held out, from the strongest regularisation to the weakest.

    `scores`, `gaps` and `n_nonzero` have a row per finished fold and a column per strength. `mean` and `se`
    are over the folds. `status` says in a sentence how the search ended. `held_out` has the decisions at the
    chosen strength on rows held out, None where they are too many to keep.
    """

    form: str
    strengths: Vector
    scores: Matrix
    gaps: Matrix
    n_nonzero: Matrix
    fold_weights: Vector
    score: str
    rule: Any
    terms: Objective
    n_folds: int
    tolerance: float
    _: KW_ONLY
    greater_is_better: bool = False
    exact: bool = False
    status: str = "All folds are finished."
    seconds: float = 0.0
    repeats: float = 1.0
    interrupted: bool = False
    refit: Callable[[float], Solution] | None = None
    held_out: HeldOut | None = None

    def _strength(self, k: int, form: str, name: str) -> float:
        if self.form != form:
            asked, there = ("lam", "budget") if form == "penalised" else ("budget", "lam")
            raise AttributeError(f"This search was over {there}s: see {name.replace(asked, there)}.")
        return float(self.strengths[k])

    @property
    def proven(self) -> bool:
        """Is every fit in every fold proven to the tolerance?"""
        return bool(np.all(self.gaps <= self.tolerance))

    # -- the scores ----------------------------------------------------------------------------------

    @property
    def lams(self) -> Vector:
        """The strengths λ, falling."""
        self._strength(0, "penalised", "lams")
        return self.strengths

    @property
    def budgets(self) -> Vector:
        """The budgets, rising."""
        self._strength(0, "constrained", "budgets")
        return self.strengths

    @cached_property
    def _moments(self) -> tuple[Vector, Vector]:
        return mean_and_error(self.scores, self.fold_weights, self.repeats)

    @property
    def mean(self) -> Vector:
        """The mean score of every strength, folds weighted by what they hold out."""
        return self._moments[0]

    @property
    def se(self) -> Vector:
        """The standard error of the mean; NaN with one fold."""
        return self._moments[1]

    @property
    def cost(self) -> Vector:
        """The mean score, or its negative where greater is better."""
        return -self.mean if self.greater_is_better else self.mean

    @property
    def worst_gaps(self) -> Vector:
        """The largest relative duality gap of each finished fold."""
        return np.asarray(self.gaps.max(axis=1))

    # -- the choice ----------------------------------------------------------------------------------

    @property
    def index_min(self) -> int:
        """The place of the best mean score."""
        return best(self.cost)

    @property
    def index_1se(self) -> int:
        """The place of the strongest regularisation within one standard error of the best."""
        return within_one_error(self.cost, self.se)

    @cached_property
    def index(self) -> int:
        """The place that the rule chose."""
        return choose(self.rule, self)

    @property
    def lam_min(self) -> float:
        """The λ of the best mean score."""
        return self._strength(self.index_min, "penalised", "lam_min")

    @property
    def lam_1se(self) -> float:
        """The largest λ within one standard error of the best; never below `lam_min`."""
        return self._strength(self.index_1se, "penalised", "lam_1se")

    @property
    def lam(self) -> float:
        """The λ that the rule chose."""
        return self._strength(self.index, "penalised", "lam")

    @property
    def budget_min(self) -> float:
        """The budget of the best mean score."""
        return self._strength(self.index_min, "constrained", "budget_min")

    @property
    def budget_1se(self) -> float:
        """The smallest budget within one standard error of the best; never above `budget_min`."""
        return self._strength(self.index_1se, "constrained", "budget_1se")

    @property
    def budget(self) -> float:
        """The budget that the rule chose."""
        return self._strength(self.index, "constrained", "budget")

    @cached_property
    def solution(self) -> Solution:
        """The fit on all rows at the chosen strength, with its certificate."""
        assert self.refit is not None
        found = self.refit(float(self.strengths[self.index]))
        found.facts["held_out"] = self.told()
        self.refit = None  # it holds the data
        return found

    # -- for people ----------------------------------------------------------------------------------

    @property
    def symbol(self) -> str:
        """What a strength is called: "lam" or "budget"."""
        return "lam" if self.form == "penalised" else "budget"

    def told(self) -> str:
        """What the chosen strength scored on rows held out, with its spread."""
        k = self.index
        error = f" ± {float(f'{self.se[k]:.2g}'):g}" if np.isfinite(self.se[k]) else ""
        measure = {"loss": f"mean {self.terms.loss} loss", "zero_one": "share of wrong rows"}
        return f"{measure.get(self.score, self.score)} {self.mean[k]:.6g}{error}, {self.n_folds} folds"

    def frame(self) -> Any:
        """A pandas DataFrame with a row per strength."""
        pd = needed("pandas", "frames", "A frame")
        columns: dict[str, Any] = {
            self.symbol: self.strengths,
            "mean": self.mean,
            "se": self.se,
            "n_nonzero": self.n_nonzero.mean(axis=0),
            "gap": self.gaps.max(axis=0),
        }
        return pd.DataFrame({**columns, **{f"fold_{k}": row for k, row in enumerate(self.scores)}})

    def plot(self, ax: Any = None) -> Any:
        """Scores against the strength, see `dualgap.selection.plot.draw`; returns the figure."""
        from dualgap.selection.plot import draw

        return draw(self, ax)

    def __repr__(self) -> str:
        first, last = self.strengths[0], self.strengths[-1]
        lines = [
            f"Search({self.terms.loss} + {self.terms.penalty}: {len(self.scores)} of {self.n_folds} folds, "
            f"{len(self.strengths)} strengths, {self.symbol} from {first:.4g} to {last:.4g})",
            self._line("min", self.index_min),
            self._line("1se", self.index_1se),
        ]
        if self.index not in (self.index_min, self.index_1se):
            lines.append(self._line("rule", self.index))
        rule = self.rule if isinstance(self.rule, str) else getattr(self.rule, "__name__", "the rule given")
        lines.append(f"  chosen by {rule}: {self.symbol}={self.strengths[self.index]:.6g}")
        lines.append(f"  largest relative gap of a fold {self.gaps.max():.1e}. {self.status}")
        return "\n".join(lines)

    def _line(self, name: str, k: int) -> str:
        error = f" ± {self.se[k]:.2g}" if np.isfinite(self.se[k]) else ""
        return (
            f"  {self.symbol}_{name} {self.strengths[k]:.6g}: {self.score} {self.mean[k]:.6g}{error}, "
            f"{self.n_nonzero[:, k].mean():.1f} weights on average"
        )
