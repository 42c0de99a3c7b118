"""The mutation tester: its changes, what it calls them, and that it finds the holes of a toy's tests."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "mutants.py"

KERNEL = '''
"""A toy: a sum with a charge for its rounding."""

from __future__ import annotations

import functools
from dataclasses import dataclass

UNIT = 0.5
CHARGE = 2 * UNIT
TABLE = {"double": lambda x: x + x}


def traced(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args) + 0

    return inner


@dataclass(frozen=True)
class Box:
    low: float
    high: float
    scale = 3

    @property
    def width(self) -> float:
        return self.high - self.low

    @classmethod
    def around(cls, middle: float, radius: float = 1.0) -> Box:
        return cls(middle - radius, middle + radius)

    @staticmethod
    def ordered(low, high, *, strict=False):
        def before(a, b):
            return a < b if strict else a <= b

        return before(low, high)


class Child(Box):
    def tripled(self):
        return super().width * self.scale


@traced
def bound(values):
    """Σ|v| and a charge."""
    total = 0.0
    for v in values:
        total += abs(v)
    return total + CHARGE  # never below


def larger(a, b):
    return a if a >= b else b


def halvings(n):
    count = 0
    while n > 1:
        n //= 2
        count += 1
    return count


def unused(x):
    return x + 1
'''

USER = """
from toy.kernel import CHARGE


def charge():
    return CHARGE
"""

TESTS = """
import pytest
from toy.kernel import TABLE, Box, Child, bound, halvings, larger
from toy.user import charge


@pytest.fixture(scope="module")
def box():
    return Box.around(2.0)


def test_bound():
    assert 3.0 <= bound([2.0, -1.0]) < 4.9  # a hole: nothing asks for the charge


def test_box(box):
    assert box


def test_around(box):
    assert (box.low, box.high) == (1.0, 3.0)


def test_width(box):
    assert box.width == 2.0 and Child(1.0, 3.0).tripled() == 6.0


def test_ordered():
    assert Box.ordered(1, 2) and Box.ordered(1, 1) and not Box.ordered(2, 1)
    assert Box.ordered(1, 2, strict=True) and not Box.ordered(1, 1, strict=True)


def test_small_ones():
    assert TABLE["double"](3) == 6
    assert (larger(1, 2), larger(2, 1), larger(3, 3)) == (2, 2, 3)
    assert [halvings(n) for n in (1, 2, 3, 9)] == [0, 1, 1, 3]
    assert charge() < 2
