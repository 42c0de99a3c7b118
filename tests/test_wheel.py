"""tools/wheel.py: which Pythons the wheel is tried with."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "wheel.py"


def test_the_newest_python_of_pyenv_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its short names answer for one version alone; this one says that it is 3.19."""
    python = tmp_path / "versions" / "3.19.2" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 3.19\n")
    python.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    found = runpy.run_path(str(TOOL))["pythons"]()
    assert found["3.19"] == str(python) and len(found) == 2
