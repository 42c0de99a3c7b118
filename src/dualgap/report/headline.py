"""The figure that comes first: how well rows are predicted that the weights have not seen, and its spread."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from dualgap.arrays import Index
from dualgap.fitting.decisions import losses_of_constant
from dualgap.report.markup import number, percent
from dualgap.report.rows import PredictedRows, standard_error
from dualgap.report.subject import Subject


@dataclasses.dataclass(frozen=True)
class Headline:
    """A measure of the rows called `where`; `spread` is its standard error, None where nothing tells it."""

    name: str
    where: str
    value: float
    spread: float | None
    share: bool = False  # shown in percent

    @property
    def shown(self) -> str:
        """The value with its spread."""
        if self.share:
            spread = "" if self.spread is None else f" ± {number(100 * self.spread, 2)}"
            return f"{number(100 * self.value, 3)}{spread} %" if spread else percent(self.value)
        spread = "" if self.spread is None else f" ± {number(self.spread, 2)}"
        return f"{number(self.value, 3)}{spread}"


def headlines(about: Subject) -> list[Headline]:
    """R² of numbers, D² of means; of classes the share that is right, of two the area under the ROC curve."""
    rows = about.judged
    if rows is None:
        return []
    where = rows.title.split(" (")[0]
    if about.solution.classes is None:
        if rows.deviance is not None:
            return [
                Headline("D²", where, rows.deviance, _spread(rows, lambda part: part.deviance, _of_deviance))
            ]
        if rows.explained is None:
            return []
        return [Headline("R²", where, rows.explained, _spread(rows, _squares, _of_squares, _variance(rows)))]
    found = [Headline("right", where, rows.right, _spread(rows, lambda part: part.right, _of_share), True)]
    if rows.scores.ndim == 1:
        found.append(Headline("ROC area", where, rows.area, _spread(rows, _area, _of_area)))
    return found


def _spread(
    rows: PredictedRows,
    measure: Callable[[PredictedRows], float | None],
    alone: Callable[[PredictedRows], float],
    unit: float = 1.0,
) -> float | None:
    """The standard error: over the folds where there are some, else as rows of one sample tell it."""
    if not rows.unseen:
        return None
    if rows.folds is None:
        error = alone(rows) / unit
        return error if len(rows) > 1 and np.isfinite(error) else None
    found = [measure(part) for part in _parts(rows, rows.folds)]
    known = np.array([value for value in found if value is not None])
    return float(known.std(ddof=1) / np.sqrt(len(known)) / unit) if len(known) > 1 else None


def _parts(rows: PredictedRows, folds: Index) -> Iterator[PredictedRows]:
    for k in np.unique(folds):
        own = folds == k
        if rows.weights[own].any():
            yield dataclasses.replace(
                rows,
                targets=rows.targets[own],
                scores=rows.scores[own],
                weights=rows.weights[own],
                offset=None if rows.offset is None else rows.offset[own],
                folds=None,
            )


def _area(part: PredictedRows) -> float | None:
    return part.area if len(np.unique(part.targets)) == 2 else None


def _of_share(rows: PredictedRows) -> float:
    return float(np.sqrt(rows.right * (1.0 - rows.right) / len(rows)))


def _of_area(rows: PredictedRows) -> float:
    """DeLong's: how much the share of the other class that lies on the right side differs from row to row."""
    sides = [np.sort(rows.scores[rows.targets == k]) for k in (0, 1)]
    if min(map(len, sides)) < 2:
        return float("nan")
    total = 0.0
    for own, other in (sides, sides[::-1]):
        places = np.searchsorted(other, own, "left") + np.searchsorted(other, own, "right")
        total += float(np.var(0.5 * places / len(other), ddof=1)) / len(own)
    return float(np.sqrt(total))


def _of_deviance(rows: PredictedRows) -> float:
    """That of a quotient of two means, the model's loss over the constant's, of the same rows."""
    assert rows.loss is not None and rows.deviance is not None
    null = losses_of_constant(rows.loss, rows.targets, rows.weights, rows.offset)
    excess = rows.loss.value(rows.targets, np.asarray(rows.scores)) - (1.0 - rows.deviance) * null
    return standard_error(excess) / float(null @ rows.share)


def _variance(rows: PredictedRows) -> float:
    return float(rows.share @ (rows.targets - rows.share @ rows.targets) ** 2)


def _squares(part: PredictedRows) -> float:
    """The mean square error, of which R² is what is left: a few rows have one, and hardly a variance."""
    return float(part.share @ (part.targets - part.predicted) ** 2)


def _of_squares(rows: PredictedRows) -> float:
    return standard_error((rows.targets - rows.predicted) ** 2)
