from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualgap.compiled.mechanism import COMPILED

PACKAGE = Path(__file__).parents[2] / "src" / "dualgap"

# Fits dense, sparse, frozen and writeable data, and says what was compiled for that.
CATALOGUE = """
import json
import numpy as np, scipy.sparse as sp
import dualgap as dg
from dualgap.compiled.tally import compile_at_once

compile_at_once()
array = np.random.default_rng(0).normal(size=(30, 7))
frozen = array.copy()
frozen.flags.writeable = False
y = np.where(np.arange(30) % 3 == 0, 1.0, -1.0)
y.flags.writeable = False
for X in (array, np.asfortranarray(array), frozen, sp.csr_array(array)):
    dg.fit(X, y, loss="squared", penalty="l1", lam=0.01, solver="coordinate_descent")
    dg.fit(X, y, loss="logistic", penalty="elastic_net(0.5)", lam=0.01, solver="coordinate_descent")
    dg.fit(X, y, loss="hinge", penalty="l2", lam=0.01, solver="dual_coordinate_ascent")

from dualgap.compiled.mechanism import COMPILED, cache_folder
print(json.dumps({
    "signatures": [len(loop.signatures) for loop in COMPILED],
    "missed": sum(sum(loop.stats.cache_misses.values()) for loop in COMPILED),
    "folder": str(cache_folder()),
}))
"""


def _python(script: str, **environment: str) -> str:
    kept = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", script], env=kept, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    folder = str(tmp_path_factory.mktemp("cache"))
    return [json.loads(_python(CATALOGUE, NUMBA_CACHE_DIR=folder)) for _ in range(2)]


def test_the_second_process_compiles_nothing(two_processes: list[dict[str, object]]) -> None:
    first, second = two_processes
    assert first["folder"] == second["folder"], "the sources were edited while this ran"
    assert first["missed"]
    assert second["missed"] == 0


def test_no_loop_is_compiled_for_each_kind_of_storage(two_processes: list[dict[str, object]]) -> None:
    """Dense and sparse lines are one type; the short copy of sparse rows is another, and that is all."""
    counts = two_processes[1]["signatures"]
    assert isinstance(counts, list)
    assert any(counts)
    assert max(counts) <= 2


def test_the_package_does_not_import_numba() -> None:
    script = (
        "import sys, dualgap, dualgap.solvers.lasso.coordinate_descent, dualgap.solvers.dual_ascent.method;"
        "print('numba' in sys.modules)"
    )
    assert _python(script).strip() == "False"


