"""A bound on best subset from a split of the Gram matrix, G = R + diag(D) with R positive semidefinite.

The problem of a node:  constant − 2cᵀw + wᵀGw + price·#{w ≠ 0},  #{w ≠ 0} ≤ room.  For any vector w₀, with
v = c − Rw₀ and t_j = v_j²/D_j,

    constant − w₀ᵀRw₀ − the sum of the `room` largest (t_j − price)₊

is below every value of it: wᵀRw ≥ 2w₀ᵀRw − w₀ᵀRw₀, and what is left falls apart into columns.

Rounding is paid for. v is known to within some η (see `Drift`), so that t_j is at most (|v_j| + η)²/D_j and
w₀ᵀRw₀ = w₀·(c − v) at most η‖w₀‖₁ more than computed; sums of m terms are off by (m + few) U of their sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.addressed import Addressed
from dualgap.compiled.mechanism import compiled

SWEEPS = 3  # of coordinate descent between two bounds
CLOSE = 0.02  # a bound this near to the relaxation's own value, as a share of what is missing, is good enough
TINY = 1e-14  # the least multiplier: at zero no column would ever leave
U = 2.0**-53  # the unit roundoff


class Node(NamedTuple):
    """Arrays hold at least `size` live entries; targets are scaled to yᵀAy = 1, columns to about 1.

    No entry of `gram` is above `top` in size.
    """

    gram: Matrix
    linear: Vector
    split: Vector
    w: Vector
    constant: float
    price: float
    size: int
    room: int
    top: float


class Drift(NamedTuple):
    """What the rounding of c − Gw can have come to: |c| at most, ‖w‖₁ at the start, the length of all steps
    since, and how often an entry was rounded.
    """

    pull: float
    start: float
    moved: float
    roundings: float


@dataclass(frozen=True, eq=False)
class Scratch(Addressed):
    """Vectors of as many entries as there are columns, and more; `gain` is t at the best bound."""

    residual: Vector
    gain: Vector
    trial: Vector
    ordered: Vector


@compiled(inner=True)
def _largest(values: Vector, size: int, wanted: int, ordered: Vector) -> int:
    """The `wanted` largest values in falling order, into `ordered`; how many there are."""
    count = 0
    for j in range(size):
        x = values[j]
        if count < wanted:
            at = count
            count += 1
        elif x > ordered[wanted - 1]:
            at = wanted - 1
        else:
            continue
        while at > 0 and ordered[at - 1] < x:
            ordered[at] = ordered[at - 1]
            at -= 1
        ordered[at] = x
    return count


@compiled(inner=True)
def leaders(
    values: Vector, size: int, room: int, price: float, ordered: Vector
) -> tuple[float, float, float]:
    """The sum of the `room` largest (values − price)₊, the last of them and the first left out."""
    total = 0.0
    if room >= size:
        for j in range(size):
            total += max(values[j] - price, 0.0)
        return total, 0.0, 0.0
    _largest(values, size, room + 1, ordered)
    for at in range(room):
        total += max(ordered[at] - price, 0.0)
    last = max(ordered[room - 1] - price, 0.0) if room > 0 else 0.0
    return total, last, max(ordered[room] - price, 0.0)


@compiled(inner=True)
def _priced(u: Vector, size: int, price: float) -> tuple[float, float]:
    """min over 0 ≤ z ≤ 1 of Σ u²/z + price·z, and Σ z."""
    root, value, total = np.sqrt(price), 0.0, 0.0
    for j in range(size):
        if u[j] < root:
            value += 2.0 * root * u[j]
            total += u[j] / root
        elif u[j] > 0.0:
            value += u[j] * u[j] + price
            total += 1.0
    return value, total


@compiled(inner=True)
def _capped(u: Vector, size: int, room: int, ordered: Vector) -> tuple[float, float]:
    """min of Σ u²/z over 0 ≤ z ≤ 1, Σ z ≤ room, and the multiplier: the k-support norm, squared."""
    rest, count = 0.0, 0
    for j in range(size):
        rest += u[j]
        count += u[j] > 0.0
    value = 0.0
    for full in range(_largest(u, size, room, ordered)):
        level = rest / (room - full)
        if count > room and ordered[full] <= level:
            return value + rest * level, level * level
        value += ordered[full] * ordered[full]
        rest -= ordered[full]
    return value, 0.0


@compiled(inner=True)
def _relaxed(node: Node, scratch: Scratch) -> tuple[float, float]:
    """The value of the perspective relaxation at w, less its quadratic part, and its multiplier."""
    u = scratch.trial
    for j in range(node.size):
        u[j] = np.sqrt(node.split[j]) * abs(node.w[j])
    if node.price > 0.0:
        value, total = _priced(u, node.size, node.price)
        if total <= node.room:
            return value, node.price
    value, multiplier = _capped(u, node.size, node.room, scratch.ordered)
    return value + node.price * node.room, multiplier


@compiled(inner=True)
def _descend(node: Node, residual: Vector, multiplier: float, drift: Drift) -> Drift:
    """Coordinate descent on the relaxation at a fixed multiplier (the reverse Huber penalty), in place."""
    root = np.sqrt(multiplier)
    moved, roundings = drift.moved, drift.roundings
    for _ in range(SWEEPS):
        change = 0.0
        for j in range(node.size):
            d, g, before = node.split[j], node.gram[j, j], node.w[j]
            pull = residual[j] + g * before
            size, edge = abs(pull), root * np.sqrt(d)
            if size <= edge:
                after = 0.0
            elif (size - edge) * d <= edge * (g - d):
                after = (size - edge) / (g - d)
            else:
                after = size / g
            if pull < 0.0:
                after = -after
            step = after - before
            if step != 0.0:
                node.w[j] = after
                row = node.gram[j]
                for k in range(node.size):
                    residual[k] -= step * row[k]
                change = max(change, abs(step) * np.sqrt(g))
                moved += abs(step)
                roundings += 1.0
        if change < 1e-7:
            break
    return Drift(drift.pull, drift.start, moved, roundings)


@compiled(inner=True)
def _error(node: Node, drift: Drift) -> float:
    """η: how far c − Rw can be off, entry by entry.

    A step by s rounds an entry of the residual, which is at most |c| + top ‖w‖₁ in size, and the product with
    s, and s itself; the diagonal of D adds two roundings more.
    """
    reach = drift.pull + node.top * (drift.start + drift.moved)
    return 1.1 * U * ((drift.roundings + 6.0) * reach + 3.0 * node.top * drift.moved)


@compiled(inner=True)
def _evaluate(node: Node, scratch: Scratch, error: float) -> tuple[float, float, float]:
    """The bound at w₀ = w with t, from above, left in scratch.trial; and cᵀw, wᵀRw."""
    linear = quadratic = length = sizes = 0.0
    for j in range(node.size):
        w, d = node.w[j], node.split[j]
        v = scratch.residual[j] + d * w
        most = abs(v) + error
        scratch.trial[j] = most * most / d
        linear += node.linear[j] * w
        part = w * (node.linear[j] - v)
        quadratic += part
        length += abs(w)
        sizes += abs(part)
    total, _, _ = leaders(scratch.trial, node.size, node.room, node.price, scratch.ordered)
    rounding = error * length + (node.size + 16.0) * U * (sizes + total + abs(node.constant))
    return node.constant - quadratic - total - 1.1 * rounding, linear, quadratic


@compiled(inner=True)
def _residual(node: Node, residual: Vector) -> Drift:
    """c − Gw."""
    pull = length = roundings = 0.0
    for j in range(node.size):
        residual[j] = node.linear[j]
        pull = max(pull, abs(node.linear[j]))
    for j in range(node.size):
        if node.w[j] != 0.0:
            length += abs(node.w[j])
            roundings += 2.0
            for k in range(node.size):
                residual[k] -= node.w[j] * node.gram[j, k]
    return Drift(pull, length, 0.0, roundings)


@compiled(inner=True)
def raised(node: Node, scratch: Scratch, goal: float, multiplier: float, rounds: int) -> tuple[float, float]:
    """Raise the bound over w₀, warm from node.w, until it meets `goal` or has no more to give."""
    drift = _residual(node, scratch.residual)
    best, above = -np.inf, np.inf
    for turn in range(rounds):
        drift = _descend(node, scratch.residual, multiplier, drift)
        bound, linear, quadratic = _evaluate(node, scratch, _error(node, drift))
        if bound > best:
            best = bound
            for j in range(node.size):
                scratch.gain[j] = scratch.trial[j]
        if best >= goal:
            break
        value, ahead = _relaxed(node, scratch)
        above = min(above, node.constant - 2.0 * linear + quadratic + value)
        if above - best < max(CLOSE * (goal - best), 1e-12):
            break
        if ahead <= 0.0:
            _, last, first = leaders(scratch.gain, node.size, node.room, 0.0, scratch.ordered)
            ahead = 0.25 * (last + first)
        ahead = max(ahead, node.price, TINY)
        multiplier = ahead if turn < 3 else np.sqrt(multiplier * ahead)
    return best, multiplier


@compiled
def relax(node: Node, scratch: Scratch, goal: float, multiplier: float, rounds: int) -> tuple[float, float]:
    """The same, for Python."""
    return raised(node, scratch, goal, multiplier, rounds)
