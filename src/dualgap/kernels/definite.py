"""Is K positive semi-definite? Without that the problem is not convex and no gap proves anything."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from dualgap.arrays import Matrix
from dualgap.errors import DataError

ROUNDING, SINGLE = 1e-10, 1e-6  # of the largest entry


def refuse_indefinite(K: Matrix, name: str, *, tied: bool = False) -> None:
    """Raise DataError, with the size of the violation, if K has a negative eigenvalue beyond rounding.

    `tied`: only βᵀKβ with Σβ = 0 matters, as it does where an intercept is fitted.
    """
    _check(K, name, ROUNDING * float(np.abs(K).max()), tied=tied)


def repaired(K: Matrix, *, whole_numbers: bool, tied: bool = False) -> Matrix:
    """A matrix computed elsewhere, semi-definite: what rounding took is put back on the diagonal.

    Its entries may have been rounded to single precision or to whole numbers, and that alone makes small
    eigenvalues negative. More than that is refused.
    """
    top = float(np.abs(K).max())
    lowest = _check(K, "precomputed", max(SINGLE * top, 1.0 if whole_numbers else 0.0), tied=tied)
    if lowest >= -ROUNDING * top * np.sqrt(len(K)):
        return K
    return K - lowest * np.eye(len(K))


def _check(K: Matrix, name: str, error: float, *, tied: bool) -> float:
    """The smallest eigenvalue, or 0 if it is not below what errors of this size in the entries explain."""
    lopsided = float(np.abs(K - K.T).max())
    if lopsided > max(2.0 * error, 1e-8 * float(np.abs(K).max())):
        raise DataError(f"The {name} kernel matrix is not symmetric: entries differ by up to {lopsided:.3g}.")
    if tied:
        K = K - K.mean(axis=0)
        K = K - K.mean(axis=1)[:, None]
    if _definite(K, ROUNDING * float(np.abs(K).max())):
        return 0.0
    sizes = sl.eigvalsh(K, check_finite=False)
    if sizes[0] < -error * max(1.0, np.sqrt(len(K))):
        raise DataError(
            f"The {name} kernel is not positive semi-definite on these data: the smallest eigenvalue of the "
            f"kernel matrix is {sizes[0]:.4g}, the largest {sizes[-1]:.4g}. The problem is then not convex "
            "and no answer can be proven; change gamma and coef0, or use another kernel."
        )
    return float(sizes[0])


def _definite(K: Matrix, shift: float) -> bool:
    try:
        sl.cholesky(K + shift * max(1.0, np.sqrt(len(K))) * np.eye(len(K)), lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True