EDITED = """
from dualgap.compiled.inner import inner
from dualgap.compiled.mechanism import compiled

@compiled
def outer(x):
    return inner(x)
"""
INNER = """
from dualgap.compiled.mechanism import compiled

@compiled
def inner(x):
    return x + {}
"""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The mechanism alone in a package of the same name, so that its sources can be edited."""
    compiled = tmp_path / "dualgap" / "compiled"
    compiled.mkdir(parents=True)
    (tmp_path / "dualgap" / "__init__.py").touch()
    (compiled / "__init__.py").touch()
    for name in ("mechanism", "unhurried", "addressed", "interrupts", "parts", "clock"):
        shutil.copy(PACKAGE / "compiled" / f"{name}.py", compiled)
    shutil.copy(PACKAGE / "errors.py", compiled.parent)
    (compiled / "outer.py").write_text(EDITED)
    (compiled / "inner.py").write_text(INNER.format("1.0"))
    return compiled


CALL = "from dualgap.compiled.outer import outer; print(outer(1.0))"


def test_an_edit_in_another_file_is_seen(copied: Path) -> None:
    path = str(copied.parents[1])
    assert _python(CALL, PYTHONPATH=path, NUMBA_CACHE_DIR="").strip() == "2.0"
    (copied / "inner.py").write_text(INNER.format("5.0"))
    assert _python(CALL, PYTHONPATH=path, NUMBA_CACHE_DIR="").strip() == "6.0"


def test_an_edit_of_a_constant_that_a_loop_imports_is_seen(copied: Path) -> None:
    """A loop keeps the constants that it met when it was compiled, wherever they are written down."""
    room = copied.parent / "room"
    room.mkdir()
    (room / "__init__.py").touch()
    (room / "shift.py").write_text("SHIFT = 1.0\n")
    (room / "loop.py").write_text(
        "from dualgap.compiled.mechanism import compiled\nfrom dualgap.room.shift import SHIFT\n\n"
        "@compiled\ndef shifted(x):\n    return x + SHIFT\n"
    )
    call, path = "from dualgap.room.loop import shifted; print(shifted(1.0))", str(copied.parents[1])
    assert _python(call, PYTHONPATH=path, NUMBA_CACHE_DIR="").strip() == "2.0"
    (room / "shift.py").write_text("SHIFT = 5.0\n")
    assert _python(call, PYTHONPATH=path, NUMBA_CACHE_DIR="").strip() == "6.0"


WHERE = CALL + "; from dualgap.compiled.mechanism import cache_folder; print(cache_folder())"


def _nowhere(copied: Path, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A call where nothing can be written beside the sources, with its folder.

    A file in place of the folder stands for a read-only one, which root could write.
    """
    (copied / "__pycache__").write_text("")
    chosen = {"PYTHONPATH": str(copied.parents[1]), "NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", WHERE],
        env={**os.environ, **chosen, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "2.0"
    return done


def test_where_the_sources_cannot_be_written_beside(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    done = _nowhere(copied, tmp_path / "home")
    assert done.stdout.split()[1].startswith(str(tmp_path / "home" / "dualgap"))
    assert not done.stderr


def test_where_no_folder_can_be_written_a_temporary_one_is_told(copied: Path, tmp_path: Path) -> None:
    home, refuge = tmp_path / "home", tmp_path / "refuge"
    home.write_text("")
    refuge.mkdir()
    done = _nowhere(copied, home, TMPDIR=str(refuge))
    folder = Path(done.stdout.split()[1])
    assert folder.is_relative_to(refuge)
    assert list(folder.rglob("*.nbi")), "what was compiled is kept"
    assert done.stderr.count("Compiled loops are kept in") == 1
    assert "NumbaWarning" not in done.stderr
    if hasattr(os, "getuid"):  # what others could have written there must not be run
        folder.parent.chmod(0o777)
        assert _nowhere(copied, home, TMPDIR=str(refuge)).stdout.split()[1] == "None"


def test_loops_run_without_compilation() -> None:
    script = (
        "from dualgap.solvers.lasso.gram_sweeps import descend; import numpy as np;"
        "w = np.zeros(2); descend(np.eye(2), w, np.array([3.0, 0.5]), np.ones(2), 3); print(w.tolist())"
    )
    assert _python(script, NUMBA_DISABLE_JIT="1").strip() == "[2.0, 0.0]"


def test_loops_that_count_no_references_call_none_that_makes_arrays() -> None:
    """They would never give the arrays back."""
    for source in PACKAGE.rglob("*.py"):
        if b"@compiled" in source.read_bytes():
            importlib.import_module(".".join(source.relative_to(PACKAGE.parent).with_suffix("").parts))
    kept = [loop for loop in COMPILED if not loop.targetoptions.get("_nrt", True)]
    assert len(kept) > 100
    for loop in kept:
        met = [loop.py_func.__globals__.get(name) for name in loop.py_func.__code__.co_names]
        assert not [other for other in met if other in COMPILED and _makes_arrays(other)], loop.__name__


def _makes_arrays(loop: Any) -> bool:
    inner = loop.targetoptions.get("no_cpython_wrapper", False)
    return bool(inner and loop.targetoptions.get("_nrt", True))


WITHOUT_INTERNALS = """
from numba.core import codegen
del codegen.JITCodeLibrary
import numpy as np, dualgap as dg
from dualgap.compiled.parts import PARTS
X = np.random.default_rng(0).normal(size=(20, 4))
path = dg.path(X, X[:, 0] + X[:, 1], loss="squared", penalty="l1")
print(len(PARTS), path.exact, np.round(path.coefs[-1], 6).tolist())
"""


def test_where_numba_has_changed_inside_loops_are_compiled_as_it_does(tmp_path: Path) -> None:
    found = _python(WITHOUT_INTERNALS, NUMBA_CACHE_DIR=str(tmp_path))
    assert found.strip() == "0 True [1.0, 1.0, 0.0, 0.0]"
