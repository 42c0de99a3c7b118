"""One way to compile a loop, `@compiled`, and one cache on disk, named by a hash of every source of a loop.

numba looks for changes only in the file of the function it loads, so that a loop would go on with the old
numbers of a function it calls from another file. A folder per state of the sources cannot go stale.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba

from dualgap.compiled.interrupts import watch_compiler
from dualgap.compiled.parts import PARTS
from dualgap.compiled.unhurried import IN_NUMPY, Unhurried
from dualgap.errors import TemporaryCacheWarning

F = TypeVar("F", bound=Callable[..., Any])

CONFIGURATION: Any = numba.config
COMPILED: list[Any] = []  # every compiled loop, for the tests that count what was compiled
LOOPS = b"dualgap.compiled.mechanism import"  # what the source of a loop says
OURS = re.compile(rb"^from dualgap\.([\w.]+) import", flags=re.MULTILINE)
MONTH = 30 * 24 * 3600.0  # seconds: a checkout that was not used for so long compiles again

watch_compiler()


@overload
def compiled(loop: F) -> F: ...


@overload
def compiled(
    *,
    reassociate: bool = False,
    inner: bool = False,
    inlined: bool = False,
    allocates: bool = False,
    pauses: Callable[..., bool] | None = None,
    in_numpy: Callable[..., Any] | None = None,
) -> Callable[[F], F]: ...


def compiled(
    loop: F | None = None,
    *,
    reassociate: bool = False,
    inner: bool = False,
    inlined: bool = False,
    allocates: bool = False,
    pauses: Callable[..., bool] | None = None,
    in_numpy: Callable[..., Any] | None = None,
) -> F | Callable[[F], F]:
    """Compile on first use, without the interpreter lock.

    `reassociate` lets sums be taken in another order, hence in parallel lanes: right for dot products of
    stored numbers, wrong for gathers (measured slower by half on text). An `inner` loop is called by
    compiled loops only: without an entrance for Python and a place in the cache, and as a part of them (see
    parts.py), many small ones compile twice as fast; one that makes arrays says that it `allocates`,
    the others count no references. An `inlined` one becomes part of its callers: a call with arrays costs as
    much as a line of a sparse matrix. One that `pauses` after as many steps as its last argument
    says, and tells by this function of answer and arguments whether more is left to do, runs uncompiled
    where that is sooner done (see unhurried.py); those that it calls may say the same `in_numpy`.
    """

    def compile_later(function: F) -> F:
        relaxed = {"reassoc", "contract"} if reassociate else False
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": relaxed}
        if inner:
            options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": allocates}
        if inlined:
            options["inline"] = "always"
        if PARTS:
            options["pipeline_class"] = PARTS["inner" if inner else "outer"]
        with _fingerprinted() as cached:
            result: F = numba.njit(cache=cached and not inner, **options)(function)
        COMPILED.append(result)
        if inner and not CONFIGURATION.DISABLE_JIT:
            _without_entrance(result)
        if in_numpy is not None:
            IN_NUMPY[function] = in_numpy
        return result if pauses is None or CONFIGURATION.DISABLE_JIT else cast("F", Unhurried(result, pauses))

    return compile_later if loop is None else compile_later(loop)


def _without_entrance(loop: Any) -> None:
    """Python is told so: it would jump to address 0."""

    def refuse(*args: Any, **options: Any) -> None:
        raise TypeError(f"{loop.__name__} is called by compiled loops only")

    def keep(result: Any) -> None:
        loop.overloads[tuple(result.signature.args)] = result

    loop._compile_for_args, loop.add_overload = refuse, keep


@contextlib.contextmanager
def _fingerprinted() -> Iterator[bool]:
    """numba's cache folder set to ours while a function is decorated; False if there is nowhere to write."""
    folder = cache_folder()
    before = CONFIGURATION.CACHE_DIR
    CONFIGURATION.CACHE_DIR = "" if folder is None else str(folder)
    try:
        yield folder is not None
    finally:
        CONFIGURATION.CACHE_DIR = before


@cache
def cache_folder() -> Path | None:
    """The first that can be written: where NUMBA_CACHE_DIR says, by the sources, the user's cache. If none
    can, one for this user among the temporary files, which is told.
    """
    name, places = fingerprint(), _places()
    for parent in places:
        if _can_be_written(parent / name):
            _forget_old(parent, parent / name)
            return parent / name
    refuge = _private()
    if refuge is None or not _can_be_written(refuge / name):
        return None
    warnings.warn(
        f"Compiled loops are kept in {refuge} until the machine cleans up, since {places[-1]} cannot be "
        "written: set NUMBA_CACHE_DIR to a folder that can.",
        TemporaryCacheWarning,
        stacklevel=2,
    )
    return refuge / name


def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _private() -> Path | None:
    """A folder among the temporary files that nobody else can write to: what is in it will be run."""
    owner = os.getuid() if hasattr(os, "getuid") else None
    try:
        folder = Path(tempfile.gettempdir()) / f"dualgap-of-{'user' if owner is None else owner}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    ours = owner is None or (found.st_uid == owner and not found.st_mode & 0o077)
    return folder if ours and stat.S_ISDIR(found.st_mode) else None


def fingerprint() -> str:
    """A hash of the sources of all loops: those that import this module, and what they import of ours."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    package = here.parent
    texts = {source: source.read_bytes() for source in package.rglob("*.py")}
    met = [source for source, text in texts.items() if LOOPS in text or source.parent == here]
    for source in met:  # which grows on the way
        for module in OURS.findall(texts[source]):
            other = package / f"{module.decode().replace('.', '/')}.py"
            if other in texts and other not in met:
                met.append(other)
    for source in sorted(met):
        digest.update(str(source.relative_to(package)).encode() + b"\0" + texts[source] + b"\0")
    return "dualgap-" + digest.hexdigest()[:16]


def _places() -> list[Path]:
    if CONFIGURATION.CACHE_DIR:
        return [Path(CONFIGURATION.CACHE_DIR)]
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    user = Path(home) if home else Path(os.path.expanduser("~")) / ".cache"
    return [Path(__file__).parent / "__pycache__", user / "dualgap"]


def _forget_old(parent: Path, current: Path) -> None:
    """Remove folders of sources that have not been used for a month."""
    with contextlib.suppress(OSError):
        os.utime(current)
        for folder in parent.glob("dualgap-*"):
            if folder != current and time.time() - folder.stat().st_mtime > MONTH:
                shutil.rmtree(folder, ignore_errors=True)
