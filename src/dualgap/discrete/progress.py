"""A line on the terminal while a search takes its time: the best objective found, and the bound proven."""

from __future__ import annotations

import multiprocessing
import sys
import threading

from dualgap.drive.trace import Record

QUIET = 1.0  # seconds before anything is shown: most searches are over by then
EVERY = 0.2  # seconds between two lines


class Progress:
    """One line, written over and over, and wiped at the end; nothing where nobody can watch it."""

    def __init__(self, *, wanted: bool = True) -> None:
        self.shown = -1.0
        self.wanted = wanted and _watched()

    def show(self, record: Record) -> None:
        """Tell where the search stands, if it is time to."""
        if not self.wanted or record.seconds < max(QUIET, self.shown + EVERY):
            return
        self.shown = record.seconds
        sys.stderr.write(f"\r\x1b[2K{line(record)}")
        sys.stderr.flush()

    def wipe(self) -> None:
        """Leave no trace."""
        if self.shown >= 0.0:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def line(record: Record) -> str:
    """Seconds, nodes, the best objective, the bound and what lies between, as a share of the objective."""
    share = record.gap / abs(record.best) if record.best else 0.0
    return (
        f"{record.solver}: {record.seconds:.0f} s, {record.iteration} nodes, best {record.best:.6g}, "
        f"proven bound {record.bound:.6g}, gap {100.0 * share:.2g} %"
    )


def _watched() -> bool:
    """Is this the main thread of the main process, and its errors go to a terminal?"""
    if threading.current_thread() is not threading.main_thread():
        return False
    if multiprocessing.parent_process() is not None:
        return False
    return bool(sys.stderr is not None and sys.stderr.isatty())
