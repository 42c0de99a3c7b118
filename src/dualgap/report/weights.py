"""The weights, as a table that can be sorted and searched."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.fitting.intervals import cheap_intervals
from dualgap.report.markup import bar, count, grid, number, paragraph, plural, safe, section
from dualgap.report.subject import FITTED, Subject

MOST = 400  # lines in all; of longer tables the largest weights per standard deviation
LEAST = 10  # lines of every class, a choice
LONG = 40  # lines, beyond which the table scrolls by itself
HEADS = (("column", "text"), ("weight", "number"), ("per std. dev.", "number"))


def weights(about: Subject) -> str:
    """The section."""
    solution = about.solution
    coefs = np.atleast_2d(solution.coef)
    standard = coefs * solution.facts["spread"]
    many = len(coefs) > 1
    top = max(float(np.abs(standard).max(initial=0.0)), 1e-300)
    each = max(MOST // len(coefs), LEAST)
    lines, shown = [], 0
    for k, own in enumerate(standard):  # class by class, in each the largest first
        order = np.argsort(-np.abs(own), kind="stable")[:each]
        lines += [*_intercept(about, k, len(coefs)), *(_line(about, k, int(j), standard, top) for j in order)]
        shown += len(order)
    return section(
        "weights",
        "The weights",
        paragraph(_sentence(about)),
        _filter(shown),
        _table(lines, many=many),
        _left_out(standard, each, shown),
        _intervals(about),
    )


def _sentence(about: Subject) -> str:
    solution = about.solution
    some = f"{count(solution.n_nonzero)} of {plural(len(about.names), 'column')} have a weight."
    return (
        f"{some} <b>Weight</b> is in the units of the data: the prediction changes by so much when the "
        "column rises by one. <b>Per standard deviation</b> compares columns of different units: the bar "
        "is that."
    )


def _filter(lines: int) -> str:
    if lines < 12:
        return ""
    return (
        '<p class="tools script"><label>Show columns whose name contains '
        '<input type="search" data-filters="weights-table" autocomplete="off"></label> '
        '<output data-counts="weights-table"></output></p>'
    )


def _table(lines: list[str], *, many: bool) -> str:
    tall = " tall" if len(lines) > LONG else ""
    heads = ((("class", "text"),) if many else ()) + HEADS
    top = "".join(
        f'<th scope="col" class="{kind}"><button type="button" data-sorts="{kind}">{words}</button></th>'
        for words, kind in heads
    )
    return (
        f'<div class="wide{tall}" tabindex="0" role="region" aria-label="Weights">'
        '<table class="weights" id="weights-table">'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _intercept(about: Subject, k: int, classes: int) -> list[str]:
    solution = about.solution
    if not solution.terms.fit_intercept:
        return []
    value = float(np.atleast_1d(np.asarray(solution.intercept, dtype=np.float64))[k])
    return [
        f'<tr class="intercept">{_label(about, k, classes)}'
        f'<th scope="row">intercept {_tag("not penalised")}</th>{_cell(value)}<td data-v=""></td></tr>'
    ]


def _label(about: Subject, k: int, classes: int) -> str:
    labels = about.solution.classes
    return f'<td class="text">{safe(labels.tolist()[k])}</td>' if classes > 1 and labels is not None else ""


def _cell(value: float) -> str:
    return f'<td data-v="{float(value):.9g}">{number(value, 4)}</td>'


def _line(about: Subject, k: int, j: int, standard: Vector, top: float) -> str:
    solution = about.solution
    coef = float(np.atleast_2d(solution.coef)[k, j])
    proven = bool(np.atleast_2d(solution.proven_zero)[k, j])
    remark = f" {_tag('proven zero')}" if proven else ""
    kind = ' class="zero"' if coef == 0.0 else ""
    value = float(standard[k, j])
    shown = f'<span class="with-bar">{bar(value / top)}<span>{number(value, 3)}</span></span>'
    return (
        f'<tr{kind}>{_label(about, k, len(standard))}<th scope="row">{safe(about.names[j])}{remark}</th>'
        f'{_cell(coef)}<td data-v="{value:.9g}">{shown}</td></tr>'
    )


def _tag(words: str) -> str:
    return f'<small class="tag">{words}</small>'


def _intervals(about: Subject) -> str:
    found = about.origin.intervals
    if found is None and about.fitted is not None and about.fitted.title == FITTED:
        found = cheap_intervals(about.solution, about.data)
    if found is None:
        return ""
    head, lines = found.table()
    cells = [
        [safe(cell).replace("-", "−") if k else safe(cell) for k, cell in enumerate(line)]
        for line in lines[:MOST]
    ]
    words = paragraph(safe(f"{100 * found.level:g} % intervals, {found.method}."))
    remarks = "".join(paragraph(safe(line), "soft") for line in found.remark.splitlines())
    return words + grid([safe(cell) for cell in head], cells, "weights and their intervals") + remarks


def _left_out(standard: Vector, each: int, shown: int) -> str:
    rest = standard.size - shown
    if rest <= 0:
        return ""
    sizes = -np.sort(-np.abs(standard), axis=1)[:, each:]  # of every class those that are not shown
    what = (
        "all of them zero"
        if not sizes.any()
        else f"none above {number(float(sizes.max()), 2)} per standard deviation"
    )
    whose = " of every class" if len(standard) > 1 else ""
    return paragraph(
        f"The {count(shown)} largest{whose} of {count(standard.size)} are shown; of the others {what}.",
        "soft",
    )
