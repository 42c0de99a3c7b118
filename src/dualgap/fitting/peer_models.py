"""What models of skglm, celer, glum and statsmodels have minimised, in this library's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.fitting.claims import Claim, Fitted, refuse
from dualgap.losses import CATALOGUE, Gamma, Hinge, Huber, Logistic, Loss, Poisson, Quantile, Squared, Tweedie


def _lasso(model: Any) -> Claim:
    """Σ r²/(2n) + alpha·(ρ‖w‖₁ + (1−ρ)/2 ‖w‖²), as scikit-learn states it."""
    alpha = float(getattr(model, "alpha_", None) or model.alpha)
    ratio = float(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
    own = getattr(model, "weights", None)  # each column's price of |w_j|, and of it alone
    if own is not None and ratio < 1.0:
        raise refuse(model, "the |w_j| of its columns have prices of their own, their squares have not")
    factors = None if own is None else np.asarray(own, dtype=np.float64)
    return Claim(Squared(), 2 * alpha * ratio, alpha * (1 - ratio), per="row", factors=factors)


def _group_lasso(model: Any) -> Claim:
    """Σ r²/(2n) + alpha·Σ_g weights_g ‖w_g‖; groups are a size, sizes, or lists of columns."""
    p, given = len(model.coef_), model.groups
    whole = (int, np.integer)
    if isinstance(given, whole):
        given = [given] * (p // given)
    if isinstance(given[0], whole):
        ends = np.cumsum([int(size) for size in given])
        given = [range(end - int(size), end) for end, size in zip(ends, given, strict=True)]
    weights = np.ones(len(given)) if model.weights is None else np.asarray(model.weights, dtype=np.float64)
    labels, factors = np.zeros(p, dtype=np.intp), np.zeros(p)
    for k, columns in enumerate(map(list, given)):
        labels[columns], factors[columns] = k, weights[k] / np.sqrt(len(columns))
    return Claim(Squared(), 2 * float(model.alpha), per="row", factors=factors, groups=labels)


def _generalised(model: Any) -> Claim:
    """A datafit, which is a mean, and a penalty of skglm, each by its name."""
    fitted, priced = type(model.datafit).__name__, type(model.penalty).__name__
    if fitted not in DATAFITS or priced not in PRICES:
        raise refuse(
            model,
            f"{fitted} with {priced} is not read; the datafits {', '.join(DATAFITS)} and the penalties "
            f"{', '.join(PRICES)} are",
        )
    if getattr(model.penalty, "positive", False):
        raise refuse(model, "positive=True constrains the weights, which is another problem")
    loss, times = DATAFITS[fitted](model.datafit)
    l1, l2, factors = PRICES[priced](model.penalty)
    intercept = bool(getattr(model.solver, "fit_intercept", True))
    return Claim(loss, l1, l2, times, "row", intercept=intercept, factors=factors)


# the loss, and what it is multiplied with
DATAFITS: dict[str, Callable[[Any], tuple[Loss, float]]] = {
    "Quadratic": lambda _: (Squared(), 0.5),
    "Huber": lambda datafit: (Huber(float(datafit.delta)), 0.5),
    "Logistic": lambda _: (Logistic(), 1.0),
    "Poisson": lambda _: (Poisson(), 1.0),
    "Gamma": lambda _: (Gamma(), 1.0),
}
# the prices of Σ|w_j| and Σ w_j², and the factors of the columns
PRICES: dict[str, Callable[[Any], tuple[float, float, Vector | None]]] = {
    "L1": lambda one: (float(one.alpha), 0.0, None),
    "WeightedL1": lambda one: (float(one.alpha), 0.0, np.asarray(one.weights, dtype=np.float64)),
    "L2": lambda one: (0.0, 0.5 * float(one.alpha), None),
    "L1_plus_L2": lambda one: (
        float(one.alpha * one.l1_ratio),
        0.5 * float(one.alpha * (1 - one.l1_ratio)),
        None,
    ),
}


def _sparse_logistic(model: Any) -> Claim:
    alpha, ratio = float(model.alpha), float(model.l1_ratio)
    return Claim(Logistic(), alpha * ratio, 0.5 * alpha * (1 - ratio), per="row")


def _linear_svc(model: Any) -> Claim:
    return Claim(Hinge(), 0.0, 0.5, float(model.C), intercept=False)


def _celer_logistic(model: Any) -> Claim:
    return Claim(Logistic(), 1.0, 0.0, float(model.C), intercept=False)


FAMILIES = {
    "normal": "squared",
    "gaussian": "squared",
    "binomial": "logistic",
    "poisson": "poisson",
    "gamma": "gamma",
}
LINKS = {"squared": "identity", "logistic": "logit", "poisson": "log", "gamma": "log", "tweedie": "log"}


def _family(model: Any, family: Any, link: Any) -> Any:
    """The loss whose mean is half the deviance of a family with its own link (twice that for squares)."""
    called = (family if isinstance(family, str) else type(family).__name__).lower()
    called = called.removesuffix("distribution")
    power = _tweedie_power(called, family)
    name = FAMILIES.get(called) if power is None else "tweedie"
    if name not in CATALOGUE:
        raise refuse(
            model,
            f"the family {called} is none that is certified here; normal, binomial, poisson, gamma and "
            "tweedie (between 1 and 2) are",
        )
    given = (link if isinstance(link, str) else type(link).__name__).lower().removesuffix("link")
    if given not in ("auto", LINKS[name]):
        raise refuse(model, f"the link {given} is not that of the family; {LINKS[name]} is")
    return CATALOGUE[name]() if power is None else Tweedie(power)


def _tweedie_power(called: str, family: Any) -> float | None:
    """p of a Tweedie family strictly between 1 and 2; glum writes it in its name too."""
    if not called.startswith("tweedie"):
        return None
    written = re.search(r"\(([\d.]+)\)", called)
    power = float(written[1]) if written else float(getattr(family, "var_power", getattr(family, "power", 0)))
    return power if 1.0 < power < 2.0 else None


def _glum(model: Any) -> Claim:
    """Σ s d/(2Σs) + alpha·(ρ‖w‖₁ + (1−ρ)/2 ‖w‖²)."""
    for name in ("lower_bounds", "upper_bounds", "A_ineq"):
        if getattr(model, name, None) is not None:
            raise refuse(model, f"{name} constrains the weights, which is another problem; fit without it")
    if model.scale_predictors or any(_matrix(getattr(model, name, "identity")) for name in ("P1", "P2")):
        raise refuse(model, "its columns have penalties of their own; fit with P1, P2 and scales left out")
    if getattr(model, "alpha_search", False):
        raise refuse(model, "alpha_search leaves a path of models; fit one alpha")
    loss = _family(model, model.family, model.link)
    chosen = getattr(model, "alpha_", None)
    alpha = float((model.alpha if chosen is None else chosen) or 0.0)
    ratio = float(getattr(model, "l1_ratio_", None) or model.l1_ratio or 0.0)
    twice = 2.0 if loss == Squared() else 1.0
    return Claim(loss, twice * alpha * ratio, 0.5 * twice * alpha * (1 - ratio), per="weight")


def _matrix(given: Any) -> bool:
    return not (isinstance(given, str) and given == "identity")


READERS: dict[tuple[str, str], Callable[[Any], Claim]] = {
    **{("skglm", name): _lasso for name in ("Lasso", "ElasticNet", "WeightedLasso")},
    ("skglm", "SparseLogisticRegression"): _sparse_logistic,
    ("skglm", "LinearSVC"): _linear_svc,
    ("skglm", "GeneralizedLinearEstimator"): _generalised,
    **{(package, "GroupLasso"): _group_lasso for package in ("skglm", "celer")},
    **{("celer", name): _lasso for name in ("Lasso", "LassoCV", "ElasticNet", "ElasticNetCV")},
    ("celer", "LogisticRegression"): _celer_logistic,
    **{("glum", name): _glum for name in ("GeneralizedLinearRegressor", "GeneralizedLinearRegressorCV")},
}


def read_results(results: Any) -> Fitted:
    """The weights of what a model of statsmodels returned from `fit`, a column of ones as the intercept."""
    model = results.model
    kind = type(model).__name__
    claim = _statsmodels(results, model, kind)
    params = np.asarray(results.params, dtype=np.float64)
    names = tuple(str(name) for name in model.exog_names)
    ones = np.flatnonzero(np.all(np.asarray(model.exog) == 1.0, axis=0))
    place = int(ones[0]) if len(ones) else None
    coef = params if place is None else np.delete(params, place)
    intercept = np.zeros(1) if place is None else params[[place]]
    named = tuple(name for j, name in enumerate(names) if j != place)
    made_up = all(name == f"x{j + 1}" or name == "const" for j, name in enumerate(names))
    found = None if made_up else named
    seen = (len(model.endog), 1)
    return Fitted(kind, claim, coef, intercept, place is not None, None, found, seen, constant=place)


def _statsmodels(results: Any, model: Any, kind: str) -> Claim:
    if "Regularized" in type(results).__name__ or getattr(results, "regularized", False):
        raise refuse(results, "fit_regularized does not keep its penalty; give coef, loss, penalty and lam")
    if kind == "OLS":
        return Claim(Squared())
    if kind == "QuantReg":
        return Claim(Quantile(float(results.q)))
    if kind == "Logit":
        return Claim(Logistic())
    if kind == "Poisson":
        return Claim(Poisson(), offset=_shift(model))
    if kind == "GLM":
        weights = np.asarray(model.freq_weights) * np.asarray(model.var_weights)
        if not np.all(weights == 1.0):
            raise refuse(model, "its rows have weights; give coef, intercept, loss and sample_weight")
        loss = _family(model, model.family, model.family.link)
        return Claim(loss, offset=_shift(model))
    raise DataError(
        f"certify cannot read a {kind} of statsmodels; it reads OLS, QuantReg, Logit, Poisson and GLM. "
        "For other weights give coef, intercept, loss, penalty and a strength."
    )


def _shift(model: Any) -> Vector | None:
    """Offset and exposure, which statsmodels keeps apart, the latter as its logarithm."""
    parts = [getattr(model, name, None) for name in ("offset", "exposure")]
    found = [np.asarray(part, dtype=np.float64) for part in parts if part is not None and np.size(part)]
    total = sum(np.broadcast_to(part, (len(model.endog),)) for part in found)
    return np.array(total) if found and np.any(total) else None
