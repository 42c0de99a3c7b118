"""What the README shows is what happens, what pages count is what there is, and the demo runs."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

from cases import LOSSES, PENALTIES, bound
from dualgap.cli.main import VERBS, main
from dualgap.traits import Trait

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
NAME = re.compile(r"`([a-z_0-9]+)(?:\([^`]*\))?`")
WORDS = [
    "",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
]


# -- examples -----------------------------------------------------------------------------------------


def same_line(real: str, claimed: str) -> bool:
    """The same words, and numbers equal to three digits; … is what differs from machine to machine."""
    if "…" in claimed:
        before, after = claimed.split("…")
        start, end = real[: len(before)], real[len(real) - len(after) :]
        return same_line(start, before) and same_line(end, after)
    if NUMBER.sub("#", real).split() != NUMBER.sub("#", claimed).split():
        return False
    numbers = zip(NUMBER.findall(real), NUMBER.findall(claimed), strict=True)
    return all(float(a) == pytest.approx(float(b), rel=2e-3, abs=1e-6) for a, b in numbers)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_readme_examples_print_what_they_show() -> None:
    examples = re.findall(r"```python\n(.*?)```\s+```text\n(.*?)```", README, flags=re.DOTALL)
    assert len(examples) == README.count("```") // 4 >= 5, (
        "every block of code has its output, and there are no others"
    )
    names: dict[str, object] = {}
    for code, claimed in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        for line, expected in zip(printed.getvalue().splitlines(), claimed.splitlines(), strict=True):
            assert same_line(line, expected), f"{line!r} is not {expected!r}"


def test_readme_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a file of houses made up here; figures and warm have tests of their own."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    lines = [
        f"{rooms},{'old' if age > 50 else 'new'},{50 * rooms - age}"
        for rooms, age in random.integers(1, 99, (60, 2))
    ]
    Path("houses.csv").write_text("\n".join(["rooms,state,price", *lines]), encoding="utf-8")
    Path("new.csv").write_text("rooms,state\n3,old\n", encoding="utf-8")
    commands = [
        shlex.split(line, comments=True) for line in re.findall(r"^    dualgap (.*)$", README, re.MULTILINE)
    ]
    assert [words[0] for words in commands] == ["fit", "verify", "predict", "figures", "warm"]
    for words in commands:
        assert words[0] in VERBS
        if words[0] not in ("figures", "warm"):
            assert main(words) == 0
    assert Path("page.html").stat().st_size > 10_000


def test_demo_runs_and_tells_its_story() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    text = printed.getvalue()
    assert "NOT proven" not in text
    assert re.search(r"at most (29|30|31)\.?\d* % above the best possible", text)
    assert text.count("relative gap") >= 4


# -- counts and lists ---------------------------------------------------------------------------------


def rows(text: str) -> list[list[str]]:
    """The cells of every table."""
    return [
        [cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines() if row[:2] == "| "
    ]


def unique(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))


CONVEX = unique([loss.name for loss in LOSSES]), unique([penalty.name for penalty in PENALTIES])


def test_the_table_has_every_convex_pair() -> None:
    table = [line for line in README.splitlines() if line.startswith("| loss |") or line.endswith("✓ |")]
    header, *lines = [NAME.findall(line) for line in table]
    assert header == CONVEX[1]
    assert [names[0] for names in lines] == CONVEX[0]
    assert all(line.count("✓") == len(header) for line in table[1:])


def test_what_is_counted_in_words() -> None:
    """Pages say how many there are of something convex, and of nothing else: then they can be asked."""
    gauges = {type(bound(penalty, 2).gauge(np.ones(2), np.ones(2))) for penalty in PENALTIES}
    pieces = unique([loss.name for loss in LOSSES if Trait.PIECEWISE_QUADRATIC in loss.traits])
    right = {
        "losses": {f"{WORDS[len(CONVEX[0])]} convex", f"{WORDS[len(pieces)]}"},
        "penalties": {f"{WORDS[len(CONVEX[1])]} convex"},
        "gauges": {f"{WORDS[len(gauges)]}"},
    }
    counted = re.compile(
        rf"\b((?:{'|'.join(WORDS[1:])})(?: convex)?) (losses|penalties|gauges)\b", flags=re.IGNORECASE
    )
    found = 0
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for count, what in counted.findall(page.read_text(encoding="utf-8")):
            assert count.lower() in right[what.lower()], f"{page.name}: {count} {what}"
            found += 1
    assert found >= 4


def test_the_race_is_the_one_that_was_run() -> None:
    """Every cell, its seconds and its ratio, to the two digits shown."""
    race = (ROOT / "benchmarks" / "results" / "race" / "table.md").read_text(encoding="utf-8")
    measured = {row[0]: row[1:] for row in rows(race)}
    shown = [row for row in rows(README) if row[0] in measured]
    assert len(shown) > 30
    for cell, ours, peer, ratio in shown:
        seconds, best, times = measured[cell][:3]
        assert float(ours) == pytest.approx(float(seconds), rel=0.06), cell
        assert peer.split()[0] in ("none", best.split()[0]), cell
        assert float(ratio.strip("> ")) == pytest.approx(float(times.strip("> ×")), rel=0.06), cell


def test_the_cells_that_only_one_peer_can_do_are_summed_up() -> None:
    race = (ROOT / "benchmarks" / "results" / "race" / "table.md").read_text(encoding="utf-8")
    special = [row for row in rows(race) if re.search(r"s\.t\.|linf|l2_norm|lp\(|exponential", row[0])]
    ratios = [float(row[3].strip("> ×")) for row in special if row[3] != "–"]
    said = re.search(
        r"(\d+) cells of constrained forms.*?ratios (\d+) to (\d+), median (\d+)", README, re.DOTALL
    )
    real = len(special), min(ratios), max(ratios), np.median(ratios)
    assert said and list(map(int, said.groups())) == pytest.approx(real, abs=0.5)


def test_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    listed = {NAME.findall(row[0])[0] for row in rows(page) if "`" in row[0]}
    assert listed | {"test", "lint", "bench", "dev"} == extras
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    installed = re.findall(
        r"pip install [^\n]*?(?:dualgap|\.)\[([\w,]+)\]", "\n".join([page, README, sources])
    )
    asked = re.findall(r'needed\("[\w.]+", "(\w+)"', sources)
    assert installed and asked
    assert {extra for one in installed for extra in one.split(",")} | set(asked) <= extras
