"""Several models on the same rows: their errors, the differences row by row, the weights side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.errors import DataError
from dualgap.files.store import fingerprint, write_whole
from dualgap.fitting.effects import Effect
from dualgap.fitting.shown import shown
from dualgap.fitting.solution import Solution
from dualgap.report.document import document
from dualgap.report.markup import bullets, grid, safe, section
from dualgap.report.rows import PredictedRows, losses, probabilities, rows_of, standard_error
from dualgap.tables.prepare import Prepared

TELLING = 2.0  # standard errors, the usual number: a smaller difference could be the luck of these rows
MOST = 40  # weights in the table: the largest per standard deviation in any model


@dataclass(frozen=True, eq=False)
class Judged:
    """A model, and the rows as its recipe makes them."""

    name: str
    solution: Solution
    prepared: Prepared

    def errors(self) -> dict[str, Vector]:
        """What each row costs, in measures that all models of a kind share."""
        rows = rows_of(self.solution, self.prepared.X, self.prepared.y, self.prepared.offset, title="rows")
        own = losses(self.solution, rows)
        found = self._usual(rows)
        if any(np.allclose(own, one) for one in found.values()):  # it has a usual name
            return found
        return {f"{self.solution.terms.loss} loss": own, **found}

    def _usual(self, rows: PredictedRows) -> dict[str, Vector]:
        if self.solution.classes is None:
            error = rows.predicted - rows.targets
            return {"squared error": error**2, "absolute error": np.abs(error)}
        found = {"share of wrong rows": (rows.said != rows.targets).astype(np.float64)}
        chances = probabilities(self.solution, rows)
        if chances is not None:
            own = chances[np.arange(len(rows)), rows.targets.astype(np.intp)]
            found["log loss"] = -np.log(np.maximum(own, 1e-300))
        return found

    @property
    def seen(self) -> bool:
        """Are these the rows of its fit?"""
        claimed = self.solution.facts.get("fingerprint")
        return claimed is not None and claimed == fingerprint(self.prepared.X, self.prepared.y)


@dataclass(frozen=True, eq=False)
class Compared:
    """Models with their errors on the rows that all of them can predict."""

    models: list[Judged]
    errors: list[dict[str, Vector]]
    notes: tuple[str, ...]
    effects: tuple[list[Effect], ...] = ()  # of each column that was asked for, one for each model

    @property
    def _shared(self) -> list[str]:
        """The measures that all models have, those of their common loss first."""
        return [name for name in self.errors[0] if all(name in found for found in self.errors)]

    def verdicts(self) -> list[str]:
        """Each model beside the first, in words, by the first measure that all have."""
        measure, first = self._shared[0], self.models[0].name
        told = []
        for other, found in zip(self.models[1:], self.errors[1:], strict=True):
            gain = self.errors[0][measure] - found[measure]
            mean, error = float(np.mean(gain)), standard_error(gain)
            size = f"{shown(abs(mean))} ± {shown(error, 2)}"
            if not abs(mean) > TELLING * error:
                told.append(f"by {measure} these rows do not tell {other.name} from {first}: {size}")
                continue
            better, worse = (other.name, first) if mean > 0 else (first, other.name)
            told.append(f"by {measure} {better} is better than {worse} by {size}")
        return told

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Title, headings and cells: errors, differences, weights."""
        names = [one.name for one in self.models]
        costs = [[name, *(_with_error(found[name]) for found in self.errors)] for name in self._shared]
        paired = [
            [
                f"{name}, {other.name} − {names[0]}",
                _with_error(found[name] - self.errors[0][name]),
                _wins(found[name], self.errors[0][name]),
            ]
            for name in self._shared
            for other, found in zip(self.models[1:], self.errors[1:], strict=True)
        ]
        return [
            ("mean ± standard error", ["", *names], costs),
            ("differences row by row", ["", "mean ± standard error", "rows better, worse"], paired),
            ("weights", ["", *names], self._weights()),
            *(self._effect(each) for each in self.effects),
        ]

    def _effect(self, each: list[Effect]) -> tuple[str, list[str], list[list[str]]]:
        """The mean prediction at each value, a column for each model and what it tells."""
        many = len(each[0].outcomes) > 1
        head, cells = [each[0].column], [[shown(value)] for value in each[0].values]
        for one, model in zip(each, self.models, strict=True):
            head += [f"{model.name}: {name}" if many else model.name for name in one.outcomes]
            for line, mean in zip(cells, one.mean, strict=True):
                line += [shown(value) for value in mean]
        told = "mean prediction" if each[0].outcomes == ("prediction",) else "mean of " + each[0].outcomes[-1]
        return f"{told if not many else 'mean prediction'} at values of {each[0].column}", head, cells

    def _weights(self) -> list[list[str]]:
        """Of one vector each; the largest per standard deviation first."""
        tables: list[dict[str, float]] = []
        sizes: dict[str, float] = {}
        for one in self.models:
            solution = one.solution
            if solution.coef.ndim != 1:
                return []
            names = solution.names or tuple(f"x{j}" for j in range(len(solution.coef)))
            tables.append(dict(zip(names, solution.coef.tolist(), strict=True)))
            for name, size in zip(
                names, np.abs(solution.coef * solution.facts["spread"]).tolist(), strict=True
            ):
                sizes[name] = max(sizes.get(name, 0.0), size)
        order = sorted(sizes, key=lambda name: -sizes[name])[:MOST]
        ends = ["intercept", *(shown(float(one.solution.intercept), 4) for one in self.models)]
        return [ends, *([name, *(shown(t[name], 4) if name in t else "" for t in tables)] for name in order)]


