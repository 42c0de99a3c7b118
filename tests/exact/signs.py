"""Fits inside bounds and constraints on nasty data, honest and forged, judged in exact arithmetic."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

import dualgap as dg
from exact.arithmetic import rational, real
from exact.draws import Case, Rng, problem
from exact.judge import Question, Verdict, apart, finite, judge_consistency, judge_objective, show, stated
from exact.optimum import Point, optimum
from exact.statement import Statement, below, parse
from exact.trial import Trial, attempt

HELD = ("none", "l1", "l2", "elastic_net", "linf", "l2_norm", "lp", "group_lasso", "sparse_group")
APART = ("l1", "l2", "elastic_net", "none")  # where weights at an end leave a problem of the others


def run(rng: Rng) -> Trial:
    """One case: bounds mostly, rows in a third, and then forgeries of what was found."""
    case = problem(rng)
    trial = Trial(kind=f"signs, {case.kind}")
    penalty = parse(case.keywords.get("penalty", "l2"))
    several = len(set(np.asarray(case.y).tolist())) > 2 and case.keywords["loss"].split("(")[0] in (
        "logistic",
        "hinge",
        "squared_hinge",
        "exponential",
        "perceptron",
    )
    if penalty[0] not in HELD or several or (penalty[0] == "lp" and penalty[1] < 1):
        return trial
    keywords = {k: v for k, v in case.keywords.items() if k != "multiclass"}
    held = drawn(case.X.shape[1], rng)
    trial.asked = (case.X, case.y, {**keywords, **held})

    def fit(tol: float) -> Any:
        try:
            return dg.fit(case.X, case.y, **keywords, **held, tol=tol, max_time=5.0)
        except dg.errors.InfeasibleError:
            return None

    solution = attempt(trial, lambda: fit(case.tol))
    if solution is None or not finite(solution.coef, solution.intercept):
        return trial
    trial.state = "proven" if solution.converged else "not proven"
    question = Question(case.X, case.y, keywords, solution.terms.scale)
    other = attempt(trial, lambda: fit(1e-11))
    judge(trial, question, case, solution, other, rng)
    return trial


def drawn(p: int, rng: Rng) -> dict[str, Any]:
    """Ends around zero and away from it, some missing; rows that some weights meet."""
    held: dict[str, Any] = {}
    low = rng.choice([-np.inf, 0.0, 0.0, -1.0, -0.1, 0.3, -1e-8], size=p)
    high = np.where(np.isinf(low), 0.0, low) + rng.choice([np.inf, np.inf, 1.0, 0.5, 1e-3, 0.0], size=p)
    high = np.where(np.isinf(low), rng.choice([np.inf, 0.0, 0.7, -0.2], size=p), high)
    if rng.random() < 0.85:
        held["bounds"] = (low, high)
    if rng.random() < 0.35 or not held:
        rows = int(rng.integers(1, 3))
        A = rng.choice([0.0, 1.0, -1.0, 2.0, 0.1], size=(rows, p))
        inside = (
            np.clip(rng.choice([0.0, 0.25, -0.5], size=p), low, high) if "bounds" in held else np.zeros(p)
        )
        at = A @ inside
        wide = rng.choice([0.0, 0.0, 0.5], size=rows)
        held["constraints"] = (A, at - wide, at + rng.choice([0.0, 1.0]) * wide)
    return held


def judge(trial: Trial, question: Question, case: Case, found: Any, other: Any, rng: Rng) -> None:
    """The claims of the fit, of its recheck, and of forged certificates."""
    verdict, points = trial.verdict, question.points(found.coef, found.intercept)
    kept(verdict, "fit", found.terms, found.coef, found.certificate.violation, found.objective)
    judge_objective(verdict, "fit", question, found.objective, points)
    judge_consistency(verdict, "fit", question, found, case.tol)
    best = lowest(question.statements[0], found, [one for one in (found, other) if one is not None])
    bounded(verdict, "fit", question, found.bound, best, found.certificate.box)
    proof = found.certificate
    for changes in ({}, *forged(proof, rng)):
        again = attempt(trial, lambda changes=changes: replace(proof, **changes).recheck(case.X, case.y))  # type: ignore[misc]
        if again is None:
            continue
        name = "forged" if changes else "recheck"
        if again.objective < np.inf:
            kept(verdict, name, found.terms, again.coef, again.violation, again.objective)
            judge_objective(
                verdict, name, question, again.objective, question.points(again.coef, again.intercept)
            )
        bounded(verdict, name, question, again.bound, best, again.box)


def kept(verdict: Verdict, name: str, terms: Any, coef: Any, violation: float, objective: float) -> None:
    """Weights that count are inside their bounds, and as near to the constraints as is said."""
    if objective == np.inf:
        return
    if terms.bounds is not None:
        verdict.claim(f"{name} bounds", terms.bounds.holds(np.asarray(coef)), f"weights {coef!r} outside")
    if terms.constraints is not None:
        off = missed(terms.constraints, [rational(v) for v in coef])
        verdict.claim(
            f"{name} violation", off <= rational(violation), f"missed by {float(off)!r}, said {violation!r}"
        )


def missed(rows: Any, w: list[Fraction]) -> Fraction:
    """How far any row is missed, exactly."""
    worst = Fraction(0)
    for row, low, high in zip(rows.matrix, rows.lower, rows.upper, strict=True):
        value = sum((rational(x) * v for x, v in zip(row, w, strict=True) if x), Fraction(0))
        worst = max(worst, rational(low) - value if np.isfinite(low) else worst)
        worst = max(worst, value - rational(high) if np.isfinite(high) else worst)
    return worst


def lowest(statement: Statement, found: Any, others: list[Any]) -> list[Point]:
    """Weights that meet everything exactly: those found, and the exact optimum of the face they lie on."""
    terms, points = found.terms, []
    for one in others:
        w = [rational(v) for v in one.coef]
        points.append((w, rational(one.intercept)))
        if terms.bounds is not None and statement.budget is None and statement.penalty[0] in APART:
            points += face(statement, terms.bounds, w, rational(one.intercept))
    fine = []
    for w, b in points:
        inside = terms.bounds is None or all(
            (np.isinf(low) or v >= rational(low)) and (np.isinf(high) or v <= rational(high))
            for v, low, high in zip(w, terms.bounds.low, terms.bounds.high, strict=True)
        )
        if (
            inside
            and statement.within(w)
            and (terms.constraints is None or missed(terms.constraints, w) == 0)
        ):
            fine.append((w, b))
    return fine


def face(statement: Statement, bounds: Any, w: list[Fraction], b: Fraction) -> list[Point]:
    """The optimum with the weights that are at an end left there."""
    tied = [float(v) in (low, high) for v, low, high in zip(w, bounds.low, bounds.high, strict=True)]
    loose = [j for j, one in enumerate(tied) if not one]
    if not loose or not any(tied):
        return []
    fixed = [
        sum((rational(row[j]) * w[j] for j in range(len(w)) if tied[j]), Fraction(0)) for row in statement.X
    ]
    offset = tuple(o + f for o, f in zip(statement.offsets, fixed, strict=True))
    part = replace(
        statement,
        X=tuple(tuple(row[j] for j in loose) for row in statement.X),
        factors=tuple(statement.factors[j] for j in loose),
        scale=tuple(statement.scale[j] for j in loose),
        offset=offset,  # type: ignore[arg-type]
    )
    try:
        best = optimum(part, [([w[j] for j in loose], b)])
    except (ArithmeticError, ValueError, RecursionError):
        return []
    whole = list(w)
    for j, v in zip(loose, best.w, strict=True):
        whole[j] = v
    return [(whole, best.b)]


def bounded(verdict: Verdict, name: str, question: Question, bound: Any, best: list[Point], box: Any) -> None:
    """Does nothing known do better than the bound?"""
    if bound != bound:
        verdict.claim(f"{name} NaN", False, "the bound is NaN")
        return
    for w, b in best:
        held = [*w, b]
        if box is not None and any(
            abs(v) > rational(e) for v, e in zip(held, box, strict=False) if np.isfinite(e)
        ):
            continue
        value = question.value([(w, b)])
        if value == real.inf:
            continue
        holds = not below(value, stated(bound))
        words = "" if holds else f"bound {float(bound)!r}, but {show(value)} is attained"
        verdict.claim(f"{name} bound", holds, words, 0.0 if holds else apart(bound, value, question.null))


def forged(proof: Any, rng: Rng) -> list[dict[str, Any]]:
    """θ, multipliers and weights that are not those of the fit."""
    theta = np.asarray(proof.theta, dtype=float)
    size = float(np.abs(theta).max(initial=0.0)) or 1.0
    made: list[dict[str, Any]] = [
        {"theta": theta + size * 10.0 ** rng.uniform(-16, 0) * rng.normal(size=theta.shape)},
        {"theta": theta * 10.0 ** rng.uniform(-2, 2)},
        {"coef": np.asarray(proof.coef) + 10.0 ** rng.uniform(-16, 0) * rng.normal(size=len(proof.coef))},
    ]
    if proof.multipliers is not None:
        noise = rng.normal(size=len(proof.multipliers))
        made += [
            {"multipliers": proof.multipliers + size * 10.0 ** rng.uniform(-16, 1) * noise},
            {"multipliers": np.full(len(proof.multipliers), rng.choice([np.nan, np.inf, 1e300, -1.0]))},
        ]
    names = {one.name for one in dataclasses.fields(proof)}
    return [one for one in made if set(one) <= names]
