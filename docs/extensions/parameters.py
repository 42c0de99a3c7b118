"""Every parameter is described once, here or with the estimators, and shown wherever it is taken.

A function or a class without a `Parameters` section gets one from its signature. A parameter without words is
a warning, which ends the build; `tests/test_docs.py` asks the same without building.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

Words = tuple[str, str]  # the kind of a value, and what it means

# name, or callable.name where the word means something else there; the estimators' words serve the others
WORDS: dict[str, Words] = {
    "X": (
        "array, SciPy sparse, pandas or polars",
        "The rows: numbers, or a frame; where the text says so, rows in blocks or `dg.moments`.",
    ),
    "y": ("array-like of shape (n_samples,)", "The targets: numbers for a regression, labels for classes."),
    "loss": (
        "str or Loss",
        'A name of `dualgap.losses.CATALOGUE`, with its parameter where it has one ("quantile(0.9)"), or an '
        "object of `dualgap.losses`.",
    ),
    "lam": (
        "float",
        "λ: mean loss + λ · penalty. Exactly one of lam, C and budget, except for penalty none.",
    ),
    "C": ("float", "C · summed loss + penalty; infinity is the hard margin."),
    "budget": ("float", "Mean loss where the penalty is at most this."),
    "sample_weight": ("array-like of shape (n_samples,)", "How much each row counts; 1 unless given."),
    "offset": (
        "array-like of shape (n_samples,), number or str",
        "What is added to every prediction, or the column of X that holds it; log(exposure) for rates.",
    ),
    "warm_start": ("Solution or array-like", "Where to start: it changes the way, never the answer."),
    "callback": ("callable", "Called with a record of every iterate; the run ends when it returns True."),
    "stop": ("Stop", "A rule of `dg.stopping` that may end the run before the gap does."),
    "checkpoint": ("path", "A file from which a fit of rows in blocks that was cut off goes on."),
    "device": ("str or torch.device", 'Where to compute: "cuda"; None is where X is.'),
    "verbose": ("bool", "Whether to print how the run goes."),
    "n_threads": ("int", "Cores for products of matrices; one gives the same bits every time."),
    "max_iter": ("int", "The most iterations of a solve; None sets no limit."),
    "n_jobs": ("int", "How many processes work side by side."),
    "coef": ("array-like, fitted model or Solution", "The weights to judge, or a model that holds them."),
    "intercept": ("float", "The constant that goes with the weights."),
    "solvers": ("sequence or mapping", "Names and objects of solvers, or a mapping from labels to them."),
    "keywords": ("", "The keywords of `dg.fit`."),
    "resamples": ("int", "How many times to draw rows and fit."),
    "method": ('{"bootstrap", "subsample"}', "n rows with replacement, or half of them without."),
    "crossing": ("bool", "Whether the lines of several quantiles may cross: then each is fitted on its own."),
    "copies": ("int", "How many outputs the columns stand for; `dg.fit` sets it."),
    "AugmentedLagrangian.alone": (
        "bool",
        "Whether conjugate gradients alone solve its linear systems; it gives up where they do not do.",
    ),
    "CoordinateDescent.brief": (
        "bool",
        "Whether sparse columns are left to others after a good part of the time of an interior point.",
    ),
    "over": ('{"strength", "quantile"}', "What the path runs over."),
    "exact": ('bool or "auto"', "True insists on an exact path, False takes a grid, auto what can be had."),
    "everywhere": ("float", "Choose points so that every λ between is proven within this relative gap."),
    "sizes": ("int or sequence", "Numbers of columns, for l0 and l0_l2: K for 0 … K, or a list."),
    "path.form": ('{"penalised", "constrained"}', "Which of the two problems `gaps` is about."),
    "path.lam": ("float", 'The one strength of `over="quantile"`.'),
    "path.C": ("float", 'The same as in `dg.fit`, for `over="quantile"`.'),
    "score": (
        "str or callable",
        '"loss", "zero_one" for classes, the name of a scikit-learn scorer, or a function (estimator, X, y) '
        "of which more is better.",
    ),
    "cross_validate.groups": ("array-like of shape (n_samples,)", "Rows of one group stay in one fold."),
    "column_groups": ("labels, list of lists or 'columns'", "What `dg.fit` calls `groups`."),
    "progress": ("bool", "Whether a terminal sees how far it is."),
    "load.path": ("str or Path", "A file that `solution.save` wrote."),
    "rows": ("path, pattern, list, table or callable", "Where the rows are; see above."),
    "dataset.y": ("array-like or path", "The targets, where rows are arrays or .npy files."),
    "moments.y": ("array-like or path", "The targets, where rows are arrays or .npy files."),
    "target": ("str", "The name of the column to predict."),
    "weights": ("str or array-like", "The name of the column of row weights, or the weights."),
    "columns": ("sequence of str", "The columns to use; all but the target unless given."),
    "drop": ("sequence of str", "Columns not to use."),
    "missing": ('{"mean", "median", "drop", "refuse"}', "What stands in for missing numbers."),
    "thing": ("Solution, Path, Search or estimator", "What the page is about."),
    "path": ("str or Path", "The file to write."),
    "data": ("pair (X, y)", "The rows of the fit, for residuals and errors."),
    "test": ("pair (X, y)", "Rows that the fit has not seen."),
    "along": ("Path", "The path that goes with a search or a solution, for the slider."),
    "recipe": ("Recipe", "What made the columns of a file numbers."),
    "notes": ("tuple of str", "What was decided on the way."),
    "python": ("str", "The lines of Python that make the fit again."),
    "command": ("str", "How to run it again."),
    "intervals": ("Intervals", "What `solution.intervals` returned, for the table of weights."),
    "effects": ("sequence of Effect", "What `solution.effect` returned, in place of the strongest columns."),
    "names": ("sequence of str", "The names of the columns, where X has none."),
    "explore.standardize": ("bool", "Whether weights count per standard deviation of their column."),
    "explore.columns": ("pair of str", "The two columns whose plane is shown first; else the strongest."),
    "explore.rows": ("int", "The most rows, drawn at random where there are more."),
    "explore.max_time": ("float", "Seconds for all paths; 300 unless given."),
    "one": ("label", "The class that is set against the others."),
    "quantile": ("float", "That of the quantile loss."),
    "tell": ("callable", "Called with a line for people after each piece of work."),
    "q": ("float", "The quantile, strictly between 0 and 1."),
    "delta": ("float", "Where squares end and sizes begin, in the units of y."),
    "epsilon": ("float", "Errors up to this are free, in the units of y."),
    "steepness": ("float", "The larger, the nearer to zero_one."),
    "alpha": ("float", "The weight of the squares."),
    "SparseGroup.alpha": ("float", "The share of the l1 norm, from 0 to 1."),
    "parts": ("tuple of int", "The group of each column, by number; `groups=` of `dg.fit` sets it."),
    "Slope.q": ("float", "The share of false discoveries that the prices are made for."),
    "k": ("int", "How often differences are taken: 1, 2 or 3."),
    "sequence": ("tuple of float", "Prices of your own, falling, in place of those that q gives."),
    "p": ("float", "The power."),
    "step": ("float or Step", "The length of a step, or a rule of `dg.steps`."),
    "Perceptron.step": ("float", "α, how far a mistake moves the weights."),
    "gamma": ("float", "γ: from γλ on a weight pays nothing more."),
    "strength": ("float", "The λ inside; `lam=` and `C=` of `dg.fit` set it."),
    "Momentum.gamma": ("float", "γ, the share of the last step that is kept."),
    "Nesterov.gamma": (
        "float",
        "γ, the share of the last step that is kept; None is Nesterov's own sequence.",
    ),
    "accelerated": ("bool", "FISTA, else ISTA."),
    "averaged": ("bool", "Whether to answer with the mean of the weights."),
    "batch": ("int", "Rows of one step."),
    "order": (
        '{"shuffled", "uniform", "given"}',
        "Each pass a new order, independent draws, or as they come.",
    ),
    "intercept_share": ("float", "The step of the constant as a share of that of the weights."),
    "doubt": ("int", "Passes after which a linear program is asked whether a separating plane exists."),
    "passes": ("float", "Visits to every row before it gives up."),
    "side": ('{"primal", "dual"}', "Which of the two programs is solved."),
    "seconds": ("float", "The time limit where `max_time` gives none."),
    "starts": ("int", "From how many points to descend."),
    "steps": ("int", "The most steps."),
    "rounds": ("int", "The most rounds of line searches."),
}


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """What users call: functions, estimators, and what losses, penalties and solvers are made by."""
    import dualgap as dg
    from dualgap.drive.registry import SOLVERS

    for name in dg.__all__:
        if inspect.isfunction(getattr(dg, name)) or name.startswith(("Linear", "Kernel")):
            yield name, getattr(dg, name)
    yield "write", dg.report.write
    yield "explore", dg.report.explore
    for cls in (*dg.losses.CATALOGUE.values(), *dg.penalties.CATALOGUE.values(), *SOLVERS.values()):
        yield cls.__name__, cls


def taken(thing: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a signature."""
    return [one for name, one in inspect.signature(thing).parameters.items() if name != "self"]


