"""solution.effect: what a column does to the prediction, the other columns being what they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.errors import DataError, needed
from dualgap.fitting.decisions import decisions, log_probabilities
from dualgap.fitting.inputs import read_table
from dualgap.fitting.shown import shown
from dualgap.tables.columns import Column, Dates, Numbers, RawTable, Words
from dualgap.tables.frames import from_frame

if TYPE_CHECKING:
    from dualgap.fitting.solution import Solution

MOST_ROWS = 1000  # rows that are predicted at each value, evenly among all: a choice, a curve moves little
MANY = 20_000  # the same where a column of numbers is moved, which costs a tenth of that: a choice
FEW = 12  # different numbers up to which each is looked at: a choice, months and ratings among them
LOOKED = 20  # columns of a formula that are looked at where the strongest are wanted: a choice, seconds
EDGE = 0.025  # share of the rows on either side whose values are beyond the curve: few rows, far out
SPREAD = (0.1, 0.9)  # of the rows, between which the band of a curve is
STEP = 1e-4  # of the range: how far a column is moved to see how steep the prediction is


@dataclasses.dataclass(frozen=True, eq=False)
class Effect:
    """The mean prediction at values of one column, the rows being otherwise as they are.

    `mean`, `low` and `high` have a row per value and a column per `outcome`: the predicted number, the
    probability of a class, or its score. Between low and high are the predictions of eight rows in ten.
    `slope` is the mean steepness at the rows' own values; words and dates have none.
    """

    column: str
    values: tuple[Any, ...]
    mean: Matrix
    low: Matrix
    high: Matrix
    outcomes: tuple[str, ...]
    rows: int
    slope: tuple[float, ...] = ()
    numeric: bool = True  # are the values numbers or days, with an order and distances?

    @property
    def size(self) -> float:
        """How far the mean prediction moves in all: the largest difference of two values."""
        return float(np.ptp(self.mean, axis=0).max(initial=0.0))

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[tuple[Any, Vector]]:
        return iter(zip(self.values, self.mean, strict=True))

    def frame(self) -> Any:
        """A pandas DataFrame with a line per value."""
        pd = needed("pandas", "frames", "A frame")
        found: dict[str, Any] = {self.column: list(self.values)}
        for k, name in enumerate(self.outcomes):
            found |= {name: self.mean[:, k], f"{name} low": self.low[:, k], f"{name} high": self.high[:, k]}
        return pd.DataFrame(found)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and cells for people."""
        ends = [f"{100 * share:g} %" for share in SPREAD]
        head = [self.column]
        for name in self.outcomes:
            head += [name, *ends] if len(self.outcomes) == 1 else [name]
        lines = []
        for k, value in enumerate(self.values):
            cells = [shown(value)]
            for j in range(len(self.outcomes)):
                parts = (self.mean, self.low, self.high) if len(self.outcomes) == 1 else (self.mean,)
                cells += [shown(part[k, j]) for part in parts]
            lines.append(cells)
        return head, lines

    def words(self) -> str:
        """The slope in a sentence; of words what they are."""
        if not self.slope:
            return f"mean over {self.rows} rows, {self.column} being set to each of its values"
        each = zip(self.outcomes, self.slope, strict=True)
        steep = ", ".join(f"{name} by {shown(slope, 4)}" for name, slope in each)
        return f"mean over {self.rows} rows; where {self.column} rises by one, on average {steep}"

    def __str__(self) -> str:
        head, lines = self.table()
        wide = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
        text = [
            "  " + "  ".join(f"{cell:>{w}}" for cell, w in zip(line, wide, strict=True))
            for line in [head, *lines]
        ]
        return "\n".join([*text, self.words()])

    __repr__ = __str__

    def plot(self, *, axes: Any = None) -> Any:
        """The curve with its band; for words a dot each."""
        plt = needed("matplotlib.pyplot", "plot", "A picture")
        if axes is None:
            axes = plt.subplots(figsize=(5.0, 3.6), layout="constrained")[1]
        at = list(self.values) if self.numeric else [str(value) for value in self.values]
        for k, name in enumerate(self.outcomes):
            (line,) = axes.plot(at, self.mean[:, k], "-" if self.numeric else "o", label=name)
            if self.numeric:
                axes.fill_between(at, self.low[:, k], self.high[:, k], color=line.get_color(), alpha=0.15)
            else:
                reach = np.abs(np.stack([self.low[:, k], self.high[:, k]]) - self.mean[:, k])
                axes.errorbar(at, self.mean[:, k], yerr=reach, fmt="none", color=line.get_color(), alpha=0.4)
        axes.set(xlabel=self.column, ylabel=self.outcomes[0] if len(self.outcomes) == 1 else "prediction")
        if len(self.outcomes) > 1:
            axes.legend(frameon=False)
        return axes


