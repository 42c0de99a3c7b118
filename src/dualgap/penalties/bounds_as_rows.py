"""Forms whose bounds are linear constraints of the problem: g is that without them, the weights keep to them.

For gauges whose conjugate in a box is no formula: groups, sorted prices. Solvers see the rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from dualgap.arrays import Vector
from dualgap.penalties.forms import Constrained, Penalised
from dualgap.penalties.weight_bounds import WeightBounds


def beside_rows(form: Penalised | Constrained, box: WeightBounds) -> Penalised | Constrained:
    """The same form, its weights moved into the box to the last bit."""
    if form.constrained:
        return ConstrainedBesideRows(form.gauge, form.radius, box)
    return PenalisedBesideRows(form.gauge, form.strength, box)


@dataclass(frozen=True, eq=False)
class PenalisedBesideRows(Penalised):
    """g = strength·h."""

    ends: WeightBounds

    def feasible(self, w: Vector) -> Vector:
        return self.ends.clip(w)

    def kept(self, w: Vector) -> Vector:
        return self.ends.clip(w)


@dataclass(frozen=True, eq=False)
class ConstrainedBesideRows(Constrained):
    """g = [h ≤ radius]."""

    ends: WeightBounds

    def feasible(self, w: Vector) -> Vector:
        return self.ends.drawn(w, self.gauge.free, lambda x: self.gauge.value(x) <= self.radius)

    def kept(self, w: Vector) -> Vector:
        return self.ends.drawn(w, self.gauge.free, self.within)
