"""Is K positive semi-definite? Without that the problem is not convex and no gap proves anything."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from dualgap.arrays import Matrix
from dualgap.errors import DataError

ROUNDING, SINGLE = 1e-10, 1e-6  # of the largest entry


def refuse_indefinite(K: Matrix, name: str, *, single: bool = False) -> None:
    """Raise DataError, with the size of the violation, if K has a negative eigenvalue beyond rounding.

    `single`: the entries were rounded to single precision before.
    """
    top = float(np.abs(K).max())
    lopsided = float(np.abs(K - K.T).max())
    if lopsided > (1e-6 if single else 1e-8) * top:
        raise DataError(f"The {name} kernel matrix is not symmetric: entries differ by up to {lopsided:.3g}.")
    shift = (SINGLE if single else ROUNDING) * top * max(1.0, np.sqrt(len(K)))
    try:
        sl.cholesky(K + shift * np.eye(len(K)), lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        sizes = sl.eigvalsh(K, check_finite=False)
        raise DataError(
            f"The {name} kernel is not positive semi-definite on these data: the smallest eigenvalue of the "
            f"kernel matrix is {sizes[0]:.4g}, the largest {sizes[-1]:.4g}. The problem is then not convex "
            "and no answer can be proven; change gamma and coef0, or use another kernel."
        ) from None
