"""Margins and support: the rows that hold the answer in place, for losses that leave the others out."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.fitting.hard_margin import HardMargin
from dualgap.fitting.inputs import read_table
from dualgap.losses import Loss
from dualgap.report.axis import Axis, spanning
from dualgap.report.chart import Chart, key
from dualgap.report.markup import count, facts, figure, number, percent, plural, safe
from dualgap.report.rows import Rows, sample
from dualgap.report.subject import Subject

BINS = 40
DOTS = 700
ROUNDING = 1e-7  # of the largest possible θ: below, a row does not take part


def leaves_rows_out(loss: Loss, *, classes: bool) -> bool:
    """Is the loss flat where the prediction is good enough?"""
    if classes:
        return not np.any(loss.value(np.ones(2), np.array([1.5, 2.0])))
    return not np.any(loss.value(np.zeros(2), np.array([-1e-9, 1e-9])))


def pictures(about: Subject, rows: Rows) -> list[str]:
    """Margins of two classes; the plane itself where there are two columns."""
    solution = about.solution
    if solution.classes is None or rows.scores.ndim == 2:
        return []
    return [_histogram(about, rows), _plane(about)]


def _histogram(about: Subject, rows: Rows) -> str:
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
    flat = leaves_rows_out(about.terms.loss, classes=True)
    if flat:
        chart.upright(1.0, "reference d1", "margin", 1)
    wrong = percent(float(rows.share @ (margin <= 0)))
    words = f"How far each of the {safe(rows.title)} is on its side of the plane; {wrong} are wrong."
    return figure("Margins", chart.svg(), words)


def _theta(about: Subject) -> Vector | None:
    theta = getattr(about.solution.certificate, "theta", None)
    return theta if isinstance(theta, np.ndarray) and theta.ndim == 1 else None


def _support(about: Subject) -> tuple[Mask, Mask] | None:
    """Rows that take part, and of these the ones at their limit."""
    theta = _theta(about)
    classes = about.solution.classes is not None
    if theta is None or not leaves_rows_out(about.terms.loss, classes=classes):
        return None
    if isinstance(about.terms, HardMargin):
        taking = np.abs(theta) > ROUNDING * np.abs(theta).max(initial=0.0)
        return taking, np.zeros(len(theta), dtype=bool)
    share = about.terms.sample_weight / about.terms.sample_weight.sum()
    low, high = about.terms.loss.domain(np.ones(2) if classes else np.zeros(2))
    most = max(abs(float(low[0])), abs(float(high[0])))
    if not np.isfinite(most):
        return np.abs(theta) > ROUNDING * np.abs(theta).max(initial=0.0), np.zeros(len(theta), dtype=bool)
    size = np.abs(theta) / np.maximum(share * most, 1e-300)
    return size > ROUNDING, size > 1.0 - ROUNDING


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
    recipe = about.origin.recipe
    X = read_table(about.data[0] if recipe is None else recipe.read(about.data[0])).design.toarray()
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
        for i in held[:200]:
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
