"""What is minimised, apart from the data: loss, penalty, strength and the weights of rows and columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dualgap.arrays import Mask, Vector, are_ones, once, ones
from dualgap.design import Design, WithOnes
from dualgap.device.arrivals import to_host
from dualgap.errors import DataError
from dualgap.losses import Loss
from dualgap.losses.shifted import with_offset
from dualgap.penalties import Penalised, Penalty, Regulariser
from dualgap.penalties.base import Gauge
from dualgap.penalties.bounded import bounded
from dualgap.penalties.bounds_as_rows import beside_rows
from dualgap.penalties.forms import unregularised
from dualgap.penalties.weight_bounds import WeightBounds
from dualgap.problem.problem import Problem
from dualgap.proof.check import Checked
from dualgap.proof.constraints import Constraints
from dualgap.traits import Trait

if TYPE_CHECKING:
    from dualgap.proof.certificate import Certificate, Task


GAUGES = 16  # gauges that are kept: what they know of themselves took a tenth of a fit of 442 × 10 numbers


@dataclass(frozen=True, eq=False)
class OneTask:
    """A problem on the rows that count, and θ given for all rows."""

    problem: Problem
    used: Mask
    tolerance: float

    def judged(self, w: Vector, theta: Any) -> Checked:
        """What the kernel says."""
        return self.problem.judged(w, self.counted(theta), self.tolerance)

    def counted(self, theta: Any) -> Any:
        """θ of the rows that count, the multipliers of constraints behind it."""
        count = len(self.used)
        if len(theta) == count:
            return theta[self.used]
        return np.append(theta[:count][self.used], theta[count:])


@dataclass(frozen=True, eq=False)
class Objective:
    """Enough to state the problem again for any X and y of the right shape."""

    loss: Loss
    penalty: Penalty
    lam: float | None
    budget: float | None
    fit_intercept: bool
    sample_weight: Vector
    factors: Vector
    scale: Vector  # the penalty is that of scale ∘ w; ones unless standardised
    bounds: WeightBounds | None = field(
        default=None, kw_only=True
    )  # of the weights, the intercept not among them
    constraints: Constraints | None = field(default=None, kw_only=True)
    offset: Vector | None = field(default=None, kw_only=True)  # a number a row, added to its prediction
    offset_name: str | None = field(default=None, kw_only=True)  # the column of X that it was in

    hard: ClassVar[bool] = False  # C = ∞: no loss at all is allowed

    def alone(self, k: int) -> Objective:
        """That of output k."""
        return replace(self, loss=self.loss.each[k]) if self.loss.each else self

    def size(self, coef: Any) -> float:
        """h of weights; of several classes or outputs that of the whole table, as they are priced jointly."""
        table = np.atleast_2d(coef)
        penalty, count = self.penalty.at(self.lam or 1.0).tiled(len(table), False), len(table)
        return penalty.gauge(np.tile(self.factors, count), np.tile(self.scale, count)).value(table.ravel())

    @once
    def used(self) -> Mask:
        """Mask of the rows that count."""
        return np.asarray(self.sample_weight > 0)

    @once
    def all_used(self) -> bool:
        """Does every row count?"""
        return are_ones(self.sample_weight) or bool(self.used.all())

    @once
    def regulariser(self) -> Regulariser:
        """The penalty as solvers see it, the intercept free behind the columns."""
        box = self._box
        return (
            bounded(self._plain, box) if self.held is None or box is None else beside_rows(self._plain, box)
        )

    @once
    def rows(self) -> Constraints | None:
        """The linear constraints of the problem; bounds are among them where the penalty knows no box."""
        if self.held is None or self.bounds is None:
            return self.constraints
        ends = self.bounds.low[self.held], self.bounds.high[self.held]
        bounds = Constraints(np.eye(len(self.scale))[self.held], *ends)
        return bounds if self.constraints is None else self.constraints.beside(bounds)

    @once
    def held(self) -> Mask | None:
        """Which weights have bounds that are stated as rows, one a weight; None where they are a box."""
        if self.bounds is None:
            return None
        gauge = self._plain.gauge
        if gauge.elastic is not None or gauge.ball is not None:
            return None
        return ~self.bounds.open_

    def bound_multipliers(self, w: Vector, v: Vector, mu: Vector) -> Vector | None:
        """Those of the bounds: as w and v = Xᵀθ imply them, or from behind those of the constraints."""
        if self.held is None:
            found = self.regulariser.bound_multipliers(w, v)
            return found[: len(self.scale)] if found is not None else None
        by_weight = np.zeros(len(self.scale))
        by_weight[self.held] = mu[len(mu) - np.count_nonzero(self.held) :]
        return by_weight

    @property
    def _box(self) -> WeightBounds | None:
        if self.bounds is None or not self.fit_intercept:
            return self.bounds
        return WeightBounds(np.append(self.bounds.low, -np.inf), np.append(self.bounds.high, np.inf))

    @property
    def _plain(self) -> Regulariser:
        """Without bounds."""
        p = len(self.scale)
        if self.budget is None and not self.lam:
            return unregularised(p + self.fit_intercept)
        gauge = self._gauge
        if self.budget is not None:
            return self.penalty.within(gauge, self.budget)
        assert self.lam is not None
        return Penalised(gauge, self.lam)

    @property
    def _gauge(self) -> Gauge:
        """h of the weights, the intercept free behind the columns."""
        penalty, factors, scale = self.penalty.at(self.lam or 1.0), self.factors, self.scale
        if penalty.even and are_ones(factors) and are_ones(scale):
            return _priced_alike(penalty, len(scale), self.fit_intercept)
        gauge = penalty.gauge(factors, scale)
        return gauge.extended() if self.fit_intercept else gauge

    @property
    def dual_unit(self) -> float | None:
        """α/θ where w = Σ α x, which the squared norm makes it; None with another penalty or a budget."""
        if not self.lam or Trait.QUADRATIC not in self.regulariser.traits:
            return None
        return 0.5 / self.lam

    def dual_limits(self) -> Vector:
        """The largest |θ| that each row can have, infinite where there is no end."""
        if self.hard:
            return np.full(len(self.sample_weight), np.inf)
        steepest = float(np.abs(self.loss.domain(np.ones(1))).max())
        limits: Vector = self.sample_weight / self.sample_weight.sum()
        limits[self.used] *= steepest
        return limits

    def problem(self, design: Design, y: Vector) -> Problem:
        """The problem on these data; rows of weight zero are left out."""
        weights = self.sample_weight
        loss, y = with_offset(self.loss, y, self.offset)
        if not self.all_used:
            design, y, weights = design.rows(self.used), y[self.used], weights[self.used]
        if (
            self.regulariser.gauge.sums is not None
        ):  # signals, whose proof then goes over their diagonal alone
            design = design.thinned()
        full = WithOnes(design) if self.fit_intercept else design
        return Problem(
            full,
            y,
            weights / weights.sum(),
            loss,
            self.regulariser,
            self.fit_intercept,
            constraints=self.rows,
        )

    def shifted(self, scores: Vector) -> Vector:
        """Xw + b on the rows of the fit, or strengths × rows of them, with their offset."""
        return scores if self.offset is None else scores + self.offset

    def tasks(self, certificate: Certificate, X: Any, y: Any) -> Sequence[Task]:
        """The problem stated again on the rows given: one per class where each is held against the rest."""
        from dualgap.fitting.inputs import read_table
        from dualgap.fitting.offsets import without
        from dualgap.fitting.targets import class_numbers, read_targets

        X, y = to_host(X), to_host(y)
        design = read_table(without(X, self.offset_name), learn=True).design
        rows, columns = len(self.sample_weight), len(self.scale)
        if design.shape != (rows, columns):
            raise DataError(
                f"This certificate is for {rows} rows and {columns} columns, "
                f"X has {design.shape[0]} and {design.shape[1]}."
            )
        if certificate.search is not None:
            from dualgap.fitting.searched import search_tasks

            return search_tasks(self, certificate, design, y)
        classes, tolerance = certificate.classes, certificate.tolerance
        if Trait.CONVEX not in self.loss.traits & self.regulariser.traits:
            raise DataError(f"{self.words()} is not convex: only a search proves a bound, and none is named.")
        if certificate.form == "multinomial" and classes is not None:
            from dualgap.fitting.joint_problem import joint_problem
            from dualgap.losses.joint import joint_hinge

            if Trait.ENTROPIC not in self.loss.traits and not joint_hinge(self.loss):
                raise DataError(f"All classes jointly are a form of logistic and hinge, not of {self.loss}.")

            numbers = class_numbers(y, rows, classes)
            return [OneTask(joint_problem(self, design, numbers, len(classes)), self.used, tolerance)]
        if certificate.form in ("outputs", "joint"):
            from dualgap.fitting.outputs import output_tasks

            return output_tasks(self, certificate, design, y)
        positive = (1,) if certificate.form == "single" else range(len(classes or ()))
        targets = [read_targets(y, rows, classes, k) for k in positive]
        for one in targets:
            self.loss.check_targets(one[self.used])
        return [OneTask(self.problem(design, one), self.used, tolerance) for one in targets]

    def words(self) -> str:
        """The objective in one line."""
        return ", ".join([self._priced(), *self.signs()])

    def _priced(self) -> str:
        loss = f"mean {self.loss} loss{self._from()}"
        if self.budget is not None:
            return loss + self._in_numbers(self.penalty.subject(self.budget)) + self._details()
        if not self.lam:
            return f"{loss}, no penalty"
        return f"{loss} + {self.lam:.6g} * ({self._in_numbers(self.penalty.formula)}){self._details()}"

    def signs(self) -> list[str]:
        """Bounds and constraints in words."""
        said, bounds = [], self.bounds
        if bounds is not None:
            held = int(np.count_nonzero(~bounds.open_))
            alike = held == len(bounds.low) and len(set(zip(bounds.low, bounds.high, strict=True))) == 1
            said.append(_interval(bounds) if alike else f"{held} weight{'s' * (held > 1)} with bounds")
        if self.constraints is not None:
            count = len(self.constraints)
            said.append(f"{count} linear constraint{'s' * (count > 1)}")
        return said

    def _from(self) -> str:
        """What predictions are counted from."""
        if self.offset is None:
            return ""
        return " with an offset" + ("" if self.offset_name is None else f" ({self.offset_name})")

    def _in_numbers(self, formula: str) -> str:
        """The penalty's formula with its parameters filled in."""
        for name, value in self.penalty.parameters.items():
            formula = re.sub(rf"\b{name}\b", f"{value:g}", formula)
        return formula

    def _details(self) -> str:
        """How the penalty sees the columns, where not all alike."""
        said = []
        if np.any(self.scale != 1.0):
            said.append("w per standard deviation")
        if np.any(self.factors != 1.0):
            said.append("with penalty factors")
        return f" [{', '.join(said)}]" if said else ""


