"""PredictedRows with their predictions, and what they say of the weights: losses, errors, areas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.fitting.decisions import explained, log_probabilities, row_losses, said
from dualgap.fitting.inputs import read_numbers
from dualgap.fitting.offsets import of_new_rows, read_offset
from dualgap.fitting.solution import Solution
from dualgap.fitting.targets import class_numbers
from dualgap.losses import Loss
from dualgap.traits import Trait

TEST = "test rows"
HELD = "rows held out"


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """Targets (numbers, or numbers of classes), the decision function and the weight of each row."""

    title: str
    targets: Vector
    scores: Vector | Matrix
    weights: Vector
    unseen: bool = False  # are they rows that the weights which predict them have not seen?
    folds: Index | None = None  # which fold each row was held out with
    loss: Loss | None = None  # what the scores are of
    offset: Vector | None = None  # that is in them

    @property
    def share(self) -> Vector:
        """Weights that add up to one."""
        return np.asarray(self.weights / self.weights.sum())

    @property
    def said(self) -> Index:
        """The number of the class that each row is given."""
        return said(self.scores)

    @property
    def right(self) -> float:
        """The share of rows that are given their class."""
        return float(self.share @ (self.said == self.targets))

    @property
    def area(self) -> float:
        """The area under the ROC curve of two classes."""
        return roc(self.targets == 1, self.scores, self.weights)[2]

    @property
    def predicted(self) -> Vector:
        """Numbers on the scale of the targets."""
        return np.asarray(self.scores if self.loss is None else self.loss.mean(self.scores))

    @property
    def deviance(self) -> float | None:
        """D², where the loss is half a deviance; None where the targets leave nothing to explain."""
        if self.loss is None or np.ndim(self.scores) == 2 or Trait.MEANS not in self.loss.traits:
            return None
        found = explained(self.loss, self.targets, np.asarray(self.scores), self.weights, self.offset)
        return found if np.isfinite(found) else None

    @property
    def explained(self) -> float | None:
        """R², None where the target is constant, or has several predictions."""
        if np.ndim(self.predicted) == 2:
            return None
        share = self.share
        total = float(share @ (self.targets - share @ self.targets) ** 2)
        return 1.0 - float(share @ (self.targets - self.predicted) ** 2) / total if total > 0 else None

    def __len__(self) -> int:
        return len(self.targets)


def rows_of(solution: Solution, X: Any, y: Any, offset: Any = None, *, title: str) -> PredictedRows:
    """Predict rows. They count as in the fit where there are as many, else once each."""
    test, terms = title == TEST, solution.terms
    n = len(np.asarray(y))
    if offset is None and not test and terms.offset is not None and len(terms.offset) == n:
        offset = terms.offset
    plain, offset = of_new_rows(terms, X, offset)
    scores = solution.decision_function(plain, offset)
    own = terms.sample_weight
    weights = own if not test and len(own) == n else np.ones(n)
    shift = read_offset(offset, n, terms.loss)
    return PredictedRows(
        title, targets_of(solution, y, n), scores, weights, unseen=test, loss=terms.loss, offset=shift
    )


def targets_of(solution: Solution, y: Any, n: int) -> Vector:
    """Numbers, or numbers of classes."""
    if solution.classes is None:
        return read_numbers(y, n)
    return class_numbers(y, n, tuple(solution.classes.tolist()))


def losses(solution: Solution, rows: PredictedRows) -> Vector:
    """What each row costs."""
    classes = solution.classes is not None
    return row_losses(solution.terms.loss, rows.targets, rows.scores, solution.multiclass, classes)


def mean_loss(solution: Solution, rows: PredictedRows) -> float:
    """The mean over the rows, weighted."""
    return float(losses(solution, rows) @ rows.share)


def standard_error(values: Vector) -> float:
    """Of their mean; not a number for one alone."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def same_rows(solution: Solution, rows: PredictedRows) -> bool:
    """Do these rows give the objective that the solution claims?"""
    if len(rows) != solution.facts["n"]:
        return False
    claimed = solution.objective
    found = mean_loss(solution, rows) + solution.price
    return bool(abs(found - claimed) <= 1e-8 * max(abs(claimed), 1e-4 * abs(solution.facts["null"]), 1e-300))


def probabilities(solution: Solution, rows: PredictedRows) -> Matrix | None:
    """P(class), a column per class, where the loss speaks of odds."""
    if solution.classes is None or not hasattr(solution.terms.loss, "log_odds"):
        return None
    return np.exp(log_probabilities(solution.terms.loss, rows.scores, solution.multiclass))


def roc(positive: Any, scores: Vector, weights: Vector) -> tuple[Vector, Vector, float]:
    """False and true positive rates as the threshold falls, and the area below; ties are one step."""
    order = np.argsort(-scores, kind="stable")
    hits, weight = np.asarray(positive, dtype=bool)[order], weights[order]
    last = np.append(np.diff(scores[order]) != 0.0, True)
    true = np.concatenate([[0.0], np.cumsum(weight * hits)[last]])
    false = np.concatenate([[0.0], np.cumsum(weight * ~hits)[last]])
    true /= max(true[-1], 1e-300)
    false /= max(false[-1], 1e-300)
    return false, true, float(np.sum(np.diff(false) * (true[1:] + true[:-1]) / 2))


def sample(n: int, most: int) -> Index:
    """At most so many row numbers, the same ones every time."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))
