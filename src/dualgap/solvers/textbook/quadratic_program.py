"""The quadratic program, primal or dual, stated in matrices and handed to a QP solver (the extra `qp`)."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.errors import NoSolverError
from dualgap.penalties import Regulariser
from dualgap.problem.problem import Problem
from dualgap.solvers.textbook.program import Program
from dualgap.traits import Trait


@solver("quadratic_program", manual=True)
@dataclass(frozen=True)
class QuadraticProgram:
    """min ½xᵀQx + q·x over linear constraints, by clarabel: piecewise quadratic losses with l1, l2 or linf.

    Primal: every term of the loss is q²/(2·softness) + upper·e⁺ − lower·e⁻ with z − kink = q + e⁺ − e⁻,
    e ≥ 0, and |w_j| ≤ t_j for prices and norms. Dual: the slopes of the terms between their bounds.
    """

    name: ClassVar[str]
    side: Literal["primal", "dual"] = "primal"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        missing = []
        if not problem.loss_has(Trait.PIECEWISE_QUADRATIC):
            missing.append("the loss is not piecewise quadratic")
        if _penalty(problem.regulariser) is None:
            missing.append("with this penalty or budget it is no quadratic program")
        if importlib.util.find_spec("clarabel") is None:
            missing.append("the QP solver is not installed (pip install dualgap[qp])")
        return tuple(missing)

    def cost(self, problem: Problem) -> float:
        return 1e3 * problem.design.stored + 50.0 * float(min(problem.design.shape)) ** 3

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        if self.side not in ("primal", "dual"):
            raise NoSolverError(f'side must be "primal" or "dual", not {self.side!r}.')
        yield _primal(problem) if self.side == "primal" else _dual(problem)


class _Penalty(NamedTuple):
    """½ Σ ridge w² + price·size within size ≤ budget, size being Σ scale |w| or, `largest`, max scale |w|."""

    ridge: Vector
    scale: Vector
    largest: bool
    price: float
    budget: float


def _penalty(regulariser: Regulariser) -> _Penalty | None:
    """The same in these terms, None where it is no quadratic program."""
    elastic, ball = regulariser.gauge.elastic, regulariser.gauge.ball
    price, budget = (
        (0.0, regulariser.radius) if regulariser.constrained else (regulariser.strength, float(np.inf))
    )
    if ball is not None and ball.order == np.inf:
        return _Penalty(np.zeros_like(ball.scale), ball.scale, True, price, budget)
    if elastic is None or (regulariser.constrained and elastic.l2.any()):
        return None
    return _Penalty(2.0 * price * elastic.l2, elastic.l1, False, price, budget)


def _read(problem: Problem) -> tuple[_Penalty, sp.csc_array]:
    penalty = _penalty(problem.regulariser)
    assert penalty is not None
    return penalty, sp.csc_array(problem.design.toarray())


def _primal(problem: Problem) -> Iterate:
    """Variables w, then q, e⁺, e⁻ per term and row, then t for |w|."""
    program, a, (penalty, X) = Program(), problem.a, _read(problem)
    w = program.variables(problem.p, quadratic=penalty.ridge)
    terms = problem.loss.terms(problem.y)
    rows = []
    for k in range(terms.kink.shape[1]):
        lower, upper = terms.lower[:, k], terms.upper[:, k]
        parts = {w: X}
        if terms.softness > 0.0:
            parts[program.variables(problem.n, quadratic=a / terms.softness)] = -sp.eye_array(problem.n)
        for slope, sign in ((upper, 1.0), (-lower, -1.0)):
            seen = np.flatnonzero(np.isfinite(slope))
            if len(seen):
                slack = program.variables(len(seen), linear=(a * slope)[seen], positive=True)
                parts[slack] = -sign * sp.eye_array(problem.n, format="csc")[:, seen]
        rows.append(program.equal(parts, terms.kink[:, k]))
    seen = np.flatnonzero(penalty.scale)
    if len(seen):
        sized = {w: sp.diags_array(penalty.scale, format="csr")[seen]}
        _measured(program, sized, penalty.largest, penalty.price, penalty.budget)
    solved = program.solve()
    theta = -sum((solved.multipliers[one] for one in rows), np.zeros(problem.n))
    return Iterate(solved.values[w], theta)


def _measured(program: Program, parts: dict[int, Any], largest: bool, price: float, budget: float) -> None:
    """price·size within size ≤ budget, size being the largest or the sum of the |parts|: |parts| ≤ t."""
    ((block, matrix),) = parts.items()
    size = matrix.shape[0]
    count = 1 if largest else size
    t = program.variables(count, linear=np.full(count, price))
    spread = sp.csc_array(np.ones((size, 1))) if largest else sp.eye_array(size, format="csc")
    for sign in (1.0, -1.0):
        program.below({block: sign * matrix, t: -spread}, np.zeros(size))
    if np.isfinite(budget):
        program.below({t: sp.csc_array(np.ones((1, count)))}, np.array([budget]))


def _dual(problem: Problem) -> Iterate:
    """Variables β = a·slope per term and row; v = −Xᵀβ, its price by the conjugate of the penalty."""
    program, a, (penalty, X) = Program(), problem.a, _read(problem)
    terms = problem.loss.terms(problem.y)
    parts, betas = {}, []
    for k in range(terms.kink.shape[1]):
        beta = program.variables(problem.n, linear=terms.kink[:, k], quadratic=terms.softness / a)
        for bound, sign in ((terms.upper[:, k], 1.0), (terms.lower[:, k], -1.0)):
            seen = np.flatnonzero(np.isfinite(bound))
            if len(seen):
                eye = sp.eye_array(problem.n, format="csr")[seen]
                program.below({beta: sign * eye}, (sign * a * bound)[seen])
        parts[beta] = sp.csc_array(X.T)
        betas.append(beta)
    balance = _conjugate(program, penalty, parts)
    solved = program.solve()
    theta = -sum((solved.values[beta] for beta in betas), np.zeros(problem.n))
    return Iterate(-solved.multipliers[balance], theta)


def _conjugate(program: Program, penalty: _Penalty, parts: dict[int, Any]) -> int:
    """Xᵀβ + v = 0 with the price g*(v); returns the equality, whose multiplier is −w.

    v = bend + scale ∘ m: bend²/(2·ridge), and of m the dual norm: at most `price`, or paid by the budget.
    """
    p = len(penalty.scale)
    eye = sp.eye_array(p, format="csc")
    curved, seen = np.flatnonzero(penalty.ridge), np.flatnonzero(penalty.scale)
    if len(curved):
        parts[program.variables(len(curved), quadratic=1.0 / penalty.ridge[curved])] = eye[:, curved]
    if len(seen):
        m = program.variables(len(seen))
        parts[m] = eye[:, seen] @ sp.diags_array(penalty.scale[seen])
        sized = {m: sp.eye_array(len(seen), format="csc")}
        if np.isfinite(penalty.budget):
            _measured(program, sized, not penalty.largest, penalty.budget, np.inf)
        else:
            _measured(program, sized, not penalty.largest, 0.0, penalty.price)
    return program.equal(parts, np.zeros(p))
