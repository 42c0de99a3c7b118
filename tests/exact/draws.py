"""Nasty data and questions about them, each from a generator of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exact.statement import CLASSIFICATION, GROUPED, MEANS, parse

Array = NDArray[np.float64]
Rng = np.random.Generator

REGRESSION_LOSSES = (
    "squared",
    "squared",
    "absolute",
    "quantile",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
)
MEAN_LOSSES = ("poisson", "gamma", "binomial", "tweedie(1.5)", "tweedie(1.1)", "tweedie(1.9)")
CLASS_LOSSES = ("hinge", "squared_hinge", "logistic", "logistic", "exponential", "perceptron")
PENALTIES = (
    *("none", "none", "l1", "l1", "l2", "l2", "l2_norm", "elastic_net", "linf", "lp(1.5)", "lp(3)"),
    *("group_lasso", "group_lasso", "sparse_group(0.5)", "sparse_group(0.1)"),
    *("fused(1)", "fused(2)"),
)
WITH_FACTORS = ("l1", "l2", "elastic_net", *GROUPED)


@dataclass(frozen=True, eq=False)
class Case:
    """Data, and the keywords of a fit."""

    X: Array
    y: NDArray[Any]
    keywords: dict[str, Any]
    kind: str
    tol: float = 1e-6
    options: dict[str, Any] = field(default_factory=dict)  # keywords that do not change the question

    def asked(self) -> dict[str, Any]:
        """Everything that `dg.fit` is given."""
        return {**self.keywords, **self.options, "tol": self.tol}


def shape(rng: Rng) -> tuple[int, int]:
    """Rows and columns, few of them."""
    n = int(
        rng.choice(
            [1, 2, 3, int(rng.integers(3, 13)), int(rng.integers(3, 13)), 50],
            p=[0.02, 0.05, 0.08, 0.4, 0.43, 0.02],
        )
    )
    return n, int(rng.integers(1, 6)) if n < 50 else int(rng.integers(1, 4))


# -- tables -----------------------------------------------------------------------------------------------


def gaussian(rng: Rng, n: int, p: int) -> Array:
    return rng.normal(size=(n, p))


def integers(rng: Rng, n: int, p: int) -> Array:
    return rng.integers(-3, 4, size=(n, p)).astype(float)


def counts(rng: Rng, n: int, p: int) -> Array:
    return rng.poisson(2.0, size=(n, p)).astype(float)


def one_hot(rng: Rng, n: int, p: int) -> Array:
    """Indicators that add up to one: exactly dependent on the intercept."""
    found = np.zeros((n, p))
    found[np.arange(n), rng.integers(0, p, n)] = 1.0
    return found


def monomials(rng: Rng, n: int, p: int) -> Array:
    return np.linspace(0.0, 1.0, n)[:, None] ** np.arange(1, p + 1)


TABLES: tuple[Callable[[Rng, int, int], Array], ...] = (
    gaussian,
    gaussian,
    integers,
    counts,
    one_hot,
    monomials,
)


# -- twists: each makes some part of the data hard -------------------------------------------------------


def plain(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    return X, y


def offset_columns(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    return X + np.where(rng.random(X.shape[1]) < 0.6, 2.0 ** rng.integers(5, 41), 0.0), y


def offset_target(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    return X, y + 2.0 ** int(rng.integers(10, 41))


def offset_both(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    return X + 2.0 ** rng.integers(10, 36, X.shape[1]), y + 2.0 ** int(rng.integers(10, 36))


def scaled_columns(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    reach = float(rng.choice([6.0, 20.0, 45.0, 150.0], p=[0.4, 0.3, 0.25, 0.05]))
    return X * 10.0 ** rng.uniform(-reach, reach, X.shape[1]), y


def scaled_whole(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    reach = float(rng.choice([20.0, 90.0, 150.0], p=[0.6, 0.3, 0.1]))
    return X * 10.0 ** rng.uniform(-reach, reach), y * 10.0 ** rng.uniform(-reach, reach)


def nearly_equal(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    """Two columns that differ by 2^-k of their size, in a way that the targets know."""
    X = X if X.shape[1] > 1 else np.column_stack([X, X])
    d = rng.normal(size=len(X))
    X[:, 1] = X[:, 0] + 2.0 ** -int(rng.integers(20, 54)) * d * max(float(np.abs(X[:, 0]).max()), 1e-300)
    return X, (d + 0.3 * rng.normal(size=len(X)) if rng.random() < 0.7 else y)


def equal(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    X = X if X.shape[1] > 1 else np.column_stack([X, X])
    X[:, 1] = X[:, 0]
    return X, y


def dependent(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    """A column that is the sum of two others, up to rounding."""
    X = X if X.shape[1] > 2 else rng.normal(size=(len(X), 3))
    X[:, 2] = X[:, 0] * 0.1 + X[:, 1] * (1.0 / 3.0)
    return X, y


def tiny(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    """Subnormal numbers in a column."""
    X = X.copy()
    X[:, 0] = rng.integers(0, 50, len(X)) * 5e-324
    return X, y


def huge_integers(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    X = X.copy()
    X[:, 0] = 2.0**53 - rng.integers(0, 9, len(X))
    return X, (2.0**53 - rng.integers(0, 9, len(X)).astype(float) if rng.random() < 0.5 else y)


def constant_target(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    return X, np.full(len(y), float(rng.choice([0.0, 1.0, 0.1, -3.0, 1e9])))


def repeated_rows(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    which = rng.integers(0, max(1, len(X) // 2), len(X))
    return X[which], (y[which] if rng.random() < 0.5 else y)


def zero_column(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    X = X.copy()
    X[:, int(rng.integers(X.shape[1]))] = 0.0
    return X, y


def exact_fit(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    return X, X @ rng.integers(-2, 3, X.shape[1]).astype(float)


def round_target(rng: Rng, X: Array, y: Array) -> tuple[Array, Array]:
    return X, np.round(y)


TWISTS: tuple[Callable[[Rng, Array, Array], tuple[Array, Array]], ...] = (
    plain,
    plain,
    plain,
    offset_columns,
    offset_target,
    offset_both,
    scaled_columns,
    scaled_whole,
    nearly_equal,
    nearly_equal,
    equal,
    dependent,
    tiny,
    huge_integers,
    constant_target,
    repeated_rows,
    zero_column,
    exact_fit,
    round_target,
)


def table(rng: Rng) -> tuple[Array, Array, str]:
    """X, numbers y and the name of what is nasty about them."""
    n, p = shape(rng)
    make = TABLES[int(rng.integers(len(TABLES)))]
    twist = TWISTS[int(rng.integers(len(TWISTS)))]
    X = make(rng, n, p)
    y = X @ rng.normal(size=p) + float(rng.choice([0.0, 0.1, 1.0, 3.0])) * rng.normal(size=n)
    X, y = twist(rng, X, y)
    name = twist.__name__ if twist is not plain else make.__name__
    if rng.random() < 0.08:
        more = TWISTS[int(rng.integers(len(TWISTS)))]
        X, y = more(rng, X, y)
    with np.errstate(all="ignore"):
        finite = np.all(np.isfinite(X)) and np.all(np.isfinite(y))
    return (X, y, name) if finite else (gaussian(rng, n, p), rng.normal(size=n), "gaussian")


def labels(rng: Rng, y: Array, classes: int) -> NDArray[Any]:
    """Classes from numbers: by their order, or at random; each there at least once."""
    n = len(y)
    if rng.random() < 0.7:
        order = np.argsort(np.argsort(y, kind="stable"), kind="stable")
        which = (order * classes) // max(n, 1)
    else:
        which = rng.integers(0, classes, n)
    which[rng.permutation(n)[: min(classes, n)]] = np.arange(classes)[:n]
    pairs: list[Any] = [[-1.0, 1.0], [0, 1], ["a", "b"]]
    names = pairs[int(rng.integers(3))] if classes == 2 else list(range(classes))
    return np.asarray(np.array(names)[which])


def means(rng: Rng, loss: str, y: Array) -> Array:
    """Numbers as counts, amounts or shares; some at the end of their range."""
    size = np.abs(y)
    if loss == "binomial":
        trials = int(rng.integers(1, 9))
        shares = rng.binomial(trials, 0.5, len(y)) / trials
        return np.asarray(shares if rng.random() < 0.6 else size / max(float(size.max()), 1e-300))
    size = np.round(size) if rng.random() < 0.5 else size
    if loss == "gamma":
        return np.where(size > 1e-200, size, 1.0)
    return np.where(rng.random(len(y)) < 0.2, 0.0, size)


def sample_weights(rng: Rng, n: int) -> Array | None:
    """None, or weights of any size, some zero."""
    draw = rng.random()
    if draw < 0.6:
        return None
    if draw < 0.75:
        return rng.uniform(0.1, 3.0, n)
    if draw < 0.85:
        return rng.integers(1, 4, n).astype(float)
    found = 10.0 ** rng.uniform(-12, 12, n) if draw < 0.93 else np.ones(n)
    if draw > 0.89 and n > 2:
        found[rng.random(n) < 0.3] = 0.0
    if not found.any():
        found[0] = 1.0
    return found


def loss_named(rng: Rng, name: str, y: Array) -> str:
    """The name with a parameter."""
    if name == "quantile":
        share = float(rng.choice([0.5, 0.1, 0.3, 0.9, 0.01, round(float(rng.uniform(0.01, 0.99)), 3)]))
        return f"quantile({share!r})"
    if name in ("huber", "epsilon_insensitive", "squared_epsilon_insensitive"):
        spread = float(np.std(y)) if 0 < float(np.std(y)) < 1e90 else 1.0
        size = float(rng.choice([1.35, 0.1, 0.5, spread * float(rng.uniform(0.01, 2.0)), 1e-9]))
        return f"{name}({size!r})"
    return name


def penalty_named(rng: Rng, name: str) -> str:
    """The name with a parameter."""
    return f"elastic_net({float(rng.choice([0.5, 0.1, 3.0, 1e-3]))!r})" if name == "elastic_net" else name


def strength(rng: Rng, X: Array, y: Array, loss: str, penalty: str) -> dict[str, float]:
    """lam, C or budget, mostly of the size that matters for the data."""
    if penalty == "none":
        return {}
    size_x = float(np.abs(X).max()) or 1.0
    classification = parse(loss)[0] in (*CLASSIFICATION, *MEANS)
    size_y = 1.0 if classification else float(np.abs(y).max()) or 1.0
    square = penalty == "l2"
    slope = size_x * (size_y if not classification else 1.0)
    if not np.isfinite(slope) or slope == 0.0:
        slope = 1.0
    exponent = rng.uniform(-7, 0.5) if rng.random() < 0.85 else rng.uniform(-16, 8)
    how = rng.random()
    with np.errstate(all="ignore"):
        natural = slope if not square else size_x * size_x
        lam = float(np.clip(natural * 10.0**exponent, 1e-250, 1e250))
        if how < 0.6:
            return {"lam": lam}
        if how < 0.75:
            return {"C": float(np.clip(1.0 / (lam * len(X)), 1e-250, 1e250))}
        weight = size_y / size_x
        radius = weight * 10.0 ** rng.uniform(-3, 1.5)
        return {"budget": float(np.clip(radius * radius if square else radius, 1e-250, 1e250))}


def problem(rng: Rng, *, classes: bool | None = None) -> Case:
    """A fit to ask for."""
    X, y, kind = table(rng)
    n = len(X)
    classify = (rng.random() < 0.45) if classes is None else classes
    many = 3 if classify and n >= 4 and rng.random() < 0.08 else 2
    if classify and n < 2:
        classify = False
    keywords: dict[str, Any] = {}
    if classify:
        name = str(rng.choice(CLASS_LOSSES))
        targets: NDArray[Any] = labels(rng, y, many)
        keywords["loss"] = name
        if many > 2 and name == "logistic" and rng.random() < 0.4:
            keywords["multiclass"] = "one_vs_rest"
    elif rng.random() < 0.3:
        keywords["loss"] = str(rng.choice(MEAN_LOSSES))
        targets = y = means(rng, keywords["loss"], y)
    else:
        targets = y
        keywords["loss"] = loss_named(rng, str(rng.choice(REGRESSION_LOSSES)), y)
    keywords["penalty"] = penalty_named(rng, str(rng.choice(PENALTIES)))
    keywords |= strength(rng, X, y, keywords["loss"], keywords["penalty"])
    if rng.random() < 0.3:
        keywords["fit_intercept"] = False
    weights = sample_weights(rng, n)
    if weights is not None:
        keywords["sample_weight"] = weights
    if parse(keywords["penalty"])[0] in GROUPED:
        keywords["groups"] = np.unique(rng.integers(0, 1 + X.shape[1] // 2, X.shape[1]), return_inverse=True)[
            1
        ]
    if parse(keywords["penalty"])[0] in WITH_FACTORS and rng.random() < 0.2:
        factors = rng.choice([0.0, 1.0, 0.5, 2.0, 1e-3], size=X.shape[1])
        factors = factors[keywords["groups"]] if "groups" in keywords else factors
        keywords["penalty_factors"] = factors if factors.any() else np.ones(X.shape[1])
    if keywords["penalty"] != "none" and rng.random() < 0.12:
        keywords["standardize"] = True
    tol = float(rng.choice([1e-6, 1e-6, 1e-6, 1e-10, 1e-3, 1e-13]))
    options = {"max_time": 1.0} if rng.random() < 0.97 else {}
    return Case(np.ascontiguousarray(X), targets, keywords, kind, tol, options)
