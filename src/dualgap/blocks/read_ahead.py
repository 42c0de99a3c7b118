"""A thread that makes the next block while one is used: decoding leaves the interpreter free."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from typing import Any

AHEAD = 1  # blocks in waiting beside the one in use and the one being made
WAIT = 0.05  # seconds between two looks at whether the reader has gone


def read_ahead(blocks: Iterator[Any]) -> Iterator[Any]:
    """The same blocks; whoever makes them must not overwrite one before two more have been asked for."""
    if len(os.sched_getaffinity(0)) < 2 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) < 2:
        yield from blocks
        return
    line: queue.Queue[tuple[bool, Any]] = queue.Queue(AHEAD)
    gone = threading.Event()
    thread = threading.Thread(target=_made, args=(blocks, line, gone), daemon=True)
    thread.start()
    try:
        while (item := line.get())[0]:
            yield item[1]
        if item[1] is not None:
            raise item[1]
    finally:
        gone.set()
        while thread.is_alive():
            try:
                line.get_nowait()
            except queue.Empty:
                thread.join(WAIT)


def _made(blocks: Iterator[Any], line: Any, gone: threading.Event) -> None:
    try:
        for block in blocks:
            line.put((True, block))
            if gone.is_set():
                return
        line.put((False, None))
    except BaseException as error:  # handed to the reader
        line.put((False, error))
