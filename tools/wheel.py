"""Build the sdist and the wheel, install the wheel where nothing else is, and use it there.

    python tools/wheel.py             dist/, then a clean environment for each Python at hand
    python tools/wheel.py --build     dist/, and that is all

The environments are those of the oldest Python that is allowed and of the newest that is found. Their
site-packages cannot be written, there is no HOME, and the folder of work is an empty one. Where no package
index answers, it says so and ends well after the build.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".venv-wheel"
DIST = ROOT / "dist"
OLDEST = (3, 11)
NOBODY = 65534  # the user that owns nothing: for root no folder is read-only
SMOKE = """
import sys, pathlib
import dualgap as dg
assert "site-packages" in dg.__file__, dg.__file__
X, y, recipe = dg.tables.read("diabetes")
solution = dg.fit(X, y, loss="absolute", penalty="l1", lam=0.01)
assert solution.relative_gap <= 1e-6
from dualgap.cli.main import main
run = lambda *words: main(list(words)) == 0 or sys.exit(f"dualgap {' '.join(words)} failed")
run("fit", "iris", "--lam", "0.01", "--out", "m.json", "--report", "page.html", "--hold-out", "0.2")
run("fit", "iris", "--lam", "0.01", "--out", "all.json")
run("verify", "all.json", "iris")
run("predict", "all.json", "iris", "--out", "p.csv")
assert pathlib.Path("page.html").read_text("utf-8").endswith("</html>\\n")
print("used: Python", sys.version.split()[0], "with dualgap", dg.__version__)
"""


def run(command: list[str], **more: object) -> subprocess.CompletedProcess[str]:
    """A command that must succeed."""
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command,
        capture_output=True,
        text=True,
        **more,  # type: ignore[call-overload]
    )
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} … failed:\n{done.stdout}{done.stderr}")
    return done


def build() -> Path:
    """dist/ with one sdist and one wheel, of the version that the package says."""
    python = environment(sys.executable, "build")
    if not install(python, "build"):
        sys.exit("No package index can be reached: there is nothing to build with.")
    shutil.rmtree(DIST, ignore_errors=True)
    run([python, "-m", "build", "--outdir", str(DIST), str(ROOT)])
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/dualgap/version.py").read_text("utf-8"))
    (wheel,), (sdist,) = list(DIST.glob("*.whl")), list(DIST.glob("*.tar.gz"))
    assert version is not None and f"-{version[1]}-" in wheel.name and f"-{version[1]}." in sdist.name
    names = set(zipfile.ZipFile(wheel).namelist())
    for needed in ("dualgap/py.typed", "dualgap/report/style.css", "dualgap/report/page.js"):
        assert needed in names, f"{needed} is not in the wheel"
    assert not [name for name in names if not name.startswith("dualgap")], "the wheel holds more than dualgap"
    print(f"built {sdist.name} and {wheel.name}", flush=True)
    return wheel


def environment(interpreter: str, name: str) -> str:
    """A fresh one; its Python."""
    place = HOME / name
    shutil.rmtree(place, ignore_errors=True)
    run([interpreter, "-m", "venv", str(place)])
    return str(place / "bin" / "python")


def install(python: str, *wanted: str) -> bool:
    """Is there an index that has them?"""
    command = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--only-binary",
        ":all:",
    ]
    return subprocess.run([*command, *wanted], stdout=subprocess.DEVNULL).returncode == 0


def pythons() -> dict[str, str]:
    """The oldest that is allowed and the newest that is found, by version."""
    found: dict[str, str] = {}
    versions_of_pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(OLDEST[1], 20):
        # the system's own first: every user may run it; pyenv's short names answer for one version alone
        kept = sorted(str(one) for one in versions_of_pyenv.glob(f"3.{minor}.*/bin/python"))
        for name in (f"/usr/bin/python3.{minor}", f"python3.{minor}", *kept, sys.executable):
            if shutil.which(name) and _says(name, "import ensurepip") == f"3.{minor}":
                found.setdefault(f"3.{minor}", name)
    versions = list(found)
    return {version: found[version] for version in dict.fromkeys((versions[0], versions[-1]))}


def _says(name: str, first: str) -> str:
    code = f"{first}\nimport sys; print(*sys.version_info[:2], sep='.')"
    return subprocess.run([name, "-c", code], capture_output=True, text=True).stdout.strip()


def _unprivileged(python: str) -> dict[str, object]:
    """For root, to whom nothing is read-only: another user, if it may run this Python."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return {}
    try:
        subprocess.run([python, "-c", ""], user=NOBODY, capture_output=True, check=True)
    except (OSError, subprocess.SubprocessError):
        print(f"{python} is closed to other users: used as root, to whom nothing is read-only.")
        return {}
    return {"user": NOBODY}


def use(version: str, interpreter: str, wheel: Path) -> None:
    """Install the wheel, lock the environment, and run the smoke test in an empty folder without a home."""
    python = environment(interpreter, version)
    if not install(python, f"{wheel}[cli]"):
        print(f"Python {version}: the packages that the wheel needs cannot be had here; not tested.")
        return
    run(["chmod", "-R", "a-w", str(HOME / version)])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "TMPDIR")}
        done = run(
            [python, "-c", SMOKE], cwd=folder, env={**kept, "OMP_NUM_THREADS": "1"}, **_unprivileged(python)
        )
    run(["chmod", "-R", "u+w", str(HOME / version)])
    print(done.stdout.strip().splitlines()[-1], flush=True)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description="Build the wheel and use it in clean environments.")
    parser.add_argument("--build", action="store_true", help="build only")
    only = parser.parse_args().build
    wheel = build()
    if not only:
        for version, interpreter in pythons().items():
            use(version, interpreter, wheel)
    shutil.rmtree(HOME, ignore_errors=True)


if __name__ == "__main__":
    main()
