"""Bytes on the disk: whole or not at all, with a checksum, large arrays in an npz file beside the JSON."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.errors import DataError, ModelFileError
from dualgap.version import __version__

MADE_BY = f"dualgap {__version__}"
SEVERAL = 4  # the version with several outputs
SIGNED = 3  # the version with bounds, constraints or an offset, which older readers must not overlook
MOST_BYTES = (
    1 << 29
)  # of a JSON text: arrays of a million numbers and more are beside it, so half a GiB is plenty
MOST_BESIDE = 64 * MOST_BYTES  # of the arrays beside it
BESIDE = re.compile(r"[^/\\\x00]{1,200}\.[0-9a-f]{16}\.npz")


def write_whole(path: Path, content: bytes) -> None:
    """The file as it was, or the file as it shall be; nothing between, whatever happens."""
    with written_whole(path) as stream:
        stream.write(content)


@contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """The same for what is written bit by bit: the file is there once all of it is."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)


def checksum(document: dict[str, Any]) -> str:
    """SHA-256 of everything but the checksum itself, keys sorted."""
    rest = {name: value for name, value in document.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def write_document(path: Path, document: dict[str, Any], large: dict[str, NDArray[Any]]) -> None:
    """The JSON file last, so that what it names is there; the npz file of its predecessor goes after it."""
    before = _beside(path)
    if large:
        packed = _packed(large)
        name = f"{path.name}.{hashlib.sha256(packed).hexdigest()[:16]}.npz"
        write_whole(path.with_name(name), packed)
        document = {**document, "beside": {"file": name, "sha256": hashlib.sha256(packed).hexdigest()}}
    document = {**document, "checksum": checksum(document)}
    write_whole(path, (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
    now = document.get("beside", {}).get("file")
    if before is not None and before != now:
        path.with_name(before).unlink(missing_ok=True)


def _packed(large: dict[str, NDArray[Any]]) -> bytes:
    """An npz archive whose bytes depend on the arrays alone."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in large.items():
            inner = io.BytesIO()
            np.lib.format.write_array(inner, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), inner.getvalue())
    return stream.getvalue()


def _beside(path: Path) -> str | None:
    """The npz file that the present file names as its own."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        found = json.loads(path.read_bytes())["beside"]["file"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    mine = isinstance(found, str) and BESIDE.fullmatch(found) and found.startswith(f"{path.name}.")
    return found if mine else None


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object in a file, unchanged since it was written."""
    try:
        if path.is_dir():
            raise ModelFileError(f"{path} is a folder, not a model file.")
        if path.stat().st_size > MOST_BYTES:
            raise ModelFileError(f"{path.name} is larger than any model file ({MOST_BYTES >> 20} MiB).")
        content = path.read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"There is no model file {str(path)!r}.") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from None
    return parse_document(content, path.name)


def parse_document(content: bytes, name: str) -> dict[str, Any]:
    """A JSON object with the checksum it claims."""
    try:
        found = json.loads(content.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)
        if not isinstance(found, dict):
            raise ValueError("it holds no object")
        claimed = found.get("checksum")
        if found.get("format") != "dualgap-model":
            raise ValueError('it does not say "format": "dualgap-model"')
        changed = not isinstance(claimed, str) or claimed != checksum(found)
    except (ValueError, RecursionError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ModelFileError(f"{name} is not a dualgap model file: {said.rstrip('.')}.") from None
    if changed:
        raise ModelFileError(
            f"{name} has been changed since it was written (its checksum does not match); "
            "fit again, or restore it."
        )
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def array_of(content: bytes, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """The array with these bytes; None where they are too few or too many."""
    if len(content) != dtype.itemsize * int(np.prod(shape, dtype=object)):
        return None
    return np.array(np.ndarray(shape, dtype=dtype, buffer=content or bytes(8)))


class Beside:
    """The npz file next to a model: opened when an array is asked of it, each checked against its claim."""

    def __init__(self, folder: Path, file: str, digest: str) -> None:
        self.folder, self.file, self.digest = folder, file, digest
        self._content: bytes | None = None

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The array of that name, if it is what the JSON file says."""
        content = self._bytes()
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                stored = archive.getinfo(f"{name}.npy")
                if stored.compress_type != zipfile.ZIP_STORED:
                    raise ValueError("compressed, which would hide how large it is")
                found = io.BytesIO(archive.read(stored))
            version = np.lib.format.read_magic(found)
            header = np.lib.format.read_array_header_1_0(found)
        except (KeyError, ValueError, OSError, NotImplementedError, RuntimeError, zipfile.BadZipFile):
            raise ModelFileError(f"{self.file} does not hold the array {name!r} of the model.") from None
        content = found.read()
        if version != (1, 0) or header[0] != shape or header[1] or header[2] != dtype:
            raise ModelFileError(f"{self.file}: the array {name!r} is not what the model file says.")
        array = array_of(content, shape, dtype)
        if array is None:
            raise ModelFileError(f"{self.file}: the array {name!r} is cut short.")
        return array

    def _bytes(self) -> bytes:
        if self._content is None:
            if not BESIDE.fullmatch(self.file):
                raise ModelFileError(f"The model file names {self.file[:80]!r}, which is no file beside it.")
            path = self.folder / self.file
            try:
                if path.stat().st_size > MOST_BESIDE:
                    raise ModelFileError(f"{self.file} is larger than any array of a model.")
                content = path.read_bytes()
            except OSError:
                raise ModelFileError(
                    f"{self.file}, which holds large arrays of this model, is not beside it; "
                    "keep both together."
                ) from None
            if hashlib.sha256(content).hexdigest() != self.digest:
                raise ModelFileError(f"{self.file} has been changed since it was written.")
            self._content = content
        return self._content


def fingerprint(X: Any, y: Any) -> str:
    """SHA-256 of the numbers of X, column by column, and of the targets."""
    digest = hashlib.sha256()
    if sp.issparse(X):
        matrix = sp.csc_array(X, dtype=np.float64)
        matrix.sort_indices()
        digest.update(f"sparse {matrix.shape}".encode())
        for part in (matrix.data, matrix.indices.astype("<i8"), matrix.indptr.astype("<i8")):
            digest.update(np.ascontiguousarray(part).data)
    else:
        array = np.asarray(X, dtype=np.float64)
        digest.update(f"dense {array.shape}".encode())
        for j in range(array.shape[1]):
            digest.update(np.ascontiguousarray(array[:, j]).data)
    digest.update(_targets(np.asarray(y)))
    return f"sha256:{digest.hexdigest()}"


def _targets(y: Any) -> bytes:
    if y.dtype.kind in "biuf":
        return bytes(np.ascontiguousarray(y, dtype=np.float64).data)
    return "\x00".join(str(label) for label in y.tolist()).encode("utf-8", "surrogatepass")
