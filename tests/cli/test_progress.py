"""The line on the terminal."""

from __future__ import annotations

import io

from dualgap.cli import progress
from dualgap.cli.progress import Progress
from dualgap.drive.trace import Record


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def records() -> list[Record]:
    return [Record(k, 0.1 * k, 1.0, 1.0, 1.0 - 10.0**-k, "newton") for k in range(6)]


def test_a_terminal_sees_gap_and_time_left(monkeypatch: object) -> None:
    stream = Terminal()
    with Progress(1e-6, stream) as shown:
        shown.began -= 10.0
        shown.shown -= 10.0
        for record in records():
            shown.shown -= 1.0
            shown(record)
    text = stream.getvalue()
    assert "gap 1.0e-03, to reach 1e-06" in text and "s left" in text
    assert text.endswith("\r\x1b[2K"), "the line is wiped in the end"


def test_a_file_sees_nothing() -> None:
    stream = io.StringIO()
    with Progress(1e-6, stream) as shown:
        shown.began -= 10.0
        for record in records():
            shown.shown -= 1.0
            shown(record)
    assert stream.getvalue() == ""


def test_the_share_done_is_that_of_the_orders_of_magnitude() -> None:
    shown = Progress(1e-6, Terminal())
    shown(records()[0])
    assert shown.line(1e-3, 5.0).count("━") == progress.WIDTH // 2
    assert "about 5 s left" in shown.line(1e-3, 5.0)
    assert "so far" in shown.line(float("inf"), 5.0)
