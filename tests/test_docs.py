"""The site's sources hold together: names, links, examples. `make docs` builds it; nothing is built here."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import runpy
import shlex
import warnings
from pathlib import Path

import pytest

import dualgap
from dualgap.cli.main import VERBS, main
from dualgap.lectures.catalogue import FAMILIES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if not {"_build", "gallery"} & set(page.parts))
REFERENCE = {page.stem: page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")}
WHERE = {"losses": "losses", "penalties": "penalties", "solvers": "solvers", "discrete": "discrete"}
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUN = {"pycon", "console", "text"}  # doctests, commands, and the walk through the house, all run below
SHOWN = {"sh"}  # installing, whose extras are checked below
WIDEST = 88  # characters of code that a page shows without scrolling


def named(page: Path) -> str:
    return str(page.relative_to(DOCS))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    return [body for info, body in FENCE.findall(text_of(page)) if info.strip() == language]


def examples(page: Path) -> list[str]:
    """Those for doctest; with a directive where the site is built without what they need."""
    return [*blocks(page, "pycon"), *blocks(page, "{doctest}")]


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def anchors(page: Path) -> set[str]:
    prose = FENCE.sub("", text_of(page))
    return {slug(line.lstrip("#")) for line in prose.splitlines() if line.startswith("#")}


# -- names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", dualgap.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    whole = "\n".join(REFERENCE.values())
    assert re.search(rf"(:: |`){name}\b", whole), f"{name} is not in docs/reference"


@pytest.mark.parametrize("module", WHERE)
def test_every_name_of_a_module_is_on_its_page(module: str) -> None:
    names = importlib.import_module(f"dualgap.{module}").__all__
    absent = [name for name in names if not re.search(rf"(:: |`){name}\b", REFERENCE[WHERE[module]])]
    assert not absent


def test_every_parameter_is_described() -> None:
    """Once, and shown with each callable that takes it (docs/extensions/parameters.py)."""
    words = runpy.run_path(str(DOCS / "extensions" / "parameters.py"))
    assert words["undescribed"]() == []
    names = {(where, one.name) for where, thing in words["public"]() for one in words["taken"](thing)}
    used = {name for _, name in names} | {f"{where}.{name}" for where, name in names}
    assert set(words["WORDS"]) <= used, "words for what nobody takes"
    assert len([where for where, _ in words["public"]()]) >= 50


def test_formulas_that_are_cited_are_on_the_page() -> None:
    page = text_of(DOCS / "mathematics.md")
    shown = set(re.findall(r"\\tag\{(M\d+)\}", page)) | {"M11"}  # a list of steps
    cited = {
        found
        for source in (*PAGES, *(ROOT / "src").rglob("*.py"))
        for found in re.findall(r"\((M\d+)\)", text_of(source))
    }
    assert len(shown) == 15 and cited and cited <= shown


def test_every_error_is_documented() -> None:
    assert "automodule:: dualgap.errors" in REFERENCE["errors"]
    kinds = [cls for _, cls in inspect.getmembers(dualgap.errors, inspect.isclass)]
    assert kinds and all(inspect.getdoc(cls) for cls in kinds)


def test_what_the_reference_names_exists() -> None:
    for page, text in REFERENCE.items():
        module = "dualgap"
        for kind, target in re.findall(r"^\.\. (\w+):: ([\w.]+)", text, flags=re.MULTILINE):
            if kind == "currentmodule":
                module = target
            elif kind in ("autoclass", "autofunction"):
                where, _, name = (target if "." in target else f"{module}.{target}").rpartition(".")
                assert hasattr(importlib.import_module(where), name), f"{page}: {target}"


def test_the_reference_describes_each_thing_once() -> None:
    for page, text in REFERENCE.items():
        shown = re.findall(r"^\.\. (?:autoclass|autofunction):: ([\w.]+)", text, flags=re.MULTILINE)
        assert len(shown) == len(set(shown)), page


WITH_EXAMPLES = [source for source in sorted((ROOT / "src").rglob("*.py")) if ">>> " in text_of(source)]


@pytest.mark.parametrize("source", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_docstrings_print_what_they_show(source: Path) -> None:
    name = ".".join(source.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not doctest.testmod(importlib.import_module(name), optionflags=FLAGS).failed


def test_the_gallery_is_complete() -> None:
    figures, examples = text_of(DOCS / "figures.md"), text_of(DOCS / "examples.md")
    assert re.findall(r"\{figures\} (\w+)", figures) == list(FAMILIES)
    scripts = {script.stem for script in (ROOT / "examples").glob("*.py")}
    assert set(re.findall(r"\{example\} (\w+)", examples)) == scripts


# -- pages -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_resolve(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", text_of(page))):
        if target.startswith(("http:", "https:")):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for body in blocks(page, "{toctree}"):
            names = [line for line in body.splitlines() if line and not line.startswith(":")]
            listed |= {found for name in names for found in page.parent.glob(f"{name}.md")}
    assert sorted(set(PAGES) - listed) == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_code_blocks_are_run_or_need_not_be(page: Path) -> None:
    for info, body in FENCE.findall(text_of(page)):
        language = info.strip()
        assert language in RUN | SHOWN or language.startswith("{"), language
        if language in ("pycon", "{doctest}"):
            assert all(len(line) <= WIDEST for line in body.splitlines() if line.startswith((">>>", "...")))


def test_the_site_is_built_without_torch() -> None:
    """The extra that builds it leaves it out, and so are the examples that need it where it is not."""
    assert [page for page in PAGES if "device=" in "".join(blocks(page, "pycon"))] == []
    asking = [body for page in PAGES for body in blocks(page, "{doctest}") if "device=" in body]
    assert asking and all(':skipif: __import__("importlib")' in body for body in asking)


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=named)
def test_examples_print_what_they_show(page: Path) -> None:
    shown = doctest.DocTestParser().get_doctest("\n".join(examples(page)), {}, named(page), str(page), 0)
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        doctest.DocTestRunner(optionflags=FLAGS).run(shown, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=named)
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one folder and in order, as when the site is built; `echo $?` behind one says that it fails."""
    monkeypatch.chdir(tmp_path)
    lines = "".join(blocks(page, "console")).splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line != "$ echo $?":
            words = shlex.split(line.removeprefix("$ dualgap ").partition(" > ")[0])
            assert words[0] in VERBS
            assert (main(words) != 0) == (after == "$ echo $?"), line


def test_the_walk_is_as_long_as_it_says() -> None:
    walk = runpy.run_path(str(ROOT / "tools" / "walk.py"))
    real = [walk["counts"](name, walk["Walk"](call)) for name, call in walk["WALKS"].items()]
    assert blocks(DOCS / "architecture.md", "text") == ["\n".join(real) + "\n"]
