"""The hard margin, C = ∞: planes, 'the hulls meet'; and 'no finite minimiser' of losses that never end."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import dualgap as dg
from exact import draws
from exact.arithmetic import as_real, rational, real
from exact.draws import Array, Rng
from exact.judge import Verdict, apart, finite, show
from exact.optimum import optimum
from exact.statement import Statement, as_values, read, stated
from exact.trial import Trial, attempt

STRENGTHS = (200, 900, 4000)  # λ = 2^-k: so small that the soft margin is the hard one


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane of largest margin; `square` is the least penalty of any that separates with margin one."""

    w: list[Fraction]
    b: Fraction
    square: Fraction


def separable(statement: Statement) -> bool | None:
    """Does some plane have every row on its side? None if the search did not end."""
    free = replace(statement, penalty=("none", Fraction(0)), lam=None)
    found = optimum(free, [])
    return None if not found.proven else found.value == 0


def widest(statement: Statement, start: tuple[list[Fraction], Fraction] | None = None) -> Plane | None:
    """The hard margin as a soft one with a tiny price: without any loss no plane is better."""
    for k in STRENGTHS:
        found = optimum(replace(statement, lam=Fraction(1, 1 << k)), [start] if start else [])
        if found.proven and statement.risk(found.w, found.b) == 0:
            return Plane(found.w, found.b, statement.size(found.w))
        start = (found.w, found.b)
    return None


def hinge_statement(
    X: Any, y: Any, keywords: dict[str, Any], scale: Any = None, positive: Any = None
) -> Statement:
    """The rows with the penalty ‖w‖², the strength left open."""
    inner = {name: value for name, value in keywords.items() if name not in ("C", "multiclass")}
    rows = np.asarray(X, dtype=float).tolist()
    return read(rows, np.asarray(y).tolist(), {**inner, "lam": 1.0}, scale, positive=positive)


def judge_plane(
    verdict: Verdict,
    name: str,
    statement: Statement,
    plane: tuple[Sequence[Fraction], Fraction],
    objective: Any,
) -> None:
    """Stretched until every margin is one, does the plane cost at most the objective?"""
    if objective != objective:
        verdict.claim(f"{name} NaN", False, "the objective is NaN")
        return
    if objective == math.inf:
        return
    w, b = plane
    margins = [z if y > 0 else -z for y, z in zip(statement.y, statement.predictions(w, b), strict=True)]
    least = min(margins)
    if least <= 0:
        verdict.claim(f"{name} plane", False, f"objective {objective!r}, a margin is {show(least)}")
        return
    stretch = max(Fraction(1), 1 / least)
    square = statement.size(w) * stretch * stretch
    words = f"objective {objective!r}, with margins of one the plane has {show(square)}"
    verdict.claim(f"{name} plane", square <= rational(objective), words, apart(objective, square))


def judge_square(verdict: Verdict, name: str, bound: Any, best: Plane | None) -> None:
    """Is the bound at most the square of the best plane?"""
    if bound != bound:
        verdict.claim(f"{name} NaN", False, "the bound is NaN")
    elif best is not None and bound != -math.inf:
        holds = bound != math.inf and rational(bound) <= best.square
        words = f"bound {bound!r}, a plane has {show(best.square)}"
        verdict.claim(f"{name} bound", holds, words, apart(bound, best.square))


def data(rng: Rng) -> tuple[Array, Any, str]:
    """Rows that are separable, nearly so or not, often far from the origin."""
    n, p = int(rng.integers(2, 12)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, p)) if rng.random() < 0.6 else rng.integers(-3, 4, size=(n, p)).astype(float)
    side = X @ rng.normal(size=p) + 0.3 * rng.normal()
    up = side > 0
    kind = str(rng.choice(["apart", "wide", "touching", "mixed", "offset", "thin", "scaled"]))
    if kind == "wide":
        X[:, 0] += np.where(up, 3.0, -3.0)
    if kind == "mixed":
        up = rng.random(n) < 0.5
    if kind == "touching" and up.any() and not up.all():
        X[np.flatnonzero(up)[0]] = X[np.flatnonzero(~up)[0]]
    if kind == "offset":
        X = X + 10.0 ** rng.uniform(1, 11)
    if kind == "thin":  # hulls a sliver apart
        X[:, 0] = np.where(up, 0.0, -(10.0 ** rng.uniform(-15, -3))) + rng.choice([0.0, 1.0, 1e6])
    if kind == "scaled":
        X = X * 10.0 ** rng.uniform(-30, 30, p)
    up[0], up[-1] = True, False
    return X, np.where(up, 1.0, -1.0), kind


def run(rng: Rng) -> Trial:
    """A hard margin, or a fit without an end."""
    if rng.random() < 0.45:
        return endless(rng)
    X, y, kind = data(rng)
    keywords: dict[str, Any] = {"loss": "hinge", "penalty": "l2", "C": math.inf}
    keywords["loss"] = str(rng.choice(["hinge", "squared_hinge"], p=[0.8, 0.2]))
    if rng.random() < 0.3:
        keywords["fit_intercept"] = False
    if rng.random() < 0.2:
        keywords["penalty_factors"] = rng.choice([0.5, 1.0, 4.0], size=X.shape[1])
    if rng.random() < 0.15:
        keywords["standardize"] = True
    return hard(X, y, keywords, kind, rng)


