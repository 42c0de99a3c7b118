"""NuClassifier, NuRegressor and OneClass: machines whose margin or tube is found, its price being ν."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from dualgap.arrays import Matrix
from dualgap.errors import DataError
from dualgap.estimators.base import shaped
from dualgap.estimators.documentation import described, documented
from dualgap.estimators.kernel import SHOWN, KernelMachine, whole_numbers
from dualgap.estimators.kinds import Classifier, Regressor
from dualgap.fitting.inputs import read_numbers, read_weights
from dualgap.fitting.kernel_fit import KernelStrength
from dualgap.fitting.nu_fit import NuAsked, fit_nu
from dualgap.fitting.offsets import refuse_offset

ON_IT = 1e-9  # of the offset: support vectors on the plane were within 1e-12 of it
OWN: dict[str, Any] = {
    "nu": (
        "float",
        "Above 0 and up to 1: no more than this share of the rows are errors, no less are support vectors.",
    ),
    "solution_": (
        "KernelSolution",
        "objective, bound, gap, status, certificate, levels. Both values are of the problem in ν, on the "
        "matrix of all pairs of rows in double precision, which `certificate.recheck(kernel_(X, X), y)` "
        "takes.",
    ),
}


@dataclass(eq=False, repr=False)
class OfNu:
    """What comes before the kernel."""

    nu: float = 0.5


class NuModel(KernelMachine, OfNu):
    """A kernel machine with a level on either side."""

    @property
    def dual_coef_(self) -> Matrix:
        """Their coefficients, a row per problem."""
        return np.asarray(super().dual_coef_ / self._scale[:, None])

    @property
    def coef_(self) -> Matrix:
        """The weights of the columns, a row per problem; with kernel="linear" alone."""
        kernel = self._fitted.kernel
        if kernel is None or not kernel.linear:
            raise AttributeError('coef_ is there with kernel="linear" alone.')
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    @property
    def _scale(self) -> Any:
        """What coefficients are divided by, for each problem."""
        return np.ones(len(self._fitted.dual_coef))

    def _asked(self) -> NuAsked:
        """The keywords; what cannot be is refused before any row is read."""
        asked = NuAsked(**self._keywords(NuAsked))
        asked.checked()
        return asked


@documented(
    f"classes_ rho_ {SHOWN}",
    **OWN,
    rho_=(
        "ndarray of shape (n_problems,)",
        "The margins before they are scaled to one; C = 1/(n ρ) for SVC's C.",
    ),
    intercept_=("ndarray of shape (n_problems,)", "The constants."),
    dual_coef_=(
        "ndarray of shape (n_problems, n_support)",
        "β: f(x) = Σ β k(x_i, x) + b, margins scaled to one.",
    ),
)
@dataclass(eq=False, repr=False)
class NuClassifier(Classifier, NuModel):
    """Classification with a margin whose price is ν, and a proof of optimality.

    Of n rows it minimises ½‖f‖² − ν ρ n + Σ (ρ − y (f + b))₊ over f, b and ρ; decision values are (f + b)/ρ,
    as those of scikit-learn's `NuSVC`. Beyond two classes there is a problem for each pair of them; the class
    with most votes wins, ties go to the larger decision values.

    {sections}

    Examples
    --------
    >>> from dualgap import NuClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NuClassifier(nu=0.3).fit(X, y)
    >>> round(model.score(X, y), 3), model.solution_.relative_gap <= 1e-6
    (0.993, True)
    """

    counterpart = "NuRegressor"
    loss = "hinge"
    _probability_hint = "use KernelClassifier(probability=True)."
    _: KW_ONLY
    class_weight: Mapping[Any, float] | str | None = None

    @property
    def rho_(self) -> NDArray[np.float64]:
        """The margin of each problem before it is scaled to one."""
        levels = np.atleast_2d(self.solution_.levels)
        return np.asarray(0.5 * (levels[:, 1] - levels[:, 0]))

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The constants, one per pair of classes."""
        return np.asarray(np.atleast_1d(self.solution_.intercept) / self.rho_)

    @property
    def _scale(self) -> Any:
        return self.rho_

    def _fit(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> None:
        refuse_offset(more.get("offset"), "a machine with ν")
        asked, table = self._asked(), self._table(X, reset=True)
        which, weights = self._labels(y, sample_weight, table.shape[0], self.class_weight)
        present = np.unique(which[weights > 0])
        if len(present) < len(self.classes_):
            empty = np.setdiff1d(np.arange(len(self.classes_)), present)[0]
            raise DataError(f"All rows of class {self.classes_[empty]!r} have weight zero.")
        labels = self.classes_[which]
        self._fitted = fit_nu(
            asked, table, labels, weights, "classes", self.classes_, whole_numbers=whole_numbers(X)
        )

    def _scores(self, X: Any, offset: Any) -> Any:
        scores = self._fitted.sums(X) / self.rho_ + self.intercept_
        if len(self.classes_) == 2:
            return scores[:, 0]
        count = len(self.classes_)
        votes, sums = np.zeros((len(scores), count)), np.zeros((len(scores), count))
        for k, (i, j) in enumerate(combinations(range(count), 2)):
            won = scores[:, k] > 0
            votes[:, j] += won
            votes[:, i] += ~won
            sums[:, j] += scores[:, k]
            sums[:, i] -= scores[:, k]
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))  # within a third of a vote: they decide ties alone


