"""Information criteria along a path: −2 log-likelihood + price · degrees of freedom.

A loss has a likelihood if exp(−loss/scale) is one: squared (normal noise), absolute and quantile (Laplace
noise, even-sided or not), each with its best scale, and logistic, binomial and poisson. Degrees of freedom:
the number of non-zero weights for l1, the trace of ∂(Xw)/∂y for a smooth loss with squares; free columns and
the intercept count as one each, the scale of the noise is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.errors import DataError
from dualgap.losses import Loss
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

if TYPE_CHECKING:
    from dualgap.paths.path import Path

CRITERIA = ("aic", "bic")


def criterion(path: Path, name: str) -> Vector:
    """The criterion at every point; infinite where as many degrees of freedom are used as there are rows."""
    return priced(path, name, degrees)


def priced(path: Path, name: str, degrees_of: Callable[[Path], Vector]) -> Vector:
    """The same by other degrees of freedom."""
    if name not in CRITERIA:
        raise DataError(f"There is no criterion {name!r}. Known: {', '.join(CRITERIA)}.")
    n = float(path.terms.sample_weight.sum())  # a weight of 2 is the row given twice
    price = 2.0 if name == "aic" else float(np.log(n))
    with np.errstate(divide="ignore"):
        misfit = deviance(path.terms.loss, path.risks, n)
    used = degrees_of(path)
    found = misfit + price * used
    return np.where((used < n) & np.isfinite(found), found, np.inf)


def deviance(loss: Loss, risks: Vector, n: float) -> Vector:
    """−2 log-likelihood of n rows with these mean losses, at the best scale of the noise."""
    found = loss.deviance(risks)
    if found is None:
        raise DataError(
            f"AIC and BIC are made of a likelihood, which the {loss} loss does not have; squared, absolute, "
            "quantile, logistic, binomial and poisson do. Use dg.cross_validate."
        )
    return n * found


def degrees(path: Path) -> Vector:
    """Degrees of freedom at every point."""
    problem, curve = path._family.problem, path._curve
    elastic = problem.regulariser.gauge.elastic
    if elastic is None:
        raise DataError(
            f"The degrees of freedom of {path.terms.penalty} are not known; AIC and BIC are to be had with "
            "l1, l2 and elastic_net. Use dg.cross_validate."
        )
    known = curve.degrees()
    if known is not None:
        return known
    return counted(path, problem, path._weights, curve.lams[:, None] * elastic.l2, "l1")


def counted(path: Path, problem: Problem, weights: Matrix, l2: Matrix, alone: str) -> Vector:
    """Degrees of freedom of weights under squares l2, a row of each per point; `alone`: without squares."""
    if not l2.any():
        return np.asarray(np.count_nonzero((weights != 0.0) | problem.free, axis=1), dtype=np.float64)
    if Trait.SMOOTH not in problem.loss.traits:
        raise DataError(
            f"The degrees of freedom of {path.terms.loss} with {path.terms.penalty} are not known; with "
            f"{alone} they are the number of weights. Use dg.cross_validate."
        )
    return np.array([trace(problem, *both) for both in zip(weights, l2, strict=True)])


def trace(problem: Problem, w: Vector, l2: Vector) -> float:
    """tr (H + D)⁻¹ H on the columns in use, H the curvature of the loss and D = 2·l2 that of the penalty."""
    used: Mask = (w != 0.0) | problem.free
    if not used.any():
        return 0.0
    h = problem.a * problem.loss.second_derivative(problem.y, problem.predict(w))
    bent = problem.design.columns(used).weighted_gram(h)
    scale = np.sqrt(np.maximum(np.diag(bent), np.finfo(float).tiny))
    bent = bent / scale / scale[:, None]
    held = 2.0 * l2[used] / scale**2
    return float(np.trace(np.linalg.lstsq(bent + np.diag(held), bent, rcond=1e-13)[0]))
