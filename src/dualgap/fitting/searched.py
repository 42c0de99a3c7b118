"""Problems that are not convex: the discrete layer's answer as a Solution, with a certificate of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.discrete import Answer, Search, choose, pursue
from dualgap.errors import DataError
from dualgap.fitting.inputs import read_numbers, read_table
from dualgap.fitting.objective import Objective
from dualgap.fitting.options import read_start
from dualgap.fitting.proof import class_numbers
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.problem.problem import Problem
from dualgap.solvers.drive import Limits

NO_ERROR_BAR = "the problem is not convex: weights far away can be as good"


@dataclass(frozen=True, eq=False)
class SearchCertificate:
    """objective − bound ≥ 0 says how far these weights can be from the best there is.

    The proof is the search that `solver` made; `recheck` makes it again. `theta` is the dual point behind the
    bound, one entry per row given, where there is a single one; else None.
    """

    theta: Vector | None
    coef: Vector
    intercept: float
    objective: float
    bound: float
    terms: Objective
    classes: tuple[Any, ...] | None
    positive: int  # number of the class that counts as +1
    solver: Search
    nodes: int
    tolerance: float

    @property
    def gap(self) -> float:
        """objective − bound."""
        return max(self.objective - self.bound, 0.0)

    def __repr__(self) -> str:
        return (
            f"SearchCertificate(objective {self.objective:.10g}, proven bound {self.bound:.10g} by "
            f"{self.solver.name}, {self.nodes} nodes)"
        )

    def recheck(self, X: Any, y: Any) -> SearchCertificate:
        """The objective from the arrays and the weights; the bound by searching again, as long as before."""
        table = read_table(X)
        n, p = table.design.shape
        if (n, p) != (len(self.terms.sample_weight), len(self.coef)):
            raise DataError(
                f"This certificate is for {len(self.terms.sample_weight)} rows and {len(self.coef)} columns, "
                f"X has {n} and {p}."
            )
        if self.classes is None:
            targets = read_numbers(y, n)
        else:
            targets = np.where(class_numbers(y, n, self.classes) == self.positive, 1.0, -1.0)
        problem = self.terms.problem(table.design, targets)
        w = np.append(self.coef, self.intercept) if self.terms.fit_intercept else self.coef
        again = pursue(problem, self.solver, w, Limits(self.tolerance, max(self.nodes, 1)))
        return replace(self, objective=problem.primal(w), bound=again.bound)


@dataclass(frozen=True, eq=False)
class SearchCertificates:
    """One per class, each against the rest; both values are sums over the classes."""

    parts: tuple[SearchCertificate, ...]
    theta: None = None

    @property
    def coef(self) -> Matrix:
        """A row per class."""
        return np.array([part.coef for part in self.parts])

    @property
    def intercept(self) -> Vector:
        """An entry per class."""
        return np.array([part.intercept for part in self.parts])

    @property
    def objective(self) -> float:
        """The sum of the objectives."""
        return sum(part.objective for part in self.parts)

    @property
    def bound(self) -> float:
        """The sum of the bounds."""
        return sum(part.bound for part in self.parts)

    @property
    def gap(self) -> float:
        """objective − bound."""
        return max(self.objective - self.bound, 0.0)

    def recheck(self, X: Any, y: Any) -> SearchCertificates:
        """Each part rechecked."""
        return SearchCertificates(tuple(part.recheck(X, y) for part in self.parts))


def fit_searched(
    reading: Reading, problem: Problem, solver: Any, limits: Limits, warm_start: Any = None
) -> Solution:
    """Search, and put the answer together."""
    start = None
    if warm_start is not None:
        coef, intercept, _ = read_start(warm_start, (len(reading.terms.scale),))
        start = np.append(coef, intercept) if reading.terms.fit_intercept else coef
    return assemble(reading, problem, pursue(problem, choose(problem, solver), start, limits), limits)


def assemble(reading: Reading, problem: Problem, answer: Answer, limits: Limits) -> Solution:
    """The public answer from what a search found."""
    terms = reading.terms
    coef = answer.w[:-1] if terms.fit_intercept else answer.w
    intercept = float(answer.w[-1]) if terms.fit_intercept else 0.0
    return Solution(
        coef=coef,
        intercept=intercept,
        objective=answer.primal,
        bound=answer.bound,
        relative_gap=problem.relative(answer.gap, answer.primal),
        certificate=search_certificate(reading, problem, answer, limits),
        converged=answer.proven,
        status=answer.status,
        solver=answer.solver.name,
        n_iter=answer.nodes,
        seconds=answer.seconds,
        trace=answer.trace,
        coef_error=None,
        coef_error_reason=NO_ERROR_BAR,
        proven_zero=np.zeros(len(coef), dtype=bool),
        terms=terms,
        names=reading.table.names,
        classes=reading.classes,
        facts={**reading.facts(problem.null, problem), "remark": answer.remark},
    )


def search_certificate(
    reading: Reading, problem: Problem, answer: Answer, limits: Limits, others: Vector | None = None
) -> SearchCertificate:
    """What a search proves of its weights, or of others."""
    terms = reading.terms
    w, primal = (answer.w, answer.primal) if others is None else (others, problem.primal(others))
    theta = None
    if answer.theta is not None:
        theta = np.zeros(len(terms.sample_weight))
        theta[terms.used] = answer.theta
    positive = 1
    if reading.classes is not None:
        positive = int(reading.y[terms.used][problem.y > 0][0])
    return SearchCertificate(
        theta,
        w[:-1] if terms.fit_intercept else w,
        float(w[-1]) if terms.fit_intercept else 0.0,
        primal,
        answer.bound,
        terms,
        reading.labels,
        positive,
        answer.solver,
        answer.nodes,
        limits.tolerance,
    )