@documented(
    f"epsilon_ {SHOWN}",
    **OWN,
    lam="Strength of ‖f‖² beside the mean loss. At most one of lam and C may be given; without, C = 1.",
    epsilon_=("float", "Half the width of the tube that was found."),
    intercept_=("float", "The constant."),
)
@dataclass(eq=False, repr=False)
class NuRegressor(Regressor, NuModel, KernelStrength):
    """Regression with a tube whose price is ν, and a proof of optimality.

    Of n rows it minimises C·(Σ (|f + b − y| − ε)₊ + ν ε n) + ‖f‖² over f, b and ε ≥ 0. scikit-learn's
    `NuSVR(C)` has C half as large.

    {sections}

    Examples
    --------
    >>> from dualgap import NuRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NuRegressor(nu=0.5, C=100).fit(X, y)
    >>> round(model.epsilon_), model.solution_.relative_gap <= 1e-6
    (30, True)
    """

    counterpart = "NuClassifier"
    loss = "absolute"

    @property
    def epsilon_(self) -> float:
        """Half the width of the tube."""
        upper, lower = self.solution_.levels
        return float(0.5 * (upper - lower))

    def _fit(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> None:
        refuse_offset(more.get("offset"), "a machine with ν")
        asked, table = self._asked(), self._table(X, reset=True)
        targets = read_numbers(y, table.shape[0])
        weights = read_weights(shaped(sample_weight), table.shape[0])
        self._fitted = fit_nu(asked, table, targets, weights, "numbers", whole_numbers=whole_numbers(X))

    def _scores(self, X: Any, offset: Any) -> Any:
        return self._fitted.sums(X)[:, 0] + self.intercept_


@documented(
    f"offset_ {SHOWN}",
    **OWN,
    offset_=("float", "ρ: decision_function is score_samples − offset_."),
    intercept_=("ndarray of shape (1,)", "−ρ."),
)
@dataclass(eq=False, repr=False)
class OneClass(OutlierMixin, NuModel):  # type: ignore[misc]
    """Rows like those of the fit told from others, and a proof of optimality.

    Of n rows it minimises ½‖f‖² − ν ρ n + Σ (ρ − f)₊ over f and ρ: a plane in the kernel's space that has
    the origin on one side, far away, and but a share ν of the rows with it. As scikit-learn's `OneClassSVM`.

    {sections}

    Examples
    --------
    >>> from dualgap import OneClass
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = OneClass(nu=0.1).fit(X)
    >>> int((model.predict(X) < 0).sum()), model.solution_.relative_gap <= 1e-6
    (12, True)
    """

    counterpart = "NuClassifier"

    @property
    def offset_(self) -> float:
        """ρ."""
        return -float(self.solution_.intercept)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """−ρ."""
        return np.array([-self.offset_])

    @described
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model.

        {rows}

        Returns
        -------
        self : OneClass
            The fitted model.
        """
        refuse_offset(offset, "one class")
        asked, table = self._asked(), self._table(X, reset=True)
        weights = read_weights(shaped(sample_weight), table.shape[0])
        self._fitted = fit_nu(asked, table, None, weights, "one class", whole_numbers=whole_numbers(X))
        return self

    @described
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """f(x), the larger the more like the rows of the fit; ρ for rows on the plane but for rounding.

        {rows}

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            f(x).
        """
        rows, _ = self._scored(X, None)  # first: it refuses a model that is not fitted
        found, rho = self._fitted.sums(rows)[:, 0], self.offset_
        return np.where(np.abs(found - rho) <= ON_IT * abs(rho), rho, found)

    @described
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """f(x) − ρ, negative for rows unlike those of the fit.

        {rows}

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The decision values.
        """
        return np.asarray(self.score_samples(X) - self.offset_)

    @described
    def predict(self, X: Any) -> NDArray[np.intp]:
        """1 for rows like those of the fit, −1 for others.

        {rows}

        Returns
        -------
        y : ndarray of shape (n_samples,)
            1 and −1.
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
