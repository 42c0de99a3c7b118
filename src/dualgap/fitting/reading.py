"""Everything that a fit needs, checked: the data with the objective asked of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector, ones
from dualgap.compiled.unhurried import begin_task
from dualgap.errors import DataError, UnboundedError
from dualgap.fitting.feasibility import refuse_infeasible
from dualgap.fitting.groups import read_groups
from dualgap.fitting.inputs import (
    Table,
    has_columns,
    read_factors,
    read_labels,
    read_numbers,
    read_outputs,
    read_strength,
    read_table,
    read_weights,
)
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.objective import Objective, column_scales, spreads
from dualgap.fitting.offsets import parted, read_offset, refuse_offset
from dualgap.fitting.options import read_flag
from dualgap.fitting.several import names_of_levels, refuse_columns, refuse_outputs
from dualgap.fitting.signs import read_bounds, read_constraints, refuse_unbounded_kinds
from dualgap.losses import Loss
from dualgap.penalties import Penalty
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

HOW = "solver tol max_iter max_time warm_start random_state callback stop multiclass"


class Facts(dict[str, Any]):
    """What a summary says of the data; how far each column spreads is computed when somebody asks.

    Until then the table is held.
    """

    def __init__(self, known: dict[str, Any], spread: Callable[[], Vector]) -> None:
        super().__init__(known)
        self._spread: Callable[[], Vector] | None = spread

    def __missing__(self, name: str) -> Vector:
        if name != "spread" or self._spread is None:
            raise KeyError(name)
        self["spread"] = found = self._spread()
        self._spread = None
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Saved and sent without the table."""
        _ = self["spread"]
        return dict, (dict(self),)


