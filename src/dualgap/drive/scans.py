"""The one loop for rows that are elsewhere: a scan for all who ask, the kernel's word, the limits.

A `ScanPursuit` says what it wants of the next scan and makes of the result the next wish; several of them
(classes, folds, strengths) share each scan. What they hand back is judged by `proof`; the best of it is kept
here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dualgap.blocks.source import RowBlock, RowSource
from dualgap.drive.limits import Limits, Status
from dualgap.drive.progress import ProgressLine, clock
from dualgap.drive.trace import Record, Trace
from dualgap.proof.check import Checked
from dualgap.proof.statement import SMALL

SCANS = 40  # of one fit at most: hardly one needs ten, and what has not converged by then does not
STUCK = 6  # scans without a better gap after which a pursuit has come as far as it gets


@dataclass(frozen=True, eq=False)
class ScanRequest:
    """A pure function of a block and what goes with it; its results add up."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    together: Callable[..., Any] | None = None  # of a block and many arguments: all their results at once


@dataclass(frozen=True, eq=False)
class ScanStep:
    """What the last scan proved (by which rule for θ), and what the next one is to do; None: nothing more."""

    found: Checked | None
    rule: Any
    request: ScanRequest | None


class ScanPursuit(Protocol):
    """An algorithm that goes from scan to scan."""

    name: str

    def begin(self) -> ScanStep:
        """The first wish."""

    def advance(self, result: Any) -> ScanStep:
        """What the scan showed, and the next wish."""

    @property
    def null(self) -> float:
        """The objective without columns, once a scan has seen it."""

    def resumed(self) -> Any:
        """Where another run could go on from here; None where it could not."""


@dataclass(frozen=True, eq=False)
class Several:
    """Results of several requests in one scan."""

    parts: tuple[Any, ...]

    def plus(self, other: Several) -> Several:
        """One by one."""
        return Several(tuple(a.plus(b) for a, b in zip(self.parts, other.parts, strict=True)))


def answered(block: RowBlock, requests: tuple[ScanRequest, ...]) -> Several:
    """Every request of a block that is read once."""
    together = requests[0].together if len(requests) > 1 else None
    if together is not None and all(one.together is together for one in requests):
        return Several(tuple(together(block, [one.arguments for one in requests])))
    return Several(tuple(one.function(block, *one.arguments) for one in requests))


@dataclass(eq=False)
class ScanOutcome:
    """The best of a pursuit, and how it ended."""

    pursuit: ScanPursuit
    best: Checked | None = None
    rule: Any = None
    status: Status = Status.STALLED
    trace: Trace = field(default_factory=Trace)
    scans: int = 0
    last: ScanStep | None = None
    stuck: int = 0

    @property
    def relative(self) -> float:
        """The relative gap so far."""
        if self.best is None:
            return np.inf
        scale = max(abs(self.best.primal), SMALL * abs(self.pursuit.null))
        return 0.0 if self.best.gap <= 0.0 else self.best.gap / scale if scale > 0.0 else np.inf

    def take(self, step: ScanStep, seconds: float) -> Record | None:
        """Keep the better half of what is known and what was found."""
        self.last = step
        if step.found is None:
            return None
        before = np.inf if self.best is None else self.best.gap
        if self.best is None or step.found.dual > self.best.dual:
            self.rule = step.rule
        self.best = step.found if self.best is None else self.best.improved(step.found)
        self.stuck = 0 if self.best.gap < 0.9 * before else self.stuck + 1
        found, best = step.found, self.best
        nonzero = int(np.count_nonzero(found.w))
        record = Record(
            self.scans, seconds, found.primal, best.primal, best.dual, self.pursuit.name, None, nonzero
        )
        self.trace.append(record)
        return record


