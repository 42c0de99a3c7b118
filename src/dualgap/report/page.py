"""The whole page: sections in their order, one style sheet, one script, nothing from outside."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

from dualgap.files.store import write_whole
from dualgap.fitting.several import one_output
from dualgap.report import (
    along_path,
    certificate,
    effects,
    findings,
    fitted,
    folds,
    quality,
    reproduce,
    weights,
)
from dualgap.report.document import document
from dualgap.report.headline import headlines
from dualgap.report.markup import count, number, safe, tiles
from dualgap.report.shown_point import pick
from dualgap.report.subject import Origin, Subject, subject

# name of a section: what links to it are called, and what writes it
PARTS = {
    "fitted": ("What was fitted", fitted.fitted),
    "certificate": ("Certificate", certificate.certificate),
    "weights": ("Weights", weights.weights),
    "effects": ("Effects", effects.effects),
    "path": ("Path", along_path.along),
    "folds": ("Cross-validation", folds.folds),
    "quality": ("Errors", quality.quality),
    "data": ("Data", findings.data),
    "again": ("Again", reproduce.again),
}


def write(  # noqa: PLR0913
    thing: Any,
    path: str | FilePath,
    *,
    data: Any = None,
    test: Any = None,
    along: Any = None,
    recipe: Any = None,
    notes: tuple[str, ...] = (),
    command: str = "",
    python: str = "",
    intervals: Any = None,
    effects: Any = None,
) -> FilePath:
    """Write a page about a Solution, a path, a search or a fitted linear estimator.

    `data` = (X, y) are the rows of the fit: with them the page shows residuals, or confusions, ROC and
    calibration. `test` = (X, y) are rows that the fit has not seen. `along` is the dg.path that goes with a
    search or a solution: its slider moves weights and errors together. `recipe`, `notes`, `command` and
    `python` say where the columns came from, what was decided on the way, and how to run it again;
    `intervals` are those of `solution.intervals`, `effects` those of `solution.effect` to be shown in place
    of the strongest.
    """
    shown = None if effects is None else tuple(effects)
    origin = Origin(command, tuple(notes), recipe, python, intervals, shown)
    about = pick(subject(thing, along, data, test, origin))
    one_output(about.solution, "A page is")
    target = FilePath(path)
    write_whole(target, page(about).encode("utf-8"))
    return target


def page(about: Subject) -> str:
    """The page as text."""
    title = safe(fitted.title(about))
    sections = {name: make(about) for name, (_, make) in PARTS.items()}
    body = "\n".join(text for text in sections.values() if text)
    header = f'{_tiles(about)}\n<nav aria-label="Sections">{_links(sections)}</nav>'
    return document(title, header, f"{findings.worries(about)}\n{body}", ("style.css",), "page.js")


def _links(sections: dict[str, str]) -> str:
    return "".join(f'<a href="#{name}">{words}</a>' for name, (words, _) in PARTS.items() if sections[name])


def _tiles(about: Subject) -> str:
    solution = about.solution
    proven = "proven" if about.proven else "not proven"
    entries = [
        *((f"{one.name}, {one.where}", one.shown) for one in headlines(about)),
        ("certificate", f'<span class="badge {"good" if about.proven else "bad"}">{proven}</span>'),
        ("relative gap", number(solution.relative_gap, 2)),
        ("rows", count(solution.facts["n"])),
        ("columns used", f"{count(solution.n_nonzero)} of {count(len(about.names))}"),
    ]
    return tiles(entries)
