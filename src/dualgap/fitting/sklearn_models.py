"""What a fitted linear model has minimised, in this library's words; here those of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from operator import not_
from typing import Any

import numpy as np

from dualgap.errors import DataError
from dualgap.fitting import peer_models
from dualgap.fitting.claims import Claim, Fitted, refuse
from dualgap.fitting.peer_models import read_results
from dualgap.losses import (
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Perceptron,
    Poisson,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Tweedie,
)
from dualgap.traits import Trait

# what these give in fitting is not what they give of the same rows afterwards
CHANGING = (
    "TargetEncoder",
    "LeaveOneOutEncoder",
    "CatBoostEncoder",
    "DictionaryLearning",
    "NMF",
    "MiniBatchNMF",
    "LocallyLinearEmbedding",
)

# a keyword, which of its values make another problem of it than the ones certified here, and why
REFUSED: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("positive", bool, "constrains the weights' signs, which is another problem; fit without it"),
    ("refit", not_, "averages the weights of the folds, which minimise nothing; use refit=True"),
    ("early_stopping", bool, "keeps rows back, so that it minimises over others than these; fit without"),
    (
        "learning_rate",
        lambda rate: rate in ("pa1", "pa2"),
        "takes passive-aggressive steps, which minimise no objective; use another learning_rate",
    ),
    ("kernel", lambda kernel: kernel != "linear", 'has no weights for the columns; kernel="linear" has'),
)


def read_model(model: Any) -> Fitted:
    """The weights of a fitted model and the objective it states."""
    if _package(type(model)) == "statsmodels":
        return read_results(model)
    name, reader = _reader(model)
    for keyword, refused, reason in REFUSED:
        if hasattr(model, keyword) and refused(getattr(model, keyword)):
            raise refuse(model, f"{keyword}={getattr(model, keyword)!r} {reason}")
    try:
        claim = reader(model)
        found, seen = model.coef_, _seen(model)
    except AttributeError as error:
        raise DataError(f"This {type(model).__name__} is not fitted ({error}): fit it first.") from None
    coef = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    classes = getattr(model, "classes_", None)
    if coef.ndim == 2 and len(coef) == 1:
        coef = coef[0]
    fit_intercept = bool(getattr(model, "fit_intercept", True)) and claim.intercept
    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else tuple(str(column) for column in names)
    return Fitted(name, claim, coef, intercept, fit_intercept, classes, names, seen)


def _seen(model: Any) -> tuple[int, int | None] | None:
    """Rows passed over and passes; after one pass SGD does not tell a fit from partial_fit."""
    if hasattr(model, "shape_fit_"):
        return int(model.shape_fit_[0]), 1
    if hasattr(model, "outliers_"):
        return len(model.outliers_), 1
    if hasattr(model, "t_") and hasattr(model, "n_iter_"):
        passes = int(model.n_iter_)
        return round(float(model.t_)) - 1, passes if passes > 1 else None
    return None


def transformed(X: Any, pipeline: Any) -> tuple[Any, str]:
    """X as it reaches the last step of a fitted pipeline, and the names of the steps before."""
    if not _of_sklearn(type(pipeline)):
        raise refuse(
            pipeline, "a pipeline of another library may change the rows; give its last step and what it saw"
        )
    before = pipeline[:-1]
    for step in before.get_params(deep=True).values():
        kinds = [kind.__name__ for kind in type(step).__mro__]
        changing = next((kind for kind in kinds if kind in CHANGING), None)
        if changing is None and "IterativeImputer" in kinds and step.sample_posterior:
            changing = "IterativeImputer(sample_posterior=True)"
        if changing is not None:
            raise refuse(
                pipeline,
                f"{changing} gives other columns in fitting than afterwards; "
                "give the last step and the columns that it was fitted on",
            )
    try:
        return before.transform(X), ", ".join(type(step).__name__ for _, step in before.steps)
    except ValueError as error:  # not fitted, or another table
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise refuse(pipeline, f"its steps refuse this X ({reason}); give what it was fitted on") from None


def _reader(model: Any) -> tuple[str, Callable[[Any], Claim]]:
    kind = type(model)
    if _of_sklearn(kind) and kind.__name__ in READERS:
        return kind.__name__, READERS[kind.__name__]
    theirs = _package(kind), kind.__name__
    if theirs in peer_models.READERS:
        return f"{theirs[0]}.{theirs[1]}", peer_models.READERS[theirs]
    if any(cls.__name__ == "BaseSearchCV" for cls in kind.__mro__):
        raise DataError(f"certify cannot read a {kind.__name__}: give its best_estimator_ (refit=True).")
    parent = next(
        (cls.__name__ for cls in kind.__mro__ if _of_sklearn(cls) and cls.__name__ in READERS), None
    )
    if parent is not None:
        raise DataError(
            f"certify cannot read a {kind.__name__}, which may minimise something else than the {parent} "
            "that it extends: give coef, intercept, loss, penalty and a strength."
        )
    raise DataError(
        f"certify cannot read a {kind.__name__}; it reads {', '.join(sorted(READERS))}, "
        f"{', '.join(sorted(map('.'.join, peer_models.READERS)))}, results of statsmodels and model files of "
        "LIBLINEAR and LIBSVM. For other weights give coef, intercept, loss, penalty and a strength."
    )


def _package(cls: type) -> str:
    return cls.__module__.split(".")[0]


def _of_sklearn(cls: type) -> bool:
    return _package(cls) == "sklearn"


def _alpha(model: Any) -> float:
    """The strength given, or the one that cross-validation chose."""
    return _number(model, "alpha_" if hasattr(model, "alpha_") else "alpha")


def _number(model: Any, name: str) -> float:
    values = np.unique(np.asarray(getattr(model, name), dtype=np.float64))
    if values.size != 1:
        raise refuse(model, f"{name} is not a single number; certify one target, or one class, at a time")
    return float(values[0])


def _ridge_classifier(model: Any) -> Claim:
    if model._label_binarizer.y_type_.startswith("multilabel"):
        raise refuse(model, "it has several labels for a row; certify a Ridge of one column at a time")
    return Claim(
        Squared(), 0.0, _alpha(model), class_weight=model.class_weight, labels=True, shared_weights=True
    )


def _elastic_net(model: Any) -> Claim:
    """1/(2 Σs) Σ s r² + alpha·ρ‖w‖₁ + alpha·(1−ρ)/2 ‖w‖²."""
    alpha = _alpha(model)
    ratio = float(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
    return Claim(Squared(), 2 * alpha * ratio, alpha * (1 - ratio), per="weight")


def _multi_task(model: Any) -> Claim:
    """1/(2n) ‖Y − XW‖² + alpha Σ_j ‖W_j·‖₂."""
    return Claim(Squared(), 2 * _alpha(model), per="weight", columns_of_weights=True)


def _multi_task_net(model: Any) -> Claim:
    """The same with alpha·ρ, and alpha·(1−ρ)/2 ‖W‖²."""
    alpha, ratio = _alpha(model), float(getattr(model, "l1_ratio_", model.l1_ratio))
    return Claim(Squared(), 2 * alpha * ratio, alpha * (1 - ratio), per="weight", columns_of_weights=True)


def _logistic(model: Any) -> Claim:
    """C Σ s L + ‖w‖²/2, or ρ‖w‖₁ + (1−ρ)‖w‖²/2 in the penalty's place."""
    ratio = _l1_share(model)
    C = _number(model, "C_" if hasattr(model, "C_") else "C")
    notes = _intercept_notes(model) if model.solver == "liblinear" else ()
    joint = getattr(model, "multi_class", "deprecated") in ("deprecated", "auto", "multinomial")
    if joint and getattr(model, "multi_class", None) == "multinomial" and len(model.classes_) == 2:
        raise refuse(
            model,
            'multi_class="multinomial" with two classes fits and penalises two weight vectors; '
            "leave multi_class out",
        )
    form = "multinomial" if joint and model.solver != "liblinear" else "one_vs_rest"
    l1, l2 = (0.0, 0.0) if ratio is None or np.isinf(C) else (ratio, 0.5 * (1.0 - ratio))
    return Claim(
        Logistic(),
        l1,
        l2,
        1.0 if np.isinf(C) else C,
        class_weight=model.class_weight,
        balance_by_weight=True,
        multiclass=form,
        notes=notes,
    )


