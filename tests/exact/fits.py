"""Fits, paths, searches, estimators and assessments of given weights, on nasty data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import dualgap as dg
from exact.arithmetic import as_rational, rational, real
from exact.draws import Case, Rng, problem
from exact.judge import (
    ROOM,
    SMALL,
    Question,
    finite,
    judge_bound,
    judge_certificate,
    judge_consistency,
    judge_distance,
    judge_objective,
    judge_solution,
    total,
)
from exact.statement import below, parse, stated
from exact.trial import Trial, attempt

STRENGTHS = ("lam", "C", "budget")


def run(rng: Rng) -> Trial:
    """One case."""
    return asked(problem(rng), rng)


def asked(case: Case, rng: Rng) -> Trial:
    """One way to ask of a case."""
    draw = rng.random()
    if draw < 0.83:
        return fitted(case)
    if draw < 0.93:
        return assessed(case, rng)
    if draw < 0.985:
        return followed(case, rng)
    return searched(case, rng)


def fitted(case: Case) -> Trial:
    """dg.fit, and the recheck of its certificate."""
    trial = Trial(kind=case.kind, asked=(case.X, case.y, case.asked()))
    solution = attempt(
        trial, lambda: dg.fit(case.X, case.y, **case.asked()), lambda: Question(case.X, case.y, case.keywords)
    )
    if solution is not None:
        judge_fit(trial, solution, case, case.tol)
    return trial


def judge_fit(trial: Trial, solution: Any, case: Case, tol: float | None, strength: Any = None) -> None:
    """Every claim of a solution, then what its certificate says when asked again."""
    keywords = case.keywords if strength is None else {**without_strength(case.keywords), **strength}
    trial.state = "proven" if solution.converged else "not proven"
    question = Question(case.X, case.y, keywords, solution.terms.scale)
    best = judge_solution(trial.verdict, solution, question, tol)
    if best is None:
        return
    again = attempt(trial, lambda: solution.certificate.recheck(case.X, case.y))
    if again is not None:
        points = question.points(solution.coef, solution.intercept)
        judge_certificate(trial.verdict, "recheck", again, question, best, points)


def without_strength(keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a path."""
    return {name: value for name, value in keywords.items() if name not in STRENGTHS}


def assessed(case: Case, rng: Rng) -> Trial:
    """dg.certify of weights from anywhere: those of a fit, moved or not, or random ones."""
    trial = Trial(kind=case.kind, asked=(case.X, case.y, case.asked()))
    solution = attempt(
        trial, lambda: dg.fit(case.X, case.y, **case.asked()), lambda: Question(case.X, case.y, case.keywords)
    )
    if solution is None:
        return trial
    coef, intercept = np.array(solution.coef), np.array(solution.intercept)
    if rng.random() < 0.6:
        factor = 1.0 + 10.0 ** rng.uniform(-12, 0) * rng.normal(size=coef.shape)
        coef = coef * factor
    elif rng.random() < 0.3:
        coef = coef + rng.normal(size=coef.shape) * (float(np.abs(coef).max()) or 1.0)
    if not finite(coef, intercept):
        return trial
    level = intercept.item() if intercept.ndim == 0 else intercept
    found = attempt(
        trial, lambda: dg.certify(case.X, case.y, coef, level, **case.keywords, tol=case.tol, max_time=1.0)
    )
    if found is None:
        return trial
    trial.state = "assessed"
    question = Question(case.X, case.y, case.keywords, solution.terms.scale)
    certificate = found.certificate
    points = question.points(certificate.coef, certificate.intercept)
    best = question.best(question.points(solution.coef, solution.intercept), solution.certificate.theta)
    verdict = trial.verdict
    judge_objective(verdict, "certify", question, found.objective, points)
    judge_bound(verdict, "certify", question, found.bound, best, getattr(certificate, "box", None), points)
    judge_consistency(verdict, "certify", question, found, None)
    judge_distance(verdict, "certify", question, found.coef_error, points, best)
    if all(one.proven for one in best):
        least = total([one.value for one in best])
        words = f"best known {found.best_known!r}, which no weights reach"
        verdict.claim("certify best known", not below(stated(found.best_known), least), words)
    return trial


