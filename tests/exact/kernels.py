"""Kernel machines on kernel matrices that are exactly G Gᵀ: the same problem as the linear one on G."""

from __future__ import annotations

import dataclasses
import math
import re
import warnings
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import dualgap as dg
from exact.arithmetic import as_real, rational
from exact.draws import Array, Rng, labels, loss_named, sample_weights
from exact.judge import (
    Question,
    Verdict,
    apart,
    finite,
    judge_bound,
    judge_consistency,
    judge_objective,
    show,
)
from exact.margins import hinge_statement, judge_plane, judge_square, separable, widest
from exact.optimum import Point
from exact.statement import CLASSIFICATION, as_values, below, margin_loss, parse, residual_loss, stated
from exact.trial import Trial, attempt

CLASS_LOSSES = ("hinge", "hinge", "squared_hinge", "logistic", "exponential")
REGRESSION_LOSSES = (
    "squared",
    "absolute",
    "quantile",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
)


def run(rng: Rng) -> Trial:
    """A kernel machine, judged exactly; or one with a Gaussian kernel, where only its objective can be."""
    if rng.random() < 0.2:
        return gaussian(rng)
    n, r = int(rng.integers(3, 13)), int(rng.integers(1, 5))
    G = rng.integers(-4, 5, size=(n, r)).astype(float)
    if rng.random() < 0.25:
        G = G + 2.0 ** int(rng.integers(4, 23))  # far from the origin, where centring matters; K stays exact
    G = G * 2.0 ** int(rng.integers(-8, 9))
    y = G @ rng.normal(size=r) + rng.normal(size=n)
    classify = rng.random() < 0.6
    loss = (
        str(rng.choice(CLASS_LOSSES)) if classify else loss_named(rng, str(rng.choice(REGRESSION_LOSSES)), y)
    )
    targets: Any = labels(rng, y, 2) if classify else y
    if classify:
        targets = np.where(targets == sorted(set(targets.tolist()))[-1], 1.0, -1.0)
    keywords: dict[str, Any] = {"loss": loss, "C": float(10.0 ** rng.uniform(-4, 8))}
    if loss == "hinge" and rng.random() < 0.15:
        keywords["C"] = math.inf
    if rng.random() < 0.25:
        keywords["fit_intercept"] = False
    return machine(G, targets, keywords, sample_weights(rng, n), rng)


def machine(G: Array, y: Any, keywords: dict[str, Any], weights: Array | None, rng: Rng) -> Trial:
    """Fit on K = G Gᵀ and judge on G."""
    hard = keywords["C"] == math.inf
    trial = Trial(
        kind="kernel: hard" if hard else "kernel: exact", asked=(G, y, {**keywords, "weights": weights})
    )
    K = G @ G.T
    assert is_gram(K, G)
    classify = parse(keywords["loss"])[0] in CLASSIFICATION
    model = (dg.KernelClassifier if classify else dg.KernelRegressor)(
        kernel="precomputed", max_time=2.0, **keywords
    )
    inner = {"sample_weight": weights, "fit_intercept": keywords.get("fit_intercept", True), "penalty": "l2"}
    try:
        found = attempt(trial, lambda: model.fit(K, y, sample_weight=weights))
    except dg.errors.InfeasibleError as error:
        trial.state = "infeasible"
        stated_ = hinge_statement(G, y, {**inner, "loss": "hinge"})
        narrow = re.search(r"margin above ([^\s,]+),", str(error))
        if narrow:  # no claim that the hulls meet
            best = widest(stated_)
            if best is not None:
                margin = rational(float(narrow.group(1)))
                words = "a surface with a wider margin exists"
                trial.verdict.claim("kernel margin at most", best.square * margin**2 >= 1, words)
            return trial
        apart_ = separable(stated_)
        if apart_ is not None:
            trial.verdict.claim(
                "kernel hulls meet", not apart_, "'the hulls meet', and a plane separates them"
            )
        return trial
    if found is None:
        return trial
    solution = model.solution_
    trial.state = "proven" if solution.converged else "not proven"
    if not finite(solution.beta, solution.intercept):
        trial.verdict.claim("kernel NaN", False, f"β {solution.beta!r}, intercept {solution.intercept!r}")
    elif hard:
        _judge_hard(trial, G, K, y, inner, solution)
    else:
        _judge_soft(trial, (G, K, y), {**inner, "loss": keywords["loss"], "C": keywords["C"]}, solution, rng)
    return trial


def is_gram(K: Array, G: Array) -> bool:
    """Is K = G Gᵀ without any rounding?"""
    rows = [as_values(row) for row in G]
    return all(
        rational(K[i, j]) == sum((x * z for x, z in zip(a, b, strict=True)), Fraction(0))
        for i, a in enumerate(rows)
        for j, b in enumerate(rows[: i + 1])
    )


def in_columns(G: Array, beta: Any, b: Any) -> Point:
    """w = Gᵀβ, exactly."""
    coefficients = as_values(beta)
    rows = [as_values(row) for row in G]
    w = [
        sum((k * row[j] for k, row in zip(coefficients, rows, strict=True)), Fraction(0))
        for j in range(G.shape[1])
    ]
    return w, rational(b)


