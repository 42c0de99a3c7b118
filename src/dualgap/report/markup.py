"""Text for a page: everything that comes from data is escaped here, and numbers get a real minus sign."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

HIDDEN = {**{k: " " for k in range(32) if k != 10}, 127: " ", **{k: "�" for k in range(0x202A, 0x202F)}}
HIDDEN |= {k: "�" for k in range(0x2066, 0x206A)}  # marks that turn the direction of the text around them

PLAIN = 1e6  # a choice: whole numbers below are read at a glance


def safe(text: Any) -> str:
    """Text as a browser may have it, in an element or a quoted attribute; lone surrogates are replaced."""
    plain = str(text).encode("utf-8", "replace").decode("utf-8")
    return html.escape(plain.translate(HIDDEN), quote=True)


def clipped(text: Any, most: int) -> str:
    """At most so many characters, escaped."""
    text = str(text)
    return safe(text if len(text) <= most else f"{text[: most - 1]}…")


def number(value: float, digits: int = 4) -> str:
    """A number for people."""
    value = float(value) + 0.0  # −0 is 0
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    text = f"{value:.{digits}g}"
    if "e" in text and 1.0 <= abs(value) < PLAIN:
        text = f"{float(text):.0f}"  # 130, not 1.3e2
    elif "e" in text:
        mantissa, power = text.split("e")
        text = f"{mantissa}e{int(power)}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share in percent."""
    return f"{number(100.0 * share, 3)} %"


def count(value: int) -> str:
    """A whole number with thin spaces between the thousands."""
    return f"{int(value):,}".replace(",", "\u202f")


def duration(seconds: float) -> str:
    """Seconds, or thousandths of them."""
    return f"{number(1000 * seconds, 3)} ms" if seconds < 1 else f"{number(seconds, 3)} s"


def plural(value: int, one: str, many: str | None = None) -> str:
    """ "1 row", "2 rows"."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of markup."""
    return f"<p{_class(kind)}>{text}</p>"


def bullets(items: Iterable[str], kind: str = "") -> str:
    """A list of markup."""
    return f"<ul{_class(kind)}>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names with values, both markup."""
    rows = "".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in pairs)
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def tiles(entries: Iterable[tuple[str, str]]) -> str:
    """Names with large values."""
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in entries)
    return f'<dl class="tiles">{cells}</dl>'


def moving_tiles(entries: Iterable[tuple[str, str, str]]) -> str:
    """The same for values that the slider changes; first what the script calls them."""
    cells = (f'<div><dt>{name}</dt><dd data-reads="{key}">{value}</dd></div>' for key, name, value in entries)
    return f'<dl class="tiles" aria-live="polite">{"".join(cells)}</dl>'


def listed(items: Sequence[Any], most: int, wrap: str = "{}") -> str:
    """The first of them, escaped, with a sign that there are more."""
    shown = ", ".join(wrap.format(safe(item)) for item in items[:most])
    return shown + (", …" if len(items) > most else "")


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A plain table of markup; the first cell of a row names it."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}"><table class="grid">'
        f"<caption>{caption}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def section(name: str, title: str, *content: str) -> str:
    """A part of the page; empty if it has no content."""
    inner = "\n".join(part for part in content if part)
    if not inner:
        return ""
    heading = f'<h2 id="{name}-title">{title}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-title">{heading}\n{inner}\n</section>'


def charts(*figures: str) -> str:
    """Figures side by side where there is room."""
    inner = "\n".join(figure for figure in figures if figure)
    return f'<div class="charts">{inner}</div>' if inner else ""


def figure(title: str, picture: str, caption: str) -> str:
    """A picture with its title above and what to see in it below."""
    return f"<figure><h3>{title}</h3>{picture}<figcaption>{caption}</figcaption></figure>"


def values(name: str, content: Any) -> str:
    """Data for the script, as JSON that no name in it can break out of."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>'


def bar(share: float) -> str:
    """A bar from the middle: to the right for a positive share of that half, else to the left."""
    sign = "minus" if share < 0 else "plus"
    inner = f'<i class="{sign}" style="width:{50 * abs(share):.1f}%"></i>'
    return f'<span class="bar" aria-hidden="true">{inner}</span>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