def hard(X: Array, y: Any, keywords: dict[str, Any], kind: str, rng: Rng | None = None) -> Trial:
    """One hard margin, judged; with forged planes where there is a generator."""
    trial = Trial(kind=f"margin: {kind}", asked=(X, y, keywords))
    inner = {**keywords, "loss": "hinge"}
    try:
        solution = attempt(trial, lambda: dg.fit(X, y, **keywords))
    except dg.errors.InfeasibleError as error:
        trial.state = "infeasible"
        narrow = re.search(r"margin of at most ([^\s:]+):", str(error))
        if narrow:
            best = widest(hinge_statement(X, y, inner))
            if best is not None:
                margin = Fraction(float(narrow.group(1)))
                trial.verdict.claim("margin at most", best.square * margin**2 >= 1, "a wider plane exists")
            return trial
        found = separable(hinge_statement(X, y, inner))
        if found is not None:
            trial.verdict.claim("hulls meet", not found, "'the hulls meet', and a plane separates them")
        return trial
    if solution is None:
        return trial
    trial.state = "proven" if solution.converged else "not proven"
    statement = hinge_statement(X, y, inner, solution.terms.scale)
    if not finite(solution.coef, solution.intercept):
        trial.verdict.claim("margin NaN", False, f"{solution.coef!r}, {solution.intercept!r}")
        return trial
    plane = (as_values(solution.coef), rational(solution.intercept))
    best = widest(statement, plane)
    judge_plane(trial.verdict, "margin", statement, plane, solution.objective)
    judge_square(trial.verdict, "margin", solution.bound, best)
    _judge_rest(trial.verdict, statement, solution, plane, best)
    if rng is not None:
        for _ in range(3):
            _forge(trial, (X, y), solution.certificate, (statement, best), rng)
    return trial


def _judge_rest(
    verdict: Verdict, statement: Statement, solution: Any, plane: Any, best: Plane | None
) -> None:
    objective, bound = float(solution.objective), float(solution.bound)
    words = f"bound {bound!r} above the objective {objective!r}"
    verdict.claim("margin order", bound <= objective, words, apart(bound, stated(objective)))
    error = solution.coef_error
    if error is not None and best is not None and error < math.inf:
        away = sum((a - c) ** 2 for a, c in zip(plane[0], best.w, strict=True))
        distance = real.sqrt(as_real(Fraction(away)))
        words = f"coef_error {error!r}, the optimum is {real.nstr(distance, 6)} away"
        size = real.sqrt(as_real(sum((c * c for c in best.w), Fraction(0))))
        verdict.claim("margin distance", away <= rational(error) ** 2, words, float(distance / (size or 1)))
    if any(np.asarray(solution.proven_zero)) and best is not None:
        wrong = [j for j in np.flatnonzero(solution.proven_zero) if best.w[j] or plane[0][j]]
        verdict.claim("margin zero", not wrong, f"columns {wrong} are not zero")


def _forge(trial: Trial, rows: tuple[Array, Any], certificate: Any, known: Any, rng: Rng) -> None:
    """Another plane or another θ in the certificate."""
    statement, best = known
    coef, b = np.array(certificate.coef), float(certificate.intercept)
    theta = np.array(certificate.theta)
    size = float(np.abs(theta).max(initial=0.0)) or 1.0
    draw = int(rng.integers(6))
    if draw == 0:
        coef, b = coef * (1.0 - 10.0 ** rng.uniform(-15, -0.3)), b
    elif draw == 1:
        coef, b = coef * 0.5, b * 0.5
    elif draw == 2:
        theta = theta * (1.0 + 10.0 ** rng.uniform(-15, 1))
    elif draw == 3:
        theta = theta + size * 10.0 ** rng.uniform(-16, -7) * rng.normal(size=len(theta))
    elif draw == 4:
        theta = np.abs(rng.normal(size=len(theta))) * size * np.asarray(rows[1], dtype=float)
    else:
        b += abs(b) * 10.0 ** rng.uniform(-16, -6) * float(rng.choice([-1, 1]))
    forged = dataclasses.replace(certificate, coef=coef, intercept=b, theta=theta)
    again = attempt(trial, lambda: forged.recheck(*rows))
    if again is not None:
        judge_plane(
            trial.verdict, "forged margin", statement, (as_values(coef), rational(b)), again.objective
        )
        judge_square(trial.verdict, "forged margin", again.bound, best)


def endless(rng: Rng) -> Trial:
    """Logistic and exponential losses without a penalty on rows that are separable, or nearly."""
    from exact.fits import fitted

    X, y, kind = data(rng)
    keywords: dict[str, Any] = {"loss": str(rng.choice(["logistic", "exponential"])), "penalty": "none"}
    if rng.random() < 0.3:
        keywords |= {"penalty": str(rng.choice(["l1", "l2"])), "lam": 10.0 ** rng.uniform(-4, 0)}
        factors = np.zeros(X.shape[1])
        factors[-1] = 1.0
        keywords["penalty_factors"] = factors
    if rng.random() < 0.3:
        keywords["fit_intercept"] = False
    case = draws.Case(X, y, keywords, f"endless: {kind}", 1e-6, {"max_time": 2.0})
    return fitted(case)
