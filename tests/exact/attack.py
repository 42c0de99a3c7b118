"""Try to find a false claim: `python tests/exact/attack.py --cases 100000 --seed 1 --workers 2`.

Every case draws nasty data and asks the library; every claim it makes is judged in exact arithmetic. What is
false is printed with the line that repeats it. The exit code is 1 if anything was.
"""

from __future__ import annotations

import argparse
import importlib
import math
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent), *(place for place in sys.path if Path(place or ".").resolve() != HERE)]

import numpy as np  # noqa: E402  (after the number of threads)

KINDS = {
    "fits": "exact.fits",
    "forged": "exact.forged",
    "files": "exact.model_files",
    "kernels": "exact.kernels",
    "levels": "exact.levels",
    "margins": "exact.margins",
    "subsets": "exact.subsets",
    "offsets": "exact.offsets",
    "signs": "exact.signs",
    "slopes": "exact.slopes",
    "outputs": "exact.outputs",
}
PATTERN = ("fits",) * 9 + ("forged",) * 3 + ("margins",) * 3 + ("offsets",) * 2 + ("kernels",) * 2
PATTERN += ("files", "subsets", "levels", "signs", "signs", "outputs", "outputs", "slopes")
SECONDS = 60  # a case that takes longer is a finding
GRACE = 45  # compiled code does not hear the alarm: then the worker is ended
BATCH = 10
ROUNDING = 1e-12  # relative: false claims up to here are counted apart from the others, but no less false


class HangError(BaseException):
    """A case took too long; no handler in the library must catch it."""


@dataclass(frozen=True)
class Report:
    """What a worker tells of one case."""

    case: int | str
    kind: str
    data: str
    state: str
    judged: dict[str, int]
    false: list[tuple[str, str, float]]
    seconds: float


def kind_of(kind: str, case: int) -> str:
    """Which kind of case has this number."""
    return PATTERN[case % len(PATTERN)] if kind == "all" else kind


def run_case(kind: str, seed: int, case: int | str) -> Any:
    """The trial of one case."""
    if isinstance(case, str):
        from exact.known import CASES

        return CASES[case]()
    module = importlib.import_module(KINDS[kind_of(kind, case)])
    return module.run(np.random.default_rng([seed, case]))


