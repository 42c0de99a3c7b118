"""Several classes at once: the same sum of terms, each the divergence of two distributions (softmax), or what
the own class is short of being ahead of all others by one, less the mean of that over a distribution (hinge).

A dual point is given by its entries off the row's own class, φ_ik = −θ_ik ≥ 0 with Σ_k φ_ik ≤ a_i: then
π_ik = φ_ik/a_i, what is left belongs to the own class, and Σ_k θ_ik = 0 holds by construction.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.losses.base import FAINT, divergence
from dualgap.losses.joint import joint_hinge
from dualgap.proof.balance import grid, orthogonal, taken
from dualgap.proof.check import AWAY, SLACK, Checked, coarse, inside, told
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rounding import FEW, LEAST, U, gamma, total, two_sum
from dualgap.proof.statement import SMALL, Statement


class Joint(Statement):
    """A statement whose targets are class numbers; w holds the classes one after another."""

    classes: int


def check_joint(
    problem: Joint, w: Vector, theta: Matrix, tolerance: float = 0.0, null: float = 0.0
) -> Checked:
    """Both values at w, class after class with its intercept last, and at a feasible point near θ."""
    with PlainArithmetic():
        given, w = w, inside(problem, w)
        found = _checked(problem, w, theta, exact=False)
        wanted = tolerance * max(found.primal, SMALL * null)
        if coarse(found, wanted):
            found = replace(_checked(problem, w, theta, exact=True).improved(found), width=found.width)
    return found if w is given else replace(found, moved=True)


def _checked(problem: Joint, w: Vector, theta: Matrix, *, exact: bool) -> Checked:
    a, own = problem.a, problem.y.astype(np.intp)
    rows, classes = np.arange(len(own)), problem.classes
    z, error = _scores(problem, w, own, exact=exact)
    primal, width = _values(problem, w, z, error)
    phi, slack = _feasible(problem, theta, own, exact=exact)
    full = -phi
    full[rows, own] = spent = phi.sum(axis=1)
    v, reach = _correlations(problem, full, gamma(classes) * total(spent) + total(slack), exact=exact)
    share = phi / a[:, None] * AWAY
    step = slack / a[:, None] + 16.0 * U * share  # what it may be off by
    share[rows, own] = 1.0 - share.sum(axis=1)
    terms, loose = (_short if joint_hinge(problem.loss) else _divergent)(z, error, share, step, own)
    bracket, excess = problem.regulariser.fenchel_young(w, v, reach)
    along = float(np.abs(w) @ np.abs(v))
    rounding = width + total(a * loose) + SLACK * (primal + bracket + along) + excess * primal
    gap = total(a * terms) + bracket + rounding
    return told(Checked(w, full, primal, gap, rounding, v, reach, width=width))


def _divergent(z: Matrix, error: float, share: Matrix, step: Matrix, own: Index) -> tuple[Vector, Vector]:
    """The divergence of the shares from the softmax of the scores, row by row, and what may hide in it."""
    rows, classes = np.arange(len(own)), z.shape[1]
    model, depth = _softmax(z)
    terms = divergence(share, model, depth).sum(axis=1)
    # a step up to the share itself costs no more than it times the slope and one, here and in the own class
    slope = np.abs(np.log(np.maximum(share, LEAST)) + depth)
    there = slope[rows, own]
    loose = (step * (slope + there[:, None] + 2.0)).sum(axis=1) + gamma(classes + 2) * there
    return terms, loose + error * (np.abs(model - share).sum(axis=1) + error)


def _short(z: Matrix, error: float, share: Matrix, step: Matrix, own: Index) -> tuple[Vector, Vector]:
    """max_k (1[k ≠ y] + z_k) less its mean over the shares, a sum of terms ≥ 0, and what may hide in it."""
    ahead = _ahead(z, own)
    behind = ahead.max(axis=1, keepdims=True) - ahead
    terms = (np.maximum(share, 0.0) * behind).sum(axis=1)
    most = behind.max(axis=1)
    # a share that is off by a step is so at the expense of the own class's
    loose = most * (2.0 * step.sum(axis=1) + gamma(z.shape[1] + 4)) + FEW * terms
    return terms, loose + 2.0 * error


def _ahead(z: Matrix, own: Index) -> Matrix:
    """1[k ≠ y] + z_k, for scores counted from the own class's."""
    ahead = 1.0 + z
    ahead[np.arange(len(own)), own] = 0.0
    return ahead


