"""How many cores the matrix products of a fit may use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from dualgap.errors import DataError


def limited(n_threads: Any) -> AbstractContextManager[Any]:
    """BLAS on so many threads while it lasts: 1 gives the same bits on every machine with the same BLAS."""
    if isinstance(n_threads, bool) or not hasattr(n_threads, "__index__") or n_threads < 1:
        raise DataError(f"n_threads must be a whole number of at least 1, not {n_threads!r}.")
    libraries = _libraries()
    if all(library.get_num_threads() == n_threads for library in libraries.lib_controllers):
        return nullcontext()
    limit: AbstractContextManager[Any] = libraries.limit(limits=int(n_threads), user_api="blas")
    return limit


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401 - loads SciPy's own BLAS, which is to be found, too
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
