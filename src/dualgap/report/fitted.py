"""What was fitted: the problem in a sentence, as a formula, and in its names."""

from __future__ import annotations

import numpy as np

from dualgap.report import formulas
from dualgap.report.markup import bullets, count, listed, number, paragraph, plural, safe, section
from dualgap.report.subject import Subject


def title(about: Subject) -> str:
    """The heading of the page; text, not markup."""
    kind = "Path" if about.path is not None and about.search is None and about.picked else "Fit"
    kind = "Cross-validation" if about.search is not None else kind
    return f"{kind}: {about.target} from {plural(len(about.names), 'column')}, {formulas.what(about.terms)}"


def fitted(about: Subject) -> str:
    """The section."""
    solution, terms = about.solution, about.terms
    along = bool(about.picked)
    lines = [
        paragraph(_sentence(about)),
        f'<div class="formula">{formulas.objective_formula(terms, strength=not along)}</div>',
        f'<div class="formula">{formulas.loss_formula(terms.loss, solution.multiclass)}</div>',
        bullets(_meaning(about)),
    ]
    return section("fitted", "What was fitted", *lines)


def _sentence(about: Subject) -> str:
    solution = about.solution
    rows, columns = plural(solution.facts["n"], "row"), plural(len(about.names), "column")
    target = f"<b>{safe(about.target)}</b>"
    if solution.classes is None:
        how = f"A number, {target}, is predicted from {columns} by a weighted sum."
        return f"{how} The weights were found on {rows}."
    labels = listed(solution.classes.tolist(), 8, "<b>{}</b>")
    which = f"{count(len(solution.classes))} classes of {target} ({labels})"
    return f"The {which} are told apart by a weighted sum of {columns}. The weights were found on {rows}."


def _meaning(about: Subject) -> list[str]:
    solution, terms = about.solution, about.terms
    found = [formulas.loss_words(terms.loss, solution.multiclass), formulas.penalty_words(terms.penalty)]
    if solution.classes is not None and solution.multiclass is None:
        low, high = (safe(label) for label in solution.classes.tolist())
        found.append(f"A sum above 0 means <b>{high}</b> (y = +1), below 0 <b>{low}</b> (y = −1).")
    if np.any(terms.scale != 1.0):
        found.append(
            "The penalty counts weights per standard deviation σ<sub>j</sub> of their column, so that units "
            "do not matter; weights are shown in the units of the data."
        )
    if np.any(terms.factors != 1.0):
        found.append("Some columns have a penalty factor of their own; with factor 0 a column is free.")
    if terms.signs():
        found.append(f"The weights are held: {safe(', '.join(terms.signs()))}.")
    if np.any(terms.sample_weight != 1.0):
        total = number(float(terms.sample_weight.sum()))
        found.append(f"Rows have weights s<sub>i</sub>, {total} in all.")
    if terms.offset is not None:
        where = "" if terms.offset_name is None else f" (<b>{safe(terms.offset_name)}</b>)"
        ends = (
            [number(float(end)) for end in (terms.offset.min(), terms.offset.max())]
            if terms.offset.size
            else []
        )
        between = f", {ends[0]} to {ends[1]}" if ends else ""
        rate = "; e to it is the exposure that a mean is for" if terms.loss.link == "log" else ""
        found.append(f"Every sum is counted from an offset o<sub>i</sub> of its row{where}{between}{rate}.")
    if terms.fit_intercept:
        found.append("The intercept b is not penalised.")
    return [line for line in found if line]
