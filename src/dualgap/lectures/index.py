"""The index page: every figure with its caption, readable on a phone and at a desk, by day and by night."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from dualgap.lectures.catalogue import FAMILIES, Entry

STYLE = """
:root { color-scheme: light dark; --ground: #fafaf8; --card: #ffffff; --ink: #1c1c1a; --soft: #5c5c57;
  --line: #dedbd3; --link: #00558a; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #161718; --card: #202224; --ink: #e9e7e2; --soft: #a9a69e;
    --line: #3a3c3e; --link: #7cc0ee; }
  figure img { filter: brightness(0.92); }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem; max-width: 84rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0.4rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 0.6rem; border-bottom: 1px solid var(--line); padding-bottom: 0.2rem; }
h3 { font-size: 1rem; margin: 0 0 0.5rem; }
a { color: var(--link); }
nav a { margin-right: 0.9rem; display: inline-block; padding: 0.15rem 0; }
.cards { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 32rem), 1fr)); }
figure { margin: 0; padding: 0.9rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 8px; }
figure img { display: block; width: 100%; height: auto; background: #ffffff; border-radius: 4px; }
figcaption { margin-top: 0.6rem; font-size: 0.92rem; }
.source { color: var(--soft); font-size: 0.85rem; margin-top: 0.4rem; }
.absent { color: var(--soft); border: 1px dashed var(--line); padding: 1rem; border-radius: 4px; margin: 0; }
"""


@dataclass(frozen=True)
class Card:
    """A figure on the page: a picture with its caption, or the sentence that says why there is none."""

    entry: Entry
    caption: str
    size: tuple[int, int] | None  # pixels; None where nothing was drawn


def page(cards: Sequence[Card]) -> str:
    """The whole page; pictures are looked for beside it."""
    groups = [
        (family, list(members)) for family, members in groupby(cards, key=lambda card: card.entry.family)
    ]
    links = "\n".join(f'<a href="#{family}">{escape(FAMILIES[family])}</a>' for family, _ in groups)
    sections = "\n".join(_section(family, members) for family, members in groups)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The figures of the lectures</title>
<style>{STYLE}</style>
</head>
<body>
<h1>The figures of the lectures</h1>
<p>{len(cards)} figures; each is drawn by <code>dualgap figures NAME</code> or
<code>dualgap.lectures.catalogue()[NAME].draw()</code>.</p>
<nav>
{links}
</nav>
{sections}
</body>
</html>
"""


def _section(family: str, cards: Sequence[Card]) -> str:
    shown = "\n".join(_card(card) for card in cards)
    return f'<h2 id="{family}">{escape(FAMILIES[family])}</h2>\n<div class="cards">\n{shown}\n</div>'


def _card(card: Card) -> str:
    entry = card.entry
    title = escape(entry.title)
    if card.size is None:
        picture = f'<p class="absent">{escape(card.caption)}</p>'
        caption = ""
    else:
        width, height = card.size
        picture = (
            f'<a href="{entry.name}.png"><img src="{entry.name}.png" alt="{title}" width="{width}" '
            f'height="{height}" loading="lazy"></a>'
        )
        caption = f"{escape(card.caption)}\n"
    return (
        f'<figure id="{entry.name}">\n<h3>{title}</h3>\n{picture}\n<figcaption>{caption}'
        f'<div class="source"><code>{entry.name}</code> · lectures: {escape(entry.source)}</div>'
        "</figcaption>\n</figure>"
    )
