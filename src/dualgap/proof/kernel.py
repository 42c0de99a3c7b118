"""Kernel machines: the same sum of terms, where the weights are a function Σ β k(x, ·) of the kernel's space.

    P(β, b) = Σ a L(y, z) + λ βᵀKβ,   z = Kβ + b,
    P(β, b) − P(β', b') ≤ Σ a [L(z) + L*(u) − zu] + dᵀKd/(4λ)      for every β', b',   u = −θ/a,  d = θ − 2λβ,

for any θ in the loss's domain, with Σθ = 0 where there is an intercept. That asks for a K without negative
eigenvalues, and rounding leaves some to the matrix of numbers that is given. It stands for K + τ·diag|K| with
any τ ≤ DEFINITE·√n that makes this positive semi-definite, and both values are true of each of these. That
there is one is taken on trust. With an intercept it is enough where Σβ = 0; the bound is then for such β',
among which the best one is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.losses import Loss
from dualgap.losses.base import FAINT
from dualgap.proof.balance import zero_sum
from dualgap.proof.check import AWAY, SHARE, SLACK, Checked, missed, slopes, told
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rounding import FEW, LEAST, U, gamma, lost, summed, total, two_product, two_sum
from dualgap.proof.rows import Rows, _dots, _parts
from dualgap.proof.statement import SMALL, Statement, moved_exactly

# Of K scaled to a diagonal of ones the least eigenvalue was never below −7 √n U: linear, polynomial, Gaussian
# and Laplacian kernels of 15 to 300 rows with 2 to 50 columns, some of them 1000 from zero.
DEFINITE = 8.0 * U
TWICE = 16.0 * U  # entries computed twice, for a row and for a column, may differ by so much of themselves
PART = 4.0 * U  # d is known to this share of 2λ|β| + |d|


@dataclass(frozen=True, eq=False)
class Product:
    """Kv as a value and a correction, the error of their sum, |K||v| at most, and what the largest τ adds."""

    value: Vector
    low: Vector
    error: Vector
    size: Vector
    shift: Vector

    def along(self, v: Vector) -> tuple[float, float]:
        """vᵀ(Kv), without what τ adds, and how far it may be off; v is that of the product."""
        value, rounded = two_product(v, self.value)
        high, rest = summed(value)
        small = float(rest) + float(rounded.sum()) + float(v @ self.low)
        size, n = np.abs(v), len(v)
        doubt = lost(n) * float(size @ np.abs(self.value)) + float(size @ self.error)
        doubt += gamma(n + 4) * (float(size @ np.abs(self.low)) + abs(float(high) + small))
        under = 8.0 * LEAST * np.count_nonzero(v)
        return float(high) + small, doubt * (1.0 + FEW + gamma(n)) + under


class Products(Protocol):
    """A matrix K that is only multiplied."""

    @property
    def n(self) -> int:
        """Rows, and columns."""

    def times(self, v: Vector, *, exact: bool = ...) -> Product:
        """Kv; `exact`: in twice the digits."""


class Entries:
    """K by its rows, held or computed when asked for: rows(part, columns) is K[part][:, columns]."""

    def __init__(
        self, rows: Callable[[slice, Index], Matrix], diagonal: Vector, doubt: float = TWICE
    ) -> None:
        self.rows, self.n, self.doubt = rows, len(diagonal), doubt
        self.shift = DEFINITE * np.sqrt(len(diagonal)) * np.abs(diagonal)
        self._last: tuple[Vector, bool, Product] | None = None

    @classmethod
    def held(cls, K: Matrix) -> Entries:
        """An array, in which entries are what they are."""

        def rows(part: slice, columns: Index) -> Matrix:
            return K[part] if len(columns) == len(K) else K[part][:, columns]

        return cls(rows, np.diagonal(K).astype(np.float64), 0.0)

    def times(self, v: Vector, *, exact: bool = False) -> Product:
        """Kv, by blocks of rows; columns where v is zero are not read. The last product is remembered."""
        if self._last is None or self._last[1] != exact or not np.array_equal(self._last[0], v):
            self._last = v.copy(), exact, self._times(v, exact=exact)
        return self._last[2]

    def _times(self, v: Vector, *, exact: bool) -> Product:
        support = np.flatnonzero(v)
        live, k = v[support], len(support)
        value, low, size = np.zeros(self.n), np.zeros(self.n), np.zeros(self.n)
        for part in _parts(self.n, k) if k else []:
            block = self.rows(part, support)
            size[part] = np.abs(block) @ np.abs(live)
            if exact:
                value[part], low[part] = _dots(block.T, live)
            else:
                value[part] = block @ live
        size, shift = size * (1.0 + gamma(k + 1)), self.shift * v
        share = (lost(k) if exact else gamma(k + 1)) + self.doubt
        return Product(
            value, low, (share * size + 8.0 * LEAST * k) * (1.0 + FEW), size + np.abs(shift), shift
        )


class Spanned:
    """K = XXᵀ as real numbers: no entry of it is needed, and no τ."""

    def __init__(self, X: Matrix) -> None:
        self.span = Rows(X)
        self.n = self.span.n

    def times(self, v: Vector, *, exact: bool = False) -> Product:
        """X(Xᵀv)."""
        tops, every = self.span.tops, np.zeros(self.n)
        few = 1.0 + FEW + gamma(len(tops))
        w, reach = self.span.against(v, exact=exact)
        value, low, error = self.span.times(w, exact=exact)
        error, size = (error + float(tops @ reach)) * few, float(tops @ tops) * total(np.abs(v)) * few
        return Product(value, every + low, every + error, every + size, every)


@dataclass(frozen=True, eq=False)
class KernelStatement:
    """minimise over β, b of   Σ a L(y, Kβ + b) + λ βᵀKβ;   `a` holds s/Σs to FEW roundings."""

    products: Products
    y: Vector
    a: Vector
    loss: Loss
    lam: float
    intercept: bool

    @cached_property
    def centred(self) -> tuple[Loss, Vector, tuple[Vector, ...]]:
        """The loss, and its targets once predictions are counted from `misses`' origin, which is this far."""
        return self.loss.centred(self.y)

    def level(self, b: float) -> float:
        """b; 0 without an intercept."""
        return b if self.intercept else 0.0

    def misses(self, image: Product, b: float) -> tuple[Vector, Vector]:
        """Kβ + b and the offset, less y where the loss sees only the difference, and the error of each; all
        but Kβ first.
        """
        base, rest, slack = moved_exactly(np.full(len(self.a), b), self.centred[2])
        high, rounded = two_sum(image.value, base)
        t = high + (image.low + rest + rounded)
        small = np.abs(image.low) + slack  # `rounded` is less than U |t| and these
        return t, (image.error + 4.0 * U * (np.abs(t) + small)) * (1.0 + FEW)

    def feasible(self, theta: Vector) -> Vector:
        """θ in the domain, whatever the rounding of a; with an intercept Σθ = 0 as real numbers."""
        none: Any = None
        plain = Statement(none, self.y, self.a, self.loss, none, self.intercept)
        theta = np.clip(theta, *plain.dual_bounds_inside())
        return zero_sum(theta) if self.intercept else theta