def _logistic_cv(model: Any) -> Claim:
    if model.solver == "liblinear" and model.fit_intercept and model.intercept_scaling != 1:
        raise refuse(
            model,
            "its last fit may pass over intercept_scaling; fit LogisticRegression with the C_ that it chose",
        )
    return _logistic(model)


def _intercept_notes(model: Any) -> tuple[str, ...]:
    """LIBLINEAR has a column of intercept_scaling for the intercept, penalised like the others."""
    if not model.fit_intercept:
        return ()
    weight = "b" if model.intercept_scaling == 1 else f"b/{model.intercept_scaling:g}"
    return (
        f"it penalises its intercept b too, like a weight of {weight}; judged is the objective as stated, "
        "with the intercept free, which is not the one it minimised",
    )


def _l1_share(model: Any) -> float | None:
    """ρ from the old `penalty` or the new `l1_ratio`; None without a penalty."""
    penalty = getattr(model, "penalty", "deprecated")
    if penalty in (None, "none"):
        return None
    if penalty in ("l1", "l2"):
        return 1.0 if penalty == "l1" else 0.0
    name = "l1_ratio_" if hasattr(model, "l1_ratio_") else "l1_ratio"
    ratio = 0.0 if getattr(model, name, None) is None else _number(model, name)
    return 0.0 if np.isnan(ratio) else ratio  # a search over C alone leaves it empty