@lru_cache(GAUGES)
def _priced_alike(penalty: Penalty, count: int, tied: bool) -> Gauge:
    gauge = penalty.gauge(ones(count), ones(count))
    return gauge.extended() if tied else gauge


def _interval(bounds: WeightBounds) -> str:
    """The same ends for all weights."""
    low, high = float(bounds.low[0]), float(bounds.high[0])
    below = "" if np.isinf(low) else f"{low:g} <= "
    above = "" if np.isinf(high) else f" <= {high:g}"
    return f"w >= {low:g}" if not above else f"{below}w{above}"


def column_scales(design: Design, sample_weight: Vector, *, centred: bool) -> Vector:
    """Weighted standard deviation of each column (root mean square without an intercept); 1 if constant."""
    a = sample_weight / sample_weight.sum()
    mean = design.transpose_matvec(a) if centred else None
    return spreads(design, a, design.weighted_square_norms(a), mean)


def spreads(design: Design, a: Vector, square: Vector, mean: Vector | None) -> Vector:
    """Standard deviations from mean squares and means (about zero where there are none); 1 if constant."""
    if mean is not None:
        variance = square - mean * mean
        doubtful = (variance <= 1e-6 * square) & (square > 0)  # cancellation: compute these again, centred
        for j in np.flatnonzero(doubtful):
            column = design.columns(np.array([j])).toarray()[:, 0]
            variance[j] = a @ (column - mean[j]) ** 2
            if column.min() == column.max():
                variance[j] = 0.0
        square = variance
    scale = np.sqrt(np.maximum(square, 0.0))
    scale[scale == 0.0] = 1.0
    return scale
