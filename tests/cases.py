"""The instances that the contracts run over, drawn from the catalogues: a new entry there is tested here.

`MORE_LOSSES` and `MORE_PENALTIES` add parameters beyond the defaults; nothing needs to be listed in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dualgap import losses, penalties
from dualgap.arrays import Matrix, Vector
from dualgap.design import BlockDiagonal, Compressed, Dense, Design, WithOnes
from dualgap.design.remembered import Remembered
from dualgap.design.standardised import Standardised
from dualgap.losses import Loss
from dualgap.penalties import Constrained, Gauge, Penalised, Penalty, Regulariser
from dualgap.penalties.radial import Radial
from dualgap.penalties.separable import Separable
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

MORE_LOSSES: tuple[Loss, ...] = (
    losses.Tweedie(1.05),
    losses.Tweedie(1.8),
    losses.Quantile(0.9),
    losses.Quantile(0.02),
    losses.Huber(0.1),
    losses.Huber(30.0),
    losses.EpsilonInsensitive(0.0),
    losses.EpsilonInsensitive(2.0),
    losses.SquaredEpsilonInsensitive(0.0),
    losses.SquaredEpsilonInsensitive(2.0),
)
MORE_PENALTIES: tuple[Penalty, ...] = (
    penalties.ElasticNet(0.01),
    penalties.ElasticNet(20.0),
    penalties.Lp(1.0),
    penalties.Lp(1.1),
    penalties.Lp(2.0),
    penalties.Lp(3.0),
    penalties.Lp(7.0),
    penalties.SparseGroup(0.3, parts=(0, 0, 1, 1, 0, 2)),
    penalties.Fused(2),
    penalties.Fused(3),
)

ALL_LOSSES: list[Loss] = [*(cls() for cls in losses.CATALOGUE.values()), *MORE_LOSSES]
LOSSES: list[Loss] = [loss for loss in ALL_LOSSES if Trait.CONVEX in loss.traits]


def bound(penalty: Penalty, p: int) -> Penalty:
    """The penalty on p columns; groups begin as those it was given."""
    if not penalty.takes_groups:
        return penalty
    return penalty.grouped(np.arange(p) // 2 if penalty.parts is None else np.resize(penalty.parts, p))


PENALTIES: list[Penalty] = [
    penalty
    for penalty in (*(cls() for cls in penalties.CATALOGUE.values()), *MORE_PENALTIES)
    if Trait.CONVEX in bound(penalty, 2).gauge(np.ones(2), np.ones(2)).traits
]

FACTORS = np.array([1.0, 0.25, 0.0, 3.0, 1.0, 0.5])
SCALES = np.array([0.5, 20.0, 1.0, 0.03, 4.0, 1.0])


@dataclass(frozen=True)
class GaugeCase:
    """A penalty bound to any number of columns in one way."""

    label: str
    build: Callable[[int], Gauge]

    def __str__(self) -> str:
        return self.label


def _gauge_cases() -> Iterator[GaugeCase]:
    # solvers see differences in other coordinates, by another gauge; they have laws of their own
    for penalty in (one for one in PENALTIES if not one.ordered):

        def plain(p: int, penalty: Penalty = penalty) -> Gauge:
            return bound(penalty, p).gauge(np.ones(p), np.ones(p))

        def scaled(p: int, penalty: Penalty = penalty) -> Gauge:
            # under a sorted norm solvers see columns of one scale
            scales = np.full(p, 0.03) if penalty.name == "slope" else SCALES[:p]
            return bound(penalty, p).gauge(np.ones(p), scales)

        def factored(p: int, penalty: Penalty = penalty) -> Gauge:
            parts = bound(penalty, p).parts
            factors = FACTORS[:p] if parts is None else FACTORS[np.array(parts) + 1]
            return bound(penalty, p).gauge(factors, SCALES[:p])

        def extended(p: int, penalty: Penalty = penalty) -> Gauge:
            return bound(penalty, p - 1).gauge(np.ones(p - 1), np.ones(p - 1)).extended()

        name = f"{penalty}" if penalty.parts is None else f"{penalty}{penalty.parts}"
        yield GaugeCase(name, plain)
        yield GaugeCase(f"{name}-scaled", scaled)
        yield GaugeCase(f"{name}-free", extended)
        if penalty.takes_factors:
            yield GaugeCase(f"{name}-factors", factored)


def _lengths(factors: Vector, scales: Vector) -> GaugeCase:
    """Pairs of neighbours, each priced by its length."""

    def build(p: int) -> Gauge:
        half = (p + 1) // 2
        one, unit = factors[:half], scales[:half]
        return Radial(Separable(one * unit, 0.5 * one * unit * unit), np.arange(p) // 2)

    return GaugeCase(f"lengths{factors}", build)


GAUGES: list[GaugeCase] = [
    *_gauge_cases(),
    _lengths(np.ones(3), np.ones(3)),
    _lengths(np.array([0.25, 0.0, 3.0]), SCALES),
    GaugeCase("lengths-free", lambda p: _lengths(np.ones(3), SCALES).build(p - 1).extended()),
]

DESIGNS: dict[str, Callable[[Matrix], Design]] = {
    "dense": Dense,
    "dense-fortran": lambda array: Dense(np.asfortranarray(array)),
    "dense-strided": lambda array: Dense(np.repeat(array, 2, axis=1)[:, ::2]),
    "csr": lambda array: Compressed(sp.csr_array(array)),
    "csc": lambda array: Compressed(sp.csc_array(array)),
    "dense-ones": lambda array: WithOnes(Dense(array)),
    "csc-ones": lambda array: WithOnes(Compressed(sp.csc_array(array))),
    "standardised": lambda array: _standardised(Dense(array)),
    "remembered": Remembered,
    "blocks": lambda array: BlockDiagonal((Dense(array),)),
    "csr-standardised": lambda array: _standardised(Compressed(sp.csr_array(array))),
}


def _standardised(inner: Design) -> Design:
    p = inner.shape[1]
    return Standardised(inner, np.linspace(-1.0, 2.0, p), np.linspace(0.5, 3.0, p))


def numbers(size: float = 10.0) -> st.SearchStrategy[float]:
    """Zero, or floats from 1e-9 `size` up to `size`; the values at which things break are drawn often."""
    special = st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5, size, -size])
    return st.one_of(special, st.floats(-size, size).map(lambda x: x if abs(x) > 1e-9 * size else 0.0))


def vectors(length: int, size: float = 10.0) -> st.SearchStrategy[Vector]:
    """Read-only vectors: what is under test may not write to its arguments."""
    return hnp.arrays(np.float64, length, elements=numbers(size)).map(_read_only)


def shares(length: int) -> st.SearchStrategy[Vector]:
    """Positive weights that add up to one."""
    raw = hnp.arrays(np.float64, length, elements=st.floats(0.05, 1.0))
    return raw.map(lambda a: _read_only(a / a.sum()))


def targets(loss: Loss, length: int) -> st.SearchStrategy[Vector]:
    """Labels of both signs for a classification loss, else numbers that the loss takes, not all the least."""
    if Trait.MEANS in loss.traits:
        top = min(loss.highest, 10.0)
        inside = st.floats(0.01, 0.9 * top)
        ends = st.sampled_from([max(loss.lowest, 0.0 if loss.lowest == 0.0 else 0.01), 1.0])
        numbers_ = hnp.arrays(np.float64, length, elements=st.one_of(ends, inside))
        return numbers_.map(lambda y: _read_only(np.append(y[:-1], 0.5)))
    if Trait.CLASSIFICATION not in loss.traits:
        return vectors(length)
    label = st.sampled_from([-1.0, 1.0])
    signs = hnp.arrays(np.float64, length, elements=label)
    return signs.map(lambda y: _read_only(np.append(y[:-2], [1.0, -1.0])))


@st.composite
def gauge_and_points(draw: st.DrawFn, case: GaugeCase, count: int = 1) -> tuple[Gauge, list[Vector]]:
    """The gauge on 2 to 6 columns with `count` vectors of a size between 1e-3 and 1e3."""
    p = draw(st.integers(2, 6))
    size = 10.0 ** draw(st.integers(-3, 3))
    return case.build(p), [draw(vectors(p, size)) for _ in range(count)]


def positive_numbers() -> st.SearchStrategy[float]:
    """Strengths, radii and steps from 1e-3 to 1e3."""
    return st.floats(-3.0, 3.0).map(lambda exponent: 10.0**exponent)


def regulariser(gauge: Gauge, form: str, amount: float) -> Regulariser:
    """Either form of a gauge."""
    return Penalised(gauge, amount) if form == "penalised" else Constrained(gauge, amount)


FORMS = ("penalised", "constrained")


def problem(
    loss: Loss, penalty: Penalty, form: str, *, seed: int, design: str = "dense", intercept: bool = True
) -> Problem:
    """A small problem with columns of very different size, one of them constant."""
    rng = np.random.default_rng(seed)
    n, p = 14, 5
    array = rng.normal(size=(n, p)) * np.array([1.0, 50.0, 0.02, 3.0, 1.0])
    array[:, 3] += 40.0
    array[:, 4] = 2.0
    array[rng.random((n, p)) < 0.2] = 0.0 if design.startswith("cs") else 1.0
    y = 30.0 + 7.0 * rng.normal(size=n)
    if Trait.CLASSIFICATION in loss.traits:
        y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    if Trait.MEANS in loss.traits:
        y = taken(loss, 0.1 * y)
    weights = rng.integers(1, 4, n).astype(float)
    gauge = bound(penalty, p).gauge(np.ones(p), np.ones(p))
    amount = 10.0 ** rng.uniform(-3, 1)
    if intercept:
        gauge = gauge.extended()
    data = DESIGNS[design](array)
    return Problem(
        WithOnes(data) if intercept else data,
        y,
        weights / weights.sum(),
        loss,
        regulariser(gauge, form, amount),
        intercept,
    )


def taken(loss: Loss, y: Vector) -> Vector:
    """Numbers as targets that the loss takes: their sizes, some of them at the least that it takes."""
    if Trait.MEANS not in loss.traits:
        return y
    size = np.abs(y) / float(np.abs(y).max()) if loss.highest < np.inf else np.abs(y) + 0.01
    least = np.quantile(size, 0.2)
    return np.where(size <= least, loss.lowest, size) if loss.lowest == 0.0 else size


def _read_only(array: Vector) -> Vector:
    array.flags.writeable = False
    return array
