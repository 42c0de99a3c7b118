"""The path: a slider that moves the weights and the errors together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from dualgap.arrays import Vector
from dualgap.report.axis import Axis, spanning
from dualgap.report.chart import Chart, key, look, swatch
from dualgap.report.formulas import mean_of
from dualgap.report.markup import (
    bar,
    charts,
    count,
    figure,
    moving_tiles,
    number,
    paragraph,
    percent,
    plural,
    safe,
    section,
    values,
)
from dualgap.report.points import Errors, Points, errors_along, nonzero, points
from dualgap.report.shown_point import cheap
from dualgap.report.subject import Subject
from dualgap.selection.search import Search

NAMED = 8  # lines with a name at their end
SHOWN = 16  # weights in the list beside the slider
DRAWN = 60  # lines in all
TRAIN, TEST, FOLDS = "s1 d0", "s2 d1", "s3 d4"


@dataclass(frozen=True, eq=False)
class Column:
    """One weight along the path, per standard deviation of its column."""

    name: str
    standard: Vector
    weight: Vector


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a chart of errors."""

    name: str
    title: str
    values: Vector
    look: str
    spread: Vector | None = None


def along(about: Subject) -> str:
    """The section; empty where there is no path."""
    if about.path is None or len(about.path) < 2:
        return ""
    found = points(about.path)
    columns = _columns(about, found)
    start = _start(about, found)
    told = _errors(about, found)
    loss = [_curve(one, "loss", k) for k, one in enumerate(told)]
    wrong = [_curve(one, "wrong", k) for k, one in enumerate(told) if one.wrong is not None]
    held = _held_out(about, found)
    (wrong if about.search is not None and about.search.score == "zero_one" else loss).extend(held)
    script = _Script(found, start)
    figures = [
        script.weights(about, columns),
        script.errors(about, loss, mean_of(about.terms.loss), "Mean loss"),
        script.errors(about, wrong, "share of wrong rows", "Wrong rows"),
    ]
    return section(
        "path",
        "Along the path",
        paragraph(_sentence(about, found)),
        _slider(found, start),
        script.readouts(about, loss + wrong, nonzero(found)),
        charts(*figures, _list(columns, start, script)),
        paragraph(_remarks(about, told), "soft"),
        values("path-values", script.content),
    )


def _columns(about: Subject, found: Points) -> list[Column]:
    """The largest weights anywhere on the path, first the largest."""
    spread = about.solution.facts["spread"]
    standard = found.coefs * spread
    names = list(about.names)
    if found.coefs.ndim == 3:
        assert about.solution.classes is not None
        names = [f"{label}: {name}" for label in about.solution.classes.tolist() for name in about.names]
    standard, weight = (v.reshape(len(found.at), -1) for v in (standard, found.coefs))
    size = np.abs(standard).max(axis=0, initial=0.0)
    order = [int(j) for j in np.argsort(-size, kind="stable")[:DRAWN] if size[j] > 0.0]
    return [Column(names[j], standard[:, j], weight[:, j]) for j in order]


def _start(about: Subject, found: Points) -> int:
    """The point nearest to the solution that the page is about."""
    terms = about.terms
    if found.symbol != "λ":
        return int(np.argmin(np.abs(found.at - (terms.budget or found.at[-1]))))
    if not terms.lam:
        return len(found.at) - 1
    return int(np.argmin(np.abs(np.log(found.at / terms.lam))))


def _errors(about: Subject, found: Points) -> list[Errors]:
    given = (("rows of the fit", about.data), ("test rows", about.test))
    told = [errors_along(about, found, pair, title) for title, pair in given if pair is not None]
    if about.data is None and found.symbol == "λ" and about.path is not None and cheap(about, "risks"):
        lams, risks = about.path.lams[::-1], about.path.risks[::-1]
        told.insert(0, Errors("rows of the fit", np.interp(found.at, lams, risks), None, 0))
    return told


def _curve(told: Errors, what: str, k: int) -> Curve:
    test = told.title == "test rows"
    shown = told.loss if what == "loss" else told.wrong
    assert shown is not None
    return Curve(f"{what}{k}", told.title, shown, TEST if test else TRAIN)


