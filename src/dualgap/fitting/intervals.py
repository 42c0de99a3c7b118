"""solution.intervals: how far weights would move with other rows of the same kind."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed

from dualgap.arrays import Vector
from dualgap.drive.progress import ProgressLine, bar
from dualgap.errors import DataError, InfeasibleError, UnboundedError, needed
from dualgap.fitting.interval_formulas import FittedSample
from dualgap.fitting.offsets import without
from dualgap.fitting.reading import Reading, read
from dualgap.fitting.several import one_output
from dualgap.fitting.shown import shown
from dualgap.fitting.signs import sign_keywords
from dualgap.traits import Trait

if TYPE_CHECKING:
    from dualgap.fitting.solution import Solution

METHODS = ("auto", "classical", "robust", "sandwich", "rank", "bootstrap")
FAILED = 0.1  # share of resamples without an answer, a choice: beyond it the others tell too little
AT_ONCE = 1e8  # rows times squared columns: a tenth of a second
OFTEN, SELDOM = 0.9, 0.5  # shares of the resamples that a sentence speaks of: a choice
NAMED = 8  # columns in that sentence
SELECTED = (
    "no p-values: the columns were chosen by the same rows, after which a test at the usual level would be "
    "wrong; `selected` is the share of the resamples in which a column has a weight"
)
PENALISED = "a penalty draws weights towards zero, and these intervals with them: they are of what is fitted"


@dataclasses.dataclass(frozen=True)
class Interval:
    """A weight with its interval; `error`, `statistic` and `p` where a method gives them."""

    column: str
    weight: float
    low: float
    high: float
    error: float | None = None
    statistic: float | None = None
    p: float | None = None
    selected: float | None = None

    def ratio(self) -> tuple[float, float, float]:
        """exp of the weight and of the ends: the odds (or rate) ratio of a step by one."""
        return float(np.exp(self.weight)), float(np.exp(self.low)), float(np.exp(self.high))


@dataclasses.dataclass(frozen=True, eq=False)
class Intervals:
    """Rows of weights with their intervals; `method` says how, `remark` what they do not say."""

    rows: tuple[Interval, ...]
    level: float
    method: str
    remark: str = ""
    ratio: str = ""  # what exp of a weight is called, where it has a name

    def __iter__(self) -> Iterator[Interval]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def frame(self) -> Any:
        """A pandas DataFrame with a row per weight."""
        pd = needed("pandas", "frames", "A frame")
        return pd.DataFrame([dataclasses.asdict(row) for row in self.rows])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and cells for people."""
        ends = f"{100 * self.level:g} %"
        head = ["", "weight", f"low {ends}", f"high {ends}"]
        more = [
            name
            for name in ("error", "statistic", "p", "selected")
            if any(getattr(row, name) is not None for row in self.rows)
        ]
        odds = [self.ratio, "low", "high"] if self.ratio else []
        lines = []
        for row in self.rows:
            cells = [row.column, *(shown(value, 4) for value in (row.weight, row.low, row.high))]
            for name in more:
                value = getattr(row, name)
                cells.append("" if value is None else shown(value, 3 if name == "statistic" else 2))
            slope = not row.column.endswith("intercept")  # a step by one is a step of a column
            lines.append(
                cells + ([shown(value, 4) if slope else "" for value in row.ratio()] if odds else [])
            )
        return [*head, *more, *odds], lines

    def __str__(self) -> str:
        head, lines = self.table()
        wide = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
        shown = [
            "  "
            + "  ".join(
                f"{cell:<{w}}" if k == 0 else f"{cell:>{w}}"
                for k, (cell, w) in enumerate(zip(line, wide, strict=True))
            )
            for line in [head, *lines]
        ]
        return "\n".join(
            [
                f"{100 * self.level:g} % intervals, {self.method}",
                *shown,
                *([self.remark] if self.remark else []),
            ]
        )

    __repr__ = __str__


@dataclasses.dataclass(frozen=True)
class Resampling:
    """How a bootstrap is run."""

    count: int = 400
    random_state: Any = 0
    n_jobs: int | None = None
    progress: bool = True


