"""Several outputs on nasty data, priced by l21, held apart as quantiles, or each alone; honest and forged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

import dualgap as dg
from exact.arithmetic import as_real, rational, real
from exact.draws import REGRESSION_LOSSES, Array, Case, Rng, loss_named, problem
from exact.judge import apart, finite, show
from exact.statement import Statement, Value, below, plus, read, stated
from exact.trial import Trial, attempt

Weights = list[tuple[list[Fraction], Fraction]]  # of each output, with its level
LEVELS = ((0.1, 0.5, 0.9), (0.25, 0.75), (0.05, 0.5, 0.51), (0.2, 0.4, 0.6, 0.8))
PRICES = ("none", "l1", "l2")
HALF = Fraction(1, 2)  # of l21_l2(0.5)


@dataclass(frozen=True, eq=False)
class Outputs:
    """The exact problem: a statement without a price for each output, and the price of all of them."""

    each: list[Statement]
    penalty: str
    lam: Fraction | None
    budget: Fraction | None
    rising: bool  # may no output cross the one before it?

    def size(self, weights: Weights) -> Value:
        """h of the whole table."""
        shape, prices = self.each[0], [[], []]  # type: tuple[Statement, list[list[Any]]]
        for j, (factor, scale) in enumerate(zip(shape.factors, shape.scale, strict=True)):
            seen = [scale * w[j] for w, _ in weights]
            if self.penalty.startswith("l21"):
                prices[1].append(as_real(factor) * real.sqrt(as_real(sum(v * v for v in seen))))
                if self.penalty != "l21":
                    prices[0].append(HALF * factor * sum(v * v for v in seen))
            elif self.penalty != "none":
                prices[0].append(factor * sum(v * v if self.penalty == "l2" else abs(v) for v in seen))
        found: Value = sum(prices[0], Fraction(0))
        for one in prices[1]:
            found = plus(found, one)
        return found

    def value(self, weights: Weights) -> Value:
        """The objective, exactly or in a hundred digits; infinite over the budget."""
        risk: Value = Fraction(0)
        for one, (w, b) in zip(self.each, weights, strict=True):
            risk = plus(risk, one.risk(w, b))
        if self.budget is not None:
            return real.inf if below(self.budget, self.size(weights)) else risk
        if not self.lam:
            return risk
        size = self.size(weights)
        return plus(risk, self.lam * size if isinstance(size, Fraction) else as_real(self.lam) * size)

    def missed(self, weights: Weights) -> Fraction:
        """How far the worst row has an output above the one behind it."""
        if not self.rising:
            return Fraction(0)
        z = [one.along(w, b) for one, (w, b) in zip(self.each, weights, strict=True)]
        return max((a - c for low, high in pairwise(z) for a, c in zip(low, high, strict=True)))

    def feasible(self, weights: Weights) -> Weights | None:
        """The same with levels raised until nothing crosses; None where there are none to raise."""
        off = max(self.missed(weights), Fraction(0))
        if off and not self.each[0].intercept:
            return None
        return [(w, b + k * off) for k, (w, b) in enumerate(weights)]


def run(rng: Rng) -> Trial:
    """One case: a fit, its recheck, and forgeries of it."""
    case = several(problem(rng, classes=False), rng)
    trial = Trial(kind=f"outputs, {case.kind}", asked=(case.X, case.y, case.asked()))
    found = attempt(trial, lambda: dg.fit(case.X, case.y, **case.asked()))
    if found is None or not finite(found.coef, found.intercept):
        return trial
    trial.state = "proven" if found.converged else "not proven"
    closer = attempt(trial, lambda: dg.fit(case.X, case.y, **{**case.asked(), "tol": 1e-11}))
    question = asked_of(case, found.terms)
    best = [
        w
        for one in (found, closer)
        if one is not None and finite(one.coef, one.intercept)
        for w in [question.feasible(exactly(one.coef, one.intercept))]
        if w is not None
    ]
    best.append([([Fraction(0)] * case.X.shape[1], Fraction(0))] * len(question.each))
    judge(trial, question, "fit", found, best, found.certificate)
    proof = found.certificate
    for changes in ({}, *forged(proof, rng)):
        again = attempt(trial, lambda changes=changes: replace(proof, **changes).recheck(case.X, case.y))  # type: ignore[misc]
        if again is not None:
            judge(trial, question, "forged" if changes else "recheck", again, best, again)
    return trial


def several(case: Case, rng: Rng) -> Case:
    """The case with more than one prediction for a row."""
    kept = ("sample_weight", "fit_intercept", "penalty_factors", "standardize", "lam", "C", "budget")
    keywords = {name: value for name, value in case.keywords.items() if name in kept}
    y = np.where(np.abs(case.y) < 1e90, case.y, 0.0)
    if not {"lam", "C", "budget"} & set(keywords):
        keywords["lam"] = float(10.0 ** rng.uniform(-6, 0))
    draw = rng.random()
    if draw < 0.45:
        levels = LEVELS[int(rng.integers(len(LEVELS)))]
        penalty = str(rng.choice(PRICES))
        keywords |= {"loss": f"quantiles({', '.join(map(str, levels))})", "penalty": penalty}
        if rng.random() < 0.15:
            keywords["crossing"] = True
    else:
        count = int(rng.integers(2, 4))
        y = np.column_stack([column(case, y, rng) for _ in range(count)])
        name = loss_named(rng, str(rng.choice(REGRESSION_LOSSES)), y)
        keywords |= {"loss": name, "penalty": "l1" if draw >= 0.9 else "l21_l2(0.5)" if draw < 0.6 else "l21"}
    if keywords["penalty"] == "none":
        keywords = {name: value for name, value in keywords.items() if name not in ("lam", "C", "budget")}
        keywords.pop("penalty_factors", None)
    return replace(case, y=y, keywords=keywords, options={"max_time": 2.0})


def column(case: Case, y: Array, rng: Rng) -> Array:
    """A target: the one drawn, of another size, another sign, a column of X, or noise."""
    draw = int(rng.integers(6))
    if draw == 0:
        return -y
    if draw == 1:
        return y * 10.0 ** rng.uniform(-6, 6)
    if draw == 2:
        return np.array(case.X[:, int(rng.integers(case.X.shape[1]))])
    if draw == 3:
        return rng.normal(size=len(y))
    return y if draw == 4 else np.round(y)


def asked_of(case: Case, terms: Any) -> Outputs:
    """The exact problem of a case."""
    keywords = dict(case.keywords)
    plain = {k: v for k, v in keywords.items() if k in ("sample_weight", "fit_intercept", "penalty_factors")}
    rows, y = case.X.tolist(), np.asarray(case.y)
    losses = [str(one) for one in terms.loss.each] or [keywords["loss"]] * y.shape[1]
    columns = [y] * len(losses) if y.ndim == 1 else list(y.T)
    each = [
        read(rows, own.tolist(), {**plain, "penalty": "none", "loss": name}, terms.scale)
        for name, own in zip(losses, columns, strict=True)
    ]
    lam = None if keywords.get("lam") is None else rational(keywords["lam"])
    if keywords.get("C") is not None:
        lam = 1 / (rational(keywords["C"]) * sum(each[0].s))
    budget = None if keywords.get("budget") is None else rational(keywords["budget"])
    rising = y.ndim == 1 and not keywords.get("crossing", False)
    if not keywords["penalty"].startswith("l21") and not rising and budget is not None:
        budget = budget * len(losses)  # each output has one of its own: together they have no more than this
    return Outputs(each, keywords["penalty"], lam, budget, rising)


def exactly(coef: Any, intercept: Any) -> Weights:
    """The weights as rationals."""
    levels = np.broadcast_to(np.asarray(intercept, dtype=float), (len(coef),))
    return [([rational(v) for v in w], rational(b)) for w, b in zip(np.asarray(coef), levels, strict=True)]


def judge(trial: Trial, question: Outputs, name: str, told: Any, best: list[Weights], proof: Any) -> None:
    """The objective is not below the true one, the miss not above what is said; nothing beats the bound."""
    verdict, bound = trial.verdict, float(told.bound)
    if not finite(proof.coef, proof.intercept):
        return
    if told.objective < np.inf:
        weights = exactly(proof.coef, proof.intercept)
        off = question.missed(weights)
        verdict.claim(
            f"{name} violation", off <= rational(proof.violation), f"missed by {float(off)!r}, not as said"
        )
        true = question.value(weights)
        holds = not below(stated(told.objective), true)
        words = "" if holds else f"objective {float(told.objective)!r}, but it is {show(true)}"
        verdict.claim(f"{name} objective", holds, words, 0.0 if holds else apart(told.objective, true))
    verdict.claim(f"{name} NaN", bound == bound, "the bound is NaN")
    for weights in best:
        if not inside(proof.box, weights):
            continue
        value = question.value(weights)
        holds = value == real.inf or not below(value, stated(bound))
        words = "" if holds else f"bound {bound!r}, but {show(value)} is attained"
        verdict.claim(f"{name} bound", holds, words, 0.0 if holds else apart(bound, value))


def inside(box: Any, weights: Weights) -> bool:
    """Are they among those that the bound speaks of?"""
    if box is None:
        return True
    held: Sequence[list[Fraction]] = [[*w, b] for w, b in weights]
    return all(
        not np.isfinite(end) or abs(v) <= rational(float(end))
        for one in held
        for v, end in zip(one, np.asarray(box).tolist(), strict=False)
    )


def forged(proof: Any, rng: Rng) -> list[dict[str, Any]]:
    """θ, multipliers, weights and values that are not those of the fit."""
    theta, coef = np.asarray(proof.theta, dtype=float), np.asarray(proof.coef, dtype=float)
    size = float(np.abs(theta).max(initial=0.0)) or 1.0
    made: list[dict[str, Any]] = [
        {"theta": theta + size * 10.0 ** rng.uniform(-16, 1) * rng.normal(size=theta.shape)},
        {"theta": theta * 10.0 ** rng.uniform(-2, 2)},
        {"theta": np.roll(theta, 1, axis=1)},
        {"theta": np.full(theta.shape, rng.choice([np.nan, np.inf, 1e300]))},
        {"coef": coef + 10.0 ** rng.uniform(-16, 1) * rng.normal(size=coef.shape)},
        {"intercept": proof.intercept[::-1].copy(), "objective": -1e9, "bound": 1e9, "box": None},
    ]
    if proof.multipliers is not None:
        noise = rng.normal(size=proof.multipliers.shape)
        made += [
            {"multipliers": proof.multipliers + size * 10.0 ** rng.uniform(-16, 2) * noise},
            {"multipliers": -proof.multipliers},
            {"multipliers": np.full(proof.multipliers.shape, rng.choice([np.nan, np.inf, 1e300, -1.0]))},
            {"theta": theta * 0.0, "multipliers": np.abs(noise) * size},
        ]
    return made
