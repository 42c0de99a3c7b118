"""Ridge regression as noise: rows of random numbers with target zero pull the weights towards zero.

Append m rows x ~ N(0, σ²) with y = 0 and total weight κ to n rows. Their loss κ·mean (x·w)² tends to
κσ²‖w‖² as m grows. So least squares on all rows tends to ridge with λ = κσ²/n; a mean of m squares misses
its limit by about 1/√m, and so do the weights: the script prints the rate.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes

import dualgap as dg

SIGMA = 0.05
WEIGHT = 442.0  # of all the noise together: as much as the data
REPEATS = 20


def noisy_fit(X: np.ndarray, y: np.ndarray, rows: int, random: np.random.Generator) -> np.ndarray:
    noise = SIGMA * random.standard_normal((rows, X.shape[1]))
    weights = np.concatenate([np.ones(len(y)), np.full(rows, WEIGHT / rows)])
    both = np.vstack([X, noise]), np.concatenate([y, np.zeros(rows)])
    fit = dg.fit(*both, loss="squared", penalty="none", fit_intercept=False, sample_weight=weights, tol=1e-10)
    return fit.coef


def main() -> None:
    X, y = load_diabetes(return_X_y=True)
    y = y - y.mean()
    lam = WEIGHT * SIGMA**2 / len(y)
    ridge = dg.path(X, y, loss="squared", penalty="l2", fit_intercept=False).coef(lam=lam)
    print(f"ridge at lam = {lam:.4g}: |w| = {np.linalg.norm(ridge):.1f}\n")
    print("  noise rows   |w(noise) - w(ridge)| / |w(ridge)|   times sqrt(rows)")
    random = np.random.default_rng(0)
    sizes, errors = [100, 400, 1600, 6400, 25600], []
    for rows in sizes:
        apart = [np.linalg.norm(noisy_fit(X, y, rows, random) - ridge) for _ in range(REPEATS)]
        errors.append(float(np.mean(apart)) / np.linalg.norm(ridge))
        print(f"  {rows:>10}   {errors[-1]:>35.4f}   {errors[-1] * np.sqrt(rows):>16.2f}")
    rate = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    print(f"\nerror ~ rows^{rate:.2f}: four times the noise rows halve the distance to ridge")


if __name__ == "__main__":
    main()