def _scores(problem: Joint, w: Vector, own: Index, *, exact: bool) -> tuple[Matrix, float]:
    """Xw + b less that of the row's own class, a column per class, and the error of each entry.

    Scores may be huge and their differences small: what is rounded of a score is kept beside it.
    """
    table = w.reshape(problem.classes, len(w) // problem.classes)
    coefs, levels = (table[:, :-1], table[:, -1]) if problem.intercept else (table, np.zeros(len(table)))
    shape = problem.rows.n, problem.classes
    high, rest, most = np.empty(shape), np.empty(shape), 0.0
    for k, (coef, level) in enumerate(zip(coefs, levels, strict=True)):
        value, low, error = problem.rows.times(coef, exact=exact)
        high[:, k], rounded = two_sum(value, np.full(len(value), level))
        rest[:, k] = rounded + low
        most = max(most, error)
    mine = np.arange(len(own)), own
    z = (high - high[mine][:, None]) + (rest - rest[mine][:, None])
    far = float(np.abs(z).max(initial=0.0)) + 2.0 * float(np.abs(rest).max(initial=0.0))
    return z, 2.0 * most + 4.0 * U * far


def _values(problem: Joint, w: Vector, z: Matrix, error: float) -> tuple[float, float]:
    """P(w) from above, and how far below that it may be."""
    if joint_hinge(problem.loss):
        losses = _ahead(z, problem.y.astype(np.intp)).max(axis=1)
        return _priced(problem, w, losses, total(problem.a) * error)
    losses, steep = softmax_losses(z, error, problem.y.astype(np.intp))
    return _priced(problem, w, losses, total(problem.a * steep) * error)


def softmax_losses(z: Matrix, error: float, own: Index) -> tuple[Vector, Vector]:
    """The loss of each row, and its slopes added up at most, within the error of the scores."""
    top = z.max(axis=1)  # ≥ 0, which is the own class's
    others = np.exp(z - top[:, None])
    others[np.arange(len(z)), own] = 0.0
    tail = others.sum(axis=1)
    losses = np.where(top > 0.0, top + np.log(np.exp(-top) + tail), np.log1p(tail))
    # the slopes of a row's loss add up to at most one, and to e^loss − 1 times what its error makes of that
    return losses, np.minimum(1.0, 2.0 * losses * np.exp(error))


def _priced(problem: Joint, w: Vector, losses: Vector, spread: float) -> tuple[float, float]:
    """The losses and the penalty, with what the errors of scores may add and what rounding may hide."""
    risk = total(problem.a * losses) if problem.a.min() >= FAINT else np.inf
    priced, doubt = problem.regulariser.priced(w)
    lost = FEW * (risk + spread + priced) + doubt + 8.0 * LEAST * (problem.classes * len(losses) + len(w))
    return risk + spread + priced + lost, 2.0 * (spread + lost)


def _softmax(z: Matrix) -> tuple[Matrix, Matrix]:
    """The probabilities, and their −log, which does not underflow."""
    behind = z.max(axis=1, keepdims=True) - z
    size = np.exp(-behind)
    whole = size.sum(axis=1, keepdims=True)
    return size / whole, behind + np.log(whole)


def _correlations(problem: Joint, theta: Matrix, slack: float, *, exact: bool) -> tuple[Vector, Vector]:
    parts = [problem.rows.against(np.ascontiguousarray(column), exact=exact) for column in theta.T]
    more = slack * problem.rows.tops
    blank = np.zeros(1 if problem.intercept else 0)
    v = [np.append(value, blank) for value, _ in parts]
    return np.concatenate(v), np.concatenate([np.append(error + more, blank) for _, error in parts])


def _feasible(problem: Joint, theta: Matrix, own: Index, *, exact: bool) -> tuple[Matrix, Matrix]:
    """φ in its domain and balanced against what is free, and how far off the exact point can be."""
    phi = np.maximum(-theta, 0.0, order="C")  # so that sums over the classes are made in pairs
    phi[np.arange(len(own)), own] = 0.0
    room = problem.a * (1.0 - 2.0 * FEW)
    phi *= (room / np.maximum(phi.sum(axis=1) * (1.0 + FEW), room))[:, None]
    nothing = np.zeros_like(phi)
    if not np.all(np.isfinite(phi)):
        return nothing, nothing
    if problem.free_features.any():
        return _against_columns(problem, phi, own, exact=exact)
    return _circulating(phi, own) if problem.intercept else phi, nothing


def _circulating(phi: Matrix, own: Index) -> Matrix:
    """φ with Σ_i θ_ik = 0 for every class, exactly: what flows from a class to others also flows back.

    Entries become whole multiples of a power of two; a surplus is taken from the flows that lead to a class
    which lacks. There are such: else all that is reached from a surplus would give more than it gets.
    """
    units, exponent = grid(phi)
    flow = np.array([units[own == k].sum(axis=0) for k in range(phi.shape[1])])
    while (surplus := flow.sum(axis=1) - flow.sum(axis=0)).any():
        way = _way(flow, surplus)
        legs = list(pairwise(way))
        amount = min(surplus[way[0]], -surplus[way[-1]], *(flow[leg] for leg in legs))
        for giver, taker in legs:
            rows = np.flatnonzero(own == giver)
            units[rows, taker] -= taken(units[rows, taker], int(amount))
            flow[giver, taker] -= amount
    return np.asarray(np.ldexp(units.astype(np.float64), exponent))


def _way(flow: Any, surplus: Any) -> list[int]:
    """From a class with a surplus to one that lacks, along flows, as short as can be."""
    ways = [[int(k)] for k in np.flatnonzero(surplus > 0)]
    seen = {way[0] for way in ways}
    for way in ways:
        for k in np.flatnonzero(flow[way[-1]]).tolist():
            if surplus[k] < 0:
                return [*way, k]
            if k not in seen:
                seen.add(k)
                ways.append([*way, k])
    raise AssertionError("flows do not add up")


def _against_columns(problem: Joint, phi: Matrix, own: Index, *, exact: bool) -> tuple[Matrix, Matrix]:
    """Each class's θ orthogonal to the free columns: one linear constraint on φ per class but the last."""
    F = problem.free_columns(exact=exact)[0]
    off = np.ones(phi.shape, dtype=bool)
    off[np.arange(len(own)), own] = False
    row, other = np.nonzero(off)
    sides = [(own[row] == k).astype(np.float64) - (other == k) for k in range(phi.shape[1] - 1)]
    A = np.hstack([F[row] * side[:, None] for side in sides])
    # bounds that leave each entry an even part of what its row has left: then the row keeps within its weight
    left = np.maximum(problem.a * (1.0 - 2.0 * FEW) - phi.sum(axis=1) * (1.0 + FEW), 0.0)
    entries = phi[row, other]
    upper = entries + left[row] / phi.shape[1] * (1.0 - FEW)
    found = orthogonal(A, entries, (np.zeros(len(row)), upper), exact=exact)
    full, slack = np.zeros_like(phi), np.zeros_like(phi)
    if found is not None and not len(found.open_):
        full[row, other], slack[row, other] = found.theta, found.reach
    return full, slack
