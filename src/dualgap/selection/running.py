"""Folds one after another or side by side; an interrupt keeps those that are finished."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from dualgap.errors import DataError
from dualgap.fitting.reading import Reading
from dualgap.selection.fold import Scored, run_fold
from dualgap.selection.plan import Plan
from dualgap.selection.progress import Progress
from dualgap.selection.scores import Score, hold
from dualgap.selection.splits import Fold


@dataclass(frozen=True, eq=False)
class Work:
    """Everything that a fold needs; X and y as given, where a scorer wants them."""

    reading: Reading
    plan: Plan
    score: Score
    X: Any = None
    y: Any = None

    def __call__(self, fold: Fold) -> Scored:
        held = hold(self.reading, fold.test, self.plan.multiclass, self.X, self.y)
        return run_fold(self.reading, fold, self.plan, self.score, held)


def run(work: Work, folds: list[Fold], n_jobs: int | None, *, progress: bool) -> tuple[list[Scored], bool]:
    """The finished folds in their order, and whether an interrupt came before the last of them."""
    workers = min(_workers(n_jobs), len(folds))
    bar = Progress(len(folds), workers, wanted=progress)
    done: list[Scored] = []
    interrupted = False
    try:
        for scored in _side_by_side(work, folds, workers) if workers > 1 else map(work, folds):
            done.append(scored)
            bar.step(scored.seconds)
    except KeyboardInterrupt:
        if not done:
            raise
        interrupted = True
    finally:
        bar.close()
    return sorted(done, key=lambda scored: scored.number), interrupted


def _workers(n_jobs: int | None) -> int:
    whole = n_jobs is None or (isinstance(n_jobs, int) and not isinstance(n_jobs, bool))
    if not whole or n_jobs == 0:
        raise DataError(f"n_jobs must be a whole number other than 0, or None, not {n_jobs!r}.")
    return int(effective_n_jobs(n_jobs))


def _side_by_side(work: Work, folds: list[Fold], workers: int) -> Iterator[Scored]:
    """Large arrays are shared between the processes, not copied to each; nothing waits in a queue."""
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch="n_jobs")
    found: Iterator[Scored] = parallel(delayed(_alone)(work, fold) for fold in folds)
    return found


def _alone(work: Work, fold: Fold) -> Scored:
    """A fold in its own process: one thread, since the others have the other cores."""
    with threadpool_limits(1):
        return work(fold)
