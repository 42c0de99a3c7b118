"""A page as one file: its style and its script inside, nothing from outside, no other script."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from dualgap.files.store import MADE_BY
from dualgap.report.markup import safe


def document(title: str, header: str, main: str, styles: tuple[str, ...], script: str) -> str:
    """The whole text; `title`, `header` and `main` are markup, the others files of this folder."""
    style, code = "".join(map(_file, styles)), _file(script)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_policy(code)}">
<meta name="generator" content="{safe(MADE_BY)}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
{header}
</header>
<main>
{main}
</main>
<footer>Made by {safe(MADE_BY)}.</footer>
<script>{code}</script>
</body>
</html>
"""


def _file(name: str) -> str:
    return resources.files("dualgap.report").joinpath(name).read_text("utf-8")


def _policy(script: str) -> str:
    """Nothing is loaded from anywhere, and no script runs but ours, whatever a column is called."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
