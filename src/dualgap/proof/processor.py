"""The arithmetic that a proof counts on: double precision, to nearest, with small numbers kept.

A library that was compiled for speed at any price may tell the processor, for the whole process and merely by
being imported, that numbers below 2⁻¹⁰²² are zero. What is charged for underflow would be nothing then, and a
bound no bound. The processor is asked at every entry of the kernel, told what is needed where it says
otherwise, and left as it was found.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from dualgap.errors import ProcessorError

SMALLEST = 2.0**-1022  # half of it is a number where small numbers are kept
ROUNDED = 3.0 * 2.0**-54  # 1 and this is nearest to 1 + 2⁻⁵², 1 and a third of it to 1; −1 likewise
ROOM = 256  # bytes: more than any processor's environment takes (32 with x86, 28 with old ones, 16 with ARM)


def is_plain() -> bool:
    """Whether this thread rounds to nearest and keeps small numbers."""
    third = ROUNDED / 3.0
    return SMALLEST * 0.5 > 0.0 and 1.0 + ROUNDED > 1.0 and 1.0 + third == 1.0 and -1.0 - third == -1.0


class PlainArithmetic:
    """`with PlainArithmetic():` no warnings, and a processor that rounds as IEEE 754 does by default."""

    def __enter__(self) -> None:
        self.quiet = np.errstate(all="ignore")
        self.quiet.__enter__()
        self.before = None if is_plain() else told_default()

    def __exit__(self, *broken: Any) -> None:
        if self.before is not None:
            ctypes.CDLL(None).fesetenv(self.before)
        self.quiet.__exit__(*broken)


def told_default() -> Any:
    """C's default environment from here on; the one that was there, to be put back."""
    before = ctypes.create_string_buffer(ROOM)
    if sys.platform in ("linux", "darwin"):
        library = ctypes.CDLL(None)
        library.fegetenv(before)
        library.fesetenv(_default(library))
    if not is_plain():
        raise ProcessorError(
            "A library in this process has told the processor to take numbers below 2^-1022 for zero, or not "
            "to round to the nearest number: nothing can be proven like that. Import it in another process."
        )
    return before


def _default(library: Any) -> Any:
    """What C calls FE_DFL_ENV: a variable on macOS, a number that is no address elsewhere."""
    if sys.platform == "darwin":
        return ctypes.byref(ctypes.c_char.in_dll(library, "_FE_DFL_ENV"))
    return ctypes.c_void_p(-1)
