"""The quadratic program, primal or dual, stated in matrices and handed to a QP solver (the extra `qp`)."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.errors import NoSolverError
from dualgap.penalties import Penalised
from dualgap.penalties.norm import Norm
from dualgap.penalties.separable import Separable
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

    name: ClassVar[str] = "quadratic_program"
    side: Literal["primal", "dual"] = "primal"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        missing = []
        if not problem.loss_has(Trait.PIECEWISE_QUADRATIC):
            missing.append("the loss is not piecewise quadratic")
        if not _polyhedral_or_ridge(problem):
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


def _polyhedral_or_ridge(problem: Problem) -> bool:
    regulariser = problem.regulariser
    gauge = regulariser.gauge
    if isinstance(gauge, Norm):
        return bool(gauge.order == np.inf)
    return isinstance(gauge, Separable) and (isinstance(regulariser, Penalised) or not gauge.l2.any())


def _matrix(problem: Problem) -> sp.csc_array:
    return sp.csc_array(problem.design.toarray())


def _scale(gauge: Any) -> Vector:
    """What multiplies |w_j| in a norm or in the l1 part."""
    return np.asarray(gauge.scale if isinstance(gauge, Norm) else gauge.l1)


def _primal(problem: Problem) -> Iterate:
    """Variables w, then q, e⁺, e⁻ per term and row, then t for |w|."""
    program, a = Program(), problem.a
    gauge, regulariser = problem.regulariser.gauge, problem.regulariser
    price = regulariser.strength if isinstance(regulariser, Penalised) else 0.0
    ridge = 2.0 * price * gauge.l2 if isinstance(gauge, Separable) else np.zeros(problem.p)
    w = program.variables(problem.p, quadratic=ridge)
    terms, X = problem.loss.terms(problem.y), _matrix(problem)
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
    _priced(program, problem, w, price)
    solved = program.solve()
    theta = -sum((solved.multipliers(one) for one in rows), np.zeros(problem.n))
    return Iterate(solved.values(w), theta)


def _priced(program: Program, problem: Problem, w: int, price: float) -> None:
    """λ·Σ l1 t or λ·t with |scale w| ≤ t, or the same within a budget."""
    gauge, regulariser = problem.regulariser.gauge, problem.regulariser
    scale = _scale(gauge)
    seen = np.flatnonzero(scale)
    if not len(seen):
        return
    count = 1 if isinstance(gauge, Norm) else len(seen)
    t = program.variables(count, linear=np.full(count, price))
    eye = sp.diags_array(scale, format="csr")[seen]
    spread = np.ones((len(seen), 1)) if count == 1 else sp.eye_array(len(seen))
    for sign in (1.0, -1.0):
        program.below({w: sign * eye, t: -sp.csc_array(spread)}, np.zeros(len(seen)))
    if not isinstance(regulariser, Penalised):
        program.below({t: sp.csc_array(np.ones((1, count)))}, np.array([regulariser.radius]))


def _dual(problem: Problem) -> Iterate:
    """Variables β = a·slope per term and row; v = −Xᵀβ, its price by the conjugate of the penalty."""
    program, a = Program(), problem.a
    terms, X = problem.loss.terms(problem.y), _matrix(problem)
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
    balance = _conjugate(program, problem, parts)
    solved = program.solve()
    theta = -sum((solved.values(beta) for beta in betas), np.zeros(problem.n))
    return Iterate(-solved.multipliers(balance), theta)


def _conjugate(program: Program, problem: Problem, parts: dict[int, Any]) -> int:
    """Xᵀβ + v = 0 with the price g*(v); returns the equality, whose multiplier is −w."""
    gauge, regulariser = problem.regulariser.gauge, problem.regulariser
    scale, p = _scale(gauge), problem.p
    eye = sp.eye_array(p, format="csc")
    if isinstance(gauge, Separable) and isinstance(regulariser, Penalised):
        curved = np.flatnonzero(gauge.l2)
        if len(curved):
            bend = 1.0 / (2.0 * regulariser.strength * gauge.l2[curved])
            parts[program.variables(len(curved), quadratic=bend)] = eye[:, curved]
    seen = np.flatnonzero(scale)
    if not len(seen):
        return program.equal(parts, np.zeros(p))
    m = program.variables(len(seen))
    parts[m] = eye[:, seen] @ sp.diags_array(scale[seen])
    _dual_norm(program, m, len(seen), problem)
    return program.equal(parts, np.zeros(p))


def _dual_norm(program: Program, m: int, size: int, problem: Problem) -> None:
    """|m_j| ≤ λ, Σ|m_j| ≤ λ, or the price c·max|m_j|, c·Σ|m_j|."""
    regulariser = problem.regulariser
    eye = sp.eye_array(size, format="csc")
    penalised = isinstance(regulariser, Penalised)
    limit = regulariser.strength if isinstance(regulariser, Penalised) else regulariser.radius
    if penalised and not isinstance(regulariser.gauge, Norm):
        for sign in (1.0, -1.0):
            program.below({m: sign * eye}, np.full(size, limit))
        return
    count = size if isinstance(regulariser.gauge, Norm) else 1  # a sum, or a maximum
    t = program.variables(count, linear=np.full(count, 0.0 if penalised else limit))
    spread = sp.csc_array(np.ones((size, 1))) if count == 1 else eye
    for sign in (1.0, -1.0):
        program.below({m: sign * eye, t: -spread}, np.zeros(size))
    if penalised:
        program.below({t: sp.csc_array(np.ones((1, size)))}, np.array([limit]))
