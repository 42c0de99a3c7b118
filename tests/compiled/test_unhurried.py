"""Loops that run uncompiled at first: the same answers, and what takes longer is compiled after all."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.compiled import unhurried
from dualgap.compiled.unhurried import Unhurried, uncompiled


class _Loop:
    """Stands for a compiled loop: one that adds ones, so many as are asked for, until there are a hundred."""

    def __init__(self) -> None:
        self.overloads: dict[Any, Any] = {}
        self.asked: list[int] = []
        self._cache = None

    @staticmethod
    def py_func(total: np.ndarray[Any, Any], steps: int) -> bool:
        while steps and total[0] < 100:
            total[0] += 1
            steps -= 1
        return bool(total[0] < 100)

    def __call__(self, total: np.ndarray[Any, Any], steps: int) -> bool:
        self.asked.append(steps)
        return self.py_func(total, steps)


def _unhurried(loop: _Loop) -> Unhurried:
    return Unhurried(loop, lambda more, _: bool(more))


def test_what_is_soon_over_is_not_compiled() -> None:
    loop, total = _Loop(), np.zeros(1)
    assert not _unhurried(loop)(total, 1000)
    assert total[0] == 100
    assert not loop.asked


def test_no_more_steps_are_taken_than_are_asked_for() -> None:
    total = np.zeros(1)
    loop = _unhurried(_Loop())
    for taken in (0, 1, 30):
        total[0] = 0
        assert loop(total, taken)
        assert total[0] == taken


def test_what_takes_long_goes_on_compiled_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unhurried, "WORTH", 0.0)
    loop, total = _Loop(), np.zeros(1)
    assert not _unhurried(loop)(total, 1000)
    assert total[0] == 100
    assert loop.asked == [999]


def test_an_interrupt_waits_for_the_end_of_a_step() -> None:
    loop, total = _Loop(), np.zeros(2)

    def step(total: np.ndarray[Any, Any], steps: int) -> bool:
        for _ in range(steps):
            total[0] += 1
            if total[0] == 5:
                signal.raise_signal(signal.SIGINT)
            total[1] += 1
        return True

    loop.py_func = step  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        _unhurried(loop)(total, 1000)
    assert total[0] == total[1] >= 5


def test_words_of_numpy_say_what_the_loops_do() -> None:
    from dualgap.compiled import lines
    from dualgap.compiled.layout import dense_lines, sparse_lines
    from dualgap.paths.homotopy import events, system

    rng, size = np.random.default_rng(0), 6
    table = np.where(rng.random((9, size)) < 0.6, rng.normal(size=(9, size)), 0.0)
    x, y, G = rng.normal(size=size), rng.normal(size=size), rng.normal(size=(8, 8))
    both = dense_lines(table), sparse_lines(sp.csr_array(table))
    calls: list[tuple[Any, list[tuple[Any, ...]]]] = [
        (lines.dot, [(some, 4, x) for some in both]),
        (lines.add, [(some, 4, 0.7, x) for some in both]),
        (events.two_dots, [(some, 4, x, y) for some in both]),
        (system.times, [(G, size, x, np.zeros(size))]),
        (system.inner, [(4, x, y)]),
        (system.rank_one, [(G, size, x, 0.3)]),
        (system.rank_two, [(G, size, x, y, (0.3, 0.2, 0.7))]),
    ]
    for loop, ways in calls:
        for args in ways:
            here, there = copy.deepcopy(args), copy.deepcopy(args)
            spelt = _spelt(loop, {})(*here)
            answer = uncompiled(loop, {})(*there)
            assert (answer is None) == (spelt is None)
            assert answer is None or answer == pytest.approx(spelt, rel=1e-12)
            for one, other in zip(here, there, strict=True):
                if isinstance(one, np.ndarray):
                    np.testing.assert_allclose(np.tril(np.atleast_2d(one)), np.tril(np.atleast_2d(other)))


def _spelt(loop: Any, made: dict[Any, Any]) -> Any:
    """The loop's own words, and those of what it calls."""
    kept = dict(unhurried.IN_NUMPY)
    unhurried.IN_NUMPY.clear()
    try:
        return uncompiled(loop, made)
    finally:
        unhurried.IN_NUMPY.update(kept)


def test_large_data_are_compiled_for_at_once_and_so_is_all_without_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = _Loop()
    _unhurried(large)(np.zeros(unhurried.LARGE + 1), 5)
    assert large.asked == [5]
    monkeypatch.setattr(unhurried.Patience, "given", 0.0)
    small = _Loop()
    _unhurried(small)(np.zeros(1), 5)
    assert small.asked == [5]


def test_who_asks_again_is_given_compiled_loops() -> None:
    loop, total = _Loop(), np.zeros(1)
    unhurried.begin_task()
    adding = _unhurried(loop)
    for _ in range(3):  # of one task
        total[0] = 0
        assert not adding(total, 1000) and not loop.asked
    unhurried.begin_task()
    total[0] = 0
    assert not adding(total, 1000) and loop.asked == [1000]


SECOND = """
import numpy as np
import dualgap as dg
from dualgap.compiled import unhurried
from dualgap.compiled.tally import compiled_so_far

unhurried.WORTH = unhurried.Patience.given = 1e9
rng = np.random.default_rng(3)
X = rng.normal(size=(30, 6))
y = X[:, 0] + rng.normal(size=30)
counts = []
for _ in range(3):
    dg.path(X, y, loss="squared", penalty="l1")
    counts.append(compiled_so_far())
print(*counts)
"""


def test_the_second_path_is_compiled_for_and_the_third_needs_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SECOND],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    first, second, third = map(int, done.stdout.split())
    assert first < second == third


def test_every_loop_that_pauses_calls_uncompiled_ones_only() -> None:
    from dualgap.discrete.subset.tree import search
    from dualgap.paths.homotopy.advance import any_loss, no_kinks

    for loop in (search, any_loss, no_kinks):
        made: dict[Any, Any] = {}
        uncompiled(loop.loop, made)  # type: ignore[attr-defined]
        for function in made.values():
            met = [function.__globals__.get(name) for name in function.__code__.co_names]
            assert not [other for other in met if hasattr(other, "py_func")], function.__name__


BOTH = """
import json, warnings; warnings.simplefilter("ignore")
import numpy as np, scipy.sparse as sp
import dualgap as dg
from dualgap.compiled import unhurried
from dualgap.compiled.tally import compile_at_once, compiled_so_far

unhurried.WORTH = unhurried.Patience.given = 1e9  # however busy the machine is
unhurried.Patience.tasks = 1000
rng = np.random.default_rng(3)
X = rng.normal(size=(30, 6))
y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=30)
s = np.where(y > 0, 1.0, -1.0)

def answers():
    found = [float(dg.fit(X, y, loss="squared", penalty="l0", budget=3).objective)]
    for loss, penalty, target in (("squared", "l1", y), ("absolute", "l1", y), ("hinge", "l2", s)):
        for rows in (X, sp.csr_array(X)):
            path = dg.path(rows, target, loss=loss, penalty=penalty)
            assert path.exact
            found += [float(path.coef(lam=lam)[k]) for lam in (0.3, 0.03) for k in range(6)]
    return found

first, compiled = answers(), compiled_so_far()
compile_at_once()
print(json.dumps([compiled, first, answers(), compiled_so_far()]))
"""


def test_small_paths_and_subsets_have_the_same_answers_before_anything_is_compiled(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOTH],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    before, first, second, after = json.loads(done.stdout)
    assert first == pytest.approx(second, rel=1e-9, abs=1e-11)
    assert before + 3 <= after, "three loops were not compiled for the first answers"