CAPTIONS = {
    "mean ± standard error": "a row each measure, smaller is better",
    "differences row by row": "below zero: better than the first model, on the same rows",
    "weights": "the largest per standard deviation first",
}


def _sentence(text: str) -> str:
    return safe(text[:1].upper() + text[1:] + ".") if text.startswith("by ") else safe(text)


def compared(
    models: list[Judged], effects: tuple[list[Effect], ...] = (), which: str = "models can predict"
) -> Compared:
    """Refuses models that predict different things; keeps the rows that all of them can predict."""
    first = models[0]
    for other in models[1:]:
        if _target(other) != _target(first):
            raise DataError(
                f"{other.name} predicts {_target(other)}, {first.name} {_target(first)}; "
                "they cannot be compared."
            )
    common: Mask = np.logical_and.reduce([one.prepared.rows for one in models])
    if not common.any():
        raise DataError("No row can be predicted by all of the models.")
    errors = [
        {name: values[common[one.prepared.rows]] for name, values in one.errors().items()} for one in models
    ]
    notes = [f"{int(common.sum())} of {len(common)} rows, those that all {which}"]
    notes += [f"{one.name} was fitted on these very rows, which flatters it" for one in models if one.seen]
    return Compared(models, errors, tuple(notes), effects)


def _target(one: Judged) -> str:
    classes = one.solution.classes
    return "numbers" if classes is None else "the classes " + ", ".join(map(str, classes.tolist()))


def _with_error(values: Vector) -> str:
    return f"{shown(float(np.mean(values)))} ± {shown(standard_error(values), 2)}"


def _wins(values: Vector, first: Vector) -> str:
    return f"{int(np.count_nonzero(values < first))}, {int(np.count_nonzero(values > first))}"


def page(found: Compared, path: str | Path) -> Path:
    """One page: which is better, and the tables."""
    title = "Models side by side: " + ", ".join(one.name for one in found.models)
    said = [*found.verdicts(), *found.notes]
    parts: list[Any] = [section("verdict", "Which is better", bullets(map(_sentence, said)))]
    for k, (name, head, lines) in enumerate(found.tables()):
        cells = [
            [safe(cell).replace("-", "−") if j else safe(cell) for j, cell in enumerate(line)]
            for line in lines
        ]
        if cells:
            parts.append(
                section(
                    f"part{k}",
                    safe(name.capitalize()),
                    grid([safe(cell) for cell in head], cells, safe(CAPTIONS.get(name, name))),
                )
            )
    target = Path(path)
    text = document(safe(title), "", "\n".join(parts), ("style.css",), "page.js")
    write_whole(target, text.encode("utf-8"))
    return target