def followed(case: Case, rng: Rng) -> Trial:
    """dg.path: its points, and solutions between them."""
    trial = Trial(kind=case.kind, asked=(case.X, case.y, case.asked()))
    keywords = without_strength(case.keywords)
    if parse(case.keywords["penalty"])[0] == "none" or len(set(case.y.tolist())) == 3:
        return fitted(case)
    form = "constrained" if rng.random() < 0.2 else "penalised"
    path = attempt(
        trial,
        lambda: dg.path(case.X, case.y, **keywords, tol=case.tol, n_lams=8, form=form, max_time=1.0),
        lambda: Question(case.X, case.y, {**keywords, "lam": 1.0}),
    )
    if path is None:
        return trial
    trial.state = "path"
    k = int(rng.integers(len(path.lams)))
    lam = float(path.lams[k]) * (1.0 if rng.random() < 0.5 else float(rng.uniform(0.5, 1.0)))
    ask = {"lam": lam}
    if rng.random() < 0.3 and np.isfinite(path.budgets[k]) and path.budgets[k] > 0:
        ask = {"budget": float(path.budgets[k])}
    if not (lam > 0.0 and np.isfinite(lam)):
        return trial
    trial.asked = (case.X, case.y, {**keywords, "form": form, "path.solution": ask})
    solution = attempt(trial, lambda: path.solution(**ask))
    if solution is not None:
        judge_fit(trial, solution, case, None, ask)
        if form == "penalised" and ask.get("lam") == float(path.lams[k]):
            _judge_point(trial, path, k, case, solution)
        trial.state = "path"
    return trial


def _judge_point(trial: Trial, path: Any, k: int, case: Case, solution: Any) -> None:
    """path.gaps[k] is at least the relative excess of path.coefs[k]."""
    gap = float(attempt(trial, lambda: path.gaps[k]) or 0.0)
    coef, intercept = path.coefs[k], path.intercepts[k]
    if not finite(coef, intercept) or not np.isfinite(gap):
        return
    keywords = {**without_strength(case.keywords), "lam": float(path.lams[k])}
    question = Question(case.X, case.y, keywords, solution.terms.scale)
    points = question.points(coef, intercept)
    best = question.best(question.points(solution.coef, solution.intercept), solution.certificate.theta)
    value, least = question.value(points), total([one.value for one in best])
    size = _rational(value)
    if size is None:
        return
    scale = max(abs(size), SMALL * abs(_rational(question.null) or Fraction(0)))
    allowed = _rational(least)
    assert allowed is not None
    allowed += rational(gap) * scale * (1 + ROOM)
    holds = not below(allowed, value)
    trial.verdict.claim("path gap", holds, f"relative gap {gap!r} at lam={path.lams[k]!r} is too small")


def _rational(value: Any) -> Fraction | None:
    if isinstance(value, Fraction):
        return value
    return as_rational(value) if real.isfinite(value) else None


def searched(case: Case, rng: Rng) -> Trial:
    """dg.cross_validate: the fit on all rows that it ends with."""
    keywords = without_strength(case.keywords)
    if parse(case.keywords["penalty"])[0] == "none" or len(case.X) < 6:
        return fitted(case)
    if "groups" in keywords:  # which are of rows there
        keywords = {**keywords, "column_groups": keywords["groups"]}
        del keywords["groups"]
    trial = Trial(kind=case.kind, asked=(case.X, case.y, case.asked()))
    found = attempt(
        trial,
        lambda: dg.cross_validate(
            case.X,
            case.y,
            **keywords,
            cv=2,
            n_lams=4,
            tol=case.tol,
            max_time=1.0,
            progress=False,
            random_state=int(rng.integers(1000)),
        ),
        lambda: Question(case.X, case.y, {**keywords, "lam": 1.0}),
    )
    if found is None:
        return trial
    solution = found.solution
    judge_fit(trial, solution, case, None, {"lam": solution.terms.lam})
    trial.state = "searched"
    return trial
