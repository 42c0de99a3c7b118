"""Pictures of a classification's errors: ROC, calibration and the table of confusions."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.report.axis import Axis
from dualgap.report.chart import Chart, key, look
from dualgap.report.markup import count, figure, grid, number, percent, safe
from dualgap.report.rows import PredictedRows, probabilities, roc
from dualgap.report.subject import Subject

CURVES = 6  # classes with a ROC curve of their own: more cannot be told apart
CELLS = 12  # classes in a table of confusions: wider ones do not fit a screen
POINTS = 200  # of a ROC curve: half as many as the chart has pixels across
PARTS = 10  # parts of the rows whose probabilities are compared with what happened
WORST = 15  # confusions listed where the table would be too wide


def pictures(about: Subject, rows: PredictedRows) -> list[str]:
    """ROC curves, and how far probabilities are to be believed."""
    return [_roc(about, rows), _calibration(about, rows)]


def _labels(about: Subject) -> list[str]:
    assert about.solution.classes is not None
    return [str(label) for label in about.solution.classes.tolist()]


def _roc(about: Subject, rows: PredictedRows) -> str:
    labels = _labels(about)
    if rows.scores.ndim == 1:
        wanted = [(labels[1], rows.targets == 1, rows.scores)]
    else:
        found = probabilities(about.solution, rows)
        scores = rows.scores if found is None else found
        wanted = [(label, rows.targets == k, scores[:, k]) for k, label in enumerate(labels[:CURVES])]
    chart = Chart(
        Axis(0.0, 1.0, "share of the others said to be it"),
        Axis(0.0, 1.0, "share of the class found"),
        "ROC curves.",
    )
    chart.line([0, 1], [0, 1], "reference d1")
    entries = []
    for rank, (label, positive, score) in enumerate(wanted):
        false, true, area = roc(positive, score, rows.weights)
        picked = _spread(false + true)
        chart.line(false[picked], true[picked], look(rank), label)
        entries.append((look(rank), f"{safe(label)}: area {number(area, 4)}"))
    words = (
        f"On the {safe(rows.title)}, as the threshold falls: how much of a class is found against how much "
        "else is taken with it. The dashed line is guessing."
    )
    return figure("ROC", chart.svg() + key(entries), words)


def _spread(places: Vector) -> Index:
    """Points of a curve, evenly along it."""
    if len(places) <= POINTS:
        return np.arange(len(places))
    wanted = np.linspace(places[0], places[-1], POINTS)
    return np.unique(np.clip(np.searchsorted(places, wanted), 0, len(places) - 1))


def _calibration(about: Subject, rows: PredictedRows) -> str:
    found = probabilities(about.solution, rows)
    if found is None:
        return ""
    labels = _labels(about)
    if found.shape[1] == 2:
        claimed, happened, what = found[:, 1], rows.targets == 1, f"of {labels[1]}"
    else:
        claimed, happened, what = found.max(axis=1), rows.said == rows.targets, "of the class that was said"
    chart = Chart(
        Axis(0.0, 1.0, "predicted probability"), Axis(0.0, 1.0, "observed share"), f"Calibration {what}."
    )
    chart.line([0, 1], [0, 1], "reference d1")
    at, seen, error = _parts(claimed, happened, rows.weights)
    chart.band(at, seen - error, seen + error, "s0")
    chart.line(at, seen, "s0 d0")
    chart.dots(at, seen, "s0 large")
    words = (
        f"The probability {safe(what)}, in {count(len(at))} parts with equally many rows: what was predicted "
        "against what happened, with one standard error. On the dashed line probabilities can be taken at "
        "their word."
    )
    return figure("Calibration", chart.svg(), words)


def _parts(claimed: Vector, happened: Vector, weights: Vector) -> tuple[Vector, Vector, Vector]:
    order = np.argsort(claimed, kind="stable")
    parts = [part for part in np.array_split(order, min(PARTS, max(len(order) // 5, 1))) if len(part)]
    at = np.array([np.average(claimed[part], weights=_some(weights[part])) for part in parts])
    seen = np.array([np.average(happened[part], weights=_some(weights[part])) for part in parts])
    sizes = np.array([len(part) for part in parts])
    return at, seen, np.sqrt(np.maximum(seen * (1.0 - seen), 0.25 / sizes) / sizes)


def _some(weights: Vector) -> Vector:
    return weights if weights.sum() > 0 else np.ones(len(weights))


def confusion(about: Subject, rows: PredictedRows) -> str:
    """Who is taken for whom."""
    labels = _labels(about)
    table = np.zeros((len(labels), len(labels)))
    np.add.at(table, (rows.targets.astype(np.intp), rows.said), rows.weights)
    if len(labels) > CELLS:
        return _worst(labels, table)
    whole = bool(np.all(rows.weights == np.floor(rows.weights)))
    totals = table.sum(axis=1)
    lines = []
    for k, label in enumerate(labels):
        share = table[k] / totals[k] if totals[k] > 0 else np.zeros(len(labels))
        cells = [_cell(table[k, m], float(share[m]), right=k == m, whole=whole) for m in range(len(labels))]
        lines.append([f"is {safe(label)}", *cells])
    head = ["", *(f"said {safe(label)}" for label in labels)]
    return f'<div class="confusion">{grid(head, lines, f"Who is taken for whom, {safe(rows.title)}")}</div>'


def _cell(value: float, share: float, *, right: bool, whole: bool) -> str:
    shown = count(int(value)) if whole else number(value, 4)
    kind = "right" if right else "wrong"
    style = f"--share:{100 * share:.0f}%"
    return f'<span class="cell {kind}" style="{style}">{shown}<small>{percent(share)}</small></span>'


def _worst(labels: list[str], table: Vector) -> str:
    """Of many classes the commonest confusions."""
    off = table - np.diag(np.diag(table))
    order = [divmod(int(k), len(labels)) for k in np.argsort(-off.ravel(), kind="stable")[:WORST]]
    lines = [
        [
            f"is {safe(labels[k])}",
            f"said {safe(labels[m])}",
            number(float(off[k, m]), 5),
            percent(float(off[k, m] / table[k].sum())),
        ]
        for k, m in order
        if off[k, m] > 0
    ]
    return grid(["", "", "rows", "of the class"], lines, "The commonest confusions") if lines else ""
