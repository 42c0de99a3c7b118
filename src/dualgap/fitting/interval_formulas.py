"""Intervals of weights by a formula: errors of the weights, or a test that is inverted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from dualgap.arrays import Matrix, Vector
from dualgap.fitting.rank_inversion import rank_intervals
from dualgap.losses import Loss


@dataclass(frozen=True, eq=False)
class FittedSample:
    """The rows of a fit without a penalty: columns (the intercept last), targets, predictions z, weights."""

    loss: Loss
    columns: Matrix
    targets: Vector
    z: Vector
    weights: Vector

    @property
    def spare(self) -> int:
        """Rows beyond the weights."""
        n, k = self.columns.shape
        return int(n - k)

    @property
    def quantile(self) -> float:
        """q of a loss with one kink, from the slopes on its sides."""
        (left,), (right,) = self.loss.domain(np.zeros(1))
        return float(-left / (right - left))

    def by_ranks(self, w: Vector, level: float) -> Matrix:
        """Weight, low and high end; Student's critical value, as quantreg takes it."""
        critical = float(stats.t(self.spare).ppf(0.5 + 0.5 * level))
        ends = rank_intervals(self.columns, self.targets - self.z, self.quantile, critical)
        return np.column_stack([w, w + ends[:, 0], w + ends[:, 1]])

    def by_errors(self, w: Vector, level: float, method: str) -> tuple[Matrix, bool, str]:
        """Weight, low, high, error, statistic and p of each; is it Student's t; how it was done, in words."""
        covariance, words = self._covariance(method)
        variance = np.diag(covariance)  # below zero where rounding is all there is of a column
        error = np.sqrt(np.where(variance < 0.0, np.nan, variance))
        student = method == "classical" and self.loss.dispersed
        law = stats.t(self.spare) if student else stats.norm()
        reach = float(law.ppf(0.5 + 0.5 * level)) * error
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = w / error
        p = 2.0 * law.sf(np.abs(statistic))
        return np.column_stack([w, w - reach, w + reach, error, statistic, p]), student, words

    def _covariance(self, method: str) -> tuple[Matrix, str]:
        if method == "sandwich":
            return self._of_quantile(), "quantile sandwich (Powell's kernel, Hall and Sheather's width)"
        if method == "classical":
            return self._classical()
        bread = self._inverse(self.loss.second_derivative(self.targets, self.z))
        scores = self.columns * (self.weights * self.loss.derivative(self.targets, self.z))[:, None]
        n = len(self.columns)
        return n / self.spare * bread @ (scores.T @ scores) @ bread, "robust (sandwich, HC1)"

    def _inverse(self, curvature: Vector) -> Matrix:
        return np.asarray(
            np.linalg.pinv((self.columns * (self.weights * curvature)[:, None]).T @ self.columns)
        )

    def _classical(self) -> tuple[Matrix, str]:
        """φ (DᵀHD)⁻¹: H is the curvature expected of y, φ Pearson's where the variance has a factor."""
        expected = self.loss.second_derivative(self._expected(), self.z)
        bread = self._inverse(expected)
        if not self.loss.dispersed:
            return bread, "classical (inverse information)"
        pearson = self.weights * self.loss.derivative(self.targets, self.z) ** 2 / expected
        words = "errors of one variance" if self.loss.link == "identity" else "dispersion by Pearson"
        return float(pearson.sum()) / self.spare * bread, f"classical ({words})"

    def _expected(self) -> Vector:
        """Targets that are the means; labels stay as they are, for their curvature depends on z alone."""
        return self.loss.mean(self.z) if self.loss.link != "identity" else self.targets

    def _of_quantile(self) -> Matrix:
        """q(1 − q) J⁻¹ (DᵀD) J⁻¹ with J = Σ 1(|r| < h)/(2h) d dᵀ."""
        full, residual, q = self.columns, self.targets - self.z, self.quantile
        n = len(residual)
        at = stats.norm.ppf(q)
        width = (
            n ** (-1 / 3)
            * stats.norm.ppf(0.975) ** (2 / 3)
            * (1.5 * stats.norm.pdf(at) ** 2 / (2 * at**2 + 1)) ** (1 / 3)
        )
        # between the first and the last thousandth, where a normal has quantiles
        low, high = max(q - width, 1e-3), min(q + width, 1.0 - 1e-3)
        spread = min(float(np.std(residual)), float(np.subtract(*np.quantile(residual, [0.75, 0.25]))) / 1.34)
        h = max(
            spread * float(stats.norm.ppf(high) - stats.norm.ppf(low)),
            1e-12 * (1.0 + float(np.abs(residual).max())),
        )
        near = full[np.abs(residual) < h]
        bread = np.linalg.pinv(near.T @ near / (2.0 * h))
        return np.asarray(q * (1.0 - q) * bread @ (full.T @ full) @ bread)
