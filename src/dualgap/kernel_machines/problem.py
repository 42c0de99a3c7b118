"""minimise over β, b of   Σ a L(y, Kβ + b) + λ βᵀKβ;   dual   −Σ a L*(y, −θ/a) − θᵀKθ/(4λ),  Σθ = 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from dualgap.arrays import Index, Matrix, Vector
from dualgap.kernels import Gram
from dualgap.linalg.balance import balance
from dualgap.losses import Loss
from dualgap.problem.certificate import Bounds
from dualgap.problem.problem import relative_gap
from dualgap.proof.check import Checked
from dualgap.proof.kernel import Entries, KernelStatement, Products, Spanned, check_kernel
from dualgap.traits import Trait

LEVEL = 1e-13  # a slope this small beside the weights is zero
ROUGH = 1e-3  # of the tolerance: rounding of Kβ, in units of the targets, beyond which it takes more digits


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """The problem for one vector of targets. At the optimum β = θ/(2λ)."""

    gram: Gram
    y: Vector
    a: Vector
    loss: Loss
    lam: float
    intercept: bool

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def kind(self) -> str:
        """Which solvers it is for, as `drive.registry` names them; λ = 0 is C = ∞."""
        return "kernel" if self.lam > 0.0 else "kernel margin"

    @cached_property
    def dual_bounds(self) -> tuple[Vector, Vector]:
        """θ must lie between these."""
        lower, upper = self.loss.domain(self.y)
        return -self.a * upper, -self.a * lower

    @cached_property
    def null(self) -> float:
        """The objective at β = 0 and the best intercept."""
        constant = self.loss.best_constant(self.y, self.a) if self.intercept else 0.0
        return self.risk(np.full(self.n, constant))

    @cached_property
    def stated(self) -> KernelStatement:
        """The problem on K as given: what is proven is proven of this."""
        return KernelStatement(products_of(self.gram), self.y, self.a, self.loss, self.lam, self.intercept)

    def judged(self, beta: Vector, b: float | None, tolerance: float, theta: Vector | None = None) -> Checked:
        """What the proof's kernel says of β; without θ, β is first made feasible for the dual.

        Without b, or where the solver sees K moved by a constant, the best intercept is looked for.
        """
        if theta is None:
            theta = self.stated.feasible(self.feasible(2.0 * self.lam * beta))
            beta = theta / (2.0 * self.lam)
        if b is None or self.gram.moved:
            b = self.best_intercept(self.image(beta, tolerance))
        return check_kernel(self.stated, beta, b, theta, tolerance, self.null)

    def image(self, beta: Vector, tolerance: float) -> Vector:
        """Kβ on K as given, in as many digits as it takes."""
        found = self.stated.products.times(beta)
        if float(found.error.max(initial=0.0)) > ROUGH * tolerance * self.unit:
            return self.precise(beta)
        return found.value

    def precise(self, beta: Vector) -> Vector:
        """Kβ on K as given, in twice the digits, rounded once."""
        found = self.stated.products.times(beta, exact=True)
        return found.value + found.low

    @cached_property
    def unit(self) -> float:
        """The size of the targets."""
        return float(np.std(self.y)) or max(float(np.abs(self.y).max(initial=0.0)), 1.0)

    def risk(self, prediction: Vector) -> float:
        """Σ a L(y, prediction)."""
        with np.errstate(all="ignore"):
            return float(self.a @ self.loss.value(self.y, prediction))

    def feasible(self, theta: Vector) -> Vector:
        """θ inside the loss's domain, with Σθ = 0 where there is an intercept."""
        lower, upper = self.dual_bounds
        theta = np.clip(theta, lower, upper)
        if not self.intercept:
            return theta
        size = float(np.abs(theta).sum())
        if abs(float(theta.sum())) <= LEVEL * self.n * size:  # rounding: rows without a part in it keep none
            some = theta != 0.0
            theta[some] = balance(theta[some], lower[some], upper[some])
            return theta
        return balance(theta, lower, upper)

    def dual(self, theta: Vector, quadratic: float) -> float:
        """The dual objective at a feasible θ; `quadratic` is θᵀKθ."""
        conjugate = float(self.a @ self.loss.conjugate(self.y, -theta / self.a))
        return -conjugate - quadratic / (4.0 * self.lam)

    def primal(self, beta: Vector, f: Vector, b: float) -> float:
        """The objective at β, with f = Kβ."""
        value = self.risk(f + b) + self.lam * max(float(beta @ f), 0.0)
        return value if np.isfinite(value) else np.inf

    def bounds(
        self, beta: Vector, f: Vector | None = None, b: float | None = None, *, fixed: bool = False
    ) -> Bounds:
        """Both values at β, which is first made feasible for the dual; w holds β and the best intercept.

        `fixed`: b is the intercept, f is to be used at no other.
        """
        theta = self.feasible(2.0 * self.lam * beta)
        near = theta / (2.0 * self.lam)
        moved = near - beta
        if f is None:
            f = self.gram.product(near)
        elif np.abs(moved).max() > 1e-15 * np.abs(near).max(initial=0.0):
            f = f + self.gram.product(moved)
        choices = [b] if fixed and b is not None else self._intercepts(f, b)
        values = [self.primal(near, f, choice) for choice in choices]
        best = int(np.argmin(values))
        if len(choices) > 1 and values[1] <= values[0] + 1e-14 * abs(values[0]):
            best = 1  # the solver's own, where both are as good
        dual = self.dual(theta, 4.0 * self.lam**2 * max(float(near @ f), 0.0))
        return Bounds(np.append(near, choices[best]), theta, values[best], dual if dual == dual else -np.inf)

    def _intercepts(self, f: Vector, b: float | None) -> list[float]:
        """The best one; the solver's own beside it, or alone where the loss is smooth."""
        if b is None or not self.intercept:
            return [self.best_intercept(f)]
        return [self.best_intercept(f), b] if Trait.PIECEWISE_LINEAR in self.loss.traits else [b]

    def relative(self, gap: float, objective: float) -> float:
        """The gap as a share of the objective."""
        return relative_gap(gap, objective, self.null)

    def best_intercept(self, f: Vector) -> float:
        """The b that minimises Σ a L(y, f + b)."""
        if not self.intercept:
            return 0.0
        if Trait.PIECEWISE_LINEAR in self.loss.traits:
            return self._middle_of_flat(f)
        return self._root(f)

    def _middle_of_flat(self, f: Vector) -> float:
        """Breakpoints in order until the slope turns; the middle, where it is zero on an interval."""
        terms = self.loss.terms(self.y)
        points = (terms.kink - f[:, None]).ravel()
        rise = (self.a[:, None] * (terms.upper - terms.lower)).ravel()
        order = np.argsort(points, kind="stable")
        slope = float((self.a[:, None] * terms.lower).sum()) + np.cumsum(rise[order])
        small = LEVEL * float(rise.sum()) * np.sqrt(len(rise))
        k = min(int(np.argmax(slope > -small)), len(order) - 1)
        if slope[k] > small or k + 1 == len(order):
            return float(points[order[k]])
        return 0.5 * float(points[order[k]] + points[order[k + 1]])

    def _root(self, f: Vector) -> float:
        def slope(b: float) -> float:
            with np.errstate(all="ignore"):
                return float(np.nan_to_num(self.a @ self.loss.derivative(self.y, f + b)))

        moves = self.loss.translates
        middle = float(np.median(self.y - f)) if moves else self.loss.best_constant(self.y, self.a)
        width = 1.0 + float(np.ptp(f)) + abs(middle)
        low, high = middle - width, middle + width
        for _ in range(60):
            if slope(low) <= 0.0 <= slope(high):
                break
            low, high = 2 * low - high, 2 * high - low
        if not slope(low) < 0.0 < slope(high):
            return high if slope(high) <= 0.0 else low
        return float(brentq(slope, low, high, xtol=1e-15 * width, rtol=1e-15))


def products_of(gram: Gram) -> Products:
    """K as it was given, for the proof."""
    if gram.by_table:
        return Spanned(gram.span)
    last: list[Any] = [None, None]

    def rows(part: slice, columns: Index) -> Matrix:
        if last[0] is not columns:
            last[:] = columns, gram.columns(columns)
        return np.asarray(last[1](part))

    return Entries.held(gram.given) if gram.small else Entries(rows, gram.diagonal)
