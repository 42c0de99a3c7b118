"""The BLAS at hand: its threads, and whether it leaves registers of the processor unused."""

from __future__ import annotations

from functools import cache
from typing import Any

# Kernels of OpenBLAS without registers of 64 bytes: what it takes for processors that it does not know.
NARROW = ("Haswell", "Zen", "Sandybridge", "Nehalem", "Prescott", "Excavator", "Piledriver", "Bulldozer")


@cache
def libraries() -> Any:
    """Every BLAS that is loaded."""
    import scipy.linalg  # noqa: F401 - loads SciPy's own, which is to be found, too
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def narrow() -> bool:
    """Does BLAS run on one thread, with kernels half as wide as the processor?

    Then a product of lines by a loop of ours takes half of its time.
    """
    return _kernels_are_narrow() and all(one.get_num_threads() == 1 for one in libraries().lib_controllers)


@cache
def _kernels_are_narrow() -> bool:
    try:
        import numba
        from llvmlite.binding import get_host_cpu_features
    except OSError:  # a limit of addresses leaves no room for the compiler
        return False
    compiler: Any = numba.config
    known = [getattr(one, "architecture", None) for one in libraries().lib_controllers]
    wide = bool(get_host_cpu_features().get("avx512f"))
    return wide and bool(known) and not compiler.DISABLE_JIT and all(kernels in NARROW for kernels in known)
