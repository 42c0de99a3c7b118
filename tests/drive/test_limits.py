"""Limits, callbacks, rules and Ctrl-C hold for every kind of problem: one loop drives them all."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import dualgap as dg
from dualgap.discrete import Finding, pursued
from dualgap.drive.limits import Limits, Status
from dualgap.drive.run import drive
from dualgap.drive.solver import Iterate
from dualgap.drive.trace import Record
from dualgap.errors import NotCertifiedWarning
from dualgap.fitting.reading import read
from dualgap.kernel_machines.answer import KernelTerms, StatedKernel
from dualgap.kernel_machines.hard_margin import hard_margin
from dualgap.kernel_machines.solve import solve
from dualgap.kernels import Gaussian, gram_of
from dualgap.losses import Hinge
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 12))
NOISE = RNG.normal(size=80)
Y = X[:, :6].sum(axis=1) + 2.0 * NOISE
SIDES = np.where(Y > 0, 1, 0)
CLASSES = np.digitize(Y, [-1.5, 1.5])
APART = X + 4.0 * np.outer(2 * SIDES - 1, np.ones(12))  # can be separated, by rows that are not the nearest

Run = Callable[[Limits], Any]


def fitted(X: Any, y: Any, **asked: Any) -> Run:
    """`dg.fit` under limits."""

    def go(limits: Limits) -> Any:
        how: dict[str, Any] = {
            "max_iter": limits.iterations,
            "max_time": limits.seconds,
            "callback": limits.callback,
        }
        return dg.fit(X, y, stop=limits.rule, tol=limits.tolerance, **how, **asked)

    return go


def kernel(lam: float, y: Any, rows: Any) -> Run:
    """A kernel machine, of which limits are not among the keywords; λ = 0 is the hard margin."""
    sign = 2.0 * y - 1.0
    gram = gram_of(Gaussian(0.05), rows, centred=True)
    statement = StatedKernel(gram, KernelTerms(Hinge(), lam, np.ones(len(y)), True))

    def go(limits: Limits) -> Any:
        if lam == 0.0:
            return hard_margin(statement, sign, limits)
        problem = statement.problem(sign)
        return statement.solution(solve(problem, limits), problem.null, limits.tolerance)

    return go


KINDS: dict[str, Run] = {
    "linear": fitted(X, Y, loss="absolute", penalty="l1", lam=0.05),
    "watched": fitted(X, Y, loss="squared", penalty="l2", lam=0.05, solver="gradient_descent"),
    "multinomial": fitted(X, CLASSES, loss="logistic", penalty="l1", lam=0.01),
    "one against the rest": fitted(X, CLASSES, loss="hinge", penalty="l2", lam=0.01),
    "kernel": kernel(1e-3, SIDES, X),
    "kernel hard margin": kernel(0.0, SIDES, APART),
    "hard margin": fitted(APART, SIDES, loss="hinge", C=np.inf),
    "best subset": fitted(
        np.hstack([X, RNG.normal(size=(80, 40))]), Y, loss="squared", penalty="l0", budget=9
    ),
    "zero_one": fitted(X, SIDES, loss="zero_one", penalty="none"),
    "sigmoid": fitted(X, SIDES, loss="sigmoid", penalty="l2", lam=1e-3),
    "bridge": fitted(X, Y, loss="squared", penalty="bridge(0.5)", lam=0.05),
}
MAY_HAVE_NOTHING = ("hard margin", "kernel hard margin")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(kind: str, limits: Limits) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        return KINDS[kind](limits)


def told(found: Any, status: Status) -> bool:
    """Is that how it ended, unless it was done before?"""
    return bool(found.converged or found.status.startswith(status.value))


def test_no_time_at_all_still_gives_an_answer(kind: str) -> None:
    found = run(kind, Limits(1e-12, seconds=1e-9))
    assert told(found, Status.TIME) and 0.0 <= found.bound <= found.objective
    assert len(found.trace) >= 1


def test_the_most_iterations(kind: str) -> None:
    found = run(kind, Limits(1e-12, iterations=1))
    assert told(found, Status.ITERATIONS) and found.bound <= found.objective
    parts = getattr(found, "parts", ()) or (found,)
    assert all(part.n_iter <= 1 or kind == "sigmoid" for part in parts)  # which tells of 200 steps at a time


def test_the_callback_sees_what_the_trace_keeps_and_may_stop(kind: str) -> None:
    seen: list[Record] = []
    free = run(kind, Limits(1e-7, iterations=50, callback=seen.append))
    kept = {record.objective for part in free.parts or [free] for record in part.trace}
    assert seen and {record.objective for record in seen} <= kept
    calls: list[Record] = []

    def stop(record: Record) -> bool:
        calls.append(record)
        return True

    found = run(kind, Limits(1e-12, callback=stop))
    assert told(found, Status.STOPPED) and len(calls) == 1
    assert found.bound <= found.objective


@pytest.mark.parametrize("after", [0, 3])
def test_an_interrupt_gives_back_what_there_is(kind: str, after: int) -> None:
    calls: list[Record] = []

    def interrupt(record: Record) -> None:
        calls.append(record)
        if len(calls) > after:
            raise KeyboardInterrupt

    try:
        found = run(kind, Limits(1e-12, callback=interrupt))
    except KeyboardInterrupt:
        assert kind in MAY_HAVE_NOTHING and not calls[-1].best < np.inf
    else:
        assert told(found, Status.INTERRUPTED) and found.objective < np.inf
        assert found.bound <= found.objective


def test_a_rule_stops(kind: str) -> None:
    found = run(kind, Limits(1e-12, rule=dg.stopping.Iterations(1)))
    assert told(found, Status.RULE)


def test_the_time_is_for_all_classes_together() -> None:
    classes = np.digitize(Y, np.quantile(Y, np.linspace(0, 1, 9)[1:-1]))
    calls: list[Record] = []

    def slow(record: Record) -> None:
        calls.append(record)
        time.sleep(0.02)

    with pytest.warns(NotCertifiedWarning, match="time limit"):
        found = dg.fit(
            X, classes, loss="hinge", penalty="l2", lam=0.01, tol=1e-12, max_time=0.1, callback=slow
        )
    assert len(found.parts) == 8 and len(calls) <= 0.1 / 0.02 + 2 * 8
    assert found.bound <= found.objective


# -- a fit inside a search ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Endless:
    """A solver that never gets anywhere; `interrupted`: somebody presses Ctrl-C."""

    interrupted: bool = False
    by: type[BaseException] = KeyboardInterrupt
    name: ClassVar[str] = "endless"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return ()

    def cost(self, problem: Problem) -> float:
        return 0.0

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        while True:
            yield Iterate(start.w)
            if self.interrupted:
                raise self.by from (KeyboardInterrupt() if self.by is SystemError else None)


@dataclass(frozen=True)
class Outer:
    """A search that is all in one fit."""

    inner: Endless = Endless()
    seconds: float | None = None
    name: ClassVar[str] = "outer"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return ()

    def cost(self, problem: Problem) -> float:
        return 0.0

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        while True:
            convex = _asked("l1", lam=0.01)
            drive(precondition(convex), lambda: [self.inner], None, Limits(1e-12))
            yield Finding(problem.null_weights, nodes=1)


def _asked(penalty: str, **strength: Any) -> Problem:
    reading = read(X, Y, loss="squared", penalty=penalty, **strength)
    return reading.terms.problem(reading.table.design, Y)


def test_a_fit_inside_a_search_keeps_its_time() -> None:
    began = time.perf_counter()
    outcome = pursued(_asked("l0", budget=3.0), Outer(), None, Limits(1e-9, seconds=0.2))
    assert outcome.status is Status.TIME and time.perf_counter() - began < 30.0


@pytest.mark.parametrize("by", [KeyboardInterrupt, SystemError])  # as numba says it
def test_an_interrupt_inside_a_search_ends_the_search(by: type[BaseException]) -> None:
    outer = Outer(Endless(interrupted=True, by=by))
    outcome = pursued(_asked("l0", budget=3.0), outer, None, Limits(1e-9))
    assert outcome.status is Status.INTERRUPTED and outcome.iterations == 0
