"""`{figures} FAMILY` and `{example} NAME`: the gallery, drawn and run while the site is built.

What was made is kept in `gallery/`, under a fingerprint of the sources: a build after a change of prose draws
nothing. That folder is not committed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sources import ROOT, depends_on_sources, sources
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parent
GALLERY = ROOT / "docs" / "gallery"
RUNS: dict[str, Future[dict[str, Any]]] = {}  # of the examples that had to run


@cache
def fingerprint() -> str:
    """Of all sources of the package and the examples."""
    found = hashlib.sha256()
    for file in sources():
        if file.parent != HERE:
            found.update(file.read_bytes())
    return found.hexdigest()


def kept(name: str) -> dict[str, Any] | None:
    """What is known of a picture or a run, if it was made from these sources."""
    note = GALLERY / f"{name}.json"
    if not note.exists():
        return None
    found: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
    return found if found.pop("fingerprint") == fingerprint() else None


def keep(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Note it down."""
    note = json.dumps(facts | {"fingerprint": fingerprint()})
    (GALLERY / f"{name}.json").write_text(note, encoding="utf-8")
    return facts


def drawn(entry: Any) -> dict[str, Any]:
    """The caption, with `picture` true where there is one."""
    from dualgap.lectures import MissingDataError

    try:
        drawing = entry.draw()
    except MissingDataError as problem:
        return keep(entry.name, {"caption": str(problem), "picture": False})
    file = GALLERY / f"{entry.name}.png"
    drawing.figure.savefig(file, facecolor="white", metadata={"Software": None})
    return keep(entry.name, {"caption": drawing.caption, "picture": True})


def begin(app: Any) -> None:
    """The examples run beside the drawing, one after the other, in processes of their own."""
    GALLERY.mkdir(exist_ok=True)
    pool = ThreadPoolExecutor(1)
    for script in sorted((ROOT / "examples").glob("*.py")):
        if kept(f"example_{script.stem}") is None:
            RUNS[script.stem] = pool.submit(ran, script.stem)
    pool.shutdown(wait=False)


def ran(name: str) -> dict[str, Any]:
    """What an example prints, and the pictures that it leaves in its folder."""
    script = ROOT / "examples" / f"{name}.py"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=folder,
            env=os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"examples/{name}.py failed: {done.stderr[-800:]}")
        pictures = sorted(Path(folder).glob("*.png"))
        for file in pictures:
            (GALLERY / f"example_{file.name}").write_bytes(file.read_bytes())
        printed = done.stdout.replace(folder, ".")
    return keep(f"example_{name}", {"printed": printed, "pictures": [file.name for file in pictures]})


class Figures(SphinxDirective):
    """All figures of a family, with their captions."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A section each."""
        from dualgap.lectures import catalogue

        depends_on_sources(self.env)
        entries = [one for one in catalogue().values() if one.family == self.arguments[0]]
        return [node for entry in entries for node in self._one(entry)]

    def _one(self, entry: Any) -> list[nodes.Node]:
        facts = kept(entry.name) or drawn(entry)
        frame = nodes.figure(ids=[f"figure-{entry.name}"], classes=["drawn"])
        if facts["picture"]:
            frame += self.parse_text_to_nodes(f"![{entry.title}](/gallery/{entry.name}.png)")[0].children
        words = nodes.caption()
        words += nodes.strong(text=f"{entry.title}. ")
        words += nodes.Text(facts["caption"] + " ")
        words += nodes.literal(text=entry.name)
        frame += words
        return [frame]


class Example(SphinxDirective):
    """An example: what it is for, what it draws and prints, and its source."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Text, pictures, output, source."""
        name = self.arguments[0]
        depends_on_sources(self.env)
        source = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
        about = ast.get_docstring(ast.parse(source)) or ""
        facts = RUNS[name].result() if name in RUNS else kept(f"example_{name}") or ran(name)
        found: list[nodes.Node] = [
            nodes.paragraph(text=" ".join(part.split()))
            for part in about.split("\n\n")
            if not part.startswith("python ") and not part.startswith("    ")
        ]
        for file in facts["pictures"]:
            found += self.parse_text_to_nodes(f"![{name}](/gallery/example_{file})")
        for summary, text, language, is_open in (
            ("What it prints", facts["printed"].strip("\n"), "text", " open"),
            (f"examples/{name}.py", source, "python", ""),
        ):
            found.append(nodes.raw("", f"<details{is_open}><summary>{summary}</summary>", format="html"))
            found.append(nodes.literal_block(text, text, language=language))
            found.append(nodes.raw("", "</details>", format="html"))
        return found


def setup(app: Any) -> dict[str, Any]:
    """Enter the directives."""
    app.connect("builder-inited", begin)
    app.add_directive("figures", Figures)
    app.add_directive("example", Example)
    return {"parallel_read_safe": False}
