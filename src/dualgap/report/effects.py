"""What columns do to the prediction, a picture each."""

from __future__ import annotations

import numpy as np

from dualgap.fitting.effects import SPREAD, Effect, raw_rows, strongest
from dualgap.report.axis import Axis, DayAxis, spanning
from dualgap.report.chart import SERIES, Chart, key
from dualgap.report.markup import charts, clipped, figure, grid, number, paragraph, plural, safe, section
from dualgap.report.subject import Subject

MOST = 6  # columns, a choice: those that move the prediction most


def effects(about: Subject) -> str:
    """The section; empty where no rows were given."""
    found = about.origin.effects
    if found is None:
        found = _of_rows(about)
    if not found:
        return ""
    pictures = [_picture(one) if one.numeric else _words(one) for one in found]
    return section("effects", "What the columns do", paragraph(_sentence(found)), charts(*pictures))


def _of_rows(about: Subject) -> tuple[Effect, ...]:
    """Of the rows of the fit, where they are numbers or as the file had them."""
    solution = about.solution
    if about.data is None or solution.coef.shape[-1] != len(about.names):
        return ()
    if about.origin.recipe is None:
        return strongest(solution, about.data[0], MOST)
    rows = raw_rows(solution, about.data[0])
    return () if rows is None else strongest(solution, rows, MOST)


def _sentence(found: tuple[Effect, ...]) -> str:
    low, high = (f"{100 * share:g}" for share in SPREAD)
    which = "column that moves" if len(found) == 1 else "columns that move"
    return (
        f"The {plural(len(found), which, which)} the prediction most. A column is set to value after value "
        "in all rows, the others being left as they are: the line is the mean prediction, the band is where "
        f"those of {low} to {high} % of the rows are. It says what the model does, not what would happen "
        "if somebody changed the column in the world."
    )


def _picture(one: Effect) -> str:
    days = isinstance(one.values[0], np.datetime64)
    values = np.array(one.values)
    at = values.astype("datetime64[D]").astype(np.float64) if days else values.astype(np.float64)
    ends = float(at[0]), float(at[-1])
    x: Axis = DayAxis(*ends, one.column) if days else Axis(*ends, one.column)
    y = spanning(np.concatenate([one.low.ravel(), one.high.ravel()]), _outcome(one))
    chart = Chart(x, y, f"Mean prediction against {one.column}.")
    count = min(len(one.outcomes), SERIES)
    for k in range(count):
        if count == 1:
            chart.band(at, one.low[:, k], one.high[:, k], "s0")
        chart.line(at, one.mean[:, k], f"s{k} d{k}", one.outcomes[k])
    names = [(f"s{k} d{k}", clipped(name, 24)) for k, name in enumerate(one.outcomes[:count])]
    return figure(safe(one.column), chart.svg() + (key(names) if count > 1 else ""), _caption(one))


def _caption(one: Effect) -> str:
    if len(one.slope) != 1:
        return f"Mean over {plural(one.rows, 'row')}."
    rises = f"Where it rises by one, {safe(_outcome(one))} changes by {number(one.slope[0], 3)} on average"
    return f"{rises}, over {plural(one.rows, 'row')}."


def _words(one: Effect) -> str:
    head, lines = one.table()
    cells = [[safe(line[0]), *(safe(cell).replace("-", "−") for cell in line[1:])] for line in lines]
    table = grid([safe(cell) for cell in head], cells, safe(f"Mean prediction at each {one.column}"))
    return figure(safe(one.column), table, f"Mean over {plural(one.rows, 'row')}.")


def _outcome(one: Effect) -> str:
    return one.outcomes[0] if len(one.outcomes) == 1 else "prediction"
