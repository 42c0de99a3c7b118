"""Cross-validation: the curve, the two strengths that it suggests, and what each costs."""

from __future__ import annotations

import numpy as np

from dualgap.report.axis import Axis, spanning
from dualgap.report.chart import Chart, key
from dualgap.report.formulas import mean_of
from dualgap.report.markup import charts, count, figure, grid, number, paragraph, percent, safe, section
from dualgap.report.subject import Subject
from dualgap.selection.search import Search


def folds(about: Subject) -> str:
    """The section; empty where nothing was cross-validated."""
    search = about.search
    if search is None:
        return ""
    return section(
        "folds", "Cross-validation", paragraph(_sentence(search)), charts(_curve(search), _table(search))
    )


def symbol(search: Search) -> str:
    """What a strength is called."""
    return "λ" if search.form == "penalised" else "budget"


def measure(search: Search) -> str:
    """What was measured on the rows held out."""
    if search.score == "loss":
        return mean_of(search.terms.loss)
    return "share of wrong rows" if search.score == "zero_one" else search.score.replace("_", " ")


def _sentence(search: Search) -> str:
    return (
        f"The rows were dealt into {count(search.n_folds)} folds; each was predicted by weights found "
        f"without it, at {count(len(search.strengths))} strengths. The curve is the {safe(measure(search))} "
        "on the rows held out, the band one standard error on either side. <b>min</b> is the best on "
        "average; <b>1se</b> is the strongest penalty that is not worse by more than one standard error: a "
        f"simpler model that is about as good. {safe(search.status)} Every point of every fold has its "
        f"proof, largest relative gap {number(float(search.gaps.max()), 2)}."
    )


def _curve(search: Search) -> str:
    at, mean, error = search.strengths, search.mean, np.nan_to_num(search.se)
    log = search.form == "penalised" and len(at) > 1 and float(at.min()) > 0.0
    x = Axis(float(at[0]), float(at[-1]), symbol(search), log)
    y = spanning(np.concatenate([mean - error, mean + error]), measure(search))
    chart = Chart(x, y, f"{measure(search)} on rows held out, against {symbol(search)}.")
    for row in search.scores[:20]:
        inside = np.where((row >= y.low) & (row <= y.high), row, np.nan)
        chart.line(at, inside, "faint")
    chart.band(at, mean - error, mean + error, "s3")
    chart.line(at, mean, "s3 d0")
    chart.upright(float(at[search.index_min]), "choice d1", "min", 0)
    if search.index_1se != search.index_min:
        chart.upright(float(at[search.index_1se]), "choice d2", "1se", 1)
    for k in {search.index_min, search.index_1se}:
        chart.follower(f"fixed{k}", float(at[k]), float(mean[k]), "s3")
    lines = [("s3 d0", "mean of the folds"), ("faint", "single folds")]
    words = key([*lines, ("choice d1", "min"), ("choice d2", "1se")])
    title = f"{measure(search).capitalize()} on rows held out"
    return figure(safe(title), chart.svg() + words, "The strongest penalty is on the left.")


def _table(search: Search) -> str:
    picked = [("min", search.index_min), ("1se", search.index_1se)]
    if search.index not in (search.index_min, search.index_1se):
        picked.append(("by the rule given", search.index))
    rows = []
    for name, k in picked:
        chosen = " <b>(chosen)</b>" if k == search.index else ""
        mean, error = float(search.mean[k]), float(search.se[k])
        shares = search.score == "zero_one"
        value = percent(mean) if shares else number(mean, 4)
        spread = f" ± {percent(error) if shares else number(error, 2)}" if np.isfinite(error) else ""
        used = number(float(search.n_nonzero[:, k].mean()), 3)
        rows.append([f"{name}{chosen}", number(float(search.strengths[k]), 4), f"{value}{spread}", used])
    head = ["", symbol(search), safe(measure(search)), "columns used"]
    return grid(head, rows, "The strengths that cross-validation suggests")
