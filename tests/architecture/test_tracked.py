"""What git keeps."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not (ROOT / ".git").exists() or shutil.which("git") is None, reason="no checkout")
def test_nothing_is_tracked_that_is_ignored() -> None:
    """An environment that is tracked, or a link to one, takes the place of everybody else's."""
    listed = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert not found, f"git rm --cached {' '.join(found)}"
