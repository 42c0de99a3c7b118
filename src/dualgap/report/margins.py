"""Margins and support: the rows that hold the answer in place, for losses that leave the others out."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.fitting.inputs import read_table
from dualgap.report.axis import Axis, spanning
from dualgap.report.chart import Chart, key
from dualgap.report.markup import count, facts, figure, number, percent, plural, safe
from dualgap.report.rows import PredictedRows, sample
from dualgap.report.subject import FITTED, Subject
from dualgap.traits import Trait

BINS = 40  # of the histogram, as many as can be told apart
DOTS = 700  # rows drawn: more make the page heavy and hide one another
RINGS = 200  # support vectors that are ringed


def pictures(about: Subject, rows: PredictedRows) -> list[str]:
    """Margins of two classes; the plane itself where there are two columns."""
    solution = about.solution
    if solution.classes is None or rows.scores.ndim == 2:
        return []
    return [_histogram(about, rows), _plane(about)]


def _histogram(about: Subject, rows: PredictedRows) -> str:
    margin = np.where(rows.targets == 1, 1.0, -1.0) * rows.scores
    low, high = np.quantile(margin, [0.002, 0.998])
    low, high = min(float(low), -0.2), max(float(high), 1.2)
    heights, edges = np.histogram(
        np.clip(margin, low, high), bins=BINS, range=(low, high), weights=rows.share
    )
    chart = Chart(
        Axis(low, high, "margin y·z"),
        Axis(0.0, max(float(heights.max()), 1e-12) * 1.12, "share of rows"),
        "Margins.",
    )
    chart.bars(edges, np.where(edges[1:] <= 0.0, heights, 0.0), "s2")
    chart.bars(edges, np.where(edges[1:] > 0.0, heights, 0.0), "s0")
    chart.upright(0.0, "reference d0", "wrong | right")
    if Trait.LEAVES_ROWS_OUT in about.terms.loss.traits:
        chart.upright(1.0, "reference d1", "margin", 1)
    wrong = percent(float(rows.share @ (margin <= 0)))
    words = f"How far each of the {safe(rows.title)} is on its side of the plane; {wrong} are wrong."
    return figure("Margins", chart.svg(), words)


def _support(about: Subject) -> tuple[Mask, Mask] | None:
    """PredictedRows that take part, and of these the ones past the edge, of one problem."""
    solution, rows = about.solution, about.fitted
    theta = getattr(solution.certificate, "theta", None)
    if (
        not isinstance(theta, np.ndarray)
        or solution.parts
        or Trait.LEAVES_ROWS_OUT not in about.terms.loss.traits
    ):
        return None
    if solution.fitted is None and rows is not None and rows.title == FITTED:  # loaded, and its rows are here
        y = rows.targets if solution.classes is None else np.where(rows.targets == 1, 1.0, -1.0)
        solution = dataclasses.replace(solution, fitted=(y, rows.scores))
    (one,) = solution.rows.problems
    return one.holding, one.holding & one.paying


def words(about: Subject) -> str:
    """The support in numbers."""
    found = _support(about)
    if found is None:
        return ""
    taking, full = found
    n, held = len(taking), int(taking.sum())
    lines = [("rows that hold the answer", f"{count(held)} of {count(n)} ({percent(held / max(n, 1))})")]
    if full.any():
        inside = "inside the margin or wrong" if about.solution.classes is not None else "outside the tube"
        lines.append((f"of these {inside}", count(int(full.sum()))))
    if full.any() and not full[taking].all():
        lines.append(("of these just on the edge", count(held - int(full.sum()))))
    length = float(np.linalg.norm(about.solution.coef))
    if about.solution.classes is not None and length > 0:
        lines.append(("width of the margin, 2/‖w‖", number(2.0 / length, 4)))
    say = (
        "<p>The certificate gives every row a number θ<sub>i</sub>. Where it is zero the row could be left "
        f"out, and the same weights would come out: {plural(n - held, 'row')} of that kind. The others are "
        f"the <b>support vectors</b>.</p>"
    )
    return f'<h3 id="support">Support vectors</h3>{say}{facts(lines)}'


def _plane(about: Subject) -> str:
    """Two columns: the plane, its margin and the rows."""
    if about.data is None or len(about.names) != 2:
        return ""
    X = read_table(about.read(about.data[0])).design.toarray()
    rows = about.fitted
    assert rows is not None
    picked = sample(len(X), DOTS)
    x, y = spanning(X[:, 0], about.names[0]), spanning(X[:, 1], about.names[1])
    chart = Chart(x, y, "The rows in the plane of their two columns, with the line that tells them apart.")
    looks = ("s2", "s0")
    for k in (0, 1):
        some = picked[rows.targets[picked] == k]
        chart.dots(X[some, 0], X[some, 1], f"{looks[k]} medium")
    found = _support(about)
    if found is not None and len(found[0]) == len(X):
        held = picked[found[0][picked]]
        for i in held[:RINGS]:
            chart.marks.append(_ring(chart, X[i]))
    for level, style in ((0.0, "reference d0"), (1.0, "reference d1"), (-1.0, "reference d1")):
        ends = _crossing(about, x, y, level)
        if ends is not None:
            chart.line(ends[0], ends[1], style)
    assert about.solution.classes is not None
    low, high = (safe(label) for label in about.solution.classes.tolist())
    entries = [("s0 d0", high), ("s2 d0", low), ("reference d0", "the line"), ("reference d1", "margin ±1")]
    rings = " Support vectors are ringed." if found is not None else ""
    return figure("The plane", chart.svg() + key(entries), f"All rows by their two columns.{rings}")


def _ring(chart: Chart, point: Vector) -> str:
    x, y = float(chart.across(point[0])), float(chart.up(point[1]))
    return f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'


def _crossing(about: Subject, x: Axis, y: Axis, level: float) -> Any:
    """Where x·w + b = level crosses the picture."""
    (a, c), b = about.solution.coef, float(about.solution.intercept)
    ends = []
    for at in (x.low, x.high):
        if c != 0.0 and y.low <= (level - b - a * at) / c <= y.high:
            ends.append((at, (level - b - a * at) / c))
    for at in (y.low, y.high):
        if a != 0.0 and x.low <= (level - b - c * at) / a <= x.high:
            ends.append(((level - b - c * at) / a, at))
    if len(ends) < 2:
        return None
    ends.sort()
    return np.array([ends[0][0], ends[-1][0]]), np.array([ends[0][1], ends[-1][1]])
