"""A problem: design, targets, weights, loss and regulariser. It can be asked, not changed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Vector, once
from dualgap.design import Dense, Design
from dualgap.penalties import Regulariser
from dualgap.problem.dual_point import feasible, null_dual
from dualgap.problem.on_constraints import onto
from dualgap.proof.check import Checked, check
from dualgap.proof.rows import with_products
from dualgap.proof.statement import SMALL, Statement, moved_exactly
from dualgap.traits import Trait

SEEN = 1e-9  # share of the objective that is rounding, and would be seen
CLEAR = 1e-4  # of the slopes: deviances larger than that are known to ten digits
ROUNDED = 1e-12  # share of Σ|θ| that Xᵀθ may be off by where columns are of size one
ASTRAY = 10.0  # the size that a free weight may have in good coordinates
FLAT = 300_000  # numbers: beyond, a product takes much longer than the views around it
# answers that another regulariser does not change
OF_THE_ROWS = {"column_means", "column_squares", "rows"}
OF_THE_DATA = {"null_weights", "null", "dual_bounds", "centred", *OF_THE_ROWS}


@dataclass(frozen=True, eq=False)
class Problem(Statement):
    """A statement as solvers see it, with what they ask of it besides.

    Where `intercept` is true the last column of the design is all ones. `null` is the objective at w = 0 and
    the best intercept. Values are those of floating-point arithmetic: they steer, and prove nothing.
    """

    design: Design
    part: bool = field(default=False, kw_only=True)  # of a problem whose proof is made elsewhere?

    @once
    def rows(self) -> Any:
        """X; of a table that was just read, with what was asked of it then."""
        known = self.design.measured
        return with_products(self.design.matrix) if known is None else known

    @once
    def n(self) -> int:
        """Number of rows."""
        return self.design.shape[0]

    @once
    def p(self) -> int:
        """Number of coordinates, the intercept among them."""
        return self.design.shape[1]

    @once
    def convex(self) -> bool:
        """Does the duality gap close?"""
        return Trait.CONVEX in self.loss.traits and Trait.CONVEX in self.regulariser.traits

    @property
    def kind(self) -> str:
        """Which solvers it is for, as `drive.registry` names them."""
        return "convex" if self.convex else "search"

    @property
    def levels(self) -> int:
        """How many intercepts there are, each of so many rows one after another; 0 where they are columns."""
        return int(self.intercept)

    @property
    def bounded(self) -> bool:
        """Are there bounds of the weights, or linear constraints?"""
        return self.constraints is not None or self.regulariser.box is not None

    @property
    def needed(self) -> Mask:
        """Columns that cannot be left out even where they tell nothing: their weight may not be zero."""
        box, needed = self.regulariser.box, np.zeros(self.p - self.intercept, dtype=bool)
        if box is not None:
            needed |= self.gathered((box.low > 0.0) | (box.high < 0.0))
        if self.constraints is not None:
            needed |= self.constraints.matrix.any(axis=0)
        return needed

    @property
    def unshifted(self) -> Problem:
        """The same with an offset of the rows inside the targets, where the loss allows that, to a rounding:
        for solvers, not for proofs.
        """
        return self._without_offset or self

    @once
    def _without_offset(self) -> Problem | None:
        """None where that is the problem itself: what holds itself stays in memory until somebody looks."""
        loss, y = self.loss.unshifted(self.y)
        if loss is self.loss:
            return None
        known = {name: value for name, value in vars(self).items() if name in OF_THE_ROWS}
        return _told(dataclasses.replace(self, loss=loss, y=y), known)

    @once
    def null_weights(self) -> Vector:
        """w = 0 with the best intercept."""
        w = np.zeros(self.p)
        if self.intercept:
            w[-1] = self.best_constant
        return w

    @once
    def best_constant(self) -> float:
        """The best prediction without any column; for equal targets that target, without rounding."""
        if self.unshifted is not self:
            return self.unshifted.best_constant
        found = self.loss.best_constant(self.y, self.a)
        if not self.loss.translates or self.y[0] != self.y[-1] or self.y.min() < self.y.max():
            return found
        same = float(self.y[0])
        risks = [self.risk(np.full(self.n, constant)) for constant in (same, found)]
        return same if risks[0] <= risks[1] else found

    @once
    def null(self) -> float:
        """The objective at `null_weights`; targets far from zero are counted from there, to keep it sharp."""
        loss, y, shifts = self.centred
        constant = self.null_weights[-1] if self.intercept else 0.0
        if len(shifts) == 1:
            t = constant + shifts[0]
        else:
            base, rest, _ = moved_exactly(np.full(self.n, constant), shifts)
            t = base + rest
        if self.intercept and loss.translates:
            t = t + loss.best_constant(-t, self.a)
        found = loss.value(y, t)
        sure = self.loss_has(Trait.MEANS) and self.a @ found > CLEAR * (
            self.a @ np.abs(loss.derivative(y, t))
        )
        if self.loss_has(Trait.MEANS) and not sure:  # from above: gaps must not look small beside them
            found = np.maximum(2.0 * found - loss.fenchel_young(y, t, np.zeros(self.n)), 0.0)
        return float(self.a @ found)

    @once
    def dual_bounds(self) -> tuple[Vector, Vector]:
        """θ_i must lie between these for the loss's conjugate to be finite."""
        lower, upper = self.loss.domain(self.y)
        if self.constraints is None:
            return -self.a * upper, -self.a * lower
        least, most = self.constraints.domain
        return np.append(-self.a * upper, least), np.append(-self.a * lower, most)

    @once
    def column_means(self) -> Vector:
        """Σ a_i x_ij, column by column."""
        return self.design.transpose_matvec(self.a)

    @once
    def column_squares(self) -> Vector:
        """Σ a_i x_ij², column by column."""
        return self.design.weighted_square_norms(self.a)

    def with_regulariser(self, regulariser: Regulariser) -> Problem:
        """The same data and loss; what does not depend on the regulariser is kept."""
        known = {name: value for name, value in vars(self).items() if name in OF_THE_DATA}
        return _told(dataclasses.replace(self, regulariser=regulariser), known)

    def knowing(self, **sums: Any) -> Problem:
        """The same with `column_squares`, `column_means` or `rows` that are at hand: none is made again."""
        return _told(dataclasses.replace(self), {**vars(self), **sums})

    def flattened(self) -> Problem:
        """The same with its design in one array, where that is small and has no zeros left out.

        On 1000 × 30 numbers seen through a scale and a column of ones, an interior point took a fifth longer.
        """
        n, p = self.design.shape
        if n * p > min(FLAT, self.design.stored):
            return self
        flat = Dense(np.ascontiguousarray(self.design.toarray()))
        return _told(dataclasses.replace(self, design=flat), vars(self))

    @property
    def null_prediction(self) -> Vector:
        """X `null_weights`."""
        return self.predict(self.null_weights)

    @property
    def null_dual(self) -> Vector:
        """A dual point for `null_weights`."""
        return null_dual(self)

    def predict(self, w: Vector) -> Vector:
        """X w."""
        if w[: self.p - self.intercept].any():
            return self.design.matvec(w)
        return np.full(self.n, w[-1] if self.intercept else 0.0)

    def risk(self, prediction: Vector) -> float:
        """Σ a L(y, prediction)."""
        return float(self.a.dot(self.loss.value(self.y, prediction)))  # `@` takes a microsecond longer

    def primal(self, w: Vector, prediction: Vector | None = None) -> float:
        """The objective at w."""
        z = self.predict(w) if prediction is None else prediction
        if self.constraints is not None and not self.constraints.kept(self.coef(w))[1]:
            return np.inf
        return self.risk(z) + self.regulariser.value(w)

    def slope(self, prediction: Vector) -> Vector:
        """θ = −a L'(y, prediction): where every dual candidate starts; no constraint has a multiplier yet."""
        theta = -self.a * self.loss.derivative(self.y, prediction)
        return theta if self.constraints is None else np.append(theta, np.zeros(len(self.constraints)))

    def correlation(self, theta: Vector) -> Vector:
        """Xᵀθ; with constraints Xᵀθ + Aᵀμ."""
        if self.constraints is None:
            return self.design.transpose_matvec(theta) if theta.any() else np.zeros(self.p)
        theta, mu = self.split(theta)
        return self.design.transpose_matvec(theta) + self.spread(mu @ self.constraints.matrix)

    def foreseen(self, theta: Vector, unit: float) -> tuple[Vector, Vector, float]:
        """θ over a unit as the kernel would take it, Xᵀθ over the columns, which it need not work out again,
        and the unit; θ as it is, and 1, where the kernel would make more of it, or reads another table.
        """
        rows = self.design.measured
        held = self.constraints is not None or self.regulariser.gauge.sums is not None
        if unit == 1.0 or rows is None or rows.sparse or held or np.count_nonzero(self.free) > self.intercept:
            return theta, self.design.features.transpose_matvec(theta), 1.0
        theta = theta / unit
        if not self.loss_has(Trait.QUADRATIC):  # whose slopes have no end
            theta = np.clip(theta, *self.dual_bounds_inside())
        theta = self.levelled(theta, ahead=True)
        return theta, rows.foreseen(theta), unit

    def feasible(self, theta: Vector, correlation: Vector | None = None) -> tuple[Vector, Vector]:
        """A feasible dual point near θ, and Xᵀθ there; `correlation` is Xᵀθ of the one given, if known."""
        return feasible(self, theta, correlation)

    def moved(self, w: Vector) -> Vector:
        """w, in the domain of the regulariser and, as near as a few projections get, on the constraints."""
        inside = self.regulariser.feasible(w)
        return inside if self.constraints is None else onto(self, inside)

    def dual_near(self, theta: Vector, v: Vector, at: tuple[Vector, Vector, float]) -> float:
        """The dual objective at θ or less, as the terms of Fenchel and Young at w, Xw and P(w) tell it.

        Bounds and constraints have conjugates that these give without a search.
        """
        w, z, primal = at
        rows, mu = self.split(theta)
        if not np.isfinite(primal):
            return 0.0 if not theta.any() else -np.inf
        bracket, excess, pull = self.regulariser.bracket(w, v, np.zeros_like(v))
        gap = float(self.a @ self.loss.fenchel_young(self.y, z, -rows / self.a)) + bracket + excess * primal
        if self.constraints is not None:
            gap += self.constraints.terms(self.coef(w), mu, np.zeros_like(mu), exact=False)
        if pull is not None:
            gap += ASTRAY * float(np.abs(pull).sum())
        return max(primal - gap, 0.0)

    def dual(self, theta: Vector, v: Vector | None = None) -> float:
        """The dual objective at θ, −∞ outside its domain; v is Xᵀθ if it is known.

        A free column's x_j·θ is taken for 0, which is for `astray` to doubt, and for the kernel to prove.
        """
        lower, upper = self.dual_bounds
        if not np.all((theta >= lower) & (theta <= upper)):
            return -np.inf
        if v is None:
            v = self.correlation(theta)
        if self.regulariser.dual_scale(v) < 1.0 - 1e-12:
            return -np.inf
        conjugate = self.loss.conjugate(self.y, -theta / self.a)
        return -float(self.a @ conjugate) - self.regulariser.conjugate(v)

    def astray(self, theta: Vector, v: Vector) -> float:
        """A guess at what free columns cost whose x_j·θ is not 0, nor rounding.

        Weights are about one in good coordinates.
        """
        missed = float(np.abs(v[self.free]).sum())
        return ASTRAY * missed if missed > ROUNDED * float(np.abs(theta).sum()) else 0.0

    def judged(self, w: Vector, theta: Vector, tolerance: float) -> Checked:
        """What the kernel says of w and θ."""
        return self.as_printed(check(self, w, theta, tolerance, self.null))

    def as_printed(self, found: Checked) -> Checked:
        """With the objective that others find.

        Where next to nothing is lost, plain arithmetic gets P(w) wrong by digits that people print. Where it
        gets it too large, that is what they find too, and no false claim.
        """
        if found.width <= SEEN * found.primal:
            return found
        plain = self.primal(found.w)
        if not found.primal <= plain <= found.primal + found.width:
            return found
        return replace(found, primal=plain, known=found.primal)

    def relative(self, gap: float, objective: float) -> float:
        """The gap as a share of the objective."""
        return relative_gap(gap, objective, self.null)

    def loss_has(self, trait: Trait) -> bool:
        """Does the loss have this trait?"""
        return trait in self.loss.traits


def relative_gap(gap: float, objective: float, null: float) -> float:
    """gap / max(|objective|, 1e-4 |null objective|), 0 without a gap; none is a share of what is infinite."""
    scale = max(abs(objective), SMALL * abs(null))
    return 0.0 if gap <= 0.0 else gap / scale if 0.0 < scale < np.inf else np.inf


def _told(problem: Problem, known: dict[str, Any]) -> Problem:
    """The problem, with cached answers of another one that has the same."""
    for name, value in known.items():
        problem.__dict__.setdefault(name, value)
    return problem