def check_kernel(
    problem: KernelStatement,
    beta: Vector,
    b: float,
    theta: Vector,
    tolerance: float = 0.0,
    null: float = 0.0,
) -> Checked:
    """Both values at (β, b), which is the w of what is returned, and at a feasible point near θ.

    `tolerance` and `null` as for `check`: they say when twice the digits are worth their price.
    """
    b = problem.level(b)
    with PlainArithmetic():
        found = _checked(problem, beta, b, theta, exact=False)
        if missed(found, tolerance * max(found.primal, SMALL * null)):
            return _checked(problem, beta, b, theta, exact=True).improved(found)
    return found


def kernel_value(problem: KernelStatement, beta: Vector, b: float, tolerance: float = 0.0) -> float:
    """P(β, b) from above; in twice the digits where rounding may cost more than this share of it."""
    b = problem.level(b)
    with PlainArithmetic():
        found = _valued(problem, beta, b, exact=False)
        if not found.width <= SHARE * tolerance * found.objective:
            found = _valued(problem, beta, b, exact=True)
    return found.objective if found.objective == found.objective else np.inf


@dataclass(frozen=True, eq=False)
class _Value:
    """P from above, what of that may be rounding, and what they are made of."""

    objective: float
    width: float
    image: Product
    t: Vector
    wide: Vector  # how far z, for any τ, is from t
    low: Vector
    high: Vector