def report(kind: str, seed: int, case: int | str) -> Report:
    """One case under the clock."""
    began = time.process_time()
    name = "known" if isinstance(case, str) else kind_of(kind, case)
    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        trial = run_case(kind, seed, case)
    except HangError:
        return _hung(case, name)
    except Exception as error:  # the judge itself must not fail unseen
        words = f"{type(error).__name__}: {error}"
        return Report(case, name, "judge", "judge failed", {"judge": 1}, [("judge", words, math.nan)], 0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    verdict = trial.verdict
    spent = time.process_time() - began
    return Report(case, name, trial.kind, trial.state, dict(verdict.judged), verdict.false, spent)


def _hung(case: int | str, name: str, dead: bool = False) -> Report:
    what, words = ("crash", "the process died") if dead else ("hang", f"no answer within {SECONDS} s")
    return Report(case, name, "?", what, {what: 1}, [(what, words, math.nan)], 0.0 if dead else SECONDS)


def _alarm(number: int, frame: Any) -> None:
    raise HangError


def serve(pipe: Connection, kind: str, seed: int) -> None:
    """A worker: cases in, reports out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        cases = pipe.recv()
        if cases is None:
            return
        for case in cases:
            pipe.send(report(kind, seed, case))


@dataclass
class Worker:
    """A process and the cases it owes."""

    process: Any
    pipe: Connection
    owed: list[int | str] = field(default_factory=list)
    heard: float = 0.0
    dead: bool = False


@dataclass
class Tally:
    """All reports together."""

    show: int
    line: str
    cases: int = 0
    claims: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    gross: Counter[str] = field(default_factory=Counter)
    worst: dict[str, tuple[float, str]] = field(default_factory=dict)
    states: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    numbers: Counter[str] = field(default_factory=Counter)

    def add(self, one: Report) -> None:
        """Count a report, and say what is false in it."""
        self.cases += 1
        self.claims.update(one.judged)
        self.states[one.data][one.state] += 1
        self.seconds[one.kind] += one.seconds
        self.numbers[one.kind] += 1
        for name, words, size in one.false:
            self.false[name] += 1
            self.gross[name] += not size <= ROUNDING
            again = f"{self.line} --kind {one.kind if one.kind != 'known' else 'all'} --only {one.case}"
            if not self.worst.get(name, (-1.0, ""))[0] >= (size if size == size else 0.0):
                self.worst[name] = (size if size == size else 0.0, again)
            if self.false[name] <= self.show:
                print(f"FALSE  {name} ({one.data}, {one.state}): {words}\n       {again}", flush=True)

    def progress(self, began: float) -> None:
        """One line."""
        spent = time.perf_counter() - began
        told = ", ".join(f"{name} {count}" for name, count in self.false.most_common(4))
        print(
            f"... {self.cases} cases, {sum(self.claims.values())} claims, {sum(self.false.values())} false"
            f"{f' ({told})' if told else ''}, {self.cases / spent:.0f} cases/s",
            flush=True,
        )

    def summary(self) -> None:
        """How fits ended by kind of data, and what was false."""
        print(f"\n{'data':<28}{'cases':>9}{'proven':>9}{'not':>9}   others")
        for data, counts in sorted(self.states.items()):
            others = {
                state: count for state, count in counts.items() if state not in ("proven", "not proven")
            }
            rest = ", ".join(f"{state} {count}" for state, count in sorted(others.items()))
            ended = f"{counts['proven'] or '':>9}{counts['not proven'] or '':>9}"
            print(f"{data[:27]:<28}{sum(counts.values()):>9}{ended}   {rest}")
        print(f"\n{'kind':<12}{'cases':>9}{'ms of CPU':>12}")
        for kind, count in self.numbers.most_common():
            print(f"{kind:<12}{count:>9}{1e3 * self.seconds[kind] / count:>12.1f}")
        print(f"\n{'claim':<28}{'judged':>9}{'false':>9}{'beyond rounding':>17}   worst, relative")
        for name in sorted(set(self.claims) | set(self.false)):
            size, again = self.worst.get(name, (math.nan, ""))
            told = f"   {size:.1e}  {again}" if name in self.false else ""
            numbers = f"{self.claims[name]:>9}{self.false[name] or '':>9}{self.gross[name] or '':>17}"
            print(f"{name:<28}{numbers}{told}")
        print(
            f"{self.cases} cases, {sum(self.claims.values())} claims judged, {sum(self.false.values())} false"
        )


def batches(first: int, count: int, kind: str) -> Iterator[list[int | str]]:
    """The named cases, then the numbers."""
    if kind == "all":
        from exact.known import CASES

        for name in CASES:
            yield [name]
    for start in range(first, first + count, BATCH):
        yield list(range(start, min(start + BATCH, first + count)))


def attack(options: argparse.Namespace, tally: Tally) -> None:
    """Hand out batches until there are none; a worker that is silent for too long is replaced."""
    context = multiprocessing.get_context("spawn")
    work = batches(options.first, options.cases, options.kind)
    workers = [_hired(context, options) for _ in range(options.workers)]
    began = told = time.perf_counter()
    try:
        for worker in workers:
            _assign(worker, work)
        while any(worker.owed for worker in workers):
            ready = wait([worker.pipe for worker in workers if worker.owed], timeout=1.0)
            for k, worker in enumerate(workers):
                if worker.pipe in ready and _heard(worker, tally):
                    if not worker.owed:
                        _assign(worker, work)
                elif worker.owed and _silent(worker):
                    tally.add(_hung(worker.owed[0], kind_name(options.kind, worker.owed[0]), worker.dead))
                    left = worker.owed[1:]
                    worker.process.kill()
                    workers[k] = _hired(context, options)
                    _assign(workers[k], iter([left]) if left else work)
            if time.perf_counter() - told > options.every:
                told = time.perf_counter()
                tally.progress(began)
    finally:
        for worker in workers:
            worker.process.kill()


def kind_name(kind: str, case: int | str) -> str:
    """The kind that is printed."""
    return "known" if isinstance(case, str) else kind_of(kind, case)


def _hired(context: Any, options: argparse.Namespace) -> Worker:
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there, options.kind, options.seed), daemon=True)
    process.start()
    there.close()
    return Worker(process, here)


def _assign(worker: Worker, work: Iterator[list[int | str]]) -> None:
    worker.owed = list(next(work, []))
    worker.heard = time.perf_counter()
    worker.pipe.send(worker.owed or None)


def _heard(worker: Worker, tally: Tally) -> bool:
    try:
        one = worker.pipe.recv()
    except (EOFError, OSError):  # said of the case it was at
        worker.dead = True
        return False
    tally.add(one)
    worker.owed.pop(0)
    worker.heard = time.perf_counter()
    return True


def _silent(worker: Worker) -> bool:
    return worker.dead or time.perf_counter() - worker.heard > SECONDS + GRACE


def alone(options: argparse.Namespace) -> int:
    """One case, with everything about it."""
    case: int | str = int(options.only) if options.only.lstrip("-").isdigit() else options.only
    trial = run_case(options.kind, options.seed, case)
    if trial.asked is not None:
        X, y, keywords = trial.asked
        print(f"X = np.array({np.asarray(X).tolist()})\ny = np.array({np.asarray(y).tolist()})")
        print(f"keywords = { ({k: v.tolist() if hasattr(v, 'tolist') else v for k, v in keywords.items()}) }")
    print(f"{trial.kind}: {trial.state}; judged {dict(trial.verdict.judged)}")
    for name, words, size in trial.verdict.false:
        print(f"FALSE  {name}: {words} (relative {size:.1e})")
    return int(bool(trial.verdict.false))


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=2000, help="how many (default 2000)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first (default 0)")
    parser.add_argument("--seed", type=int, default=1, help="of all draws (default 1)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument(
        "--kind", choices=[*KINDS, "all"], default="all", help="what is attacked (default all)"
    )
    parser.add_argument("--only", metavar="CASE", help="one case, by number or name")
    parser.add_argument("--show", type=int, default=3, help="false claims printed of each sort (default 3)")
    parser.add_argument("--every", type=float, default=15.0, help="seconds between lines of progress")
    options = parser.parse_args(arguments)
    if options.only is not None:
        return alone(options)
    tally = Tally(options.show, f"python tests/exact/attack.py --seed {options.seed}")
    try:
        attack(options, tally)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    tally.summary()
    return int(bool(tally.false))


if __name__ == "__main__":
    sys.exit(main())
