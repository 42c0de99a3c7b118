"""A path as the engine left it: breakpoints, what changed at each, and the answers between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.homotopy_course import KINKED, PIECE, SLOPE_AT
from dualgap.paths.engine import Engine, Records


@dataclass(frozen=True, eq=False)
class Trace:
    """Answers in the working coordinates; s is λ, or 1/λ for a straight loss with squares."""

    engine: Engine
    records: Records
    first: Vector  # codes of weights and rows before the first record
    status: int

    @property
    def inverse(self) -> bool:
        """Is s = 1/λ?"""
        return bool(self.engine.columns.l2.any())

    @property
    def constant(self) -> bool:
        """Do the weights stay as they are between breakpoints?"""
        return not self.engine.curved and not self.inverse

    @property
    def lams(self) -> Vector:
        """λ of every record, falling."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.records.level if self.inverse else self.records.level

    def segment(self, lam: float) -> int:
        """The record after which λ lies (where several share a λ, the last)."""
        k = int(np.searchsorted(-self.lams, -lam, side="right")) - 1
        return min(max(k, 0), len(self.records) - 1)

    def values(self, k: int) -> Vector:
        """Weights, then multipliers, of record k."""
        r = self.records
        both = np.zeros(self.engine.p + self.engine.n)
        part = slice(r.start[k], r.start[k + 1])
        both[r.slots[part]] = r.values[part]
        return both

    def codes(self, k: int) -> Vector:
        """Codes of weights and rows on the segment after record k."""
        r, code = self.records, self.first.copy()
        keys, values = r.keys[: k + 1].ravel(), r.codes[: k + 1].ravel()
        seen = keys >= 0
        code[keys[seen]] = values[seen]
        return code

    def between(self, lam: float) -> tuple[int, float]:
        """The segment of λ, and how far along it λ lies."""
        k = self.segment(lam)
        if k + 1 >= len(self.records):
            return k, 0.0
        s = 1.0 / lam if self.inverse else lam
        here, there = self.records.level[k], self.records.level[k + 1]
        return k, float((s - here) / (there - here)) if there != here else 0.0

    def weights(self, lam: float) -> Vector:
        """The working weights at λ."""
        k, share = self.between(lam)
        v = self.values(k)[: self.engine.p]
        if share != 0.0 and not self.constant:
            v = v + share * (self.values(k + 1)[: self.engine.p] - v)
        return self.engine.columns.working(v)

    def theta(self, lam: float, w: Vector) -> Vector:
        """The dual point at λ."""
        engine, problem = self.engine, self.engine.problem
        if engine.curved:
            return problem.slope(problem.design.matvec(w))
        k, share = self.between(lam)
        code = self.codes(k)[engine.p :].astype(np.int64)
        piece, kinked = code >> 1, (code & 1) == 1
        strength = 1.0
        here = self.values(k)[engine.p :]
        if self.inverse:
            strength = 1.0 / lam
        slope = engine.course.pieces[SLOPE_AT, np.arange(engine.n), piece]
        d = np.where(kinked, here, strength * slope)
        if share != 0.0:
            d = np.where(kinked, here + share * (self._end(k) - here), d)
        return -d / strength

    def _end(self, k: int) -> Vector:
        """Multipliers at the end of segment k: of the next record, or the bound where a row has left."""
        engine = self.engine
        there = self.values(k + 1)[engine.p :]
        code = self.codes(k + 1)[engine.p :].astype(np.int64)
        piece, kinked = code >> 1, (code & 1) == 1
        slope = engine.course.pieces[SLOPE_AT, np.arange(engine.n), piece]
        strength = self.records.level[k + 1] if self.inverse else 1.0
        return np.asarray(np.where(kinked, there, strength * slope))


def joined(parts: list[Records]) -> Records:
    """One log from its pieces."""
    if len(parts) == 1:
        return parts[0]
    shift = np.cumsum([0, *(len(part.values) for part in parts)])
    start = [part.start[:-1] + shift[k] for k, part in enumerate(parts)]
    return Records(
        np.concatenate([part.level for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.codes for part in parts]),
        np.concatenate([*start, shift[-1:]]),
        np.concatenate([part.slots for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def trace(engine: Engine, end: float) -> Trace:
    """The path from the engine's start down to λ = end."""
    if not engine.columns.l1.any():
        engine.signs[engine.columns.l2 > 0.0] = 1
    first = np.concatenate([engine.signs, 2 * engine.course.mark[PIECE] + engine.course.mark[KINKED]])
    status, parts = engine.follow(end)
    return Trace(engine, joined(parts), first.astype(np.int8), status)


def all_weights(path: Trace) -> Matrix:
    """The working weights of every record."""
    r, engine = path.records, path.engine
    v = np.zeros((len(r), engine.p))
    record = np.repeat(np.arange(len(r)), np.diff(r.start))
    weight = r.slots < engine.p
    v[record[weight], r.slots[weight]] = r.values[weight]
    return engine.columns.working(v)
