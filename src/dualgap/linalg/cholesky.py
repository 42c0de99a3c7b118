"""Cholesky factors of matrices that may be singular to rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from dualgap.arrays import Matrix, Vector


def cholesky(matrix: Matrix) -> Callable[[Vector], Vector]:
    """x = matrix⁻¹ b for a positive semidefinite C-contiguous matrix, which is overwritten.

    Where it is singular to rounding the diagonal is raised a little; what this costs in accuracy the next
    step of Newton repairs, except along directions that do not change the model.
    """
    diagonal = matrix.diagonal().copy()
    diagonal[diagonal <= 0.0] = float(diagonal.max(initial=0.0)) or 1.0
    whole = matrix.diagonal().copy()
    for raised in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4):
        if raised:  # LAPACK left the other triangle alone
            above = np.triu_indices_from(matrix, 1)
            matrix[above] = matrix.T[above]
        matrix[np.diag_indices_from(matrix)] = whole + raised * diagonal
        # the transpose is Fortran-ordered, so that LAPACK makes no copy
        factor, info = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
        if info == 0 and np.min(factor.diagonal() ** 2 / diagonal, initial=1.0) > 1e-16:
            return lambda b: np.asarray(lapack.dpotrs(factor, b, lower=1)[0])
    raise np.linalg.LinAlgError("the matrix is not positive semidefinite")
