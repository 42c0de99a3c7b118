"""The certificate of a fit with more than two classes: a column of θ per class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.design import Design
from dualgap.errors import DataError
from dualgap.fitting.inputs import read_table
from dualgap.fitting.multinomial.working import joint_problem
from dualgap.fitting.objective import Objective
from dualgap.fitting.proof import class_numbers
from dualgap.problem.certificate import Told


@dataclass(frozen=True, eq=False, repr=False)
class ClassCertificate(Told):
    """objective − bound ≥ 0 says how far these weights can be from the best there is.

    One against the rest: θ_k is the θ of the problem in which class k is +1, and both values are sums over
    the classes. Multinomial: θ_ik = a_i (1[y_i = k] − π_ik) with π_i in the simplex, of the joint problem.
    """

    theta: Matrix
    coef: Matrix
    intercept: Vector
    objective: float
    bound: float
    terms: Objective
    classes: tuple[Any, ...]
    multiclass: str

    @property
    def gap(self) -> float:
        """objective − bound."""
        return max(self.objective - self.bound, 0.0)

    def recheck(self, X: Any, y: Any) -> ClassCertificate:
        """Both values recomputed from the arrays, the weights and θ alone."""
        table = read_table(X)
        n, p = table.design.shape
        if (n, p) != (len(self.theta), self.coef.shape[1]):
            raise DataError(
                f"This certificate is for {len(self.theta)} rows and {self.coef.shape[1]} columns, "
                f"X has {n} and {p}."
            )
        numbers = class_numbers(y, n, self.classes)
        values = self._jointly if self.multiclass == "multinomial" else self._each
        objective, bound = values(table.design, numbers)
        if np.any(self.theta[~self.terms.used] != 0):
            bound = -np.inf
        return replace(self, objective=objective, bound=bound)

    def _weights(self) -> Matrix:
        return np.column_stack([self.coef, self.intercept]) if self.terms.fit_intercept else self.coef

    def _jointly(self, design: Design, numbers: Vector) -> tuple[float, float]:
        problem = joint_problem(self.terms, design, numbers, len(self.classes))
        return problem.primal(self._weights().ravel()), problem.dual(self.theta[self.terms.used])

    def _each(self, design: Design, numbers: Vector) -> tuple[float, float]:
        objective = bound = 0.0
        for k, w in enumerate(self._weights()):
            problem = self.terms.problem(design, np.where(numbers == k, 1.0, -1.0))
            objective += problem.primal(w)
            bound += problem.dual(self.theta[self.terms.used, k])
        return objective, bound
