"""What came in: is it an array of a device, and how it becomes one of torch's; results go back to NumPy."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.errors import DataError, needed

ROOM = 0.4  # of X beside it: what passes, sums and a sample take was 0.31 of X at 10⁷×100
GIB = float(2**30)


def is_sparse(X: Any) -> bool:
    """Is this a sparse array, of any library?"""
    return hasattr(X, "nnz") or str(getattr(X, "layout", "")).startswith("torch.sparse")


def torch_library() -> Any:
    """torch."""
    needed("array_api_compat", "device", "A device")
    return needed("torch", "device", "A device")


def as_tensor(values: Any, place: Any = None) -> Any:
    """A tensor with the same memory where that is possible, on `place` if it is given."""
    torch = torch_library()
    library = type(values).__module__.split(".", 1)[0]
    if library == "torch":
        found = _with_numbers(values.detach())
    elif library == "cupy":
        found = torch.from_dlpack(values)
    else:
        array = np.ascontiguousarray(values)
        with warnings.catch_warnings():  # torch warns of memory that must not be written to: we never write
            warnings.simplefilter("ignore")
            found = torch.from_numpy(array)
    return found if place is None else found.to(place)


def refuse_complex(values: Any, what: str) -> None:
    """DataError where numbers have an imaginary part, which a cast would leave out."""
    if "complex" in str(getattr(values, "dtype", "")):
        raise DataError(f"Complex data not supported in {what}: give the real and imaginary parts apart.")


def _with_numbers(tensor: Any) -> Any:
    if tensor.is_meta:
        raise DataError("A tensor on the device 'meta' has a shape and no numbers; give it some.")
    return tensor


def place_named(name: Any) -> Any:
    """A device of torch, by name; DataError where this machine has none of that kind."""
    torch = torch_library()
    try:
        place = torch.device(name)
    except (RuntimeError, TypeError):
        raise DataError(f'device={name!r} is no name of a device; say "cuda", "cuda:1" or "cpu".') from None
    if place.type == "cpu":
        return place
    if place.type != "cuda" or not torch.cuda.is_available():
        raise DataError(f"device={name!r}: torch finds no such device here; leave device out.")
    if (place.index or 0) >= torch.cuda.device_count():
        raise DataError(f"device={name!r}: this machine has {torch.cuda.device_count()} devices.")
    return place


def stays(tensor: Any, place: Any) -> bool:
    """Is a tensor where it is wanted? Any device of a kind will do where its number is left out."""
    if place is None or tensor.device == place:
        return True
    return bool(tensor.device.type == place.type and place.index is None)


def to_host(values: Any) -> Any:
    """NumPy's array of what is anywhere."""
    if values is None or isinstance(values, np.ndarray):
        return values
    if hasattr(values, "get") and type(values).__module__.startswith("cupy"):
        return values.get()  # NumPy's, or SciPy's where it is sparse
    if hasattr(values, "detach"):
        values = _with_numbers(values.detach()).cpu()
        if is_sparse(values):
            return of_torch(values)
        if str(values.dtype) == "torch.bfloat16":  # which NumPy has not, and 4 bytes hold
            values = values.float()
        return values.resolve_conj().resolve_neg().numpy()
    return values


def of_torch(X: Any) -> Any:
    """SciPy's of a sparse array of torch."""
    with warnings.catch_warnings():  # torch says that its sparse arrays are young
        warnings.simplefilter("ignore")
        X = (X if str(X.layout) == "torch.sparse_coo" else X.to_sparse_coo()).coalesce()
    rows, columns = X.indices().numpy()
    return sp.csr_array((X.values().numpy(), (rows, columns)), shape=tuple(X.shape))


def like(values: Any, given: Any) -> Any:
    """NumPy's numbers as an array of the library, and on the device, of `given`; words stay."""
    if np.asarray(values).dtype.kind not in "biuf":
        return values
    library = type(given).__module__.split(".", 1)[0]
    if library == "torch":
        return as_tensor(values, given.device)
    if library in ("cupy", "cupyx"):
        return sys.modules["cupy"].asarray(values)
    return values


def free_bytes(place: Any) -> float:
    """What is left on a device; of the host's memory nothing is asked here."""
    torch = torch_library()
    if place.type != "cuda":
        return float("inf")
    held = torch.cuda.memory_reserved(place) - torch.cuda.memory_allocated(place)
    return float(torch.cuda.mem_get_info(place)[0] + held)


def refuse_full(place: Any, X: Any, width: int = 0) -> None:
    """DataError with GiB in it where X is on a device that has no room left for the work, nor for a copy of
    numbers of that width, if it is given.
    """
    size = float(X.numel() * (width or X.element_size()))
    wanted, left = (ROOM + (width > 0)) * size, free_bytes(place)
    if wanted > left:
        raise DataError(
            f"X takes {size / GIB:.1f} GiB of the device and the fit up to {wanted / GIB:.1f} GiB beside it, "
            f"of which {left / GIB:.1f} GiB are free; free some, or give X from the host's memory with "
            'device="cuda", which streams it.'
        )


def refuse_sparse(place: Any, size: float, times: float) -> None:
    """DataError with GiB in it where a sparse X of so many bytes leaves no room for so many times itself."""
    wanted, left = times * size, free_bytes(place)
    if wanted > left:
        raise DataError(
            f"A sparse X of {size / GIB:.1f} GiB needs {wanted / GIB:.1f} GiB of the device while it is put "
            f"in order by columns, of which {left / GIB:.1f} GiB are free; free some, or give X "
            "from the host's memory without device."
        )
