"""The words that the docstrings of the estimators share."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

Words = tuple[str, str]  # the kind of a value, and what it means
C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

PARAMETERS: dict[str, Words] = {
    "penalty": (
        "str or Penalty",
        '"none", "l1", "l2", "l2_norm", "elastic_net(0.5)", "linf", "lp(1.5)", or an object of '
        "`dualgap.penalties`.",
    ),
    "kernel": (
        "str, Kernel or callable",
        '"linear", "poly" (coef0 + γ x·x\')^degree, "rbf" exp(−γ‖x − x\'‖²), "laplacian" exp(−γ‖x − x\'‖₁), '
        '"sigmoid" tanh(γ x·x\' + coef0) where it is positive semi-definite on the data, a function of two '
        'tables that returns the matrix of all pairs, or "precomputed": X is that matrix.',
    ),
    "gamma": ('float, "scale" or "auto"', 'γ; "scale" is 1/(n_features · X.var()), "auto" 1/n_features.'),
    "degree": ("int", 'Of kernel="poly".'),
    "coef0": ("float", 'Of kernel="poly" and "sigmoid".'),
    "lam": (
        "float",
        "Strength of the penalty beside the mean loss. At most one of lam, C and budget may be given; "
        'without any, C = 1 (none for penalty="none").',
    ),
    "C": ("float", "Weight of the sum of the losses beside the penalty."),
    "budget": ("float", "The most that the penalty may be."),
    "cv": (
        "int, splitter or iterable",
        "A number of folds, stratified for classes (whole groups where fit is given groups, shuffled where "
        "there is a random_state), a splitter of scikit-learn, or pairs of row numbers to fit and to score.",
    ),
    "scoring": (
        "str or callable",
        '"loss", "zero_one" for classes, the name of a scikit-learn scorer, or a function (estimator, X, y) '
        "of which more is better.",
    ),
    "rule": (
        '{"min", "1se"} or callable',
        "The best mean score; the strongest regularisation within one standard error of it; or a function "
        "that takes the Search and returns the number of a strength.",
    ),
    "form": ('{"penalised", "constrained"}', "Whether to search over lam or over budgets."),
    "lams": ("array-like", "The strengths to try; None makes a grid from the data."),
    "budgets": ("array-like", "The budgets to try."),
    "n_lams": ("int", "How many strengths the grid has."),
    "lam_min_ratio": ("float", "Smallest over largest strength of the grid."),
    "fit_intercept": ("bool", "Whether to fit a constant. It is never penalised."),
    "penalty_factors": (
        "array-like of shape (n_features,) or dict",
        "How much each column is penalised, by position or by name; 0 leaves a column free.",
    ),
    "groups": (
        "array-like of shape (n_features,), list of lists or 'columns'",
        "Which columns belong together, for group_lasso and sparse_group.",
    ),
    "standardize": (
        "bool",
        "Whether to penalise the weights of columns scaled to standard deviation one. The weights are "
        "reported on the scale of the X that was given.",
    ),
    "bounds": (
        "str, pair, pair of arrays or dict",
        '"nonnegative", "nonpositive", (low, high) for every weight, an array of each, or {column: (low, '
        "high)} by name or number; None is no end. The intercept has none.",
    ),
    "constraints": (
        "tuple (A, lower, upper)",
        "lower ≤ A·coef ≤ upper, a row of A for each constraint and a column for each column of X (or a "
        "frame of some columns); equal ends make an equation, None is no end.",
    ),
    "positive": ("bool", 'The same as bounds="nonnegative".'),
    "class_weight": (
        'dict or "balanced"',
        "Weights of the classes, which multiply those of the rows; a class not named has 1. "
        '"balanced" gives every class the same total.',
    ),
    "multiclass": (
        '{"auto", "one_vs_rest", "multinomial", "crammer_singer"}',
        'What to do with more than two classes. "auto" is multinomial for the logistic loss, one against the '
        'rest for the others; "crammer_singer" is the joint form of the hinge.',
    ),
    "probability": (
        "bool",
        "Whether to calibrate probabilities on held-out decision values, at the price of five more fits. The "
        "logistic and the exponential loss have their own.",
    ),
    "approximation": (
        '{"nystroem", "random_features"}',
        "Solve with few features; `solution_` says what that proves of the exact problem.",
    ),
    "n_components": ("int", "How many features."),
    "solver": (
        "str or Solver",
        "A name from `dualgap.list_solvers()`, or an object of `dualgap.solvers`.",
    ),
    "tol": ("float", "The relative duality gap to reach."),
    "max_iter": ("int", "The most iterations; None sets no limit."),
    "max_time": ("float", "The most seconds; None sets no limit."),
    "cache_bytes": ("float", "The most that kernel rows may take in memory."),
    "warm_start": (
        "bool",
        "Whether to start from the last solution, if it has the same columns and classes.",
    ),
    "random_state": (
        "int, RandomState instance or None",
        "Seed for whatever draws random numbers: solvers, folds given by their number, approximations.",
    ),
    "n_jobs": ("int", "How many folds run side by side."),
}

ATTRIBUTES: dict[str, Words] = {
    "search_": (
        "Search",
        "What `dualgap.cross_validate` returned: lams, mean, se, lam_min, lam_1se, frame(), plot().",
    ),
    "lam_, budget_": ("float", "The strength that was chosen, whichever was searched over."),
    "classes_": (
        "ndarray of shape (n_classes,)",
        "The classes, sorted. With two of them a positive decision value means the second.",
    ),
    "coef_": (
        "ndarray of shape (n_features,), or (1 or n_classes, n_features) for classes",
        "The weights.",
    ),
    "support_": ("ndarray of shape (n_support,)", "The rows with a coefficient."),
    "support_vectors_": (
        "ndarray of shape (n_support, n_features)",
        'Those rows; empty for kernel="precomputed".',
    ),
    "dual_coef_": ("ndarray of shape (1 or n_classes, n_support)", "β: f(x) = Σ β k(x_i, x) + b."),
    "intercept_": (
        "float, or ndarray of shape (1 or n_classes,) for classes",
        "The constants; 0.0 if fit_intercept=False.",
    ),
    "solution_": (
        "Solution",
        "What `dualgap.fit` returned: objective, bound, gap, certificate, summary().",
    ),
    "kernel_": ("Kernel", "The kernel with its γ; None if precomputed."),
    "n_iter_": ("int", "How many points were looked at, at least 1."),
    "n_features_in_": ("int", "Number of columns seen by fit."),
    "feature_names_in_": (
        "ndarray of shape (n_features_in_,)",
        "Names of the columns seen by fit, where X has names that are all strings.",
    ),
    "slack_": (
        "ndarray of shape (n_samples,), or (n_classes, n_samples) beyond two classes",
        "With a hinge or an epsilon_insensitive loss, how far each row is inside the margin or outside the "
        "tube; `dual_coef_`, `support_`, `kind_`, `margin_`, `geometric_margins_` and `tube_` say more of "
        "every row, see `dualgap.estimators.margins`.",
    ),
}

ROWS: dict[str, Words] = {
    "X": (
        "array-like, sparse matrix or data frame of shape (n_samples, n_features)",
        'The columns, the same in every call; for kernel="precomputed" the kernel with every row of `fit`.',
    ),
    "y": (
        "array-like of shape (n_samples,), of numbers also (n_samples, n_outputs)",
        "The numbers to predict, or the classes, of any kind that can be sorted.",
    ),
    "sample_weight": (
        "array-like of shape (n_samples,)",
        "Weights of the rows, in fits and in scores; a weight of 2 is the row given twice.",
    ),
    "offset": (
        "array-like of shape (n_samples,), number or str",
        "What is added to f(x), row by row, or the column of X that holds it; log(exposure) for rates. Where "
        "the model was fitted with one predictions need that of their rows; a column `fit` named is found.",
    ),
    "groups": ("array-like of shape (n_samples,)", "Groups of rows for `cv` to keep together."),
    "classes": (
        "array-like of shape (n_classes,)",
        "All classes that will ever come; needed in the first call, where not all rows are there to show.",
    ),
}


def described(method: F) -> F:
    """Decorator of a method: put what it takes where the docstring says {rows}."""
    given = [one for one in inspect.signature(method).parameters.values() if one.name != "self"]
    text = "\n".join(["Parameters\n----------", *(_given(one, ROWS, {}) for one in given)])
    method.__doc__ = inspect.cleandoc(method.__doc__ or "").replace("{rows}", text)
    return method


def documented(attributes: str, **own: Words | str) -> Callable[[C], C]:
    """Class decorator: put the sections of parameters and attributes where the docstring says {sections}.

    `attributes` are names with blanks between; what differs from the common words is in `own`.
    """

    def complete(cls: C) -> C:
        given = inspect.signature(cls).parameters.values()
        parameters = [_given(one, PARAMETERS, own) for one in given]
        shown = [_entry(name.replace(",", ", "), ATTRIBUTES, own) for name in attributes.split()]
        text = "\n".join(["Parameters\n----------", *parameters, "\nAttributes\n----------", *shown])
        cls.__doc__ = inspect.cleandoc(cls.__doc__ or "").replace("{sections}", text)
        return cls

    return complete


def _given(one: inspect.Parameter, known: dict[str, Words], own: dict[str, Words | str]) -> str:
    """The entry of a parameter, with its default."""
    default = "" if one.default is one.empty else f", default={_shown(one.default)}"
    return _entry(one.name, known, own, default)


def _entry(name: str, known: dict[str, Words], own: dict[str, Words | str], more: str = "") -> str:
    said = own.get(name, known.get(name, ("", "")))
    kind, words = (known[name][0], said) if isinstance(said, str) else said
    return f"{name} : {kind}{more}\n" + textwrap.fill(
        words, 106, initial_indent="    ", subsequent_indent="    "
    )


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else f"{value!r}"
