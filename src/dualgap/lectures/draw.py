"""Draw figures into a folder, and the index page beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dualgap.lectures.catalogue import Entry, entries
from dualgap.lectures.data import MissingDataError
from dualgap.lectures.index import Card, page


def draw(
    names: Sequence[str] = (),
    out: Path | str = "figures-out",
    *,
    tell: Callable[[str], None] | None = None,
    missing: Callable[[str, str], object] | None = None,
) -> Path:
    """Draw the figures of these names (all, if none is given) as PNG files; returns the index page.

    A figure whose data are missing is on the page with the sentence that says so. `tell` is called with a
    line for each figure, `missing` with its name and that sentence.
    """
    wanted = entries(names)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    cards = []
    for entry in wanted:
        began = time.perf_counter()
        card = _card(entry, folder)
        cards.append(card)
        if missing is not None and card.size is None:
            missing(entry.name, card.caption)
        if tell is not None:
            words = card.caption if card.size is None else f"{time.perf_counter() - began:.2f} s"
            tell(f"{entry.name}: {words}")
    index = folder / "index.html"
    index.write_text(page(cards), encoding="utf-8")
    return index


def _card(entry: Entry, folder: Path) -> Card:
    try:
        drawing = entry.draw()
    except MissingDataError as problem:
        return Card(entry, str(problem), None)
    figure = drawing.figure
    figure.savefig(folder / f"{entry.name}.png", facecolor="white", metadata={"Software": None})
    width, height = figure.get_size_inches() * figure.dpi
    return Card(entry, drawing.caption, (int(width), int(height)))
