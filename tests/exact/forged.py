"""Certificates whose points were exchanged: a recheck says what is true of them, or proves nothing."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

import dualgap as dg
from exact.draws import Array, Case, Rng, problem
from exact.judge import Question, finite, judge_certificate, judge_solution
from exact.trial import Trial, attempt

FORGERIES = 5


def run(rng: Rng) -> Trial:
    """One case."""
    return attacked(problem(rng), rng)


def attacked(case: Case, rng: Rng) -> Trial:
    """One fit, some forgeries of its certificate."""
    trial = Trial(kind=case.kind, asked=(case.X, case.y, case.asked()))
    solution = attempt(
        trial, lambda: dg.fit(case.X, case.y, **case.asked()), lambda: Question(case.X, case.y, case.keywords)
    )
    if solution is None:
        return trial
    trial.state = "proven" if solution.converged else "not proven"
    question = Question(case.X, case.y, case.keywords, solution.terms.scale)
    best = judge_solution(trial.verdict, solution, question, case.tol)
    if best is None:
        return trial
    for _ in range(FORGERIES):
        forge(trial, case, solution.certificate, (question, best), rng)
    return trial


@dataclasses.dataclass(eq=False)
class Forgery:
    """What is exchanged in a certificate, and the rows it is asked of."""

    changes: dict[str, Any]
    X: Array
    y: Any


def forgery(case: Case, certificate: Any, question: Question, rng: Rng) -> Forgery:
    """One way to forge a certificate."""
    theta = np.array(certificate.theta, dtype=float)
    what = rng.random()
    made = Forgery({}, case.X, case.y)
    if what < 0.62:
        made.changes["theta"] = forged_theta(theta, question, rng)
    elif what < 0.7:
        made.changes["theta"] = not_numbers(theta, question, rng)
    elif what < 0.85:
        made.changes |= forged_weights(certificate, rng)
        if rng.random() < 0.5:
            made.changes["theta"] = forged_theta(theta, question, rng)
    elif what < 0.9:
        made.changes |= {"objective": -1e9, "bound": 1e9}
    else:
        made.X, made.y = other_rows(case.X, case.y, rng)
    if any(part.name == "box" for part in dataclasses.fields(certificate)) and rng.random() < 0.3:
        made.changes["box"] = None
    return made


def forge(trial: Trial, case: Case, certificate: Any, honest: tuple[Question, Any], rng: Rng) -> None:
    """One forgery, judged."""
    question, best = honest
    made = forgery(case, certificate, question, rng)
    false_one = dataclasses.replace(certificate, **made.changes)
    again = attempt(trial, lambda: false_one.recheck(made.X, made.y))
    if again is None or not finite(again.coef, again.intercept):
        return
    if made.X is not case.X or made.y is not case.y:
        question = Question(made.X, made.y, case.keywords, certificate.terms.scale)
        best = question.best(question.points(certificate.coef, certificate.intercept), None)
    points = question.points(again.coef, again.intercept)
    judge_certificate(trial.verdict, "forged", again, question, best, points)


def forged_theta(theta: Array, question: Question, rng: Rng) -> Array:
    """A dual point that is no longer one."""
    size = float(np.abs(theta).max()) or 1.0
    sign = float(rng.choice([-1, 1]))
    draw = int(rng.integers(8))
    if draw == 0:
        return rng.normal(size=theta.shape) * size
    if draw == 1:
        return np.asarray(theta * (1.0 + sign * 10.0 ** rng.uniform(-15, -3)))
    if draw == 2:
        return np.asarray(theta * 10.0 ** rng.uniform(-3, 3))
    if draw == 3:  # unbalanced, by less than anyone might notice
        return np.asarray(theta + size * sign * 10.0 ** rng.uniform(-16, -7))
    if draw == 4:
        return np.asarray(theta + size * 10.0 ** rng.uniform(-16, -7) * rng.normal(size=theta.shape))
    if draw == 5:  # beyond its domain by an ulp
        return at_the_edge(theta, question, rng)
    if draw == 6:
        return theta[rng.permutation(len(theta))]
    return np.asarray(theta + rng.normal(size=theta.shape) * size * 10.0 ** rng.uniform(-6, 0))


def at_the_edge(theta: Array, question: Question, rng: Rng) -> Array:
    """One entry an ulp outside what the loss allows, the others rescaled to keep the sum."""
    statement = question.statements[0]
    name, t = statement.loss
    share = [float(s / sum(statement.s)) for s in statement.s]
    reach = {"huber": 2.0 * float(t), "quantile": max(float(t), 1.0 - float(t))}.get(name, 1.0)
    found = theta.copy()
    used = np.flatnonzero(question.used)
    k = int(rng.integers(len(used)))
    edge = reach * share[k] * float(rng.choice([-1.0, 1.0]))
    entry = np.nextafter(edge, math.copysign(math.inf, edge) if edge else 1.0)
    before = found[used[k]].copy()
    found[used[k]] = entry
    others = [i for i in used if i != used[k]]
    if others and theta.ndim == 1 and rng.random() < 0.7:
        found[others] -= (entry - before) / len(others)
    return found


def not_numbers(theta: Array, question: Question, rng: Rng) -> Array:
    """NaN or infinity in a row that counts."""
    found = theta.copy()
    rows = np.flatnonzero(question.used)
    found[rows[int(rng.integers(len(rows)))]] = float(rng.choice([np.nan, np.inf, -np.inf]))
    return found


def forged_weights(certificate: Any, rng: Rng) -> dict[str, Any]:
    """Other weights, in the same shape."""
    coef, intercept = np.array(certificate.coef, dtype=float), np.array(certificate.intercept, dtype=float)
    size = float(np.abs(coef).max(initial=0.0)) or 1.0
    draw = int(rng.integers(4))
    if draw == 0:
        coef = coef * (1.0 + 10.0 ** rng.uniform(-15, 0) * rng.normal())
    elif draw == 1:
        coef = coef + size * rng.normal(size=coef.shape)
    elif draw == 2:
        coef = np.zeros_like(coef)
    elif certificate.terms.fit_intercept:
        intercept = intercept + size * rng.normal(size=intercept.shape)
    return {"coef": coef, "intercept": float(intercept) if intercept.ndim == 0 else intercept}


def other_rows(X: Array, y: Any, rng: Rng) -> tuple[Array, Any]:
    """Nearly the same rows, or the same in another order."""
    draw = int(rng.integers(4))
    if draw == 0:
        return X * (1.0 + 10.0 ** rng.uniform(-12, -1) * rng.normal(size=X.shape)), y
    if draw == 1:
        return X[:, rng.permutation(X.shape[1])], y
    if draw == 2:
        return X, y[rng.permutation(len(y))]
    return X * 10.0 ** rng.uniform(-3, 3), y
