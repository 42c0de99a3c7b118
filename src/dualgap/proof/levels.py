"""Machines whose margin or tube is a variable, its price ν: the same sums, with one level on either side.

    P(β, u, l) = λ βᵀKβ + Σ_U a (e − u)₊ + m u + Σ_L a (l − e)₊ − m l,      e = c − Kβ,

over the rows U above and the rows L below; m is at most the weight of either. Two classes: U is the one, L
the other, c = 0, m = ν/2 and the margin is (l − u)/2. Numbers: U = L = all rows, c = y, m = ν/2 and the tube
reaches (u − l)/2 to either side. One class: U = all rows, L none, c = 0, m = ν. For θ = α − α' with 0 ≤ α ≤ a
on U and 0 ≤ α' ≤ a on L,

    P(β', u', l') ≥ Σ cθ − θᵀKθ/(4λ) + (m − Σα) u' − (m − Σα') l'        for every β', u', l'.

The last two terms are zero where the sums are m. Floats miss that by a δ; but since m is no more than a side
weighs, levels beyond the largest |e'| are never better, |e'| ≤ max|c| + R‖f'‖ with R² = max K_ii, and so

    P ≥ Σ cθ − δ max|c| − (√(θᵀKθ) + δR)²/(4λ).

Where both sides are the same rows, sums below m by as much are no fault: α and α' raised alike leave θ as it
is, and there is room for it, as m ≤ ½.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.losses.base import FAINT
from dualgap.proof.check import Checked
from dualgap.proof.kernel import DEFINITE, Product, Products
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rounding import FEW, LEAST, gamma, lost, summed, total, two_product, two_sum


@dataclass(frozen=True, eq=False)
class LevelStatement:
    """The problem; `a` and `mass` are known to a share FEW of themselves."""

    products: Products
    top: float  # no K_ii is above
    c: Vector
    a: Vector
    upper: Mask
    lower: Mask
    mass: float
    lam: float

    @property
    def shared(self) -> bool:
        """Are both sides the same rows?"""
        return bool((self.upper & self.lower).any())

    def feasible(self, theta: Vector) -> Vector:
        """θ within a, on the side that its row is on; 0 where it is no number."""
        most = self.a * (1.0 - 2.0 * FEW)
        inside = np.clip(
            np.nan_to_num(theta), np.where(self.lower, -most, 0.0), np.where(self.upper, most, 0.0)
        )
        return np.asarray(inside)

    def off(self, theta: Vector) -> float:
        """δ: how far the sums of both sides are from m, added up."""
        sums = [float(np.maximum(theta, 0.0).sum()), float(np.maximum(-theta, 0.0).sum())]
        sums = sums if self.lower.any() else sums[:1]
        filled = max(self.mass - max(sums), 0.0) if self.shared else 0.0
        room = gamma(len(theta)) + 4.0 * FEW
        return sum(abs(self.mass - one - filled) + room * (self.mass + one) for one in sums)


def check_levels(
    problem: LevelStatement, beta: Vector, levels: Vector, theta: Vector, tolerance: float = 0.0
) -> Checked:
    """Both values at β with its levels u and l, which end the w of what is returned, and near the θ given.

    In twice the digits where plain ones miss the relative gap that is hoped for.
    """
    with PlainArithmetic():
        found = _checked(problem, beta, levels, theta, exact=False)
        if not found.gap <= tolerance * abs(found.primal):
            again = _checked(problem, beta, levels, theta, exact=True)
            return again if again.gap < found.gap or not np.isfinite(found.gap) else found
    return found


def _checked(problem: LevelStatement, beta: Vector, levels: Vector, theta: Vector, *, exact: bool) -> Checked:
    primal = _value(problem, beta, levels, problem.products.times(beta, exact=exact))
    theta = problem.feasible(theta)
    dual = _bound(problem, theta, problem.products.times(theta, exact=exact))
    contradiction = dual > primal  # of a K that is not semi-definite: nothing is proven then
    dual = -np.inf if contradiction or dual != dual else dual
    nothing = np.empty(0)
    return Checked(np.concatenate([beta, levels]), theta, primal, dual, 0.0, nothing, nothing)


def _value(problem: LevelStatement, beta: Vector, levels: Vector, image: Product) -> float:
    """P from above, whatever of e and of K is rounding."""
    a, mass = problem.a, problem.mass
    high, rest = two_sum(problem.c, -image.value)
    e = high + (rest - image.low)
    wide = (image.error + np.abs(image.shift)) * (1.0 + FEW) + FEW * np.abs(e) + 8.0 * LEAST
    u, down = float(levels[0]), float(levels[1])
    risk = total(np.where(problem.upper, a * np.maximum(e + wide - u, 0.0), 0.0))
    risk += total(np.where(problem.lower, a * np.maximum(down - e + wide, 0.0), 0.0))
    level = mass * ((u if problem.upper.any() else 0.0) - (down if problem.lower.any() else 0.0))
    square, doubt = image.along(beta)
    few = 1.0 + FEW + gamma(len(beta))
    priced = problem.lam * (max(square, 0.0) + doubt + float(np.abs(beta) @ np.abs(image.shift)) * few)
    sizes = mass * (abs(u) + abs(down)) + risk + priced
    found = risk + level + priced + 8.0 * FEW * sizes + 64.0 * LEAST * len(a)
    sure = found == found and min(float(a.min()), problem.lam, mass) >= FAINT
    return float(found) if sure else np.inf


def _bound(problem: LevelStatement, theta: Vector, image: Product) -> float:
    """The least that P can be, by a feasible θ."""
    value, error = two_product(problem.c, theta)
    high, rest = summed(value)
    size = float(np.abs(problem.c) @ np.abs(theta))
    along = float(high) + (float(rest) + float(error.sum()))
    along -= lost(len(theta)) * size + FEW * abs(along) + 8.0 * LEAST * len(theta)
    square, doubt = image.along(theta)
    few = 1.0 + FEW + gamma(len(theta))
    square = (max(square, 0.0) + doubt + float(np.abs(theta) @ np.abs(image.shift)) * few) * few
    off = problem.off(theta)
    reach = float(np.sqrt(problem.top)) * (1.0 + DEFINITE * np.sqrt(len(theta)))
    root = float(np.sqrt(square)) + off * reach * few
    found = along - off * float(np.abs(problem.c).max(initial=0.0)) - root * root / (4.0 * problem.lam) * few
    return float(found - 4.0 * FEW * abs(found))