def words(where: str, name: str) -> Words | None:
    """What a parameter of a callable means; None where nobody has said it."""
    from dualgap.estimators.documentation import PARAMETERS

    return WORDS.get(f"{where}.{name}") or WORDS.get(name) or PARAMETERS.get(name)


def undescribed() -> list[str]:
    """Parameters of public callables that have no words, neither here nor in a docstring of their own."""
    return [
        f"{where}({one.name})"
        for where, thing in public()
        for one in taken(thing)
        if words(where, one.name) is None
        and not re.search(rf"^{one.name} :", thing.__doc__ or "", re.MULTILINE)
    ]


def section(where: str, thing: Callable[..., Any]) -> list[str]:
    """The lines of the section, with defaults."""
    lines = ["", "Parameters", "----------"]
    for one in taken(thing):
        found = words(where, one.name)
        if found is None:
            from sphinx.util import logging  # here: the tests ask without it

            logging.getLogger(__name__).warning(
                "%s: nobody says what %s means; see docs/extensions/parameters.py", where, one.name
            )
            continue
        kind, said = found
        plain = isinstance(one.default, bool | int | float | str) or one.default is None
        default = f", default={one.default!r}" if plain else ""
        stars = "**" if one.kind is one.VAR_KEYWORD else ""
        lines += [f"{stars}{one.name} : {kind}{default}".rstrip(": "), f"    {said}"]
    return [*lines, ""] if len(lines) > 3 else []


def describe(app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Add the section where there is none."""
    where = name.rpartition(".")[2]
    if what in ("function", "class") and "Parameters" not in lines and dict(public()).get(where) is item:
        lines += section(where, item)


def setup(app: Any) -> dict[str, Any]:
    """Before signs are escaped, and before napoleon reads sections."""
    app.connect("autodoc-process-docstring", describe, priority=300)
    return {"parallel_read_safe": True}
