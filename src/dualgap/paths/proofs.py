"""Duality gaps of the points of a path, each as the kernel gives it on the problem that was asked."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.paths.curve import SolutionCurve
from dualgap.paths.family import Family
from dualgap.penalties.separable import Separable
from dualgap.proof.check import check_many
from dualgap.proof.statement import SMALL

BLOCK = 1 << 22  # numbers in a block of dual points
GOOD = 1e-9  # a relative gap above this is looked at again alone, in as many digits as it takes


def relative_gaps(family: Family, curve: SolutionCurve, form: str) -> Vector:
    """One relative gap per point of the curve."""
    lams, weights = curve.lams, curve.weights()
    given = family.points(weights)
    gaps = np.full(len(lams), np.inf)
    step = max(1, BLOCK // (family.asked.n + family.asked.p))
    for first in range(0, len(lams), step):
        which = np.arange(first, min(first + step, len(lams)))
        thetas = curve.thetas(which)
        together = which[lams[which] > 0.0]
        if form == "penalised" and len(together):
            some = None if thetas is None else thetas[together - first]
            gaps[together] = _together(family, lams[together], given[together], some)
        for k in which[~(gaps[which] <= GOOD)]:
            lam, w = float(lams[k]), weights[k]
            working = family.at(lam) if form == "penalised" else family.within(family.value(w))
            found = family.judged(working, given[k], None if thetas is None else thetas[k - first])
            gaps[k] = min(float(gaps[k]), working.asked.relative(found.gap, found.primal))
    return gaps


def _together(family: Family, lams: Vector, given: Matrix, thetas: Matrix | None) -> Vector:
    """Points at once, where the intercept alone is free; those for which that is not so at infinity."""
    asked = family.asked
    elastic = asked.regulariser.gauge.elastic
    if asked.bounded or elastic is None or np.count_nonzero(asked.free) > asked.intercept:
        return np.full(len(lams), np.inf)
    with np.errstate(all="ignore"):
        if thetas is None:
            z = np.asarray((asked.rows.matrix @ given[:, : asked.rows.p].T).T)
            z = z + given[:, -1:] if asked.intercept else z
            theta = -asked.a * asked.loss.derivative(asked.y, z)
        else:
            theta = np.array([family.working.theta(row) for row in thetas])
        primal, dual = check_many(asked, Separable(*elastic), lams * family.unit, given, theta)
    gaps = primal - dual
    scale = np.maximum(primal, SMALL * abs(asked.null))
    return np.where(gaps == 0.0, 0.0, gaps / np.where(scale > 0.0, scale, 1.0))