@dataclass(frozen=True, eq=False)
class Reading:
    """Checked data with the objective asked of them."""

    table: Table
    terms: Objective
    y: Vector  # numbers, or class numbers; of several outputs a column each
    classes: NDArray[Any] | None
    outputs: tuple[str, ...] | None = field(
        default=None, kw_only=True
    )  # the predictions of a row, if several

    @property
    def many_classes(self) -> bool:
        """More than two."""
        return self.classes is not None and len(self.classes) > 2

    @property
    def several(self) -> bool:
        """Is there more than one vector of weights?"""
        return self.outputs is not None or self.many_classes

    @property
    def count(self) -> int:
        """How many problems there are, where each class or output has one of its own."""
        if self.outputs is not None:
            return len(self.outputs)
        return len(self.classes) if self.classes is not None and self.many_classes else 1

    def alone(self, k: int) -> Reading:
        """Output k as if there were no other; of classes all that was read."""
        if self.outputs is None:
            return self
        return replace(self, terms=self.terms.alone(k), y=self.targets(k), outputs=None)

    def targets(self, positive: int = 1) -> Vector:
        """What the loss sees: the numbers, of several outputs those of one, or ±1 with class number
        `positive` as +1.
        """
        if self.outputs is not None:
            return self.y if self.y.ndim == 1 else self.y[:, positive]
        return self.y if self.classes is None else np.where(self.y == positive, 1.0, -1.0)

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The classes as plain Python values."""
        return None if self.classes is None else tuple(self.classes.tolist())

    def facts(self, null: float, problem: Problem | None = None, **other: Any) -> dict[str, Any]:
        """What the summary says of the data; the problem, if given, has passed over the columns already."""
        n, p = self.table.design.shape
        return Facts({"n": n, "p": p, "null": null, **other}, lambda: self._spread(problem))

    def _spread(self, problem: Problem | None) -> Vector:
        weights, p = self.terms.sample_weight, self.table.design.shape[1]
        if problem is None:
            return column_scales(self.table.design, weights, centred=True)
        means = problem.column_means[:p] if self.terms.fit_intercept else None
        return spreads(self.table.design, weights / weights.sum(), problem.column_squares[:p], means)


def read(  # noqa: PLR0913
    X: Any,
    y: Any,
    *,
    loss: str | Loss,
    penalty: str | Penalty = "l2",
    lam: float | None = None,
    C: float | None = None,
    budget: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    offset: Any = None,
    penalty_factors: Any = None,
    standardize: bool = False,
    groups: Any = None,
    bounds: Any = None,
    constraints: Any = None,
) -> Reading:
    """Check everything a fit needs."""
    begin_task()
    loss, penalty = loss_named(loss), penalty_named(penalty)
    X, offset, column = parted(X, offset)
    table = read_table(X, learn=True)
    penalty = read_groups(penalty, groups, table)
    n = table.design.shape[0]
    classes, outputs = None, None
    if Trait.CLASSIFICATION in loss.traits:
        classes, which = read_labels(y, n)
        targets = which.astype(np.float64)
    elif has_columns(y):
        targets, outputs = read_outputs(y, n)
        refuse_columns(loss)
    else:
        targets = read_numbers(y, n)
        outputs = names_of_levels(loss)
    weights = read_weights(sample_weight, n)
    shift = read_offset(offset, n, loss, column)
    fit_intercept, standardize = (
        read_flag("fit_intercept", fit_intercept),
        read_flag("standardize", standardize),
    )
    counted = targets if sample_weight is None else targets[weights > 0]
    if classes is not None:
        refuse_one_class(classes, counted, n)
    else:
        for one in counted.T if counted.ndim > 1 else (counted,):
            (loss.each or (loss,))[0].check_targets(one)
            refuse_runaway(loss, one, table, intercept=fit_intercept)
    lam_, budget_ = _strength(penalty, lam, C, budget, float(weights.sum()))
    factors = read_factors(penalty_factors, table)
    if standardize:
        scale = column_scales(table.design, weights, centred=fit_intercept)
    else:
        scale = ones(table.design.shape[1])
    terms = Objective(
        loss,
        penalty,
        lam_,
        budget_,
        fit_intercept,
        weights,
        factors,
        scale,
        bounds=read_bounds(bounds, table),
        constraints=read_constraints(constraints, table),
        offset=shift,
        offset_name=column,
    )
    regulariser = terms.regulariser  # refuses factors that the penalty cannot take
    refuse_unbounded_kinds(terms)
    refuse_infeasible(terms, table)
    if outputs is not None:
        refuse_outputs(terms)
    if shift is not None:
        if classes is not None and len(classes) > 2:
            refuse_offset(shift, f"{len(classes)} classes, whose scores only count beside each other")
        if Trait.CONVEX not in loss.traits & regulariser.traits:
            refuse_offset(shift, f"the search for {loss} with {penalty}")
    return Reading(table, terms, targets, classes, outputs=outputs)


WHAT = tuple(name for name, one in signature(read).parameters.items() if one.kind is one.KEYWORD_ONLY)


def rows_of_formula(X: Any, y: Any, fit_intercept: bool) -> tuple[Any, Any, bool]:
    """X, y and whether there is a constant; made by a formula where X is one, y then being the frame."""
    if not isinstance(X, str):
        return X, y, fit_intercept
    from dualgap.tables.formula import from_formula  # here: most fits never need it

    return from_formula(X, y, fit_intercept)


def asked_of(given: dict[str, Any], but: tuple[str, ...] = ()) -> dict[str, Any]:
    """Of the locals() of a function that takes them the keywords of `read`."""
    return {name: given[name] for name in WHAT if name in given and name not in but}


def what_of(keywords: dict[str, Any]) -> dict[str, Any]:
    """Those keywords of `fit` that say what is minimised, without those that say how."""
    return {name: value for name, value in keywords.items() if name not in HOW.split()}


def refuse_one_class(classes: NDArray[Any], present: NDArray[Any], count: int) -> None:
    """Every class must have rows that count, of so many, and there must be two."""
    if len(classes) == 1:
        raise DataError(
            f"y has one class only, {classes.tolist()[0]!r}: a classifier needs at least two classes; "
            "there is nothing to tell apart."
        )
    if len(present) < count and np.count_nonzero(np.bincount(present.astype(np.intp))) < len(classes):
        raise DataError("After leaving out the rows of weight zero a class has no rows; classes need weight.")


def refuse_runaway(loss: Loss, y: Vector, table: Table, *, intercept: bool) -> None:
    """Where every row's loss falls for ever on the same side, an intercept has no end."""
    if not intercept or Trait.ATTAINED in loss.traits:
        return
    sides = np.unique(loss.falls_towards(y))
    if len(sides) == 1 and sides[0]:
        raise UnboundedError(
            f"No finite minimiser exists: every target is {y[0]:g}, so the {loss} loss falls for ever as the "
            f"intercept goes to {'plus' if sides[0] > 0 else 'minus'} infinity. Leave the intercept out, or "
            "give rows with other targets.",
            direction=np.zeros(table.design.shape[1]),
            intercept=float(sides[0]),
        )


def _strength(
    penalty: Penalty, lam: Any, C: Any, budget: Any, total: float
) -> tuple[float | None, float | None]:
    if penalty.takes_strength:
        return read_strength(lam, C, budget, total)
    if any(value is not None for value in (lam, C, budget)):
        raise DataError('penalty="none" takes no strength; leave lam, C and budget out.')
    return None, None
