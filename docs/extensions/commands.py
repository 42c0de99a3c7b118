"""Code blocks are true: `console` blocks run and show what they print, `pycon` blocks are doctests.

A `console` block holds lines `$ dualgap …`; the commands of a page run in one empty folder, in order, and the
page shows what each prints. `$ echo $?` shows the last exit code; `$ cat FILE` a file. A command that fails
without being asked for its code is a warning, which ends the build. HTML pages that commands write become
part of the site.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from docutils import nodes
from sources import ROOT, depends_on_sources
from sphinx.util import logging

LOG = logging.getLogger(__name__)
WIDTH = "96"
PAGES = ROOT / "docs" / "gallery" / "pages"  # copied to the root of the site
LONGEST = 60  # lines of output that a page shows


def prove(app: Any, doctree: nodes.document) -> None:
    """Run the commands of a page, mark its examples."""
    with tempfile.TemporaryDirectory() as folder:
        for block in doctree.findall(nodes.literal_block):
            language = block.get("language")
            if language == "pycon":
                block["testnodetype"] = "doctest"
            elif language == "console":
                depends_on_sources(app.env)
                text = session(block.astext().splitlines(), Path(folder), app.env.docname)
                block[:] = [nodes.Text(text)]
                block.rawsource = text
        PAGES.mkdir(parents=True, exist_ok=True)
        for page in Path(folder).glob("*.html"):
            (PAGES / page.name).write_bytes(page.read_bytes())


def session(lines: list[str], folder: Path, page: str) -> str:
    """The lines with what they print."""
    shown: list[str] = []
    code = 0
    commands = [line for line in lines if line.startswith("$ ")]
    for k, line in enumerate(commands):
        asked = k + 1 < len(commands) and commands[k + 1] == "$ echo $?"
        text, code = answer(line[2:], folder, code)
        if code and not asked and line != "$ echo $?":
            LOG.warning("%s: %r ended with the code %d: %s", page, line, code, text)
        printed = text.rstrip().splitlines()
        if len(printed) > LONGEST:
            printed = [*printed[:LONGEST], "…"]
        shown += [line, *printed]
    return "\n".join(shown)


def answer(line: str, folder: Path, last: int) -> tuple[str, int]:
    """What a command prints, and its exit code."""
    words = shlex.split(line)
    if line == "echo $?":
        return str(last), 0
    if words[0] == "cat":
        return (folder / words[1]).read_text(encoding="utf-8"), 0
    if words[0] != "dualgap":
        return f"only dualgap, cat and echo $? are run here, not {words[0]}", 127
    into = words.index(">") if ">" in words else len(words)
    text, code = run(words[1:into], folder)
    if into < len(words):
        (folder / words[into + 1]).write_text(text, encoding="utf-8")
        text = ""
    return text, code


def run(words: list[str], folder: Path) -> tuple[str, int]:
    """The command line in this process, which has compiled and imported everything already."""
    from dualgap.cli.main import main

    printed = io.StringIO()
    given, here, width = sys.argv, Path.cwd(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    sys.argv = ["dualgap", *words]
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = main(words)
    except SystemExit as end:  # argparse's, after --help
        code = int(end.code or 0)
    finally:
        os.chdir(here)
        sys.argv = given
        os.environ.pop("COLUMNS")
        if width is not None:
            os.environ["COLUMNS"] = width
    return printed.getvalue(), code


def setup(app: Any) -> dict[str, Any]:
    """After a page is read, before it is written or tested."""
    app.connect("doctree-read", prove)
    return {"parallel_read_safe": False}
