"""Learning row by row: the state that `partial_fit` keeps between calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.drive.registry import named
from dualgap.drive.solver import Learner, RowByRow, Solver
from dualgap.drive.trace import Trace
from dualgap.errors import DataError, NoSolverError
from dualgap.fitting.inputs import Table, read_factors, read_numbers, read_table, read_weights
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.objective import Objective
from dualgap.fitting.reading import Reading
from dualgap.fitting.signs import refuse_in_blocks
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import answer, split
from dualgap.problem.problem import Problem
from dualgap.proof.certificate import Certificate

STATUS = (
    "Learnt from {steps} steps over rows that are gone: the objective is that of the last rows, and nothing "
    "is proven."
)


def row_by_row(solver: str | Solver) -> RowByRow:
    """The solver, if it learns row by row."""
    chosen = named(solver) if isinstance(solver, str) and solver != "auto" else solver
    if isinstance(chosen, RowByRow):
        return chosen
    raise NoSolverError(
        'partial_fit needs a solver that learns row by row: "stochastic_gradient", "stochastic_subgradient" '
        f'or "pegasos", not {chosen!r}.'
    )


@dataclass
class Stream:
    """A run per class (one for two classes or for numbers); the schedules go on from call to call."""

    rule: RowByRow
    classes: NDArray[Any] | None
    starts: tuple[Vector, ...]
    runners: tuple[Learner, ...] = ()

    @classmethod
    def after(
        cls, rule: RowByRow, classes: NDArray[Any] | None, columns: int, last: Solution | None, *, tied: bool
    ) -> Stream:
        """A stream that goes on from the weights of a fit, if there was one, else from zero."""
        count = 1 if classes is None or len(classes) == 2 else len(classes)
        if last is None:
            return cls(rule, classes, tuple(np.zeros((count, columns + tied))))
        coef = np.atleast_2d(last.coef)
        table = np.column_stack([coef, np.atleast_1d(last.intercept)]) if tied else coef
        return cls(rule, classes, tuple(table))

    @property
    def steps(self) -> int:
        """Taken so far."""
        return self.runners[0].steps if self.runners else 0

    def learn(self, problems: Sequence[Problem], weights: Vector) -> None:
        """One step per batch of rows, in the order given; the first rows settle a step that asks the data."""
        for problem in problems:
            missing = self.rule.missing(problem)
            if missing:
                raise NoSolverError(f"The solver {self.rule.name!r} cannot do this: {'; '.join(missing)}.")
        if not self.runners:
            starts = zip(problems, self.starts, strict=True)
            self.runners = tuple(self.rule.learner(problem, start) for problem, start in starts)
        for problem, runner in zip(problems, self.runners, strict=True):
            runner.learn(problem, weights)


def objective_of(model: Any, table: Table, sample_weight: Any) -> Objective:
    """The objective that the keywords of an estimator state, for rows that come bit by bit."""
    penalty = penalty_named(model.penalty)
    if model.C is not None or model.budget is not None or (penalty.takes_strength and model.lam is None):
        raise DataError(
            "partial_fit does not know how many rows are to come: give lam, the strength beside the mean "
            "loss, not C or budget."
        )
    refuse_in_blocks(model.bounds, model.constraints)
    if model.positive:
        refuse_in_blocks("nonnegative", None)
    if model.standardize:
        raise DataError("partial_fit cannot standardize: it has not seen all rows; scale the columns first.")
    n, p = table.design.shape
    weights, factors = read_weights(sample_weight, n), read_factors(model.penalty_factors, table)
    loss = loss_named(model.loss)
    return Objective(loss, penalty, model.lam, None, model.fit_intercept, weights, factors, np.ones(p))


def learn(model: Any, stream: Stream, X: Any, y: Any, sample_weight: Any) -> Solution:
    """Take the rows in, and the weights out."""
    table = read_table(X)
    terms = objective_of(model, table, sample_weight)
    problems = [
        terms.problem(table.design, one) for one in _targets(y, table.design.shape[0], stream.classes)
    ]
    stream.learn(problems, terms.sample_weight[terms.used])
    return _solution(stream, Reading(table, terms, problems[0].y, stream.classes), problems)


def _targets(y: Any, n: int, classes: NDArray[Any] | None) -> list[Vector]:
    """Numbers; ±1; or ±1 for each class against the rest."""
    if classes is None:
        return [read_numbers(y, n)]
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise DataError(f"y has shape {labels.shape}, X has {n} rows.")
    unknown = labels[~np.isin(labels, classes)]
    if len(unknown):
        raise DataError(f"y has the label {unknown[0]!r}, which is not among the classes {classes.tolist()}.")
    positive = classes[1:] if len(classes) == 2 else classes
    return [np.where(labels == one, 1.0, -1.0) for one in positive]


def _solution(stream: Stream, reading: Reading, problems: list[Problem]) -> Solution:
    weights = [runner.weights() for runner in stream.runners]
    objective = sum(problem.primal(w) for problem, w in zip(problems, weights, strict=True))
    form = "single" if len(weights) == 1 else "one_vs_rest"
    coef, intercept = split(np.concatenate(weights), reading, form)
    n, p = reading.table.design.shape
    return answer(
        reading,
        Certificate(None, coef, intercept, objective, -np.inf, reading.terms),
        None,
        certificate=None,
        relative_gap=np.inf,
        converged=False,
        status=STATUS.format(steps=stream.steps),
        solver=stream.rule.name,
        n_iter=stream.steps,
        seconds=0.0,
        trace=Trace(),
        coef_error=None,
        coef_error_reason="the rows are gone",
        proven_zero=np.zeros(coef.shape, dtype=bool),
        facts={"n": n, "p": p, "null": np.nan, "spread": np.ones(p)},
        multiclass=None if form == "single" else form,
    )
