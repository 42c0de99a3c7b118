"""Claims that were false once, each with the smallest data that showed it."""

from __future__ import annotations

import dataclasses
import json
import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dualgap as dg
from exact.arithmetic import rational
from exact.draws import Case
from exact.fits import fitted
from exact.judge import Question, judge_certificate
from exact.kernels import gaussian_machine
from exact.margins import hard, hinge_statement, judge_plane, judge_square, widest
from exact.model_files import Truth, verified, write, write_rows
from exact.statement import as_values
from exact.subsets import twins as subset_twins
from exact.trial import Trial, attempt

Run = Callable[[], Trial]
TWINS = (
    "squared",
    "absolute",
    "huber(1.35)",
    "quantile(0.3)",
    "epsilon_insensitive(0.1)",
    "squared_epsilon_insensitive(0.1)",
    "squared_hinge",
    "hinge",
)


def twins(loss: str, k: int = 38) -> Trial:
    """Two columns equal to 2^-k, and targets that know their difference."""
    rng = np.random.default_rng(0)
    g, d, z, noise = rng.normal(size=(4, 12))
    X = np.column_stack([g, g + 2.0**-k * d, z])
    y: Any = d + 0.3 * noise
    if loss in ("hinge", "squared_hinge"):
        y = np.where(y > np.median(y), 1.0, -1.0)
    return fitted(Case(X, y, {"loss": loss, "penalty": "none"}, f"twins: {loss}"))


def monomials() -> Trial:
    """Powers of x up to the eighteenth."""
    x = np.linspace(0.0, 1.0, 25)
    X = x[:, None] ** np.arange(1, 19)
    y = np.sin(9.0 * x) + 0.1 * np.random.default_rng(0).normal(size=25)
    return fitted(Case(X, y, {"loss": "squared", "penalty": "none"}, "monomials"))


def kernel_machine() -> Trial:
    """A very large C with a very wide Gaussian."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    K = np.exp(-1e-3 * ((X[:, None] - X[None]) ** 2).sum(-1))
    return gaussian_machine(K, y, {"loss": "hinge", "C": 1e8})


def zero_that_is_none() -> Trial:
    """A gap of zero, so that nothing was left between |x·θ| and λ but a rounding."""
    X = np.array([[3.0], [1.0], [2.0]])
    y = np.array([1.9670382227537133, 1.4052706220449243, 0.6918133674793729])
    return fitted(Case(X, y, {"loss": "huber(1.35)", "penalty": "l1", "lam": 0.2630905416742752}, "zero"))


def offset(k: int) -> Trial:
    """Targets far from zero."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(10, 2))
    y = X[:, 0] + rng.normal(size=10) + 2.0**k
    return fitted(Case(X, y, {"loss": "squared", "penalty": "l2", "lam": 0.1}, "offset"))


