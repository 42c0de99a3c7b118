"""--max-time is for the whole command, and Ctrl-C ends it with one sentence and code 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dualgap.cli import console
from dualgap.cli.main import main


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 150))
    y = X[:, :40] @ rng.standard_normal(40) + rng.standard_normal(3000) > 0
    path = tmp_path_factory.mktemp("rows") / "rows.npz"
    np.savez(path, X=X, y=y.astype(int))
    return path


@pytest.mark.parametrize("verb", ["fit", "cv", "path"])
def test_the_time_is_that_of_the_whole_command(
    verb: str, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = rows.parent / f"{verb}.html"
    told = ["--loss", "logistic", "--penalty", "l1", "--max-time", "0.001", "--report", str(page)]
    assert main([verb, str(rows), *told]) == console.NOT_PROVEN
    said = capsys.readouterr()
    assert "time limit came first" in said.err
    assert page.is_file()


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("verb", ["cv", "path"])
def test_ctrl_c(verb: str, jobs: str, rows: Path) -> None:
    if verb == "path" and jobs == "2":
        pytest.skip("a path has no jobs")
    told = ["--loss", "logistic", "--penalty", "l1", "--points", "5000", "--tol", "1e-15"]
    more = ["--jobs", jobs, "--folds", "3"] if verb == "cv" else []
    command = [sys.executable, "-m", "dualgap", verb, str(rows), *told, *more]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        assert run.stdout is not None
        assert "3000 rows" in run.stdout.readline()  # past the imports
        time.sleep(3.0)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to all processes
        try:
            _, error = run.communicate(timeout=30)
        finally:
            run.kill()  # nobody waits for one that did not hear
    # where Ctrl-C meets Python while it executes a string (as dataclasses do, when they are imported), Python
    # ends by the signal whatever is returned; a shell tells 130 of both
    assert run.returncode in (console.INTERRUPTED, -signal.SIGINT), error
    assert "nterrupted" in error and "Traceback" not in error and len(error.splitlines()) == 1
