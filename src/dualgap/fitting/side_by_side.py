"""Outputs that differ in their targets alone, and have one linear system each: stated and solved together."""

from __future__ import annotations

from dataclasses import replace

from dualgap.drive.registry import at_once
from dualgap.drive.solver import SideBySide, Solver
from dualgap.fitting.reading import Reading
from dualgap.problem.problem import Problem

TOGETHER = 1 << 20  # predictions at once: a few tables of 8 MiB


class Stated:
    """The problems of a reading, some at a time, each with the solver that has its answer."""

    def __init__(self, reading: Reading, wanted: float) -> None:
        self._reading, self._wanted = reading, wanted
        self._able = reading.outputs is not None and not reading.terms.loss.each
        self._able = self._able and reading.terms.offset is None
        self._first = 0
        self._found: list[tuple[Problem, Solver]] = []

    def output(self, k: int) -> tuple[Problem, Solver] | None:
        """That of output k; None where it is to be solved on its own."""
        if not self._able:
            return None
        if not 0 <= k - self._first < len(self._found):
            self._first, self._found = k, self._solved(k)
            self._able = bool(self._found)
        return self._found[k - self._first] if self._found else None

    def _solved(self, k: int) -> list[tuple[Problem, Solver]]:
        reading = self._reading
        problem = reading.terms.problem(reading.table.design, reading.targets(k))
        solver = at_once(problem) if problem.convex else None
        if not isinstance(solver, SideBySide):
            return []
        count = max(1, min(reading.count - k, TOGETHER // problem.n))
        rows, used = problem.rows, reading.terms.used
        targets = [reading.targets(k + j)[used] for j in range(count)]
        problems = [replace(problem, y=y).knowing(rows=rows) for y in targets]
        solved = solver.side_by_side(problems, rows, self._wanted)
        return [] if solved is None else list(zip(problems, solved, strict=True))
