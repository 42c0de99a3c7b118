"""The page to explore: choices and sliders, the frames that the script draws in, and what it draws from."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from dualgap.errors import DataError, NoSolverError
from dualgap.files.store import write_whole
from dualgap.fitting.options import read_limits
from dualgap.losses import Loss
from dualgap.penalties import Penalty
from dualgap.report.document import document
from dualgap.report.explorer.solved import SolvedPair, losses_of, solve
from dualgap.report.explorer.world import ExploredPart, World, world_of
from dualgap.report.formulas import loss_words, penalty_words
from dualgap.report.markup import (
    bullets,
    charts,
    clipped,
    count,
    figure,
    number,
    paragraph,
    safe,
    section,
    values,
)

SECONDS = (
    300.0  # for all paths: 16 of 1000 rows and 60 columns took 5 s, the first run ever compiles for 2 min
)
NUMBERED = ("w", "b", "lams", "budgets", "risks", "gaps")
TILES = {
    "lam": "strength λ",
    "ball": "size of the ball c",
    "risk": "mean loss",
    "objective": "objective",
    "gap": "proven relative gap",
    "used": "columns used",
    "explained": "loss explained",
}


def explore(  # noqa: PLR0913
    X: Any,
    y: Any,
    path: str | FilePath,
    *,
    names: Any = None,
    target: str = "y",
    sample_weight: Any = None,
    standardize: bool = True,
    columns: tuple[str, str] | None = None,
    one: Any = None,
    rows: int = 1000,
    quantile: float = 0.9,
    tol: float = 1e-6,
    max_time: float | None = None,
    tell: Callable[[str], None] | None = None,
) -> FilePath:
    """Write a page on which strength, loss, penalty and ball are moved by hand, and the pictures follow.

    Numbers are fitted by squared, absolute, huber and quantile loss, two classes by hinge, squared_hinge,
    logistic and exponential, each with l1, l2, elastic_net and linf; every point of every path is proven to
    `tol`. The page is about at most `rows` rows and 60 columns, and says so where there are more. `columns`
    are the two whose plane is shown first, `one` the class that is set against the others, `quantile` that
    of the quantile loss. What is not solved after `max_time` seconds (300) is not on the page. `tell` is
    called with a line after each path.
    """
    limit = SECONDS if max_time is None else read_limits(tol, None, max_time, None).seconds
    assert limit is not None
    if rows < 2:
        raise DataError(f"rows must be at least 2, not {rows}.")
    world = world_of(X, y, sample_weight, names, ExploredPart(rows, one, standardize, target))
    plane = None if columns is None else _named(world, columns)
    losses = losses_of(world, quantile)
    began = time.perf_counter()
    pairs = solve(world, losses, limit, tol, tell or (lambda line: None))
    if not any(pair.path is not None for row in pairs for pair in row):
        raise NoSolverError(
            f"No path was solved in {time.perf_counter() - began:.1f} s: {pairs[0][0].said}; "
            "a larger max_time or fewer rows may help."
        )
    target_file = FilePath(path)
    write_whole(target_file, _page(world, pairs, plane or _strongest(pairs), tol).encode("utf-8"))
    return target_file


def _named(world: World, columns: tuple[str, str]) -> tuple[int, int]:
    for name in columns:
        if name not in world.names:
            raise DataError(f"There is no column {name!r} to explore. Known: {', '.join(world.names[:20])}.")
    first, second = (world.names.index(name) for name in columns)
    if first == second:
        raise DataError(f"A plane takes two columns, not {columns[0]!r} twice.")
    return first, second


def _strongest(pairs: list[list[SolvedPair]]) -> tuple[int, int]:
    """The two with the largest weights, on average along the first path: large, and early."""
    found = next(pair.path for row in pairs for pair in row if pair.path is not None)
    first, second = np.argsort(-np.abs(found.coefs).mean(axis=0), kind="stable")[:2]
    return int(first), int(second)


# -- markup ------------------------------------------------------------------------------------------


def _page(world: World, pairs: list[list[SolvedPair]], plane: tuple[int, int], tol: float) -> str:
    title = safe(f"Explore {world.target}")
    shown = {**TILES, "right": "rows right"} if world.classes else TILES
    tiles = "".join(f'<div><dt>{words}</dt><dd id="tile-{name}"></dd></div>' for name, words in shown.items())
    header = (
        f"{paragraph(_about(world))}<noscript>{paragraph('This page draws with JavaScript, which is off.')}"
        f"</noscript>{bullets(map(safe, world.said), 'soft') if world.said else ''}"
    )
    main = "\n".join(
        [
            _controls(world, pairs),
            f'<dl class="tiles" aria-live="polite">{tiles}</dl>',
            section("pictures", "What follows", charts(*_figures(world))),
            section("solved", "What was solved", _solved(pairs, tol)),
            values("explorer-values", _values(world, pairs, plane, tol)),
        ]
    )
    return document(title, header, main, ("style.css", "explorer/explorer.css"), "explorer/explorer.js")


def _about(world: World) -> str:
    n, p = world.X.shape
    what = "a class" if world.classes else "a number"
    unit = "standardised, so that weights can be compared" if world.scaled else "centred"
    return (
        f"{count(n)} rows, {count(p)} columns ({unit}), {what} to predict. Choose a loss and a penalty, "
        "move the strength or the ball: every place of the sliders is a solved problem with its proof."
    )


def _controls(world: World, pairs: list[list[SolvedPair]]) -> str:
    named = _radios("loss", [row[0].loss for row in pairs], _possible(pairs))
    named += _radios("penalty", [one.penalty for one in pairs[0]], [True] * len(pairs[0]))
    options = "".join(
        f'<option value="{j}">{clipped(name, 40)}</option>' for j, name in enumerate(world.names)
    )
    plane = "".join(
        f'<label>{words} <select id="{name}">{options}</select></label>'
        for name, words in (("first", "plane of"), ("second", "and"))
    )
    choices = f'<div class="controls">{named}</div><div class="plane-of">{plane}</div>'
    sliders = _slider("strength", "strength", 0) + _slider("ball", "ball", 200)
    parts = section("choices", "Choices", choices) + section("movers", "Sliders", sliders)
    return f'<div id="controls">{parts}</div>'


def _possible(pairs: list[list[SolvedPair]]) -> list[bool]:
    return [any(pair.path is not None for pair in row) for row in pairs]


def _radios(name: str, things: Any, possible: list[bool]) -> str:
    start = possible.index(True)
    inner = "".join(
        f'<label><input type="radio" name="{name}" value="{k}"{" checked" if k == start else ""}'
        f"{'' if possible[k] else ' disabled'}><span>{safe(one)}</span></label>"
        for k, one in enumerate(things)
    )
    return (
        f'<fieldset><legend>{name}</legend><div class="radios">{inner}</div>'
        f'<p class="soft" id="{name}-words"></p></fieldset>'
    )


def _slider(name: str, words: str, top: int) -> str:
    return (
        f'<div class="slider"><label for="{name}">{words}</label><input type="range" id="{name}" min="0" '
        f'max="{top}" value="0" step="1"><output for="{name}" id="read-{name}"></output></div>'
    )


def _figures(world: World) -> list[str]:
    errors = ("Margins", "") if world.classes else ("Residuals", "")
    rows = "The two columns" if world.classes else "Rows"
    unit = "Per standard deviation of the column." if world.scaled else "In the units of the data."
    slope = (
        "Each ball has its best mean loss, and each strength λ is the slope there: both sliders move along "
        "one curve."
    )
    return [
        _frame("plane", "The plane of two weights"),
        figure("Weights here", '<ol class="list" id="list"></ol>', unit),
        _frame("weights", "Weights along the path", f"A line per column, strong penalty on the left. {unit}"),
        _frame("trade", "Strength and ball", slope),
        _frame("errors", *errors),
        _frame("rows", rows),
        _frame("gap", "The gap", _GAP),
    ]


_GAP = (
    "How far the objective can be above the least there is, relative to it, proven when this page was made "
    "by a dual point. Nothing on this page changes it but the choice of a point."
)


def _frame(name: str, title: str, caption: str = "") -> str:
    return (
        f'<figure><h3>{title}</h3><div id="picture-{name}"></div>'
        f'<figcaption id="caption-{name}">{caption}</figcaption></figure>'
    )


def _solved(pairs: list[list[SolvedPair]], tol: float) -> str:
    lines = [f"{safe(one.loss)} with {safe(one.penalty)}: {safe(one.said)}" for row in pairs for one in row]
    told = paragraph(
        f'At this choice: <span id="proof-words"></span>. Wanted was a relative gap of {number(tol)}.'
    )
    return f"{told}<details><summary>All pairs</summary>{bullets(lines)}</details>"


# -- what the script draws from ----------------------------------------------------------------------


def _values(
    world: World, pairs: list[list[SolvedPair]], plane: tuple[int, int], tol: float
) -> dict[str, Any]:
    return {
        "n": len(world.y),
        "names": list(world.names),
        "target": world.target,
        "classes": world.classes,
        "scaled": world.scaled,
        "unit": "weight per standard deviation" if world.scaled else "weight",
        "tol": tol,
        "plane": plane,
        "X": _packed(world.X.T),
        "y": _packed(world.y),
        "share": _packed(world.share),
        "losses": [_loss(world, row[0].loss) for row in pairs],
        "penalties": [_choice(one.penalty, penalty_words(one.penalty)) for one in pairs[0]],
        "paths": [[_points(pair) for pair in row] for row in pairs],
    }


def _choice(thing: Loss | Penalty, words: str) -> dict[str, Any]:
    return {"name": thing.name, "parameter": next(iter(vars(thing).values()), None), "words": words}


def _loss(world: World, loss: Loss) -> dict[str, Any]:
    """With the mean loss of the best constant, against which a fit explains something."""
    constant = np.full(len(world.y), loss.best_constant(world.y, world.share))
    return _choice(loss, loss_words(loss)) | {"constant": float(world.share @ loss.value(world.y, constant))}


def _points(pair: SolvedPair) -> dict[str, Any] | None:
    found = pair.path
    if found is None:
        return None
    gaps = found.gaps  # first: a point that is not proven is solved again, and its weights are replaced
    content = (found.coefs, found.intercepts, found.lams, found.budgets, found.risks, gaps)
    return {name: _packed(one) for name, one in zip(NUMBERED, content, strict=True)} | {"words": pair.said}


def _packed(numbers: Any) -> str:
    """Numbers in single precision, seven digits, as text."""
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f4").tobytes()).decode()
