"""Small fits of every kind that a model file must keep."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dualgap as dg

RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 4))
NUMBERS = X @ [1.0, 0.0, -1.0, 0.5] + RNG.normal(size=40)
SEVERAL = np.column_stack([NUMBERS, X[:, 1] - NUMBERS, RNG.normal(size=40)])
TWO = np.where(NUMBERS > 0, "yes", "no")
THREE = np.array([10, 20, 30])[RNG.integers(0, 3, 40)]
APART = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)

FITS: dict[str, tuple[NDArray[Any], dict[str, Any]]] = {
    "weighted quantile": (
        NUMBERS,
        dict(loss="quantile(0.3)", penalty="l1", lam=0.1, sample_weight=np.arange(40.0)),
    ),
    "factors and scales": (
        NUMBERS,
        dict(
            loss="squared",
            penalty="elastic_net(0.3)",
            lam=0.01,
            standardize=True,
            penalty_factors=[0, 1, 1, 2],
        ),
    ),
    "groups": (NUMBERS, dict(loss="squared", penalty="sparse_group(0.3)", lam=0.1, groups=[0, 1, 1, 0])),
    "slope": (
        NUMBERS,
        dict(loss="absolute", penalty=dg.penalties.Slope(sequence=(2.0, 1.0, 1.0, 0.5)), lam=0.1),
    ),
    "fused": (NUMBERS, dict(loss="squared", penalty="fused(2)", lam=0.1, standardize=True)),
    "no penalty": (NUMBERS, dict(loss="huber(1.35)", penalty="none")),
    "no intercept": (NUMBERS, dict(loss="absolute", penalty="linf", budget=0.5, fit_intercept=False)),
    "two classes": (TWO, dict(loss="logistic", budget=1.0)),
    "jointly": (THREE, dict(loss="logistic", lam=0.1)),
    "against the rest": (THREE, dict(loss="exponential", lam=0.1)),
    "hard margin": (APART, dict(loss="hinge", C=np.inf)),
    "best subset": (NUMBERS, dict(loss="squared", penalty="l0", budget=2)),
    "best subsets": (THREE, dict(loss="squared_hinge", penalty="l0", budget=2)),
    "outputs jointly": (
        SEVERAL,
        dict(loss="squared", penalty="l21", lam=0.3, sample_weight=np.arange(40.0)),
    ),
    "outputs apart": (SEVERAL, dict(loss="huber(1.35)", penalty="l2", lam=0.1)),
    "quantiles that do not cross": (NUMBERS, dict(loss="quantiles(0.2, 0.5, 0.8)", penalty="l1", lam=0.02)),
    "quantiles apart": (NUMBERS, dict(loss="quantiles(0.2, 0.8)", penalty="none", crossing=True)),
    "not proven": (TWO, dict(loss="logistic", penalty="l1", lam=1e-4, max_iter=1, tol=1e-14)),
}


@cache
def solved(name: str) -> tuple[dg.Solution, NDArray[Any]]:
    """The solution and its targets."""
    y, keywords = FITS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.errors.NotCertifiedWarning)
        return dg.fit(X, y, **keywords), y
