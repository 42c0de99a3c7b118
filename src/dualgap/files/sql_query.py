"""SQL: one query that adds score and prediction to the rows of a table; identifiers are quoted."""

from __future__ import annotations

from typing import Any

from dualgap.errors import DataError
from dualgap.files.exported_terms import Term, intercepts, terms_of
from dualgap.files.store import MADE_BY
from dualgap.fitting.solution import Solution

MEANS = {"identity": "{}", "log": "EXP({})", "logit": "(1.0 / (1.0 + EXP(-({}))))"}  # by the link


def sql_query(solution: Solution, table: str) -> str:
    """A SELECT that needs nothing beyond CASE and COALESCE, and EXP for a loss of means.

    A level that the fit never saw counts as the reference level. Sums are nested in pairs: databases limit
    the depth of an expression (SQLite to 1000), and pairs round less.
    """
    terms = terms_of(solution)
    _refuse_readings(terms)
    taken = {term.name for term in terms} | {solution.recipe.target if solution.recipe else ""}
    names: list[str] = []
    for name in _score_names(solution):
        names.append(_free(name, taken | set(names)))
    mean = MEANS[solution.terms.loss.link]
    scores = [mean.format(_score(terms, k, b)) for k, b in enumerate(intercepts(solution))]
    chosen = ",\n    ".join(
        f"{expression} AS {identifier(name)}" for name, expression in zip(names, scores, strict=True)
    )
    inner = f"SELECT *,\n    {chosen}\n  FROM {identifier(table)}"
    words = f"-- {solution.terms.words()}\n-- Written by {MADE_BY}.\n"
    if solution.classes is None:
        return f"{words}{inner};\n"
    prediction = identifier(_free("prediction", taken))
    case = _class_of(solution.classes.tolist(), [identifier(name) for name in names])
    return f"{words}WITH scored AS (\n  {inner}\n)\nSELECT *, {case} AS {prediction} FROM scored;\n"


def _refuse_readings(terms: list[Term]) -> None:
    """Databases differ in the words for parts of dates, and none reads numbers as people write them."""
    for term in terms:
        if term.rule is not None:
            what = "parts of dates" if term.rule.part else "numbers written with other signs"
            raise DataError(
                f"{term.name!r} holds {what}, which a query that any database understands cannot read: put "
                "plain numbers in columns of their own and fit those, or export to .py."
            )


def identifier(name: str) -> str:
    """A name in double quotes, as the standard has it."""
    if not name or "\x00" in name:
        raise DataError(f"{name!r} cannot be the name of a table or column in SQL.")
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A text in single quotes, or a number with all its digits."""
    if isinstance(value, str):
        if "\x00" in value:
            raise DataError(f"{value!r} cannot be a text in SQL.")
        return "'" + value.replace("'", "''") + "'"
    return repr(int(value)) if isinstance(value, bool) else repr(value)


def _score_names(solution: Solution) -> list[str]:
    if solution.outputs is not None:
        return [f"prediction {name}" for name in solution.outputs]
    if solution.classes is None:
        return ["prediction"]
    if solution.coef.ndim == 1:
        return ["score"]
    return [f"score {label}" for label in solution.classes.tolist()]


def _free(name: str, taken: set[str]) -> str:
    """A name that no column of the model has (SQL does not tell capitals apart)."""
    lower = {one.lower() for one in taken}
    while name.lower() in lower:
        name += "_"
    return name


def _score(terms: list[Term], k: int, intercept: float) -> str:
    parts = [f"{_signed(float(term.weights[k]))} * {_column(term)}" for term in terms if term.weights[k]]
    return _nested([_signed(intercept), *parts])


def _signed(value: float) -> str:
    return f"({value!r})" if value < 0 else repr(value)


def _nested(parts: list[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return f"({_nested(parts[:middle])} + {_nested(parts[middle:])})"


def _column(term: Term) -> str:
    name = identifier(term.name)
    if term.kind == "level":
        return f"CASE WHEN {name} = {literal(term.level)} THEN 1.0 ELSE 0.0 END"
    if term.kind == "missing":
        return f"CASE WHEN {name} IS NULL THEN 1.0 ELSE 0.0 END"
    value = f"CASE WHEN {name} THEN 1.0 WHEN NOT {name} THEN 0.0 END" if term.kind == "boolean" else name
    return value if term.fill is None else f"COALESCE({value}, {term.fill!r})"


def _class_of(classes: list[Any], scores: list[str]) -> str:
    if len(scores) == 1:
        return f"CASE WHEN {scores[0]} > 0 THEN {literal(classes[1])} ELSE {literal(classes[0])} END"
    cases = []
    for k, score in enumerate(scores[:-1]):
        others = " AND ".join(f"{score} >= {other}" for other in scores[k + 1 :])
        before = "".join(f" AND {score} > {other}" for other in scores[:k])
        cases.append(f"WHEN {others}{before} THEN {literal(classes[k])}")
    return f"CASE {' '.join(cases)} ELSE {literal(classes[-1])} END"
