"""The oldest versions that pyproject.toml allows, in an environment of their own, and a short test there.

    python tools/lowest.py            make .venv-lowest and run tests/test_extras.py in it
    python tools/lowest.py --list     print the versions, and that is all

Twice: everything but the extra `cli`, and everything. Where no package index answers it says so and ends
well: there is nothing to test against.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".venv-lowest"
PYTHON = str(HOME / "bin" / "python")
EXTRAS = ("plot", "frames", "onnx", "qp")
TOOLS = ("pytest>", "hypothesis", "polars", "onnxruntime")  # what the short test needs of the extra `test`
BOUND = re.compile(r"([A-Za-z0-9_-]+)>=([0-9.]+)")
RUNS = ((EXTRAS, "not cli"), ((*EXTRAS, "cli"), "cli"))


def pins(extras: tuple[str, ...]) -> list[str]:
    """name==lowest for the package and these extras; what a later one asks for is higher."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for extra in extras for one in known[extra])]
    wanted += [one for one in known["test"] if one.startswith(TOOLS)]
    found = dict(match.groups() for one in wanted if (match := BOUND.fullmatch(one)))
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    """pip in the environment."""
    command = [PYTHON, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def install(wanted: list[str]) -> None:
    """These versions; what is there already is left alone."""
    if not HOME.exists():
        venv.create(HOME, with_pip=True)
    done = pip("install", "--quiet", "--only-binary", ":all:", *wanted)
    if not done.returncode:
        return
    # asked with the name that everything needs
    if pip("download", "--quiet", "--no-deps", "--dest", str(HOME / "asked"), "threadpoolctl").returncode:
        print("No package index can be reached: the lowest versions are not tested here.")
        sys.exit(0)
    sys.exit(f"The lowest versions do not go together:\n{done.stdout}{done.stderr}")


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description="Test the oldest versions that pyproject.toml allows.")
    parser.add_argument("--list", action="store_true", help="print the versions only")
    only_listed = parser.parse_args().list
    # compiled loops go to a cache of their own: numba of another version would empty the usual one
    own = {"PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(HOME / "loops"), "OMP_NUM_THREADS": "1"}
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default"]
    for extras, which in RUNS:
        wanted = pins(extras)
        print(*wanted, flush=True)
        if only_listed:
            continue
        install(wanted)
        chosen = ["-k", which, "tests/test_extras.py"]
        subprocess.run([*command, *chosen], cwd=ROOT, env={**os.environ, **own}, check=True)


if __name__ == "__main__":
    main()
