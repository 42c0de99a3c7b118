"""What the README shows is what happens, and the demo runs."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
VARIES = ("solver", "relative gap")  # which solver, how fast, and how far below the tolerance


def shown(page: Path) -> list[tuple[str, str]]:
    """Python blocks of the page, each with the text block behind it."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```\s+```text\n(.*?)```", text, flags=re.DOTALL)


def same_line(real: str, claimed: str) -> bool:
    """The same words, and numbers equal to three digits."""
    if NUMBER.sub("#", real).split() != NUMBER.sub("#", claimed).split():
        return False
    numbers = zip(NUMBER.findall(real), NUMBER.findall(claimed), strict=True)
    return all(float(a) == pytest.approx(float(b), rel=2e-3, abs=1e-6) for a, b in numbers)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_readme_examples_print_what_they_show() -> None:
    examples = shown(ROOT / "README.md")
    names: dict[str, object] = {}
    assert len(examples) >= 2
    for code, claimed in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        real = printed.getvalue().splitlines()
        for line, expected in zip(real, claimed.splitlines(), strict=True):
            varies = any(word in expected for word in VARIES)
            assert varies or same_line(line, expected), f"{line!r} is not {expected!r}"


def test_demo_runs_and_tells_its_story() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    text = printed.getvalue()
    assert "NOT proven" not in text
    assert re.search(r"at most (29|30|31)\.?\d* % above the best possible", text)
    assert text.count("relative gap") >= 4
