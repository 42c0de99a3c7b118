"""The theorems, measured: slopes of the objective's distance to the optimum, on logarithmic axes.

    python examples/rates.py [picture.png]

Theory gives worst cases. So each runs on a problem that is bad for it: columns whose sizes fall off so that
there is always another direction left to learn (for 1/k and 1/k²), kinks (for 1/√k), a strength λ that alone
bends the objective (for 1/(λt)).
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import dualgap as dg

Vector = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Rate:
    """One theorem with its run: distances to the optimum against k."""

    name: str
    theorem: str
    slope: float  # that the theorem promises, at the least
    k: Vector
    above: Vector

    def fitted(self) -> float:
        """Slope of the later half of the run, in logarithms."""
        late = (self.k >= np.sqrt(self.k[-1])) & (self.above > 0)
        return float(np.polyfit(np.log(self.k[late]), np.log(self.above[late]), 1)[0])


def ill_conditioned(n: int = 700, p: int = 600) -> tuple[Vector, Vector]:
    """Singular values 1/j and weights 1/√j along them: as long as the theorems allow, and just so."""
    random = np.random.default_rng(0)
    left = np.linalg.qr(random.standard_normal((n, p)))[0]
    right = np.linalg.qr(random.standard_normal((p, p)))[0]
    size = np.arange(1.0, p + 1.0) ** -1.0
    X = np.sqrt(n) * (left * size) @ right.T
    return X, X @ (right @ (np.sqrt(size)))


def classes(n: int = 500, p: int = 20) -> tuple[Vector, Vector]:
    random = np.random.default_rng(1)
    X = random.standard_normal((n, p)) / np.sqrt(p)
    return X, np.where(X @ random.standard_normal(p) + 0.5 * random.standard_normal(n) > 0, 1.0, -1.0)


def measured(name: str, theorem: str, slope: float, run: Any, optimum: float, best: bool = True) -> Rate:
    k, values = run.trace.column("iteration"), run.trace.column("best" if best else "objective")
    return Rate(name, theorem, slope, k[1:], np.maximum(values[1:] - optimum, 0.0))


def smooth() -> list[Rate]:
    X, y = ill_conditioned()
    asked: dict[str, Any] = {"loss": "squared", "penalty": "none", "fit_intercept": False, "tol": 0.0}
    plain = dg.fit(X, y, solver="gradient_descent", max_iter=3000, **asked)
    fast = dg.fit(X, y, solver="nesterov", max_iter=300, **asked)
    return [  # y is X times something: the optimum is zero
        measured("gradient descent, step 1/L", "O(1/k)", -1.0, plain, 0.0),
        measured("Nesterov", "O(1/k²)", -2.0, fast, 0.0, best=False),
    ]


def kinked() -> list[Rate]:
    random = np.random.default_rng(2)
    X = random.standard_normal((200, 100))
    y = random.standard_normal(200)
    asked: dict[str, Any] = {"loss": "absolute", "penalty": "none", "fit_intercept": False}
    optimum = dg.fit(X, y, tol=1e-9, **asked).bound
    run = dg.fit(X, y, solver="subgradient", max_iter=10_000, tol=0.0, **asked)
    return [measured("subgradient, step α/√k", "O(1/√k)", -0.5, run, optimum)]


def pegasos() -> list[Rate]:
    X, y = classes()
    lam = 0.005
    asked: dict[str, Any] = {"loss": "hinge", "penalty": "l2", "lam": lam, "fit_intercept": False}
    optimum = dg.fit(X, y, tol=1e-10, **asked).bound
    runs = [
        dg.fit(X, y, solver=dg.solvers.Pegasos(random_state=seed), max_iter=300, tol=0.0, **asked)
        for seed in range(10)
    ]
    above = np.mean([run.trace.column("objective")[1:] - optimum for run in runs], axis=0)
    steps = len(y) * runs[0].trace.column("iteration")[1:]
    return [Rate("Pegasos, mean of ten runs", "O(1/(λt))", -1.0, steps, above)]


def draw(rates: list[Rate], where: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(rates), figsize=(3.6 * len(rates), 3.4), layout="constrained")
    for one, rate in zip(axes, rates, strict=True):
        one.loglog(rate.k, rate.above, color="C0", label=f"measured, {rate.fitted():.2f}")
        guide = rate.above[0] * (rate.k / rate.k[0]) ** rate.slope
        one.loglog(rate.k, guide, color="0.5", ls="--", lw=1, label=f"{rate.theorem}, {rate.slope:g}")
        one.set(title=rate.name, xlabel="k")
        one.legend(frameon=False, fontsize="small")
        one.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("objective above the optimum")
    figure.savefig(where, dpi=130)
    print(f"picture: {where}")


def main() -> None:
    warnings.simplefilter("ignore", dg.errors.NotCertifiedWarning)
    rates = [*smooth(), *kinked(), *pegasos()]
    print(f"{'algorithm':<28}{'theorem':>12}{'promised':>10}{'measured':>10}{'end':>11}")
    for rate in rates:
        print(
            f"{rate.name:<28}{rate.theorem:>12}{rate.slope:>10.1f}{rate.fitted():>10.2f}{rate.above[-1]:>11.1e}"
        )
    draw(rates, sys.argv[1] if len(sys.argv) > 1 else "rates.png")


if __name__ == "__main__":
    main()
