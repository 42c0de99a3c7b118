"""Parts of one run, one after another or side by side; an interrupt keeps those that are finished."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from dualgap.drive.progress import ProgressLine, bar, clock
from dualgap.drive.run import as_part
from dualgap.errors import DataError


class Work(Protocol):
    """What is done with a part, in this process or in another."""

    def __call__(self, part: Any, turns: int, /) -> Any:
        """What was found, None where the time is over; `turns` one after another are left, this the first."""


def run(
    work: Work, parts: Sequence[Any], n_jobs: int | None, *, what: str, progress: bool = True
) -> tuple[list[Any], bool]:
    """What was found of the finished parts, in their order, and whether an interrupt came before the last.

    An interrupt before the first is passed on.
    """
    workers = min(read_workers(n_jobs), len(parts))
    jobs = [(work, part, k, -(-(len(parts) - k) // workers)) for k, part in enumerate(parts)]
    done: dict[int, Any] = {}
    interrupted = False
    with Tally(len(parts), workers, what, wanted=progress) as tally:
        try:
            for k, found, seconds in _side_by_side(jobs, workers) if workers > 1 else map(_one, jobs):
                done[k] = found
                tally.step(seconds)
        except KeyboardInterrupt:
            if not done:
                raise
            interrupted = True
    return [done[k] for k in sorted(done) if done[k] is not None], interrupted


def read_workers(n_jobs: Any) -> int:
    """How many parts run side by side, checked."""
    whole = n_jobs is None or (isinstance(n_jobs, int) and not isinstance(n_jobs, bool))
    if not whole or n_jobs == 0:
        raise DataError(f"n_jobs must be a whole number other than 0, or None, not {n_jobs!r}.")
    return int(effective_n_jobs(n_jobs))


def _one(job: tuple[Work, Any, int, int]) -> tuple[int, Any, float]:
    work, part, k, turns = job
    began = time.perf_counter()
    with as_part():
        return k, work(part, turns), time.perf_counter() - began


def _side_by_side(jobs: list[Any], workers: int) -> Iterator[tuple[int, Any, float]]:
    """Large arrays are shared between the processes, not copied to each; nothing waits in a queue."""
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch="n_jobs")
    found: Iterator[tuple[int, Any, float]] = parallel(delayed(_alone)(job) for job in jobs)
    return found


def _alone(job: tuple[Work, Any, int, int]) -> tuple[int, Any, float]:
    """A part in its own process: one thread, since the others have the other cores."""
    with threadpool_limits(1):
        return _one(job)


class Tally(ProgressLine):
    """How many parts are done, and how long the others will take.

    The time left is the mean time of a finished part times the parts to come, shared by the workers; before
    one has finished nothing is known of it, and nothing is said.
    """

    def __init__(
        self, total: int, workers: int, what: str, *, wanted: bool = True, stream: Any = None
    ) -> None:
        super().__init__(wanted=wanted, stream=stream)
        self.total, self.workers, self.what = total, workers, what
        self.done, self.spent = 0, 0.0
        self.last = self.began
        self.keep_showing(self.told)

    def step(self, seconds: float) -> None:
        """A part has finished, after so many seconds of its own."""
        self.done, self.spent, self.last = self.done + 1, self.spent + seconds, time.perf_counter()

    def told(self) -> str:
        """What is shown."""
        left = self.left()
        said = "" if left is None else f", about {clock(left)} left"
        done = f"{bar(self.done / self.total)} {self.done}/{self.total} {self.what}"
        return f"{done}, {clock(self.seconds)} gone{said}"

    def left(self) -> float | None:
        """Seconds to go, None before a part has finished."""
        if not self.done:
            return None
        ahead = self.total - self.done
        expected = self.spent / self.done * ahead / min(self.workers, max(ahead, 1))
        return max(expected - (time.perf_counter() - self.last), 0.0)