def intervals(solution: Solution, data: Any, level: float, method: str, how: Resampling) -> Intervals:
    """See Solution.intervals."""
    one_output(solution, "Intervals are")
    if not 0.0 < level < 1.0:
        raise DataError(f"level must be strictly between 0 and 1, not {level!r}.")
    if method not in METHODS:
        raise DataError(f"There is no method {method!r}. Known: {', '.join(METHODS)}.")
    if data is None or not isinstance(data, tuple | list) or len(data) != 2:
        raise DataError("The rows of the fit are not kept in a Solution: give data=(X, y).")
    terms = solution.terms
    X = without(data[0], terms.offset_name)
    X = X if solution.recipe is None else solution.recipe.read(X)
    weights = terms.sample_weight
    if weights.shape != np.shape(data[1])[:1]:
        raise DataError(f"The fit had {len(weights)} rows, data has {np.shape(data[1])[:1]}; give its rows.")
    reading = read(
        X, data[1], loss=terms.loss, penalty="none", fit_intercept=terms.fit_intercept, sample_weight=weights
    )
    chosen = _automatic(solution, weights) if method == "auto" else method
    if chosen == "bootstrap":
        return _bootstrap(solution, X, data[1], level, how)
    _refuse(solution, chosen)
    return _asymptotic(solution, reading, level, chosen)


def cheap_intervals(solution: Solution, data: Any, level: float = 0.95) -> Intervals | None:
    """Those that a formula gives, where it takes hardly longer than the fit; None elsewhere."""
    free = not solution.terms.penalty.takes_strength and solution.coef.ndim == 1 and not solution.terms.hard
    n, p = solution.facts["n"], solution.facts["p"]
    if (
        not free
        or data is None
        or n * (p + 1) ** 2 > AT_ONCE
        or not (_smooth(solution) or _quantile(solution))
    ):
        return None
    chosen = _automatic(solution, solution.terms.sample_weight)
    try:
        return None if chosen == "bootstrap" else intervals(solution, data, level, chosen, Resampling())
    except DataError:  # other rows, or too few of them
        return None


def _smooth(solution: Solution) -> bool:
    return Trait.SMOOTH in solution.terms.loss.traits


def _quantile(solution: Solution) -> bool:
    """One kink, at the target: a tube of errors that cost nothing has two."""
    traits = solution.terms.loss.traits
    kinked = Trait.PIECEWISE_LINEAR in traits and Trait.LEAVES_ROWS_OUT not in traits
    return kinked and solution.classes is None


def _automatic(solution: Solution, weights: Vector) -> str:
    free = not solution.terms.penalty.takes_strength and solution.coef.ndim == 1
    if free and _quantile(solution) and np.all(weights == 1.0):
        return "sandwich"
    if not free or not _smooth(solution):
        return "bootstrap"
    traits = solution.terms.loss.traits  # counts and amounts vary more than their families say
    usual = Trait.QUADRATIC in traits or Trait.ENTROPIC in traits
    return "classical" if usual and np.all(weights == 1.0) else "robust"


def _likelihood(solution: Solution) -> bool:
    """Is the loss minus a log-likelihood, up to a factor of the variance?"""
    traits = solution.terms.loss.traits
    return any(one in traits for one in (Trait.QUADRATIC, Trait.ENTROPIC, Trait.MEANS))


def _refuse(solution: Solution, method: str) -> None:
    if solution.terms.penalty.takes_strength or solution.coef.ndim > 1:
        raise DataError(f'method="{method}" is for one vector of weights without a penalty; use "bootstrap".')
    quantile = _quantile(solution)
    fits = {"classical": _likelihood(solution), "robust": _smooth(solution)}
    if not fits.get(method, quantile):
        raise DataError(f'method="{method}" is not for the {solution.loss} loss; use "auto" or "bootstrap".')
    if quantile and not np.all(solution.terms.sample_weight == 1.0):
        raise DataError(f'method="{method}" is for rows that count the same; use "bootstrap".')


def _asymptotic(solution: Solution, reading: Reading, level: float, method: str) -> Intervals:
    """Normal (for squares Student's) intervals around the weights."""
    matrix = reading.table.design.toarray()
    full = np.column_stack([matrix, np.ones(len(matrix))]) if reading.terms.fit_intercept else matrix
    n, k = full.shape
    if n <= k:
        raise DataError(f'{n} rows leave nothing to judge {k} weights by; use method="bootstrap".')
    w = np.append(solution.coef, solution.intercept) if reading.terms.fit_intercept else solution.coef
    sample = FittedSample(
        solution.terms.loss,
        full,
        reading.targets(),
        solution.terms.shifted(full @ w),
        reading.terms.sample_weight,
    )
    if method == "rank":
        found = sample.by_ranks(w, level)
        rows = tuple(Interval(name, *map(float, found[j])) for name, j in _places(solution, k))
        words = "inverted rank test (Koenker 1994; errors of one distribution)"
        return Intervals(rows, level, words, "", _ratio(solution))
    found, student, words = sample.by_errors(w, level, method)
    rows = tuple(Interval(name, *map(float, found[j])) for name, j in _places(solution, k))
    words += f"; statistic is {'t' if student else 'z'}"
    return Intervals(rows, level, words, "", _ratio(solution))