def _judge_soft(trial: Trial, rows: Any, keywords: dict[str, Any], solution: Any, rng: Rng) -> None:
    G, K, y = rows
    question = Question(G, y, keywords)
    points = [in_columns(G, solution.beta, solution.intercept)]
    best = question.best(points)
    verdict = trial.verdict
    box = getattr(solution.certificate, "box", None)
    judge_objective(verdict, "kernel", question, solution.objective, points)
    judge_bound(verdict, "kernel", question, solution.bound, best, box, points)
    judge_consistency(verdict, "kernel", question, solution, 1e-6)
    certificate = solution.certificate
    theta = np.array(certificate.theta)
    size = float(np.abs(theta).max(initial=0.0)) or 1.0
    forgeries = [
        theta,
        theta * (1.0 + 10.0 ** rng.uniform(-15, 0)),
        theta + size * 10.0 ** rng.uniform(-16, -8) * rng.normal(size=len(theta)),
        theta + size * 10.0 ** rng.uniform(-16, -8),
    ]
    for k, forged in enumerate(forgeries):
        name = "forged kernel" if k else "kernel recheck"
        other = dataclasses.replace(certificate, theta=forged)
        again = attempt(trial, partial(other.recheck, K, y))
        if again is not None:
            judge_objective(verdict, name, question, again.objective, points)
            judge_bound(verdict, name, question, again.bound, best, getattr(again, "box", None), points)


def _judge_hard(trial: Trial, G: Array, K: Array, y: Any, inner: dict[str, Any], solution: Any) -> None:
    statement = hinge_statement(G, y, {**inner, "loss": "hinge"})
    plane = in_columns(G, solution.beta, solution.intercept)
    best = widest(statement)
    judge_plane(trial.verdict, "kernel margin", statement, plane, solution.objective)
    judge_square(trial.verdict, "kernel margin", solution.bound, best)
    again = attempt(trial, lambda: solution.certificate.recheck(K, y))
    if again is not None:
        judge_plane(trial.verdict, "kernel margin recheck", statement, plane, again.objective)
        judge_square(trial.verdict, "kernel margin recheck", again.bound, best)


def exact_value(K: Array, y: Any, solution: Any, keywords: dict[str, Any]) -> Any:
    """Σ a L(y, Kβ + b) + βᵀKβ/(C n) on the floats of K."""
    beta, b = as_values(solution.beta), rational(solution.intercept)
    rows = [as_values(row) for row in K]
    f = [sum((x * k for x, k in zip(row, beta, strict=True) if k), Fraction(0)) for row in rows]
    name, t = parse(keywords["loss"])
    n = len(f)
    if name in CLASSIFICATION:
        each = [margin_loss(name, (z + b) * (1 if label > 0 else -1)) for z, label in zip(f, y, strict=True)]
    else:
        each = [residual_loss(name, t, z + b - rational(target)) for z, target in zip(f, y, strict=True)]
    square = sum((k * z for k, z in zip(beta, f, strict=True)), Fraction(0)) / (rational(keywords["C"]) * n)
    if all(isinstance(value, Fraction) for value in each):
        return sum(each, Fraction(0)) / n + square
    return sum(value if not isinstance(value, Fraction) else as_real(value) for value in each) / n + as_real(
        square
    )


def gaussian(rng: Rng) -> Trial:
    """A Gaussian kernel, given as floats, up to a very large C: is the objective that of its own β?"""
    n = int(rng.choice([10, 20, 40]))
    X = rng.normal(size=(n, 2))
    width = 10.0 ** rng.uniform(-3.5, 0)
    K = np.exp(-width * ((X[:, None] - X[None]) ** 2).sum(-1))
    keywords: dict[str, Any] = {
        "loss": str(rng.choice(["hinge", "squared_hinge", "epsilon_insensitive(0.1)"]))
    }
    keywords["C"] = float(10.0 ** rng.uniform(0, 8))
    y: Any = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    classify = keywords["loss"] in CLASSIFICATION
    if classify:
        y = np.where(y > np.median(y), 1.0, -1.0)
    return gaussian_machine(K, y, keywords)


def gaussian_machine(K: Array, y: Any, keywords: dict[str, Any]) -> Trial:
    """Fit on the floats of K; the objective and that of the recheck against the exact value of β and b."""
    trial = Trial(kind="kernel: gaussian", asked=(K, y, keywords))
    classify = parse(keywords["loss"])[0] in CLASSIFICATION
    model = (dg.KernelClassifier if classify else dg.KernelRegressor)(
        kernel="precomputed", max_time=4.0, **keywords
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if attempt(trial, lambda: model.fit(K, y)) is None:
            return trial
        solution = model.solution_
        trial.state = "proven" if solution.converged else "not proven"
        if not finite(solution.beta, solution.intercept):
            trial.verdict.claim("kernel NaN", False, "β or the intercept")
            return trial
        exact = exact_value(K, y, solution, keywords)
        _judge_value(trial.verdict, "kernel", solution.objective, exact)
        again = attempt(trial, lambda: solution.certificate.recheck(K, y))
        if again is not None:
            _judge_value(trial.verdict, "kernel recheck", again.objective, exact)
    return trial


def _judge_value(verdict: Verdict, name: str, objective: Any, exact: Any) -> None:
    words = f"objective {float(objective)!r}, β and b have {show(exact)}"
    holds = objective == objective and not below(stated(objective), exact)
    verdict.claim(
        f"{name} objective", holds, words, apart(objective, exact) if objective == objective else math.nan
    )