def _linear_svc(model: Any) -> Claim:
    if model.multi_class != "ovr":
        raise refuse(
            model,
            f"multi_class={model.multi_class!r} is another objective than one against the rest; "
            'use multi_class="ovr"',
        )
    loss = Hinge() if model.loss == "hinge" else SquaredHinge()
    l1, l2 = (1.0, 0.0) if model.penalty == "l1" else (0.0, 0.5)
    return Claim(
        loss,
        l1,
        l2,
        float(model.C),
        class_weight=model.class_weight,
        balance_by_weight=True,
        notes=_intercept_notes(model),
    )


def _linear_svr(model: Any) -> Claim:
    square = model.loss == "squared_epsilon_insensitive"
    kind = SquaredEpsilonInsensitive if square else EpsilonInsensitive
    return Claim(kind(float(model.epsilon)), 0.0, 0.5, float(model.C), notes=_intercept_notes(model))


def _svc(model: Any) -> Claim:
    if len(model.classes_) > 2:
        raise refuse(
            model,
            "an SVC of more than two classes fits every pair of classes on its own; certify a pair at a time",
        )
    return Claim(Hinge(), 0.0, 0.5, float(model.C), class_weight=model.class_weight)


def _huber(model: Any) -> Claim:
    """Σ s (σ + σ H(r/σ)) + alpha‖w‖² with σ fitted too: at its σ, Σ s huber(εσ)(r) + alpha·σ‖w‖²."""
    epsilon, scale = float(model.epsilon), float(model.scale_)
    note = (
        f"its weights, with the noise scale that it fitted beside them, {scale:.6g}, taken as given: "
        "whether another scale and its weights would do better is not judged"
    )
    return Claim(
        Huber(epsilon * scale), 0.0, float(model.alpha) * scale, notes=(note,), noise=(epsilon, scale)
    )


