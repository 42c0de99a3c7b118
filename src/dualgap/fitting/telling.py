"""Where every `Solution` is put together: from what was read, what is proven, and how the run went."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Status
from dualgap.drive.run import Outcome
from dualgap.fitting.objective import Objective
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.penalties import Penalty
from dualgap.problem.problem import Problem
from dualgap.proof.certificate import Certificate
from dualgap.proof.check import Checked
from dualgap.proof.claims import distance, zeros_later
from dualgap.proof.rows import last_product
from dualgap.proof.statement import SMALL
from dualgap.traits import Trait

KEPT = 16  # sentences: a few microseconds each of a fit that takes 300


def told(
    reading: Reading,
    problem: Problem,
    run: Outcome,
    tolerance: float,
    form: str = "single",
    **other: Any,
) -> Solution:
    """The answer of a convex problem; `other` replaces what is told of an ordinary one."""
    found, terms = run.bounds, reading.terms
    error = distance(problem, found)
    proof = certificate(reading, found, tolerance, form)
    single = form == "single"
    claims: dict[str, Any] = {
        "relative_gap": problem.relative(found.gap, found.primal),
        "coef_error": error,
        "coef_error_reason": "" if error is not None else no_error_bar(terms),
        "proven_zero": _zeros(problem, found, reading, form),
        "facts": reading.facts(problem.null, problem if single else None),
        "multiclass": None if single else form,
        "fitted": fitted_to(reading, problem, proof) if single else None,
    }
    return answer(reading, proof, run, **(claims | other))


def _zeros(problem: Problem, found: Checked, reading: Reading, form: str) -> Callable[[], Any]:
    """Which columns are proven to have no weight, for `Later`."""
    zero = zeros_later(problem, found)
    return lambda: split(zero() if callable(zero) else zero, reading, form)[0]


def answer(reading: Reading, proof: Certificate, run: Outcome | None, **claims: Any) -> Solution:
    """A proof, the run that led to it, and what is claimed beside them, which goes before them."""
    said: dict[str, Any] = {
        "coef": proof.coef,
        "intercept": proof.intercept,
        "objective": proof.objective,
        "bound": proof.bound,
        "certificate": proof,
        "terms": reading.terms,
        "names": reading.table.names,
        "recipe": reading.table.recipe,
        "classes": reading.classes,
        "outputs": reading.outputs,
    }
    if run is not None:
        said |= {
            "converged": run.status is Status.CERTIFIED,
            "status": run.sentence,
            "solver": run.solver,
            "n_iter": run.iterations,
            "seconds": run.seconds,
            "trace": run.trace,
        }
    return Solution(**(said | claims))


def certificate(
    reading: Reading, found: Checked, tolerance: float, form: str = "single", **other: Any
) -> Certificate:
    """What the kernel said of the rows that count, for all rows."""
    coef, intercept = split(found.w, reading, form)
    theta, terms = found.theta, reading.terms
    other = signs(terms, found) | other
    if terms.rows is not None and theta is not None:
        theta = theta[: len(theta) - len(terms.rows)]
    given: dict[str, Any] = {
        "classes": reading.labels,
        "theta": over_all_rows(terms, theta),
        "box": found.box,
        "tolerance": tolerance,
    }
    return Certificate(
        coef=coef,
        intercept=intercept,
        objective=found.primal,
        bound=found.dual,
        terms=reading.terms,
        form=form,
        **(given | other),
    )


def signs(terms: Objective, found: Checked) -> dict[str, Any]:
    """The multipliers of bounds and constraints, and how far these are missed."""
    told: dict[str, Any] = {}
    if terms.rows is not None:
        told |= {"multipliers": found.theta[-len(terms.rows) :], "violation": found.violation}
    if terms.bounds is not None:
        mu = told.get("multipliers", np.zeros(0))
        told["bound_multipliers"] = terms.bound_multipliers(found.w, found.correlation, mu)
    return told


def over_all_rows(terms: Objective, theta: Any) -> Any:
    """θ with zeros for the rows that do not count."""
    if theta is None or terms.all_used:
        return theta
    whole = np.zeros((len(terms.sample_weight), *theta.shape[1:]))
    whole[terms.used] = theta
    return whole


def split(w: Any, reading: Reading, form: str = "single") -> tuple[Any, Any]:
    """(coef, intercept) of flat weights; of the multinomial form a row and an entry per class."""
    tied = reading.terms.fit_intercept
    if form == "single":
        return (w[:-1], float(w[-1])) if tied else (w, 0.0)
    table = np.asarray(w).reshape(reading.count, -1)
    if tied:
        return np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()
    return table, np.zeros(len(table))


def relative_gap(gap: float, objective: float, null: float) -> float:
    """gap / max(|objective|, 1e-4 |objective without columns|); 0 where there is no gap."""
    scale = max(abs(objective), SMALL * abs(null))
    if not gap < np.inf:
        return np.inf
    return 0.0 if gap <= 0.0 else gap / scale if scale > 0.0 else np.inf


def no_error_bar(terms: Objective) -> str:
    """Why the gap says nothing of the distance to the optimum."""
    if terms.budget is not None:
        return "a constrained problem need not be strongly convex"
    return _not_strongly_convex(terms.penalty)


@lru_cache(KEPT)
def _not_strongly_convex(penalty: Penalty) -> str:
    return f"the penalty {penalty} is not strongly convex in every weight"


def fitted_to(reading: Reading, problem: Problem, proof: Certificate) -> tuple[Vector, Vector] | None:
    """Targets and predictions of all rows, where slack and support can be told: the product of the proof."""
    if Trait.LEAVES_ROWS_OUT not in reading.terms.loss.traits:
        return None
    positive = 1
    if reading.many_classes:
        positive = int(reading.y[reading.terms.used][problem.y > 0][0])
    product = last_product(problem.rows, proof.coef) if reading.terms.all_used else None
    if product is None:
        product = reading.table.design.matvec(proof.coef)
    return reading.targets(positive), reading.terms.shifted(product + proof.intercept)
