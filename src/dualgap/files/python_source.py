"""A Python file that needs nothing but Python: the weights as literals and a function of a row."""

from __future__ import annotations

from dualgap.files.exported_terms import Term, intercepts, terms_of
from dualgap.files.store import MADE_BY
from dualgap.fitting.solution import Solution
from dualgap.tables.columns import numbered

MEANS = {  # what is imported, and the mean, by the link
    "identity": ("fsum", "score"),
    "log": ("exp, fsum", "exp(score)"),
    "logit": (
        "exp, fsum",
        "1.0 / (1.0 + exp(-score)) if score > 0 else 1.0 - 1.0 / (1.0 + exp(score))",
    ),
}
SOURCE = '''"""{words}

Written by {maker}; relative duality gap {gap:.1e}. A row is a mapping from column names to
values, or a sequence in the order of COLUMNS.
"""

import re
from datetime import datetime
from math import {imports}

COLUMNS = {columns}
CLASSES = {classes}
OUTPUTS = {outputs}
INTERCEPTS = {intercepts}
# column, kind, what makes a level 1 or stands in for a missing number, a weight per class or output, how text
# is read: (sign before the fraction), or of a date (part, day to count from, order of day, month and year)
TERMS = [
{terms}
]


MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
WEEKDAYS = "Mon Tue Wed Thu Fri Sat Sun".split()


def _number(text, decimal):
    digits = re.sub("[^-+0-9eE" + decimal + "]", "", text.replace("\u2212", "-"))
    return float(digits.replace(",", "."))


def _part(value, part, since, order, words):
    if not hasattr(value, "year"):
        found = re.split("[^0-9]+", str(value).strip())
        if len(found[0]) < 4:
            day, month, year = found[:3] if order != "mdy" else (found[1], found[0], found[2])
        else:
            year, month, day = found[:3]
        clock = [int(one) for one in found[3:6] if one]
        half = str(value).strip().lower()[-2:]
        if half in ("am", "pm"):
            clock[0] = clock[0] % 12 + 12 * (half == "pm")
        value = datetime(int(year), int(month), int(day), *clock)
    if part == "year":
        return float(value.year)
    if part == "month":
        return MONTHS[value.month - 1] if words else float(value.month)
    if part == "weekday":
        return WEEKDAYS[value.weekday()] if words else value.weekday() + 1.0
    moment = datetime(*value.timetuple()[:6])
    return (moment - datetime.fromisoformat(since)).total_seconds() / 86400


def _value(row, name, kind, detail, reading):
    value = row.get(name)
    missing = value is None or value == "" or value != value
    if not missing and len(reading) > 1:
        value = _part(value, *reading, kind != "number")
    elif not missing and reading and isinstance(value, str):
        value = _number(value, *reading)
    if kind == "missing":
        return 1.0 if missing else 0.0
    if kind == "level":
        return 1.0 if not missing and str(value) == detail else 0.0
    if missing and detail is None:
        raise ValueError(f"The column {{name!r}} has no value.")
    return detail if missing else float(value)


def scores(row):
    """The decision function: one number per class or output, a single one for two classes."""
    if not hasattr(row, "keys"):
        row = dict(zip(COLUMNS, row))
    values = [_value(row, name, kind, detail, reading) for name, kind, detail, _, reading in TERMS]
    weights = [term[3] for term in TERMS]
    return [fsum([b, *(v * w[k] for v, w in zip(values, weights))]) for k, b in enumerate(INTERCEPTS)]


def _mean(score):
    return {mean}


def predict(row):
    """The number, the class, or the list of numbers in the order of OUTPUTS, that the model expects."""
    found = scores(row)
    if CLASSES is None:
        means = [_mean(score) for score in found]
        return means[0] if OUTPUTS is None else means
    if len(found) == 1:
        return CLASSES[found[0] > 0]
    return CLASSES[found.index(max(found))]
'''


def _how(term: Term) -> tuple[str, ...]:
    """How text is read: nothing for plain numbers and words."""
    rule = term.rule
    if rule is None:
        return ()
    return (rule.part, rule.since, rule.written) if rule.part else (rule.written,)


def python_source(solution: Solution, table: str = "") -> str:
    """The text of the file. Every name is written by repr, so that no name can become code."""
    recipe = solution.recipe
    names = solution.names or numbered(solution.coef.shape[-1])
    columns = names if recipe is None else tuple(dict.fromkeys(rule.name for rule in recipe.rules))
    lines = []
    for term in terms_of(solution):
        detail = term.level if term.kind in ("level", "missing") else term.fill
        lines.append(
            f"    ({term.name!r}, {term.kind!r}, {detail!r}, {term.weights.tolist()!r}, {_how(term)!r}),"
        )
    imports, mean = MEANS[solution.terms.loss.link]
    return SOURCE.format(
        imports=imports,
        mean=mean,
        words=solution.terms.words(),
        maker=MADE_BY,
        gap=solution.relative_gap,
        columns=repr(list(columns)),
        classes="None" if solution.classes is None else repr(solution.classes.tolist()),
        outputs="None" if solution.outputs is None else repr(list(solution.outputs)),
        intercepts=repr(intercepts(solution)),
        terms="\n".join(lines),
    )