def a_minimiser() -> Trial:
    """Two rows a hair on the wrong side: there is a minimiser, far out."""
    X = 1.0 + np.array([[-1.0], [-0.5], [0.5], [1.0], [1e-10], [-1e-10]])
    y = np.array([-1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
    return fitted(Case(X, y, {"loss": "logistic", "penalty": "none"}, "endless", 1e-6, {"max_time": 2.0}))


def half_a_margin() -> Trial:
    """A certificate for half of the plane, on rows that are far away."""
    X, y = 1e9 + np.array([[-1.0], [1.0], [2.0], [-3.0]]), np.array([-1.0, 1.0, 1.0, -1.0])
    keywords: dict[str, Any] = {"loss": "hinge", "penalty": "l2", "C": math.inf}
    trial = Trial(kind="margin: forged", state="proven")
    solution = attempt(trial, lambda: dg.fit(X, y, **keywords))
    if solution is None:
        return trial
    statement = hinge_statement(X, y, keywords)
    forged = dataclasses.replace(solution.certificate, coef=np.array([0.5]), intercept=-0.5e9)
    again = attempt(trial, lambda: forged.recheck(X, y))
    if again is not None:
        plane = (as_values([0.5]), rational(-0.5e9))
        judge_plane(trial.verdict, "forged margin", statement, plane, again.objective)
        judge_square(trial.verdict, "forged margin", again.bound, widest(statement))
    return trial


def sliver() -> Trial:
    """Hulls that are 1e-12 of their size apart."""
    X = np.array(
        [[0.0, -1.0], [0.0, 1.0], [0.6, 0.4], [-1e-12, -0.5], [-1e-12, 0.5], [-1e-12, 0.1], [-0.4, 1.3]]
    )
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
    return hard(X, y, {"loss": "hinge", "penalty": "l2", "C": math.inf}, "thin")


def error_bar(k: int) -> Trial:
    """Ridge: an error bar of exactly zero."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(8, 3)) * 10.0**k
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=8)
    return fitted(Case(X, y, {"loss": "squared", "penalty": "l2", "lam": 1e-3 * 100.0**k}, "error bar"))


def unbalanced() -> Trial:
    """θ off balance by 0.9e-9 of its size, where the targets are 1e9."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 1))
    y = 1e9 + X[:, 0] + rng.normal(size=8)
    case = Case(X, y, {"loss": "squared", "penalty": "l2", "lam": 0.01}, "forged")
    trial = Trial(kind="forged", state="proven")
    solution = attempt(trial, lambda: dg.fit(X, y, **case.keywords))
    if solution is None:
        return trial
    question = Question(X, y, case.keywords)
    points = question.points(solution.coef, solution.intercept)
    best = question.best(points)
    theta = np.array(solution.certificate.theta)
    for sign in (-1.0, 1.0):
        moved = theta + sign * 0.9e-9 * np.abs(theta).sum() / len(theta)
        forged = dataclasses.replace(solution.certificate, theta=moved)
        again = attempt(trial, partial(forged.recheck, X, y))
        if again is not None:
            judge_certificate(trial.verdict, "forged", again, question, best, points)
    return trial


def edited(what: str) -> Trial:
    """A model file with one claim changed and the checksum renewed."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(8, 3)).round(3)
    y = (X @ [1.0, 0.0, -1.0] + rng.normal(size=8)).round(3)
    case = Case(X, y, {"loss": "squared", "penalty": "l1", "lam": 0.2}, "file")
    trial = Trial(kind="file", state="file")
    solution = attempt(trial, lambda: dg.fit(X, y, **case.keywords))
    if solution is None:
        return trial
    with tempfile.TemporaryDirectory() as folder:
        model, rows = Path(folder) / "model.json", Path(folder) / "rows.csv"
        solution.save(model, data=(X, y))
        write_rows(rows, X, y)
        honest = json.loads(model.read_text())
        document = json.loads(model.read_text())
        answer = document["answer"]
        if what == "nothing":
            answer["coef"], answer["certificate"]["theta"] = [0.0] * 3, [0.0] * 8
            answer["objective"], answer["bound"] = answer["null"], 0.0
            answer["intercept"], answer["relative_gap"] = float(np.mean(y)), 1e-9
        elif what == "null":
            answer["null"] = "inf"
        elif what == "zeros":
            answer["proven_zero"] = [True] * 3
        else:
            answer["bound"] = "-inf"
        write(model, document)
        found = attempt(trial, lambda: verified(model, rows))
        Truth(case, honest).judge(trial.verdict, f"edited {what}", document, bool(found))
    return trial


CASES: dict[str, Run] = {
    **{f"twins-{loss}": partial(twins, loss) for loss in TWINS},
    "twins-subset": subset_twins,
    "monomials": monomials,
    "kernel-machine": kernel_machine,
    "zero": zero_that_is_none,
    "offset-20": lambda: offset(20),
    "offset-30": lambda: offset(30),
    "offset-40": lambda: offset(40),
    "a-minimiser": a_minimiser,
    "half-a-margin": half_a_margin,
    "sliver": sliver,
    "error-bar-0": lambda: error_bar(0),
    "error-bar-3": lambda: error_bar(3),
    "unbalanced": unbalanced,
    "file-nothing": lambda: edited("nothing"),
    "file-null": lambda: edited("null"),
    "file-zeros": lambda: edited("zeros"),
    "file-bound": lambda: edited("bound"),
}
