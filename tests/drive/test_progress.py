"""The one line on the terminal: after a while, over and over, and nothing left behind."""

from __future__ import annotations

import io
import threading
import time

import pytest

from dualgap.drive import progress
from dualgap.drive.progress import GapProgress, ProgressLine, clock
from dualgap.drive.trace import Record
from dualgap.selection.running import Tally


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line waits."""
    monkeypatch.setattr(progress, "QUIET", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.01)


def records() -> list[Record]:
    return [Record(k, 0.1 * k, 1.0, 1.0, 1.0 - 10.0**-k, "newton") for k in range(6)]


@pytest.mark.usefixtures("hasty")
def test_a_terminal_sees_gap_and_time_left() -> None:
    stream = Terminal()
    with GapProgress(1e-6, stream=stream) as shown:
        for record in records():
            shown(record)
            time.sleep(0.02)
    text = stream.getvalue()
    assert "gap 1.0e-03, to reach 1e-06" in text and " left" in text
    assert text.endswith("\r\x1b[2K"), "the line is wiped in the end"


@pytest.mark.usefixtures("hasty")
def test_a_file_sees_nothing() -> None:
    stream = io.StringIO()
    with GapProgress(1e-6, stream=stream) as shown:
        for record in records():
            shown(record)
    with ProgressLine(wanted=False, stream=Terminal()) as unwanted:
        unwanted.show(lambda: "never")
    assert stream.getvalue() == ""


def test_nothing_is_said_of_what_is_over_at_once() -> None:
    stream = Terminal()
    with ProgressLine(stream=stream) as line:
        line.show(lambda: "too early")
    assert stream.getvalue() == ""


def test_the_share_done_is_that_of_the_orders_of_magnitude() -> None:
    shown = GapProgress(1e-6, wanted=False)
    shown(records()[0])
    assert shown.told(1e-3, 5.0).count("━") == progress.WIDTH // 2
    assert "about 0:05 left" in shown.told(1e-3, 5.0)
    assert "gone" in shown.told(float("inf"), 5.0)


@pytest.mark.usefixtures("hasty")
def test_the_first_line_has_the_terminal() -> None:
    outer, inner = Terminal(), Terminal()
    with ProgressLine(stream=outer) as first:
        with ProgressLine(stream=inner) as second:
            second.show(lambda: "a fit within a search")
        worker = threading.Thread(target=lambda: ProgressLine(stream=inner).show(lambda: "a worker"))
        worker.start()
        worker.join()
        first.show(lambda: "the search")
    assert inner.getvalue() == "" and "the search" in outer.getvalue()
    with ProgressLine(stream=inner) as later:
        later.show(lambda: "now it is free")
    assert "now it is free" in inner.getvalue()


@pytest.mark.usefixtures("hasty")
def test_a_tally_is_shown_while_nothing_reports() -> None:
    stream = Terminal()
    with Tally(4, 1, "folds", wanted=True, stream=stream) as tally:
        tally.step(2.0)
        time.sleep(0.1)
    assert "1/4 folds, 0:00 gone, about 0:06 left" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_the_time_left_is_that_of_the_parts_to_come() -> None:
    tally = Tally(7, 2, "folds", wanted=False)
    assert tally.left() is None
    tally.step(4.0)
    tally.step(6.0)
    assert tally.left() == pytest.approx(5 * 5.0 / 2, abs=0.5)
    assert (clock(59.6), clock(3600 + 61)) == ("1:00", "1:01:01")