def effect(solution: Solution, column: str | int, data: Any, points: int) -> Effect:
    """See Solution.effect."""
    if data is None:
        raise DataError("The rows of the fit are not kept in a Solution: give data=(X, y).")
    X = data[0] if isinstance(data, tuple | list) and len(data) == 2 else data
    raw = raw_rows(solution, X)
    if raw is not None:
        return effect_of_raw(solution, str(column), raw, points)
    return _of_matrix(solution, column, X, points)


def raw_rows(solution: Solution, X: Any) -> RawTable | None:
    """Some rows of a frame as it was before the recipe; None where the columns were made already."""
    recipe = solution.recipe
    if recipe is None or not hasattr(X, "columns") or tuple(map(str, X.columns)) == recipe.names:
        return None
    frame = X if hasattr(X, "iloc") else X.to_pandas()
    inputs = {rule.name for rule in recipe.inputs}
    kept = [name for name in frame.columns if str(name) in inputs]
    return from_frame(frame[kept].iloc[even(len(frame))], "X")


def even(n: int, most: int = MOST_ROWS) -> NDArray[np.intp]:
    """Numbers of at most so many rows, evenly among n."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def strongest(solution: Solution, rows: Any, most: int, points: int = 25) -> tuple[Effect, ...]:
    """The columns that move the prediction most; `rows` are a RawTable where there is a recipe, else X."""
    p = solution.coef.shape[-1]
    sizes = np.abs(np.atleast_2d(solution.coef) * solution.facts["spread"]).max(axis=0)
    if solution.recipe is None:
        order = np.argsort(-sizes, kind="stable")[:most]
        found = [_of_matrix(solution, int(j), rows, points) for j in order if sizes[j] > 0.0]
    else:
        weights: dict[str, float] = {}
        where = dict(zip(solution.recipe.names, range(p), strict=True))
        for rule in solution.recipe.inputs:
            own = [sizes[where[name]] for name in rule.outputs if name in where]
            # what a formula makes of a column is not told by names: it is looked at
            size = max(own, default=np.inf if solution.recipe.formula else 0.0)
            weights[rule.name] = max(weights.get(rule.name, 0.0), float(size))
        names = sorted(weights, key=lambda name: -weights[name])
        names = [name for name in names if weights[name] > 0.0][: LOOKED if solution.recipe.formula else most]
        found = [effect_of_raw(solution, name, rows, points) for name in names]
    return tuple(sorted(found, key=lambda one: -one.size)[:most])


def effect_of_raw(
    solution: Solution, column: str, raw: RawTable, points: int, values: tuple[Any, ...] | None = None
) -> Effect:
    """Of a column as a file has it, whatever the recipe makes of it; at `values` where they are given."""
    recipe = solution.recipe
    assert recipe is not None
    names = list(dict.fromkeys(rule.name for rule in recipe.inputs))
    if column not in names:
        raise DataError(f"The fit used no column {column!r}. It used {', '.join(map(repr, names[:20]))}.")
    rules = [rule for rule in recipe.inputs if rule.name == column]
    own = rules[0].column(raw) if not any(rule.part for rule in rules) else raw.column(column)
    apart = isinstance(own, Words) or recipe.as_levels(column)
    values = _values(own, points, apart=apart) if values is None else values

    def predicted(changed: Column) -> Matrix:
        columns = {name: raw.column(name) for name in names} | {column: changed}
        table = dataclasses.replace(raw, names=tuple(names), columns=columns, matrix=None)
        made = recipe.encode(table, "reference")  # days between those of the fit may be in other months
        return outcome(solution, decisions(read_table(made.matrix).design, solution.coef, solution.intercept))

    found = [predicted(_constant(own, value, raw.n)) for value in values]
    slope = _slope(own, values, predicted) if isinstance(own, Numbers) and not apart else ()
    return _gathered(column, values, found, outcomes(solution), slope, numeric=not apart)


def _of_matrix(solution: Solution, column: str | int, X: Any, points: int) -> Effect:
    """Of a column of the matrix: the decision function moves by weight times step, no product is needed."""
    table = read_table(X)
    design = table.design.rows(even(table.design.shape[0], MANY))
    p = design.shape[1]
    names = solution.names or tuple(f"x{j}" for j in range(p))
    j = names.index(column) if column in names else column
    if not isinstance(j, int | np.integer) or isinstance(j, bool) or not -p <= j < p:
        raise DataError(f"The fit has no column {column!r}. It has {', '.join(map(repr, names[:20]))}.")
    j = int(j) % p
    own = Numbers(np.asarray(design.columns(np.array([j])).toarray()[:, 0]))
    scores, weight = decisions(design, solution.coef, solution.intercept), solution.coef[..., j]

    def predicted(changed: Column) -> Matrix:
        assert isinstance(changed, Numbers)
        step = changed.values - own.values
        return outcome(solution, scores + (step * weight if scores.ndim == 1 else np.outer(step, weight)))

    values = _values(own, points)
    found = [predicted(_constant(own, value, len(own.values))) for value in values]
    slope = _slope(own, values, predicted)
    return _gathered(names[j], values, found, outcomes(solution), slope)


def outcome(solution: Solution, scores: NDArray[np.float64]) -> Matrix:
    """What a person is told: the number, or how likely each class is; of two classes the second."""
    if solution.classes is None:
        found = solution.terms.loss.mean(scores)
    elif hasattr(solution.terms.loss, "log_odds"):
        found = np.exp(log_probabilities(solution.terms.loss, scores, solution.multiclass))
        found = found[:, 1:] if found.shape[1] == 2 else found
    else:
        found = scores
    return np.asarray(found, dtype=np.float64).reshape(len(scores), -1)


def outcomes(solution: Solution) -> tuple[str, ...]:
    """The names of what is told."""
    if solution.classes is None:
        count = 1 if solution.coef.ndim == 1 else len(solution.coef)
        return (
            ("prediction",)
            if count == 1
            else tuple(f"prediction {k}" for k in solution.outputs or range(count))
        )
    labels = [str(label) for label in solution.classes.tolist()]
    labels = labels[1:] if solution.coef.ndim == 1 else labels
    word = "P({})" if hasattr(solution.terms.loss, "log_odds") else "score of {}"
    return tuple(word.format(label) for label in labels)


def _values(column: Column, points: int, *, apart: bool = False) -> tuple[Any, ...]:
    """Where the curve is looked at."""
    if points < 2:
        raise DataError(f"points must be at least 2, not {points}.")
    if isinstance(column, Words):
        counts = column.counts()
        return tuple(level for k, level in enumerate(column.levels) if counts[k])
    there = column.values[~column.missing]
    different = np.unique(there)
    if len(different) <= FEW or apart:
        return tuple(different.tolist() if isinstance(column, Numbers) else different)
    if isinstance(column, Dates):
        days = different.astype("datetime64[D]").astype(np.float64)
        return tuple(np.unique(np.linspace(days[0], days[-1], points).round()).astype("datetime64[D]"))
    low, high = np.quantile(there, [EDGE, 1.0 - EDGE])
    low, high = (low, high) if low < high else (different[0], different[-1])
    return tuple(np.linspace(low, high, points).tolist())


def _constant(column: Column, value: Any, n: int) -> Column:
    """The column with this value in every row."""
    if isinstance(column, Words):
        return Words(np.full(n, column.levels.index(value), dtype=np.intp), column.levels)
    if isinstance(column, Dates):
        return Dates(np.full(n, np.datetime64(value, "s")))
    return Numbers(np.full(n, float(value)), boolean=column.boolean)


def _slope(own: Numbers, values: tuple[Any, ...], predicted: Callable[[Column], Matrix]) -> tuple[float, ...]:
    """The mean difference quotient around the rows' own values."""
    step = STEP * (float(values[-1]) - float(values[0])) or STEP
    there = np.where(own.missing, np.nanmean(own.values), own.values)  # a gap is filled, and moves as others
    around = [Numbers(there + k * step, boolean=own.boolean) for k in (-1, 1)]
    low, high = (predicted(one) for one in around)
    return tuple(((high - low).mean(axis=0) / (2.0 * step)).tolist())


def _gathered(
    column: str,
    values: tuple[Any, ...],
    found: list[Matrix],
    names: tuple[str, ...],
    slope: tuple[float, ...],
    *,
    numeric: bool = True,
) -> Effect:
    mean = np.array([one.mean(axis=0) for one in found])
    low, high = (np.array([np.quantile(one, share, axis=0) for one in found]) for share in SPREAD)
    return Effect(column, values, mean, low, high, names, len(found[0]), slope, numeric)
