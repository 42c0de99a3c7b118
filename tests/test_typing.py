"""A slip in a name is seen by a type checker: the package says what it has and no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SLIPS = """
import dualgap as dg

solution = dg.fit([[1.0], [2.0]], [1.0, 2.0], loss="squared", lam=0.1)
solution.certificate.recheck(1, 2).gap + solution.gap
dg.tables.read("x.csv", target="y")[2].names
dg.losses.Quantile(0.9)
dg.fitt  # slip
solution.coeff  # slip
solution.certificate.rechek  # slip
dg.fit([[1.0]], [1.0], loss="squared", lamb=0.1)  # slip
dg.tables.raed  # slip
dg.cross_validate([[1.0]], [1.0], loss="squared").lam_mim  # slip
dg.LinearRegressor().solution_.rellative_gap  # slip
"""


def test_slips_are_seen(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    file = tmp_path / "slips.py"
    file.write_text(SLIPS)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    wanted = [k for k, line in enumerate(SLIPS.splitlines(), 1) if line.endswith("# slip")]
    found = {
        int(line.split(":")[1]) for line in done.stdout.splitlines() if "slips.py" in line and "error" in line
    }
    assert found == set(wanted), done.stdout
