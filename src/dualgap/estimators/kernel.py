"""KernelClassifier and KernelRegressor: any convex loss with a kernel, behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix
from dualgap.estimators.base import DEFAULT_C, Model, shaped, weighted_by_class
from dualgap.estimators.documentation import documented
from dualgap.estimators.kinds import Classifier, Regressor
from dualgap.estimators.regression import LOSSES
from dualgap.fitting.inputs import read_labels, read_numbers, read_weights
from dualgap.fitting.kernel_fit import (
    KernelAsked,
    KernelFit,
    KernelShape,
    KernelWays,
    MachineFit,
    calibrate,
    fit_kernel,
    kernel_rows,
)
from dualgap.fitting.offsets import parted, read_offset, refuse_offset
from dualgap.fitting.reading import refuse_one_class
from dualgap.fitting.several import refuse_several
from dualgap.kernel_machines.answer import KernelSolution
from dualgap.kernels import Kernel
from dualgap.losses import Loss

SHOWN = (
    "support_ support_vectors_ dual_coef_ intercept_ solution_ kernel_ n_iter_ n_features_in_ "
    "feature_names_in_"
)
OWN: dict[str, Any] = {
    "lam": (
        "Strength of the penalty beside the mean loss. At most one of lam and C may be given; without, C = 1."
    ),
    "fit_intercept": "Whether to fit a constant.",
    "solution_": (
        "KernelSolution",
        "objective, bound, gap, status, certificate. Both values are of the matrix of all pairs of rows in "
        "double precision, which `certificate.recheck(kernel_(X, X), y)` takes.",
    ),
}


class KernelMachine(Model, KernelShape):
    """f(x) = Σ β k(x_i, x) + b over the support vectors."""

    _fitted: MachineFit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    @property
    def solution_(self) -> KernelSolution:
        """What was proven."""
        return self._fitted.solution

    @property
    def kernel_(self) -> Kernel | None:
        """The kernel with its γ; None if precomputed."""
        return self._fitted.kernel

    @property
    def support_(self) -> NDArray[np.intp]:
        """The rows with a coefficient."""
        return self.solution_.support

    @property
    def support_vectors_(self) -> Any:
        """Those rows; empty for kernel="precomputed"."""
        return self._fitted.vectors

    @property
    def dual_coef_(self) -> Matrix:
        """β of those rows, a row per problem."""
        return self._fitted.dual_coef

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _keywords(self, asked: Any) -> dict[str, Any]:
        """Those that a class of what is asked takes; C = 1 where no strength is given."""
        given = {one.name: getattr(self, one.name) for one in fields(asked) if hasattr(self, one.name)}
        if "lam" in given and given["lam"] is None and given["C"] is None:
            given["C"] = DEFAULT_C
        return given

    def _labels(self, y: Any, sample_weight: Any, n: int, class_weight: Any) -> tuple[Any, Any]:
        """Numbers of the classes, which are kept, and weights."""
        self.classes_, which = read_labels(y, n)
        weights = read_weights(shaped(sample_weight), n)
        if class_weight is not None:
            weights = weighted_by_class(class_weight, y, sample_weight)
        refuse_one_class(self.classes_, which[weights > 0], len(which))
        return which, weights

    def _table(self, X: Any, *, reset: bool) -> Any:
        X = shaped(X)
        rows = kernel_rows(X, precomputed=self._precomputed)
        super()._table(X, reset=reset)
        return rows


@dataclass(eq=False, repr=False)
class OfLoss:
    """What comes before the kernel."""

    loss: str | Loss = "hinge"


class KernelModel(KernelMachine, KernelWays, OfLoss):
    """A kernel machine with a loss."""

    _fitted: KernelFit

    def _asked(self) -> KernelAsked:
        """The keywords; what cannot be is refused before any row is read."""
        refuse_several(self.loss, "kernels")
        asked = KernelAsked(**self._keywords(KernelAsked) | {"loss": self._checked_loss()})
        asked.checked()
        return asked

    @property
    def _terms(self) -> Any:
        return self.solution_.certificate.terms

    def _scores(self, X: Any, offset: Any) -> Any:
        scores = self._fitted.scores(X)
        shift = read_offset(offset, len(scores), self._fitted.asked.loss)
        return scores if shift is None else scores + shift


@documented(SHOWN, loss=LOSSES, **OWN, intercept_=("float", "The constant."))
@dataclass(eq=False, repr=False)
class KernelRegressor(Regressor, KernelModel):
    """Regression with any convex loss and a kernel, and a proof of optimality.

    It minimises C·Σ loss + ‖f‖², or mean loss + lam·‖f‖². "squared" is kernel ridge regression,
    "epsilon_insensitive(0.1)" support vector regression (scikit-learn's `SVR(C)` has C half as large).

    {sections}

    Examples
    --------
    >>> from dualgap import KernelRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRegressor("absolute", C=10).fit(X, y)
    >>> model.solution_.relative_gap <= 1e-6
    True
    """

    counterpart = "KernelClassifier"
    loss: str | Loss = "squared"

    def _fit(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> None:
        X, offset, name = parted(X, more.get("offset"))
        asked, table = self._asked(), self._table(X, reset=True)
        shift = read_offset(offset, table.shape[0], asked.loss, name), name
        targets = read_numbers(y, table.shape[0])
        weights = read_weights(shaped(sample_weight), table.shape[0])
        asked.loss.check_targets(targets[weights > 0])
        whole = whole_numbers(X)
        self._fitted = fit_kernel(asked, table, targets, weights, whole_numbers=whole, offset=shift)


@documented(
    f"classes_ {SHOWN}",
    loss=(
        "str or Loss",
        '"hinge", "squared_hinge", "logistic", "exponential", or an object of `dualgap.losses`.',
    ),
    C=(
        "Weight of the sum of the losses beside the penalty. With the hinge loss C=inf is the hard margin: "
        "the surface of largest margin without any error, or InfeasibleError with the proof that none exists."
    ),
    **OWN,
    intercept_=("ndarray of shape (1,) or (n_classes,)", "The constants."),
)
@dataclass(eq=False, repr=False)
class KernelClassifier(Classifier, KernelModel):
    """Classification with any convex loss and a kernel, and a proof of optimality.

    It minimises C·Σ loss + ‖f‖², or mean loss + lam·‖f‖², over f in the kernel's space plus a constant that
    is not penalised. scikit-learn's `SVC(C)` is loss="hinge" with C twice as large.

    {sections}

    Examples
    --------
    >>> from dualgap import KernelClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier().fit(X, y)
    >>> round(model.score(X, y), 3), model.solution_.relative_gap <= 1e-6
    (0.947, True)
    """

    counterpart = "KernelRegressor"
    _probability_hint = "fit with probability=True."
    _: KW_ONLY
    class_weight: Mapping[Any, float] | str | None = None
    probability: bool = False

    def _fit(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> None:
        X, offset, name = parted(X, more.get("offset"))
        asked, table = self._asked(), self._table(X, reset=True)
        shift = read_offset(offset, table.shape[0], asked.loss, name), name
        which, weights = self._labels(y, sample_weight, table.shape[0], self.class_weight)
        whole = whole_numbers(X)
        self._fitted = fit_kernel(
            asked, table, which, weights, self.classes_, whole_numbers=whole, offset=shift
        )
        own = not self.probability or hasattr(asked.loss, "log_odds")
        if not own:
            refuse_offset(shift[0], "probability=True")
        self.calibration_ = None if own else calibrate(self._fitted, table, which, weights)

    def _log_probabilities(self, scores: Any) -> Any:
        return self._fitted.log_probabilities(scores, self.calibration_)


def whole_numbers(X: Any) -> bool:
    """Are these integers, as a kernel matrix that rounding has not touched may be?"""
    return getattr(getattr(X, "dtype", None), "kind", "") in ("i", "u")
