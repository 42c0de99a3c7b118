"""Formulas become MathML while the site is built: no script, no font, no network; readers can speak them.

`\\tag{M9}` in a formula is the number that is shown beside it, and the anchor `#m9` leads there.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

TAG = re.compile(r"\\tag\{(\w+)\}")


def inline(self: Any, node: nodes.Element) -> None:
    """A formula within a line."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self: Any, node: nodes.Element) -> None:
    """A formula with a line of its own, and its number."""
    text = node.astext()
    found = TAG.search(text)
    number = f'<span class="number">({found[1]})</span>' if found else ""
    place = f' id="{found[1].lower()}"' if found else ""
    shown = convert(TAG.sub("", text).strip(), display="block")
    self.body.append(f'<div class="formula"{place}><div class="typeset">{shown}</div>{number}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """The renderer of `html_math_renderer`."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
