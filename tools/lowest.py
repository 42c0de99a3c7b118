"""The oldest versions that pyproject.toml allows, in an environment of their own, and a short test there.

    python tools/lowest.py            make or renew .venv-lowest, run tests/test_extras.py in it
    python tools/lowest.py --list     print the versions, and that is all

Where no package index answers it says so and ends well: there is nothing to test against.
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
EXTRAS = ("cli", "plot", "frames", "onnx", "qp")
TOOLS = ("pytest>", "hypothesis", "polars", "onnxruntime")  # what the short test needs of the extra `test`
BOUND = re.compile(r"([A-Za-z0-9_-]+)>=([0-9.]+)")


def pins() -> list[str]:
    """name==lowest for everything that people install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for extra in EXTRAS for one in extras[extra])]
    wanted += [one for one in extras["test"] if one.startswith(TOOLS)]
    found = dict(match.groups() for one in wanted if (match := BOUND.fullmatch(one)))
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    """pip in the environment."""
    command = [str(HOME / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def unreachable() -> bool:
    """Does no index answer? Asked with the name that everything needs."""
    return (
        pip("download", "--quiet", "--no-deps", "--dest", str(HOME / "asked"), "threadpoolctl").returncode
        != 0
    )


def install(wanted: list[str]) -> None:
    """The environment with these versions; made once, and again when they change."""
    stamp = HOME / "versions.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8").split() == wanted:
        return
    venv.create(HOME, clear=True, with_pip=True)
    done = pip("install", "--quiet", "--only-binary", ":all:", *wanted)
    if done.returncode and unreachable():
        print("No package index can be reached: the lowest versions are not tested here.")
        sys.exit(0)
    if done.returncode:
        sys.exit(f"The lowest versions do not go together:\n{done.stdout}{done.stderr}")
    stamp.write_text("\n".join(wanted), encoding="utf-8")


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description="Test the oldest versions that pyproject.toml allows.")
    parser.add_argument("--list", action="store_true", help="print the versions only")
    parser.add_argument("tests", nargs="*", default=["tests/test_extras.py"], help="what pytest is to run")
    asked = parser.parse_args()
    wanted = pins()
    print(" ".join(wanted))
    if asked.list:
        return
    install(wanted)
    # compiled loops go to a cache of their own: numba of another version would empty the usual one
    kept = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "NUMBA_CACHE_DIR": str(HOME / "loops"),
        "OMP_NUM_THREADS": "1",
    }
    command = [
        str(HOME / "bin" / "python"),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "default",
        *asked.tests,
    ]
    sys.exit(subprocess.run(command, cwd=ROOT, env=kept).returncode)


if __name__ == "__main__":
    main()
