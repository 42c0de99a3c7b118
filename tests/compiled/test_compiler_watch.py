"""While loops are compiled: the clock of limits stands still, and a terminal is told once."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dualgap.compiled import interrupts
from dualgap.compiled.clock import Clock
from dualgap.drive.limits import Limits


def test_the_clock_stands_still_while_somebody_compiles() -> None:
    clock, inside, over = Clock(), threading.Event(), threading.Event()

    def compile_long() -> None:
        clock.stop()
        inside.set()
        over.wait()
        clock.go_on()

    thread = threading.Thread(target=compile_long)
    thread.start()
    inside.wait()
    clock.stop()  # a second one waits for the first
    first = clock.now()
    time.sleep(0.01)
    assert clock.now() == first
    clock.go_on()
    assert clock.now() == first
    over.set()
    thread.join()
    assert clock.taken >= 0.01
    assert clock.now() >= first
    assert clock.now() <= time.perf_counter() - 0.01


def test_limits_mean_the_same_moment_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualgap.drive.limits.CLOCK", here := Clock())
    here.taken = 100.0
    limits = Limits(seconds=5.0).shared()
    assert not limits.spent
    sent = pickle.dumps(limits)
    monkeypatch.setattr("dualgap.drive.limits.CLOCK", Clock())
    there = pickle.loads(sent)
    assert there.until == pytest.approx(limits.until + 100.0)
    assert not there.spent
    assert pickle.loads(pickle.dumps(Limits())) == Limits()


LIMITED = """
import time, types
import numpy as np, dualgap as dg
from dualgap.compiled import clock

jumps = 0
clock.time = types.SimpleNamespace(perf_counter=lambda: time.perf_counter() + 1000 * jumps)
stop = clock.CLOCK.stop
def slow():
    global jumps
    stop()
    jumps += 1
clock.CLOCK.stop = slow
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 12))
fit = dg.fit(X, X[:, 0] + 0.1 * rng.normal(size=40), loss="squared", penalty="l0", budget=3, max_time=100)
print(clock.CLOCK.taken > 1000, fit.converged)
"""


def test_time_limits_do_not_count_compiling(tmp_path: Path) -> None:
    """At the compiler's door the clock leaps over the limit; the search itself takes milliseconds."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.split() == ["True", "True"], done.stderr
    assert "compiling" not in done.stderr, "nobody is at a terminal"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _event(loop: object) -> object:
    return type("Event", (), {"data": {"dispatcher": loop}})()


def test_a_person_is_told_once_and_a_file_never(monkeypatch: pytest.MonkeyPatch) -> None:
    from dualgap.compiled.lines import square_norms
    from dualgap.paths.homotopy.advance import any_loss, no_kinks

    assert interrupts.expected(square_norms) < interrupts.LONG < interrupts.expected(no_kinks)
    assert interrupts.expected(no_kinks) < interrupts.expected(any_loss)
    notice = interrupts.CompilerNotice()
    monkeypatch.setattr(sys, "stderr", plain := io.StringIO())
    notice.on_start(_event(any_loss))
    assert not plain.getvalue()
    monkeypatch.setattr(sys, "stderr", terminal := _Terminal())
    notice.on_start(_event(square_norms))
    assert not terminal.getvalue()
    notice.on_start(_event(no_kinks))
    notice.on_start(_event(any_loss))
    assert terminal.getvalue().count("compiling once, about 5 s") == 1
    assert terminal.getvalue().count("compiling") == 1
