"""Facts about the data, and what a careful reader should worry about."""

from __future__ import annotations

import numpy as np

from dualgap.report.markup import (
    bullets,
    count,
    facts,
    listed,
    number,
    paragraph,
    percent,
    plural,
    safe,
    section,
)
from dualgap.report.subject import Subject

LISTED = 40  # columns whose treatment is told


def warnings(about: Subject) -> list[str]:
    """Sentences of markup, the worst first."""
    return [*_proof(about), *_choice(about), *_columns(about), *_rows(about)]


def _proof(about: Subject) -> list[str]:
    solution = about.solution
    found = [] if solution.converged else [f"The fit did not reach its tolerance. {safe(solution.status)}"]
    if solution.facts.get("remark"):
        found.append(safe(solution.facts["remark"]))
    search = about.search
    if search is not None and float(search.gaps.max()) > max(search.tolerance, 1e-9):
        found.append(
            f"Some fold is not proven to the tolerance: relative gap {number(float(search.gaps.max()), 2)}."
        )
    if search is not None and len(search.scores) < search.n_folds:
        found.append(safe(search.status))
    return found


def _choice(about: Subject) -> list[str]:
    search = about.search
    if search is None or search.index not in (0, len(search.strengths) - 1) or len(search.strengths) < 2:
        return []
    end = (
        "strongest penalty: the columns hardly help"
        if search.index == 0
        else "weakest penalty: it hardly helps"
    )
    return [
        f"The chosen strength is the end of the {count(len(search.strengths))} that were tried, the {end}."
    ]


def _columns(about: Subject) -> list[str]:
    solution = about.solution
    n, p = solution.facts["n"], len(about.names)
    found = []
    if p >= n:
        found.append(
            f"There are as many columns ({count(p)}) as rows ({count(n)}) or more; "
            "without a penalty any target could be met."
        )
    if about.data is not None and isinstance(about.data[0], np.ndarray) and about.data[0].ndim == 2:
        X = about.data[0]
        constant = np.flatnonzero(X.min(axis=0) == X.max(axis=0)) if len(X) else np.zeros(0, dtype=int)
        if len(constant):
            names = listed([about.names[j] for j in constant], 5, "<b>{}</b>")
            found.append(f"{plural(len(constant), 'column')} never change and cannot help: {names}.")
    if solution.n_nonzero == 0 and p:
        found.append("No column has a weight: the prediction is a constant.")
    return found


def _rows(about: Subject) -> list[str]:
    found = []
    rows = about.fitted
    if rows is not None and about.solution.classes is not None:
        shares = [float(rows.share @ (rows.targets == k)) for k in range(len(about.solution.classes))]
        rare = int(np.argmin(shares))
        if shares[rare] < 0.05:
            label = safe(about.solution.classes.tolist()[rare])
            found.append(
                f"Only {percent(shares[rare])} of the rows are <b>{label}</b>: "
                "a high share of right answers means little."
            )
        if bool(np.all(rows.said == rows.targets)) and rows.title == "rows of the fit":
            found.append(
                "Every row of the fit is right: the classes can be separated, and the penalty alone holds "
                "the weights."
            )
    if rows is not None and rows.title.startswith("rows given"):
        found.append(
            "The rows given do not reproduce the objective of the fit; they are others, or were changed."
        )
    return found


def worries(about: Subject) -> str:
    """The warnings, near the top of the page."""
    found = warnings(about)
    if not found:
        return ""
    return f'<aside class="warnings" aria-label="Warnings"><h2>Worth knowing</h2>{bullets(found)}</aside>'


def data(about: Subject) -> str:
    """The section on the rows and what was done to them."""
    lines = _counts(about)
    said_before = bullets(safe(note) for note in about.origin.notes)
    heading = "<h3>Decided on the way</h3>" if about.origin.notes else ""
    return section("data", "The data", facts(lines), heading, said_before if heading else "", _recipe(about))


def _counts(about: Subject) -> list[tuple[str, str]]:
    solution = about.solution
    weights = solution.terms.sample_weight
    lines = [
        ("rows", count(solution.facts["n"])),
        ("columns", count(len(about.names))),
        ("target", safe(about.target)),
    ]
    if np.any(weights != 1.0):
        lines.append(("rows of weight zero", count(int(np.count_nonzero(weights == 0)))))
    if about.fitted is not None:
        lines += _targets(about)
    if about.fresh is not None:
        lines.append(("test rows", count(len(about.fresh))))
    if solution.facts.get("fingerprint"):
        lines.append(("fingerprint", f"<code>{safe(solution.facts['fingerprint'])}</code>"))
    return lines


def _targets(about: Subject) -> list[tuple[str, str]]:
    rows = about.fitted
    assert rows is not None
    if about.solution.classes is None:
        low, middle, high = (number(v, 4) for v in np.quantile(rows.targets, [0.0, 0.5, 1.0]))
        return [("target from, median, to", f"{low}, {middle}, {high}")]
    labels = about.solution.classes.tolist()
    shares = [
        f"{safe(label)} {percent(float(np.mean(rows.targets == k)))}" for k, label in enumerate(labels[:12])
    ]
    return [("classes", ", ".join(shares) + (", …" if len(labels) > 12 else ""))]


def _recipe(about: Subject) -> str:
    recipe = about.origin.recipe
    if recipe is None:
        return ""
    told = []
    for rule in recipe.rules:
        if rule.kind == "levels":
            told.append(f"<b>{safe(rule.label)}</b>: a column of 0 and 1 for {listed(rule.levels, 8)}")
            if rule.reference is not None:
                told[-1] += f" against the reference <b>{safe(rule.reference)}</b>"
        elif rule.fill is not None:
            told.append(f"<b>{safe(rule.label)}</b>: {number(rule.fill, 5)} stands in for a missing number")
    told += [f"<b>{safe(name)}</b>: left out, {safe(why)}" for name, why in recipe.left_out]
    if not told:
        return ""
    rest = paragraph(f"… and {plural(len(told) - LISTED, 'more column')}.") if len(told) > LISTED else ""
    return f"<h3>What was done to the columns</h3>{bullets(told[:LISTED])}{rest}"