def _deviance(model: Any) -> Claim:
    """Mean half deviance with a log link + alpha‖w‖²/2."""
    power = {"PoissonRegressor": 1.0, "GammaRegressor": 2.0}.get(type(model).__name__)
    power = float(model.power) if power is None else power
    identity = getattr(model, "link", "auto") == "identity" or (power == 0.0 and model.link == "auto")
    alpha = float(model.alpha)
    if power == 0.0 and identity:
        return Claim(Squared(), l2=alpha, per="weight")
    if identity or not 1.0 <= power <= 2.0:
        raise refuse(
            model, f"power={power:g} with this link is no loss of ours; use 0, or from 1 to 2 with log"
        )
    loss = Poisson() if power == 1.0 else Gamma() if power == 2.0 else Tweedie(power)
    return Claim(loss, l2=0.5 * alpha, per="weight")


def _sgd(model: Any) -> Claim:
    """mean loss + alpha·(‖w‖²/2, or ρ‖w‖₁ + (1−ρ)‖w‖²/2); squared and huber with a ½ of their own."""
    losses: dict[str, Callable[[], Loss]] = {
        "hinge": Hinge,
        "log_loss": Logistic,
        "squared_hinge": SquaredHinge,
        "perceptron": Perceptron,
        "squared_error": Squared,
        "huber": lambda: Huber(float(model.epsilon)),
        "epsilon_insensitive": lambda: EpsilonInsensitive(float(model.epsilon)),
        "squared_epsilon_insensitive": lambda: SquaredEpsilonInsensitive(float(model.epsilon)),
    }
    if model.loss not in losses:
        raise refuse(model, f"loss={model.loss!r} is not one of {', '.join(losses)}; use one of these")
    loss = losses[model.loss]()
    ratios = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": float(model.l1_ratio or 0.0)}
    if model.penalty not in ratios:
        raise refuse(model, f"penalty={model.penalty!r} is not known; use l1, l2, elasticnet or None")
    ratio = ratios[model.penalty]
    alpha = 0.0 if model.penalty is None else float(model.alpha)
    alpha *= 2.0 if model.loss in ("squared_error", "huber") else 1.0
    return Claim(
        loss,
        alpha * ratio,
        0.5 * alpha * (1.0 - ratio),
        per="row",
        class_weight=getattr(model, "class_weight", None),
        labels=hasattr(model, "classes_") and Trait.CLASSIFICATION not in loss.traits,
    )


READERS: dict[str, Callable[[Any], Claim]] = {
    **dict.fromkeys(("MultiTaskLasso", "MultiTaskLassoCV"), _multi_task),
    **dict.fromkeys(("MultiTaskElasticNet", "MultiTaskElasticNetCV"), _multi_task_net),
    "LinearRegression": lambda model: Claim(Squared()),
    **dict.fromkeys(("Ridge", "RidgeCV"), lambda model: Claim(Squared(), l2=_alpha(model))),
    **dict.fromkeys(("RidgeClassifier", "RidgeClassifierCV"), _ridge_classifier),
    **dict.fromkeys(("Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"), _elastic_net),
    "LogisticRegression": _logistic,
    "LogisticRegressionCV": _logistic_cv,
    "LinearSVC": _linear_svc,
    "LinearSVR": _linear_svr,
    "SVC": _svc,
    "SVR": lambda model: Claim(EpsilonInsensitive(float(model.epsilon)), l2=0.5, times=float(model.C)),
    "QuantileRegressor": lambda model: Claim(
        Quantile(float(model.quantile)), float(model.alpha), per="weight"
    ),
    "HuberRegressor": _huber,
    **dict.fromkeys(("PoissonRegressor", "GammaRegressor", "TweedieRegressor"), _deviance),
    **dict.fromkeys(("SGDClassifier", "SGDRegressor", "Perceptron"), _sgd),
}
