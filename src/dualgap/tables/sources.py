"""DATA as people name it: a file of any of the formats, `-` for standard input, or a data set that ships."""

from __future__ import annotations

import difflib
import gzip
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.errors import DataError, needed
from dualgap.tables.columns import RawTable, as_table

LIBSVM = re.compile(rb"\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?(?:\s+qid:\d+)?(?:\s+\d+:[-+\d.eE]+)+\s*(?:#.*)?")
FORMATS = ("csv", "parquet", "feather", "libsvm", "npy", "npz")


def read_rows(source: str, *, absent: tuple[str, ...] = (), form: str | None = None) -> RawTable:
    """The rows of a file, of standard input or of a data set that ships.

    `absent` are words that mean a missing value beside the usual ones; `form` is one of `FORMATS` where
    neither the name nor the content tells.
    """
    if source in SHIPPED and not Path(source).exists():
        return load_shipped(source)
    content, name = _content(source)
    found: RawTable = _reader(form or _form(content))(content, name, absent)
    return found


def _content(source: str) -> tuple[bytes, str]:
    if source == "-":
        return sys.stdin.buffer.read(), "standard input"
    path = Path(source)
    if path.is_dir():
        raise DataError(f"{source} is a folder; name a file of rows.")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"There is no file {source!r}.{_hint(path)}") from None
    except OSError as error:
        raise DataError(f"{source} cannot be read: {error.strerror or error}.") from None
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError):
            raise DataError(f"{source} is a damaged gzip file.") from None
    return content, path.name


def _hint(path: Path) -> str:
    near = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    close = difflib.get_close_matches(path.name, [*near, *SHIPPED], n=1)
    return f" Did you mean {close[0]!r}?" if close else " `dualgap datasets` lists the data sets that ship."


def _form(content: bytes) -> str:
    """The format, by what the first bytes say."""
    if content.startswith(b"\x93NUMPY"):
        return "npy"
    if content.startswith(b"PK"):
        return "npz"
    if content.startswith(b"PAR1"):
        return "parquet"
    if content.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
        return "feather"
    first = next((line for line in content[:4096].splitlines() if line.strip()), b"")
    return "libsvm" if LIBSVM.fullmatch(first) else "csv"


def _reader(form: str) -> Any:
    from dualgap.tables import matrices, separated

    readers: dict[str, Any] = {
        "csv": separated.read_separated,
        "npy": matrices.read_npy,
        "npz": matrices.read_npz,
        "libsvm": matrices.read_libsvm,
        "parquet": _read_arrow,
        "feather": _read_arrow,
    }
    if form not in readers:
        raise DataError(f"There is no format {form!r}. Known: {', '.join(FORMATS)}.")
    return readers[form]


def _read_arrow(content: bytes, name: str, absent: tuple[str, ...]) -> RawTable:
    """Parquet, Feather, or a stream of Arrow record batches."""
    from dualgap.tables.frames import from_frame

    arrow = needed("pyarrow", "cli", "A file of Parquet or Arrow")
    from pyarrow import feather, ipc, parquet

    try:
        if content.startswith(b"PAR1"):
            table = parquet.read_table(io.BytesIO(content))
        elif content.startswith(b"\xff\xff\xff\xff"):
            table = ipc.open_stream(content).read_all()
        else:
            table = feather.read_table(io.BytesIO(content))
    except (arrow.ArrowException, OSError, ValueError) as error:
        said = str(error).splitlines()[0].rstrip(".")
        raise DataError(f"{name} cannot be read: {said}.") from None
    return from_frame(table.to_pandas(), name)


@dataclass(frozen=True)
class Shipped:
    """A name, where it comes from, what is predicted."""

    name: str
    rows: int
    columns: int
    target: str
    about: str


SHIPPED = {
    one.name: one
    for one in (
        Shipped("breast_cancer", 569, 30, "diagnosis", "cell nuclei, malignant or benign"),
        Shipped("diabetes", 442, 10, "progression", "disease progression after a year, a number"),
        Shipped("digits", 1797, 64, "digit", "8 × 8 images of ten digits"),
        Shipped("iris", 150, 4, "species", "three species of iris"),
        Shipped("wine", 178, 13, "cultivar", "three cultivars of wine"),
    )
}


def load_shipped(name: str) -> RawTable:
    """The data set of that name; classes go by their names."""
    from sklearn import datasets

    known = SHIPPED[name]
    bunch = getattr(datasets, f"load_{name}")()
    names = tuple(str(title) for title in bunch.feature_names)
    y = bunch.target
    if name not in ("diabetes", "digits"):
        y = np.asarray(bunch.target_names)[y]
    return as_table(np.asarray(bunch.data, dtype=np.float64), name, names).with_target(y, known.target)
