"""A contestant: a process of its own, on one thread, that runs what it is asked and answers with seconds."""

from __future__ import annotations

import multiprocessing as mp
import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.judge import gap, objective, own_gap
from benchmarks.problems import Problem
from benchmarks.rivals import Ladder, compiles

STARTING = 60.0  # seconds that imports may take
COMPILING = 15.0  # seconds more for a first run that compiles
SHORT, MOST = 0.02, 50  # seconds that the clock tells apart, and runs that make them up
CROWDED = 4.0  # on a busy machine a second of the processor may take this many


@dataclass(frozen=True)
class Point:
    """One rung of a ladder, run: best seconds, objective, the relative gap that is proven; our solver."""

    label: str
    seconds: float
    value: float
    gap: float | None = None
    solver: str = ""


@dataclass
class Contestant:
    """A process that runs rungs on request."""

    name: str
    pipe: Connection
    process: Any
    labels: list[str]
    points: dict[int, Point] = field(default_factory=dict)
    note: str = ""
    late: float | None = None  # seconds in which it gave no answer
    spent: float = 0.0

    def run(self, rung: int, patience: float) -> Point | None:
        """Ask for one run; None if it failed, or took more than `patience` seconds of the processor."""
        try:
            self.pipe.send((rung, patience))
            answer = self.pipe.recv() if self.pipe.poll(CROWDED * patience) else None
        except (EOFError, ConnectionError):
            answer = None
        if answer is None:
            self.process.kill()
            self.late, self.note = patience, f"no answer in {patience:.0f} s"
        elif isinstance(answer, str):
            self.note = answer
        else:
            return self._keep(rung, answer)
        return None

    def _keep(self, rung: int, point: Point) -> Point:
        self.spent += point.seconds
        before = self.points.get(rung)
        if before is None or point.seconds < before.seconds:
            self.points[rung] = point
        return self.points[rung]

    def warm(self, rung: int, patience: float, long: float) -> Point | None:
        """A first run, thrown away if it was short or compiled something."""
        compiling = compiles(self.name)
        point = self.run(rung, patience + COMPILING * compiling)
        if point is None or (point.seconds > long and not compiling):
            return point
        del self.points[rung]
        return self.run(rung, patience)

    def end(self) -> None:
        """Send it home."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def start(name: str, problem: Any, rungs: Any, judged: Any = None) -> Contestant | None:
    """Start the process; `rungs(name, problem)` is its ladder, made there. None if that is empty.

    `judged(problem, label, seconds, answer)` makes a `Point` of an answer.
    """
    ours, theirs = mp.Pipe()
    context = mp.get_context("fork")
    asked = (name, problem, rungs, judged or _judged, theirs)
    process = context.Process(target=_serve, args=asked, daemon=True)
    process.start()
    theirs.close()
    try:
        labels = ours.recv() if ours.poll(STARTING) else []
    except EOFError:
        labels = []
    if not labels:
        process.kill()
        return None
    return Contestant(name, ours, process, labels)


def _serve(name: str, problem: Any, rungs: Any, judged: Any, pipe: Connection) -> None:
    """The contestant's side: run rungs, answer with a point or a sentence."""
    warnings.simplefilter("ignore")
    ladder: Ladder = rungs(name, problem)
    pipe.send([label for label, _ in ladder])
    while True:
        rung, patience = pipe.recv()
        _allow(patience)
        label, solve = ladder[rung]
        try:
            seconds, answer = _timed(solve)
            _allow(CROWDED * STARTING)  # the judge takes as long as it takes
            pipe.send(judged(problem, label, seconds, answer))
        except Exception as error:  # a rival that fails is a finding, not an end
            pipe.send(f"{type(error).__name__}: {str(error)[:120]}")


def _timed(solve: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor and the answer; what is too short for its clock is run again and again."""
    began = time.process_time()
    answer = solve()
    seconds = time.process_time() - began
    runs = 1
    while seconds < SHORT and runs < MOST:
        solve()
        runs += 1
        seconds = time.process_time() - began
    return seconds / runs, answer


def _judged(problem: Problem, label: str, seconds: float, answer: tuple[Any, ...]) -> Point:
    w, b, *proof = answer
    value = objective(problem, w, b)
    if not proof:
        return Point(label, seconds, value, own_gap(problem, w, b))
    theta, solver = proof
    return Point(label, seconds, value, gap(problem, w, b, theta), solver)


def _allow(seconds: float) -> None:
    """From here on so many seconds of the processor; the system ends the process after them."""
    limit = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
