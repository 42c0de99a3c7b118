"""A processor that another library has told to be fast rather than right."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

FLUSHED, UP, DOWN, CHOPPED = 0x8040, 0x4000, 0x2000, 0x6000  # bits of the control word, Intel's manual 10.2.3

tellable = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="this processor's control word is another",
)


@contextmanager
def told(bits: int) -> Iterator[None]:
    """The processor with these bits of its control word set, and as it was afterwards."""
    library, before = ctypes.CDLL(None), ctypes.create_string_buffer(256)
    library.fegetenv(before)
    words = (ctypes.c_uint32 * 64).from_buffer_copy(before)
    words[7] |= bits
    library.fesetenv(words)
    try:
        yield
    finally:
        library.fesetenv(before)
