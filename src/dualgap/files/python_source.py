"""A Python file that needs nothing but Python: the weights as literals and a function of a row."""

from __future__ import annotations

from dualgap.files.exported_terms import intercepts, terms_of
from dualgap.files.store import MADE_BY
from dualgap.fitting.solution import Solution
from dualgap.tables.columns import numbered

SOURCE = '''"""{words}

Written by {maker}; relative duality gap {gap:.1e}. A row is a mapping from column names to
values, or a sequence in the order of COLUMNS.
"""

from math import fsum

COLUMNS = {columns}
CLASSES = {classes}
INTERCEPTS = {intercepts}
# column, kind, what makes a level 1 or stands in for a missing number, a weight per class
TERMS = [
{terms}
]


def _value(row, name, kind, detail):
    value = row.get(name)
    missing = value is None or value == "" or value != value
    if kind == "missing":
        return 1.0 if missing else 0.0
    if kind == "level":
        return 1.0 if not missing and str(value) == detail else 0.0
    if missing and detail is None:
        raise ValueError(f"The column {{name!r}} has no value.")
    return detail if missing else float(value)


def scores(row):
    """The decision function, one number per class; a single one for numbers and for two classes."""
    if not hasattr(row, "keys"):
        row = dict(zip(COLUMNS, row))
    values = [_value(row, name, kind, detail) for name, kind, detail, _ in TERMS]
    weights = [term[3] for term in TERMS]
    return [fsum([b, *(v * w[k] for v, w in zip(values, weights))]) for k, b in enumerate(INTERCEPTS)]


def predict(row):
    """The number, or the class, that the model expects."""
    found = scores(row)
    if CLASSES is None:
        return found[0]
    if len(found) == 1:
        return CLASSES[found[0] > 0]
    return CLASSES[found.index(max(found))]
'''


def python_source(solution: Solution, table: str = "") -> str:
    """The text of the file. Every name is written by repr, so that no name can become code."""
    recipe = solution.recipe
    names = solution.names or numbered(solution.coef.shape[-1])
    columns = names if recipe is None else tuple(rule.name for rule in recipe.rules)
    lines = []
    for term in terms_of(solution):
        detail = term.level if term.kind in ("level", "missing") else term.fill
        lines.append(f"    ({term.name!r}, {term.kind!r}, {detail!r}, {term.weights.tolist()!r}),")
    return SOURCE.format(
        words=solution.terms.words(),
        maker=MADE_BY,
        gap=solution.relative_gap,
        columns=repr(list(columns)),
        classes="None" if solution.classes is None else repr(solution.classes.tolist()),
        intercepts=repr(intercepts(solution)),
        terms="\n".join(lines),
    )