def _shares_axis(search: Search | None, found: Points) -> TypeGuard[Search]:
    """Is there a search, and is it over λ like the path?"""
    return search is not None and search.form == "penalised" and found.symbol == "λ"


def _held_out(about: Subject, found: Points) -> list[Curve]:
    """The curve of cross-validation, where it is in the same unit as the others."""
    search = about.search
    if not _shares_axis(search, found) or search.score not in ("loss", "zero_one"):
        return []
    order = np.argsort(search.lams)
    at = np.log(search.lams[order])
    mean, error = (np.interp(np.log(found.at), at, v[order]) for v in (search.mean, np.nan_to_num(search.se)))
    return [Curve("folds", "rows held out by cross-validation", mean, FOLDS, error)]


def _sentence(about: Subject, found: Points) -> str:
    strong = "large λ on the left: few or small weights" if found.symbol == "λ" else "few columns on the left"
    exact = "exact at every λ" if found.exact and found.symbol == "λ" else "each point with its proof"
    assert about.path is not None
    known = not found.exact or cheap(about, "gaps")
    worst = f", largest relative gap {number(float(np.max(about.path.gaps)), 2)}" if known else ""
    return (
        f"The solutions for every strength, {strong}; {exact}{worst}. "
        '<span class="script">Move the slider, by mouse, finger or arrow keys: weights and errors follow.'
        "</span>"
    )


def _slider(found: Points, start: int) -> str:
    words = safe(_place(found, start))
    return (
        '<div class="slider script"><label for="strength">'
        f"{'strength λ' if found.symbol == 'λ' else 'budget'}</label>"
        f'<input type="range" id="strength" min="0" max="{len(found.at) - 1}" value="{start}" step="1" '
        f'aria-valuetext="{words}"><output for="strength" data-reads="place">{words}</output></div>'
    )


def _place(found: Points, k: int) -> str:
    return f"{found.symbol} = {number(float(found.at[k]), 4)}"


def _remarks(about: Subject, told: list[Errors]) -> str:
    found = [
        f"Errors are those of {plural(one.sampled, 'row')} drawn from the {one.title}."
        for one in told
        if one.sampled
    ]
    if about.test is None and about.search is None:
        found.append(
            "Errors on the rows of the fit fall with every weight; to see when a model learns by heart, give "
            "rows that it has not seen (<code>--hold-out 0.25</code> or <code>--test FILE</code>, in Python "
            "<code>test=(X, y)</code>)."
        )
    return " ".join(found)