"""

# What survives those tests, by function and change.
HOLES = {
    ("UNIT", "0.5 -> 0.0"),
    ("CHARGE", "2 * UNIT -> UNIT"),
    ("CHARGE", "2 -> 0"),
    ("traced.inner", "function(*args) + 0 -> function(*args) - 0"),
    ("traced.inner", "function(*args) + 0 -> function(*args)"),
    ("bound", "total + CHARGE -> total"),
    ("larger", "a >= b -> a > b"),
    ("unused", "x + 1 -> x - 1"),
    ("unused", "x + 1 -> x"),
    ("unused", "x + 1 -> 1"),
    ("unused", "1 -> 0"),
    ("unused", "1 -> 2"),
}


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("mutants", TOOL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def found(tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """The mutants of a text."""
    monkeypatch.chdir(tmp_path)

    def of(text: str) -> Any:
        Path("some.py").write_text(text, encoding="utf-8")
        return tool.Source("some.py").mutants()

    return of


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return a + b", "a - b; a; b"),
        ("return a - b", "a + b; a; -b"),
        ("return a * b", "a / b; a; b"),
        ("return a / b", "a * b; a"),
        ("return a ** b", "a * b; a"),
        ("return a & b", "a | b; a; b"),
        ("return a < b", "a <= b; a >= b"),
        ("return a == b", "a != b"),
        ("return a is b", "a is not b"),
        ("return a <= b < 1", "a < b < 1; a > b < 1; a <= b <= 1; a <= b >= 1; a <= b; b < 1; 0; 2"),
        ("return a and b", "a or b; b; a"),
        ("return not a", "a"),
        ("return -a", "a"),
        ("return 0.0", "1.0"),
        ("return 1", "0; 2"),
        ("return 3.0", "6.0; 0.0; -3.0"),
        ("return True", "False"),
        ("return np.inf", "0.0"),
        ("return np.abs(a)", "a"),
        ("return np.maximum(a, b)", "np.minimum(a, b); a; b"),
        ("return np.nextafter(a, b)", "a; np.nextafter(b, a)"),
        ("return np.where(a, b, c)", "b; c"),
        ("return np.clip(a, b, c)", "a"),
        ("return a.clip(b, c)", "a; a.clip(c, b)"),
        ("return np.all(a)", "np.any(a)"),
        ("return f(a, b)", "f(b, a)"),
        ("return a, b", "(b, a)"),
        ("return a[b:]", "b + 1:; b:-1"),
        ("return a[:]", "1:"),
        ("a += b", "a -= b; a = b; pass"),
        ("a[0] = b", "pass; 1"),
        ("a = f(c, d=b)", "pass"),
        ("q = b", ""),
        ("if a:\n        raise ValueError(1)", "True; False"),
        ("while a: b()", "False; pass"),
        ("return a if b else c", "True; False"),
        ("for i in a: b()", "(); pass"),
        ("return [i for i in a if i]", "True"),
        ("return zip(a, b, strict=True)", ""),
        ("return f'{a + 1}'", ""),
    ],
)
def test_changes(found: Callable[[str], Any], line: str, expected: str) -> None:
    """Each has the changes it should have, and no two are the same."""
    mutants = found(f"import numpy as np\ndef function(a, b, c):\n    {line}\n")
    assert "; ".join(m.after for m in mutants) == expected


def test_defaults_and_constants_are_changed(found: Callable[[str], Any]) -> None:
    text = "A: float = 2.0\nVector = list[int] | None\nclass B:\n    c = 1\n    d: int = 1\n"
    mutants = found(text + "def f(x=True, *, y=None, z: int | None = 0): ...\n")
    assert [(m.function, m.after) for m in mutants] == [
        ("A", "4.0"),
        ("A", "0.0"),
        ("A", "-2.0"),
        ("B.c", "0"),
        ("B.c", "2"),
        ("f", "False"),
        ("f", "1"),
    ]


def test_identities_stay_where_lines_move(found: Callable[[str], Any]) -> None:
    text = "def f(a):\n    b = a + 1  # why\n    b = a + 1\n    return b\n"
    before = found(text)
    after = found("# A line more.\n\n" + text.replace("why", "why not").replace("    ", "  "))
    assert [m.identity for m in before] == [m.identity for m in after]
    assert [m.line for m in before] != [m.line for m in after]
    identities = [m.identity for m in before]
    assert len(set(identities)) == len(identities)
    assert "some.py :: f :: b = a + 1 :: drop :: a + 1 -> a" in identities
    assert "some.py :: f :: b = a + 1 :: drop :: a + 1 -> a #2" in identities


def test_list_of_equivalents(tool: Any, found: Callable[[str], Any]) -> None:
    mutants, listed = found("def f(a):\n    return a | 1\n"), Path("equivalents.txt")
    listed.write_text(f"# why\n\n{mutants[0].identity} | the same\n{mutants[0].identity}? | gone\n")
    entries = tool.read_equivalents(listed)
    assert entries[mutants[0].identity] == "the same"
    assert tool.stale_entries(entries, mutants, [tool.Source("some.py")]) == [mutants[0].identity + "?"]
    listed.write_text(f"{mutants[0].identity} | ?\n")
    with pytest.raises(SystemExit, match="wants"):
        tool.read_equivalents(listed)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    files = {"toy/__init__.py": "", "toy/kernel.py": KERNEL, "toy/user.py": USER, "tests/test_toy.py": TESTS}
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\n', encoding="utf-8"
    )
    return folder


def run(toy: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The tool on the toy, without plugins that take long to load."""
    command = [sys.executable, str(TOOL), "tests", "--target", "toy/kernel.py", "--equivalents", "listed.txt"]
    bare = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [*command, *options], cwd=toy, env=bare, capture_output=True, text=True, timeout=120
    )


def test_holes_of_a_toy_are_found(toy: Path) -> None:
    """The survivors are those known, no more and no fewer; once they are listed, all is well."""
    first = run(toy, "--time-limit", "0.2", "--survivors-out", "survivors.txt")
    lines = (toy / "survivors.txt").read_text(encoding="utf-8").splitlines()
    parts = [line.removesuffix(" | ?").split(" :: ") for line in lines]
    assert {(part[1], part[4]) for part in parts} == HOLES
    assert first.returncode == 1
    assert "  - return total + CHARGE\n  + return total\n" in first.stdout
    line = KERNEL.splitlines().index("    return total + CHARGE  # never below") + 1
    assert f"toy/kernel.py:{line} in bound [drop]" in first.stdout
    assert "No test runs unused in toy/kernel.py: 5 survived" in first.stdout
    assert "timeout" in first.stdout

    reasons = [line.replace("| ?", "| a hole") for line in lines]
    (toy / "listed.txt").write_text("\n".join(reasons), encoding="utf-8")
    assert run(toy, "--only", "larger").returncode == 0


def test_wrong_entries_are_told(
    tool: Any, found: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """An entry that a test kills, or that matches nothing, fails; one that survives does not."""
    mutant = found("def f(a):\n    return not a\n")[0]
    killed, survived = (tool.Outcome(mutant, status, "test_f") for status in ("killed", "survived"))
    listed = {mutant.identity: "the same"}
    assert [tool.report([o], e, []) for o in (killed, survived) for e in ({}, listed)] == [0, 1, 1, 0]
    assert f"killed by test_f:\n{mutant.identity}\n" in capsys.readouterr().out
    assert tool.report([killed], {}, ["gone"]) == 1
    assert "no such mutant any more:\ngone\n" in capsys.readouterr().out


def test_refuses_tests_that_fail_by_themselves(toy: Path) -> None:
    (toy / "test_broken.py").write_text("def test_it():\n    assert False\n", encoding="utf-8")
    refused = run(toy, "test_broken.py")
    assert refused.returncode == 2
    assert "Tests fail without a change" in refused.stderr
