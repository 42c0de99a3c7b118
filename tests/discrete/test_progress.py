"""The line on the terminal: both values, after a while, and nothing left behind."""

from __future__ import annotations

import io

import numpy as np
import pytest

import dualgap as dg
from dualgap.drive import progress
from dualgap.drive.run import line
from dualgap.drive.trace import Record


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, quiet: float, **keywords: object) -> str:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 12)), rng.normal(size=40)
    dg.fit(X, y, loss="squared", penalty="l0", budget=3)
    monkeypatch.setattr(progress, "QUIET", quiet)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    monkeypatch.setattr("sys.stderr", stream)
    dg.fit(X, y, loss="squared", penalty="l0", budget=3, **keywords)  # type: ignore[arg-type]
    return stream.getvalue()


def test_incumbent_and_bound_are_shown_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = watched(monkeypatch, Terminal(), 0.0)
    assert "branch_and_bound" in shown and "best 0." in shown and "proven bound 0." in shown
    assert shown.endswith("\r\x1b[2K")


def test_silence_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched(monkeypatch, io.StringIO(), 0.0) == ""
    assert watched(monkeypatch, Terminal(), 100.0) == ""
    assert watched(monkeypatch, Terminal(), 0.0, callback=lambda record: False) == ""


def test_the_line() -> None:
    record = Record(120, 3.2, 0.5, 0.5, 0.45, "branch_and_bound")
    expected = "branch_and_bound: 3 s, 120 nodes, best 0.5, proven bound 0.45, gap 10 %"
    assert line(record, "nodes") == expected