def _ratio(solution: Solution) -> str:
    """What exp of a weight means: odds of a class, or the rate of a mean whose logarithm is fitted."""
    loss = solution.terms.loss
    if solution.coef.ndim > 1:
        return ""
    if loss.link == "log":
        return "rate ratio"
    odds = solution.classes is not None and hasattr(loss, "log_odds")
    return "odds ratio" if odds or loss.link == "logit" else ""


def _places(solution: Solution, k: int) -> list[tuple[str, int]]:
    """Names with their places, the intercept first."""
    p = solution.coef.shape[-1]
    names = solution.names or tuple(f"x{j}" for j in range(p))
    ends = [("intercept", p)] if k > p else []
    return [*ends, *((name, j) for j, name in enumerate(names))]


def _bootstrap(solution: Solution, X: Any, y: Any, level: float, how: Resampling) -> Intervals:
    """Percentiles of the weights when rows are drawn again, each row as often as it was drawn."""
    seeds = np.random.SeedSequence(how.random_state).spawn(how.count)
    jobs = (delayed(_drawn)(solution, X, y, seed) for seed in seeds)
    found: dict[int, Any] = {}
    run = Parallel(n_jobs=how.n_jobs, return_as="generator")
    with ProgressLine(wanted=how.progress) as line:
        for k, one in enumerate(run(jobs)):
            found[k] = one
            line.show(lambda: f"{bar(len(found) / how.count)} {len(found)}/{how.count} resamples")
    kept = np.array([one for one in found.values() if one is not None])
    if len(kept) < (1.0 - FAILED) * how.count:
        raise DataError(
            f"{how.count - len(kept)} of {how.count} resamples have no answer (a class is missing, or "
            "classes are separated): there are too few rows for intervals."
        )
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(kept, [tail, 1.0 - tail], axis=0)
    own = _flat(solution)
    chosen = bool(np.any(kept == 0.0)) and solution.terms.penalty.takes_strength
    rows = tuple(
        Interval(
            name,
            float(own[j]),
            float(low[j]),
            float(high[j]),
            float(kept[:, j].std(ddof=1)),
            None,
            None,
            float(np.mean(kept[:, j] != 0.0)) if chosen else None,
        )
        for name, j in _all_places(solution)
    )
    words = f"bootstrap, percentiles of {len(kept)} resamples, seed {how.random_state}"
    remark = "" if not solution.terms.penalty.takes_strength else PENALISED
    if chosen:
        remark = f"{SELECTED}\n{_frequencies(rows)}"
    return Intervals(rows, level, words, remark, _ratio(solution))


def _frequencies(rows: tuple[Interval, ...]) -> str:
    """Which columns are chosen whatever rows are drawn, and which by luck."""
    columns = [row for row in rows if not row.column.endswith("intercept")]
    often = [row.column for row in columns if (row.selected or 0.0) >= OFTEN]
    seldom = [row.column for row in columns if row.weight != 0.0 and (row.selected or 0.0) < SELDOM]
    told = f"chosen in {OFTEN:.0%} of the resamples or more: {_listed(often)}".replace("%", " %")
    return f"{told}; chosen here, but in fewer than half of the resamples: {_listed(seldom)}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more if names else "none"


def _flat(solution: Solution) -> Vector:
    return np.append(np.ravel(solution.coef), np.ravel(solution.intercept))


def _all_places(solution: Solution) -> list[tuple[str, int]]:
    if solution.coef.ndim == 1:
        return _places(solution, solution.coef.size + int(solution.terms.fit_intercept))
    assert solution.classes is not None
    classes, p = solution.coef.shape
    found = []
    for k, label in enumerate(solution.classes.tolist()):
        ends = [(f"{label}: intercept", classes * p + k)] if solution.terms.fit_intercept else []
        found += [*ends, *((f"{label}: {name}", k * p + j) for name, j in _places(solution, 0))]
    return found


def _drawn(solution: Solution, X: Any, y: Any, seed: Any) -> Vector | None:
    """The weights of one resample; None where it has no answer."""
    from dualgap.fitting.fit import fit

    terms, n = solution.terms, len(solution.terms.sample_weight)
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1.0 / n))
    strength = {"C": np.inf} if terms.hard else {"lam": terms.lam, "budget": terms.budget}
    keywords: dict[str, Any] = dict(
        loss=terms.loss, penalty=terms.penalty, fit_intercept=terms.fit_intercept, **strength
    )
    keywords |= {"standardize": bool(np.any(terms.scale != 1.0)), "multiclass": solution.multiclass or "auto"}
    if np.any(terms.factors != 1.0):
        keywords["penalty_factors"] = terms.factors

    keywords |= sign_keywords(terms)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weights = counts * terms.sample_weight
            return _flat(fit(X, y, **keywords, sample_weight=weights, offset=terms.offset))
    except (DataError, InfeasibleError, UnboundedError):
        return None