class ScanWatch(ProgressLine):
    """The line of a scan: which it is, how far, how fast, and what is proven so far; and the time limit."""

    def __init__(self, limits: Limits, *, wanted: bool = True) -> None:
        super().__init__(wanted=wanted)
        self.limits, self.scan, self.gap = limits, 1, np.inf
        self.rows, self.bytes, self.share, self.since = 0, 0.0, 0.0, time.perf_counter()

    def begin(self, scan: int, gap: float, n: int | None) -> None:
        """A scan begins."""
        self.scan, self.gap, self.n = scan, gap, n
        self.rows, self.bytes, self.share, self.since = 0, 0.0, 0.0, time.perf_counter()

    def read(self, block: RowBlock) -> None:
        """A block was used; raises where the time is over."""
        self.rows += len(block)
        self.bytes += 8.0 * len(block) * (block.X.shape[1] + 1)
        if self.limits.spent:
            raise OutOfTimeError
        self.show(self.told)

    def done(self, share: float) -> None:
        """This share of the groups was used."""
        self.share = share
        if self.limits.spent:
            raise OutOfTimeError
        self.show(self.told)

    def told(self) -> str:
        """scan 2 · 63 % · 0.9 GB/s · gap ≤ 1.8e-07."""
        seconds = max(time.perf_counter() - self.since, 1e-9)
        share = self.rows / self.n if self.n else self.share
        speed = f" · {self.bytes / seconds / 1e9:.1f} GB/s" if self.bytes else f" · {clock(seconds)}"
        gap = f" · gap ≤ {self.gap:.1e}" if np.isfinite(self.gap) else ""
        return f"scan {self.scan} · {100.0 * share:.0f} %{speed}{gap}"


class OutOfTimeError(Exception):
    """The time limit came in the middle of a scan."""


def scanned(
    source: RowSource,
    pursuits: Sequence[ScanPursuit],
    limits: Limits,
    *,
    bad: Callable[[], object],
    each: Callable[[Sequence[ScanOutcome]], None] | None = None,
) -> list[ScanOutcome]:
    """Run all pursuits to the tolerance, a scan for all of them at a time.

    `bad` is called where sums are no numbers, to say why; `each` after every scan, for whoever keeps a
    checkpoint.
    """
    limits = limits.shared()
    runs = [ScanOutcome(pursuit) for pursuit in pursuits]
    began = time.perf_counter()
    with ScanWatch(limits) as watch:
        try:
            _run(source, runs, limits, watch, began, bad, each)
        except KeyboardInterrupt:
            _end(runs, limits, Status.INTERRUPTED)
        except OutOfTimeError:
            _end(runs, limits, Status.TIME)
    return runs


def _run(
    source: RowSource,
    runs: list[ScanOutcome],
    limits: Limits,
    watch: ScanWatch,
    began: float,
    bad: Callable[[], object],
    each: Callable[[Sequence[ScanOutcome]], None] | None,
) -> None:
    for run in runs:
        run.take(run.pursuit.begin(), 0.0)
    most = SCANS if limits.iterations is None else min(SCANS, limits.iterations)
    for scan in range(1, most + 1):
        live = [run for run in runs if _goes_on(run, limits)]
        if not live:
            return
        watch.begin(scan, max(run.relative for run in runs), source.n)
        requests = tuple(
            run.last.request for run in live if run.last is not None and run.last.request is not None
        )
        result = source.reduced(answered, requests, watch=watch)
        if not all(part.finite for part in result.parts):
            bad()
        asked = False
        for run, part in zip(live, result.parts, strict=True):
            run.scans = scan
            record = run.take(run.pursuit.advance(part), time.perf_counter() - began)
            if record is not None and limits.callback is not None:
                asked = bool(limits.callback(record)) or asked
        if each is not None:
            each(runs)
        if asked:
            return _end(runs, limits, Status.STOPPED)
        if limits.spent:
            raise OutOfTimeError
    _end(runs, limits, Status.ITERATIONS)


def _goes_on(run: ScanOutcome, limits: Limits) -> bool:
    """Is there more to do? Else how it ended."""
    if run.best is not None and run.relative <= limits.tolerance:
        run.status = Status.CERTIFIED
        return False
    if run.last is None or run.last.request is None or run.stuck >= STUCK:
        rounding = run.best is not None and run.best.rounding > 0.5 * run.best.gap
        run.status = Status.ROUNDING if rounding else Status.STALLED
        return False
    return True


def _end(runs: list[ScanOutcome], limits: Limits, status: Status) -> None:
    for run in runs:
        run.status = Status.CERTIFIED if run.relative <= limits.tolerance else status
