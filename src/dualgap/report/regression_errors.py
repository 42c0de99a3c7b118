"""Pictures of a regression's errors."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.report.axis import Axis, spanning
from dualgap.report.chart import Chart
from dualgap.report.markup import count, figure, number, percent, safe
from dualgap.report.rows import PredictedRows, sample
from dualgap.report.subject import Subject

DOTS = 1200  # rows drawn: more make the page heavy and hide one another
BINS = 31  # odd, so that errors around zero share a bar


def pictures(about: Subject, rows: PredictedRows) -> list[str]:
    """Observed against predicted, and the distribution of the errors."""
    return [_against(about, rows), _histogram(about, rows), _residuals(about, rows)]


def _drawn(rows: PredictedRows) -> str:
    return f" {count(DOTS)} of {count(len(rows))} rows are drawn." if len(rows) > DOTS else ""


def _ends(values: Vector) -> Vector:
    """The range without the wildest half percent, where that is much smaller."""
    low, high = np.quantile(values, [0.005, 0.995])
    room = 0.6 * (high - low) if high > low else 1.0
    return np.array([max(values.min(), low - room), min(values.max(), high + room)])


def _against(about: Subject, rows: PredictedRows) -> str:
    picked = sample(len(rows), DOTS)
    both = np.concatenate([_ends(rows.targets), _ends(np.asarray(rows.predicted))])
    axis = spanning(both)
    x, y = Axis(axis.low, axis.high, "predicted"), Axis(axis.low, axis.high, "observed")
    chart = Chart(x, y, "Observed against predicted values.")
    chart.line([axis.low, axis.high], [axis.low, axis.high], "reference d1")
    chart.dots(*_inside(x, y, np.asarray(rows.predicted)[picked], rows.targets[picked]), "s0")
    words = (
        f"A dot per row of the {safe(rows.title)}; on the dashed line the prediction is right.{_drawn(rows)}"
    )
    return figure("Observed and predicted", chart.svg(), words)


def _inside(x: Axis, y: Axis, across: Vector, up: Vector) -> tuple[Vector, Vector]:
    kept = (across >= x.low) & (across <= x.high) & (up >= y.low) & (up <= y.high)
    return across[kept], up[kept]


def _residuals(about: Subject, rows: PredictedRows) -> str:
    picked = sample(len(rows), DOTS)
    errors = rows.targets - rows.predicted
    x, y = (
        spanning(_ends(np.asarray(rows.predicted)), "predicted"),
        spanning(_ends(errors), "observed − predicted"),
    )
    chart = Chart(x, y, "Residuals against predicted values.")
    chart.level(0.0, "zero")
    chart.dots(*_inside(x, y, np.asarray(rows.predicted)[picked], errors[picked]), "s0")
    middle = _running(np.asarray(rows.predicted), errors)
    chart.line(*middle, "s2 d0")
    words = (
        "Residuals against the prediction, with their median in tenths of the rows. A bend means that a "
        "straight line is not enough, a funnel that errors grow with the prediction."
    )
    return figure("Residuals", chart.svg(), words)


def _running(scores: Vector, errors: Vector) -> tuple[Vector, Vector]:
    """The median residual of ten parts with equally many rows."""
    order = np.argsort(scores, kind="stable")
    parts = [part for part in np.array_split(order, 10) if len(part) > 4]
    return (
        np.array([np.median(scores[part]) for part in parts]),
        np.array([np.median(errors[part]) for part in parts]),
    )


def _histogram(about: Subject, rows: PredictedRows) -> str:
    errors = rows.targets - rows.predicted
    ends = _ends(errors)
    low, high = float(ends[0]), float(ends[1])
    if not high > low:
        low, high = low - 1.0, low + 1.0
    heights, edges = np.histogram(errors, bins=BINS, range=(low, high), weights=rows.share)
    chart = Chart(
        Axis(float(edges[0]), float(edges[-1]), "observed − predicted"),
        Axis(0.0, max(float(heights.max()), 1e-12) * 1.05, "share of rows"),
        "Distribution of the residuals.",
    )
    chart.bars(edges, heights, "s0")
    if low < 0.0 < high:
        chart.upright(0.0, "reference d1")
    outside = float(rows.share @ ((errors < low) | (errors > high)))
    beyond = f" {percent(outside)} of the rows are beyond the picture." if outside > 0 else ""
    quarters = " to ".join(number(v, 3) for v in np.quantile(errors, [0.25, 0.75]))
    return figure(
        "Distribution of the residuals", chart.svg(), f"Half of them lie between {quarters}.{beyond}"
    )
