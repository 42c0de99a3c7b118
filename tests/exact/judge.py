"""The claims of a fit, judged as statements about real numbers. There is no tolerance for a claim of proof.

What cannot be known exactly is not judged: a bound is only ever refuted by weights that do better.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from exact.arithmetic import as_rational, as_real, rational, real
from exact.optimum import Optimum, Point, null, optimum
from exact.statement import (
    CLASSIFICATION,
    MEANS,
    Statement,
    Value,
    as_values,
    below,
    parse,
    plus,
    read,
    stated,
)

ULP = Fraction(1, 1 << 52)
SMALL = Fraction(1, 10**4)  # objectives below this share of the null objective count as zero
TINY = Fraction(1, 10**300)  # below which floats lose their digits
ROOM = Fraction(1, 10**9)  # for what is reported and not proven: ratios of the proven numbers


@dataclass
class Verdict:
    """How many claims were judged, and the false ones in words."""

    judged: Counter[str] = field(default_factory=Counter)
    false: list[tuple[str, str, float]] = field(default_factory=list)

    def claim(self, name: str, holds: bool, words: str, size: float = math.nan) -> None:
        """One claim; `size` says by how much, relative, a false one is false."""
        self.judged[name] += 1
        if not holds:
            self.false.append((name, words, size))

    def absorb(self, other: Verdict) -> None:
        """Add what another found."""
        self.judged.update(other.judged)
        self.false += other.false


class Question:
    """What was asked: one statement, or one per class where each class has its own problem."""

    def __init__(self, X: Any, y: Any, keywords: dict[str, Any], scale: Any = None) -> None:
        X = np.asarray(X, dtype=float).tolist()
        labels = np.asarray(y).tolist()
        name = parse(keywords["loss"])[0]
        self.labels = sorted(set(labels)) if name in CLASSIFICATION else []
        joint = name == "logistic" and keywords.get("multiclass", "auto") != "one_vs_rest"
        joint = joint and parse(keywords.get("penalty", "l2"))[0] != "fused"  # which takes each class alone
        inner = {key: value for key, value in keywords.items() if key != "multiclass"}
        self.apart = len(self.labels) > 2 and not joint
        ups = self.labels if self.apart else [None]
        self.statements = [read(X, labels, inner, scale, positive=up) for up in ups]
        used = inner.get("sample_weight")
        self.used = np.ones(len(X), bool) if used is None else np.asarray(used, dtype=float) > 0
        self._null: Value | None = None

    @property
    def null(self) -> Value:
        """Σ of the objectives at w = 0 and the best intercept."""
        if self._null is None:
            self._null = total([null(one) for one in self.statements])
        return self._null

    def points(self, coef: Any, intercept: Any) -> list[Point]:
        """The weights of each statement."""
        coef = np.asarray(coef, dtype=float)
        if self.apart:
            levels = np.broadcast_to(np.asarray(intercept, dtype=float), (len(coef),))
            return [(as_values(w), rational(b)) for w, b in zip(coef, levels, strict=True)]
        if coef.ndim == 2:
            return [(as_values(coef.ravel()), as_values(np.asarray(intercept, dtype=float)))]
        return [(as_values(coef), rational(intercept))]

    def value(self, points: Sequence[Point]) -> Value:
        """The objective there; infinite outside the budget."""
        return total([one.value(w, b) for one, (w, b) in zip(self.statements, points, strict=True)])

    def best(self, points: Sequence[Point], theta: Any = None) -> list[Optimum]:
        """The best weights known, for each statement."""
        columns = self._columns(theta)
        return [
            optimum(one, [point], hint)
            for one, point, hint in zip(self.statements, points, columns, strict=True)
        ]

    def _columns(self, theta: Any) -> list[Any]:
        nothing: list[Any] = [None] * len(self.statements)
        if theta is None or np.ndim(theta) not in (1, 2) or len(theta) != len(self.used):
            return nothing
        found = np.asarray(theta, dtype=float)[self.used]
        if not np.all(np.isfinite(found)):
            return nothing
        if found.ndim == 1:
            return [found.tolist()]
        return [column.tolist() for column in found.T] if self.apart else nothing


def total(values: Sequence[Value]) -> Value:
    """Σ, exact where all are rational."""
    whole: Value = values[0]
    for value in values[1:]:
        whole = plus(whole, value)
    return whole


def finite(*arrays: Any) -> bool:
    """Is everything a finite number?"""
    return all(bool(np.all(np.isfinite(np.asarray(array, dtype=float)))) for array in arrays)


def inside_box(box: Any, points: Sequence[Point], best: Sequence[Optimum]) -> list[Optimum] | None:
    """The best points, drawn towards the weights until they are in the box; None if these are not."""
    if box is None:
        return list(best)
    limits = np.atleast_2d(np.asarray(box, dtype=float))
    found = []
    for k, ((w, b), one) in enumerate(zip(points, best, strict=True)):
        if isinstance(b, list):
            return None
        ends = limits[min(k, len(limits) - 1)]
        here, there = [*w, b], [*one.w, one.b]
        share = Fraction(1)
        for a, c, limit in zip(here, there, ends, strict=False):
            if math.isinf(limit):
                continue
            end = rational(limit)
            if abs(a) > end:
                return None
            if abs(c) > end:
                share = min(share, (end - abs(a)) / (abs(c) + abs(a)))
        if share == 1:
            found.append(one)
            continue
        moved = [a + share * (c - a) for a, c in zip(here, there, strict=True)]
        found.append(Optimum(moved[:-1], moved[-1], real.inf, False, False))
    return found


def judge_bound(
    verdict: Verdict,
    name: str,
    question: Question,
    bound: Any,
    best: Sequence[Optimum],
    box: Any,
    points: Any,
) -> None:
    """Does nothing known do better than the bound?"""
    if bound != bound:
        verdict.claim(f"{name} NaN", False, "the bound is NaN")
        return
    if bound == -math.inf:
        return
    near = inside_box(box, points, best)
    if near is None:
        return
    values = [
        one.value(o.w, o.b) if o.value == real.inf else o.value
        for one, o in zip(question.statements, near, strict=True)
    ]
    attained = total(values)
    holds = not below(attained, stated(bound))
    words = "" if holds else f"bound {float(bound)!r}, but {show(attained)} is attained"
    verdict.claim(f"{name} bound", holds, words, 0.0 if holds else apart(bound, attained, question.null))


def apart(claimed: Any, true: Value, floor: Value = Fraction(0)) -> float:
    """How far a claim is from the truth, as relative gaps are counted: beside both, and 1e-4 of a floor."""
    if not math.isfinite(claimed):
        return math.inf
    x, y, z = (as_real(v) if isinstance(v, Fraction) else v for v in (rational(claimed), true, floor))
    top = max(abs(x), abs(y), abs(z) / 10000)
    return float(abs(x - y) / top) if top and real.isfinite(y) else math.inf


def show(value: Value) -> str:
    """A value in 20 digits."""
    return str(real.nstr(as_real(value) if isinstance(value, Fraction) else value, 20))


def judge_objective(
    verdict: Verdict, name: str, question: Question, objective: Any, points: Sequence[Point]
) -> None:
    """Is the objective at least what the weights cost, and are the weights in the budget?"""
    if objective != objective:
        verdict.claim(f"{name} NaN", False, "the objective is NaN")
        return
    outside = [not one.within(w) for one, (w, _) in zip(question.statements, points, strict=True)]
    if any(one.budget is not None for one in question.statements) and objective != math.inf:
        k = outside.index(True) if any(outside) else 0
        words = "" if not any(outside) else f"h(w) = {show(question.statements[k].size(points[k][0]))}"
        limit = question.statements[0].budget
        over = _share_over(question.statements[k], points[k][0]) if any(outside) else 0.0
        verdict.claim(
            f"{name} budget", not any(outside), f"{words}, the budget is {float(limit or 0)!r}", over
        )
        if any(outside):
            return
    exact = question.value(points)
    holds = not below(stated(objective), exact)
    words = "" if holds else f"objective {float(objective)!r}, the weights have {show(exact)}"
    verdict.claim(f"{name} objective", holds, words, 0.0 if holds else apart(objective, exact, question.null))


def _share_over(statement: Statement, w: Sequence[Fraction]) -> float:
    size = statement.size(w)
    limit = as_real(statement.budget or Fraction(0))
    found = (as_real(size) if isinstance(size, Fraction) else size) - limit
    return float(found / limit) if limit else math.inf


def judge_consistency(
    verdict: Verdict, name: str, question: Question, claims: Any, tol: float | None
) -> None:
    """bound ≤ objective, gap their difference, relative_gap its share, converged if it is small."""
    objective, bound, gap = float(claims.objective), float(claims.bound), float(claims.gap)
    if objective != objective or bound != bound:
        return
    words = f"bound {bound!r} above the objective {objective!r}"
    verdict.claim(f"{name} order", bound <= objective, words, apart(bound, stated(objective)))
    if not (math.isfinite(objective) and math.isfinite(bound)):
        verdict.claim(f"{name} gap", gap == math.inf, f"gap {gap!r} of {objective!r} and {bound!r}")
        return
    difference = rational(objective) - rational(bound)
    close = math.isfinite(gap) and abs(rational(gap) - difference) <= ULP * abs(difference) + Fraction(5e-324)
    off = apart(gap, difference, abs(rational(objective)) * 10000) if math.isfinite(gap) else math.inf
    verdict.claim(
        f"{name} gap", close and gap >= 0, f"gap {gap!r}, objective − bound {show(difference)}", off
    )
    relative = getattr(claims, "relative_gap", None)
    if relative is None:
        return
    judge_relative(verdict, name, question, (objective, bound), float(relative))
    if tol is not None and getattr(claims, "converged", False):
        verdict.claim(
            f"{name} converged", relative <= tol * (1 + 1e-9), f"relative gap {relative!r}, tol {tol!r}"
        )


def judge_relative(
    verdict: Verdict, name: str, question: Question, values: tuple[float, float], relative: float
) -> None:
    """Is the relative gap at least the gap over max(|objective|, 1e-4 |objective at w = 0|)?"""
    objective, bound = values
    difference = rational(objective) - rational(bound)
    words = f"relative gap {relative!r} of objective {objective!r} and bound {bound!r}"
    if relative != relative or relative < 0:
        verdict.claim(f"{name} relative gap", False, words)
        return
    if difference <= 0 or relative == math.inf:
        verdict.claim(f"{name} relative gap", True, words)
        return
    share = rational(relative) * (1 + ROOM) + TINY
    holds = share * abs(rational(objective)) >= difference
    if not holds:  # only then is the null objective worth its price
        floor = question.null
        if not isinstance(floor, Fraction):
            floor = as_rational(floor) if real.isfinite(floor) else Fraction(0)
        holds = share * SMALL * abs(floor) * (1 + ROOM) >= difference
    verdict.claim(f"{name} relative gap", holds, words)


def judge_zeros(
    verdict: Verdict,
    question: Question,
    flags: Any,
    points: Sequence[Point],
    best: Sequence[Optimum],
    box: Any,
) -> None:
    """Is a weight that is proven zero zero, here and at the optimum?"""
    table = np.asarray(flags, dtype=bool).ravel()
    if not table.any():
        return
    given = [v for w, _ in points for v in w]
    known = [o.settled or o.proven for o in best for _ in o.w]
    at_best = [v for o in best for v in o.w]
    exact = [o.proven for o in best for _ in o.w]
    near = inside_box(box, points, best)
    moved = near is None or any(a is not b for a, b in zip(near, best, strict=True))
    for j in np.flatnonzero(table):
        if given[j]:
            verdict.claim("zero weight", False, f"weight {j} is {float(given[j])!r} and proven zero")
        elif known[j] and not moved:
            size = max(abs(v) for v in at_best)
            zero = not at_best[j] if exact[j] else abs(at_best[j]) <= size * Fraction(1, 10**15)
            verdict.claim("zero", zero, f"weight {j} is {show(at_best[j])} at the optimum, proven zero")


def judge_distance(
    verdict: Verdict,
    name: str,
    question: Question,
    error: Any,
    points: Sequence[Point],
    best: Sequence[Optimum],
) -> None:
    """Is the optimum as near as the error bar says?"""
    if error is None:
        return
    if error != error or error < 0:
        verdict.claim(f"{name} distance", False, f"coef_error is {error!r}")
        return
    if error == math.inf or not all(one.strongly_convex for one in question.statements):
        return
    if not all(o.settled for o in best):
        return
    away = sum(
        (a - c) ** 2 for (w, _), o in zip(points, best, strict=True) for a, c in zip(w, o.w, strict=True)
    )
    allowed = rational(error) ** 2
    if not all(o.proven for o in best):  # the optimum itself is known to 20 digits only
        size = sum((c * c for o in best for c in o.w), Fraction(0))
        allowed = allowed * (1 + ROOM) + size * Fraction(1, 10**36)
    holds = away <= allowed
    if holds:
        verdict.claim(f"{name} distance", True, "")
        return
    distance = real.sqrt(as_real(Fraction(away)))
    size = real.sqrt(as_real(sum((c * c for o in best for c in o.w), Fraction(0))))
    words = f"coef_error {float(error)!r}, the optimum is {real.nstr(distance, 6)} away"
    verdict.claim(f"{name} distance", False, words, float(distance / max(size, distance)))


def judge_solution(
    verdict: Verdict, solution: Any, question: Question, tol: float | None
) -> list[Optimum] | None:
    """Every claim of a Solution; the optima that were found, for what comes after."""
    if not finite(solution.coef, solution.intercept):
        verdict.claim("fit NaN", False, f"weights {solution.coef!r}, intercept {solution.intercept!r}")
        return None
    certificate = solution.certificate
    box = getattr(certificate, "box", None)
    points = question.points(solution.coef, solution.intercept)
    best = question.best(points, getattr(certificate, "theta", None))
    judge_objective(verdict, "fit", question, solution.objective, points)
    judge_bound(verdict, "fit", question, solution.bound, best, box, points)
    judge_consistency(verdict, "fit", question, solution, tol)
    judge_zeros(verdict, question, solution.proven_zero, points, best, box)
    judge_distance(verdict, "fit", question, solution.coef_error, points, best)
    return best


def judge_certificate(
    verdict: Verdict,
    name: str,
    certificate: Any,
    question: Question,
    best: Sequence[Optimum],
    points: Sequence[Point],
) -> None:
    """What a recheck says: both values, for the weights it holds, whatever its θ is."""
    judge_objective(verdict, name, question, certificate.objective, points)
    judge_bound(verdict, name, question, certificate.bound, best, getattr(certificate, "box", None), points)


def judge_direction(verdict: Verdict, statement: Statement, direction: Any, intercept: Any) -> None:
    """'No finite minimiser': along the direction no row loses and some row wins, in exact arithmetic."""
    d = as_values(np.asarray(direction, dtype=float).ravel())
    levels = as_values(np.atleast_1d(np.asarray(intercept, dtype=float)))
    penalised = not statement.free
    tiled = statement.factors * (len(d) // statement.p)
    words = f"direction {[float(v) for v in d]}, intercept {[float(v) for v in levels]}"
    moves = any(v and factor for v, factor in zip(d, tiled, strict=True))
    if statement.penalty[0] == "fused":  # which is blind to polynomials
        moves = statement.size(d) != 0
    if penalised and moves:
        verdict.claim("no minimiser", False, f"{words}: it moves a weight that is penalised")
        return
    if not statement.intercept and any(levels):
        verdict.claim("no minimiser", False, f"{words}: there is no intercept")
        return
    margins = _margins(statement, d, levels)
    holds = all(m >= 0 for m in margins) and any(m > 0 for m in margins)
    worst = show(min(margins))
    verdict.claim("no minimiser", holds, f"{words}: the least margin is {worst}, of {len(margins)}")


def _margins(statement: Statement, d: list[Fraction], levels: list[Fraction]) -> list[Fraction]:
    if statement.classes == 2:
        rows = list(zip(statement.y, statement.along(d, levels[0]), strict=True))
        if statement.loss[0] not in MEANS:
            return [z if y > 0 else -z for y, z in rows]
        ends = {0.0: -1} if statement.loss[0] != "gamma" else {}
        ends |= {1.0: 1} if statement.loss[0] == "binomial" else {}
        return [side * z for y, z in rows for side in ([ends[y]] if y in ends else [1, -1])]
    p, k = statement.p, statement.classes
    scores = [statement.along(d[c * p : (c + 1) * p], levels[min(c, len(levels) - 1)]) for c in range(k)]
    return [
        scores[int(y)][i] - scores[c][i] for i, y in enumerate(statement.y) for c in range(k) if c != int(y)
    ]