def _valued(problem: KernelStatement, beta: Vector, b: float, *, exact: bool) -> _Value:
    a, lam, (loss, y, _) = problem.a, problem.lam, problem.centred
    image = problem.products.times(beta, exact=exact)
    t, error = problem.misses(image, b)
    wide = error + np.abs(image.shift)
    low, high = slopes(loss, y, t, wide)
    square, doubt = image.along(beta)
    risk, priced = total(a * loss.value(y, t)), lam * max(square, 0.0)
    risk = risk if min(a.min(), lam) >= FAINT else np.inf
    spread = total(a * (error * np.maximum(-low, high))) + lam * (doubt + max(-square, 0.0))
    rise, fall = _moved(a * (low * image.shift), a * (high * image.shift), lam * (beta * image.shift))
    # products that underflow: none where the loss is flat
    under = 16.0 * LEAST * len(a) if low.any() or high.any() or beta.any() else 0.0
    rounded = FEW * (risk + priced + spread + rise) + under
    objective = risk + priced + spread + rise + rounded
    return _Value(objective, 2.0 * (spread + rounded) + rise + fall, image, t, wide, low, high)


def _checked(problem: KernelStatement, beta: Vector, b: float, theta: Vector, *, exact: bool) -> Checked:
    a, found = problem.a, _valued(problem, beta, b, exact=exact)
    theta = problem.feasible(theta)
    # the true −θ/a is u, or a little nearer to 0: by convexity that costs no more than a share of the loss
    u = -(theta / a) * AWAY
    apart = np.maximum(u - found.low, found.high - u) + FAINT  # u may have underflown
    loss, y, _ = problem.centred
    terms = loss.fenchel_young(y, found.t, u)
    objective = found.objective
    bracket, doubt = distance_between(
        problem.products, found.image, beta, theta, problem.lam, objective, exact=exact
    )
    rounding = found.width + total(a * (found.wide * apart)) + SLACK * (objective + bracket) + doubt
    gap = total(a * terms) + bracket + rounding
    nothing = np.empty(0)
    return told(Checked(np.append(beta, b), theta, objective, gap, rounding, nothing, nothing))


def _moved(low: Vector, high: Vector, priced: Vector) -> tuple[float, float]:
    """How far a τ may raise P, and lower it: by convexity, slopes there and here times what it moves."""
    paid, size = float(priced.sum()), float((np.abs(low) + np.abs(high) + np.abs(priced)).sum())
    rise = float(np.maximum(low, high).sum()) + paid + SLACK * size
    fall = float(np.minimum(low, high).sum()) + paid - SLACK * size
    return max(rise, 0.0), max(-fall, 0.0)


def distance_between(
    products: Products, image: Product, beta: Vector, theta: Vector, lam: float, scale: float, *, exact: bool
) -> tuple[float, float]:
    """dᵀKd/(4λ), for d = θ − 2λβ and `image` = Kβ, and what may have to be added to it.

    Where |d| ≤ η·2λ|β| in every row it is at most λη²·|β|ᵀ|K||β|, which asks for no product with K and is
    enough if nothing beside `scale`. Else √(dᵀKd) is that of the d computed, and of what d may be off by.
    """
    size, double = np.abs(beta), 2.0 * lam
    d = theta - double * beta
    pair, length = double * size, np.abs(d)
    far = length + PART * (pair + length)
    some = far > 0.0
    share = float(np.max(far[some] / pair[some], initial=0.0))
    few = 1.0 + SLACK + gamma(len(beta))
    loose = lam * (share * share) * float(size @ image.size) * few
    if loose <= FEW * scale:
        return 0.0, loose
    apart = products.times(d, exact=exact)
    square, doubt = apart.along(d)
    square = max(square, 0.0)
    # d is off by PART·(pair + |d|) at most: the length of that in |K|, part by part
    crossed = double * float((pair + 2.0 * length) @ image.size) + float(length @ apart.size)
    root = np.sqrt(square + doubt + float(d @ apart.shift) * few) + PART * np.sqrt(crossed)
    found = square / (4.0 * lam)
    return found, float(root * root / (4.0 * lam)) * few - found * (1.0 - FEW)