class _Script:
    """Charts with what the slider moves on them, and the content that the script reads."""

    def __init__(self, found: Points, start: int) -> None:
        self.found, self.start = found, start
        log = found.symbol == "λ" and found.at[-1] > 0.0
        self.x = Axis(float(found.at[0]), float(found.at[-1]), found.symbol, log)
        self.content: dict[str, Any] = {"cursors": {}, "followers": {}, "reads": {}, "weights": []}
        self.content["reads"]["place"] = [_place(found, k) for k in range(len(found.at))]

    def _moving(self, chart: Chart, name: str) -> None:
        chart.cursor(name, float(self.found.at[self.start]))
        self.content["cursors"][name] = _rounded(chart.across(self.found.at))

    def weights(self, about: Subject, columns: list[Column]) -> str:
        """Weights against the strength."""
        if not columns:
            return ""
        y = spanning(
            np.concatenate([[0.0], *(one.standard for one in columns)]), "weight per standard deviation"
        )
        chart = Chart(self.x, y, "Weights along the path, the largest ones named.", right=100.0)
        chart.level(0.0, "zero")
        for one in columns[NAMED:]:
            chart.line(self.found.at, one.standard, "faint", one.name)
        for rank, one in reversed(list(enumerate(columns[:NAMED]))):
            chart.line(self.found.at, one.standard, look(rank), one.name)
        named = columns[:NAMED]
        chart.ends(
            np.array([one.standard[-1] for one in named]),
            [one.name for one in named],
            [look(rank) for rank in range(len(named))],
        )
        _choices(chart, about, self.found)
        self._moving(chart, "weights")
        more = len(columns) - NAMED
        rest = f" The other {plural(more, 'line is', 'lines are')} thin." if more > 0 else ""
        return figure("Weights", chart.svg(), f"A line per column, comparable across units.{rest}")

    def errors(self, about: Subject, curves: list[Curve], label: str, title: str) -> str:
        """Errors against the strength."""
        if not curves:
            return ""
        low = [one.values - (0.0 if one.spread is None else one.spread) for one in curves]
        high = [one.values + (0.0 if one.spread is None else one.spread) for one in curves]
        chart = Chart(self.x, spanning(np.concatenate(low + high), label), f"{title} along the path.")
        for one, bottom, top in zip(curves, low, high, strict=True):
            if one.spread is not None:
                chart.band(self.found.at, bottom, top, one.look)
        for one in curves:
            chart.line(self.found.at, one.values, one.look, one.title)
        _choices(chart, about, self.found)
        self._moving(chart, title)
        at = float(self.found.at[self.start])
        for one in curves:
            chart.follower(one.name, at, float(one.values[self.start]), one.look)
            places = zip(_rounded(chart.across(self.found.at)), _rounded(chart.up(one.values)), strict=True)
            self.content["followers"][one.name] = [list(place) for place in places]
        words = key([(one.look, one.title) for one in curves])
        return figure(title, chart.svg() + words, _least(curves, self.found))

    def readouts(self, about: Subject, curves: list[Curve], used: Any) -> str:
        """Numbers at the slider's place."""
        shown: list[tuple[str, str, list[str]]] = []
        for one in curves:
            wrong = one.name.startswith("wrong") or (
                about.search is not None and about.search.score == "zero_one" and one.name == "folds"
            )
            texts = [percent(v) if wrong else number(v, 4) for v in one.values]
            shown.append((one.name, f"{'wrong' if wrong else 'mean loss'}, {one.title}", texts))
        shown.append(("used", "columns with a weight", [count(int(v)) for v in used]))
        self.content["reads"] |= {name: texts for name, _, texts in shown}
        return moving_tiles((name, words, texts[self.start]) for name, words, texts in shown)


def _rounded(places: Vector) -> list[float]:
    return [round(v, 1) for v in places.tolist()]


def _choices(chart: Chart, about: Subject, found: Points) -> None:
    """The two strengths of cross-validation, where there was one."""
    search = about.search
    if not _shares_axis(search, found):
        return
    chart.upright(search.lam_min, "choice d1", "min", 0)
    if search.index_1se != search.index_min:
        chart.upright(search.lam_1se, "choice d2", "1se", 1)


def _least(curves: list[Curve], found: Points) -> str:
    judged = next((one for one in curves if one.look != TRAIN), None)
    if judged is None:
        return "On the rows of the fit; more freedom always fits these better."
    k = int(np.argmin(judged.values))
    return f"On {judged.title} least at {_place(found, k)}: {number(float(judged.values[k]), 4)}."


def _list(columns: list[Column], start: int, script: _Script) -> str:
    """The largest weights as bars, at the slider's place."""
    shown = columns[:SHOWN]
    if not shown:
        return ""
    top = max(float(np.abs(one.standard).max()) for one in shown)
    lines = []
    for rank, one in enumerate(shown):
        script.content["weights"].append(
            {
                "w": [number(v, 3) for v in one.weight],
                "s": [round(50.0 * v / top, 2) for v in one.standard.tolist()],
            }
        )
        share = float(one.standard[start]) / top
        named = look(rank) if rank < NAMED else "faint"
        lines.append(
            f'<li data-weight="{rank}">{swatch(named)}<span class="of">{safe(one.name)}</span>{bar(share)}'
            f'<span class="value">{number(float(one.weight[start]), 3)}</span></li>'
        )
    caption = "Bars are per standard deviation, numbers in the units of the data."
    return figure("Weights at this strength", f'<ol class="list">{"".join(lines)}</ol>', caption)
