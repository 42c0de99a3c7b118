"""A new loss, penalty, storage or solver is one file and one line: here are four, each fitted and proven."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import dualgap as dg
from dualgap import losses, penalties
from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.design import Dense
from dualgap.drive import registry
from dualgap.drive.limits import Limits, Status
from dualgap.drive.run import drive
from dualgap.drive.solver import Iterate
from dualgap.errors import NoSolverError
from dualgap.fitting.names import loss_named
from dualgap.penalties import Penalised
from dualgap.penalties.base import Penalty
from dualgap.penalties.separable import Separable
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

ROOT = Path(__file__).parents[2]
DIFF = re.search(
    r"^```diff\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.fixture
def data() -> tuple[Matrix, Vector]:
    random = np.random.default_rng(3)
    X = random.standard_normal((60, 5))
    return X, X @ np.arange(5.0) + random.standard_normal(60)


def proven(solution: dg.Solution, X: Matrix, y: Vector) -> bool:
    again = solution.certificate.recheck(X, y)
    return solution.converged and again.objective - again.bound == solution.gap


# -- a loss: the very one that CONTRIBUTING.md shows ---------------------------------------------------


def test_the_diff_of_a_new_loss_applies() -> None:
    assert DIFF
    check = ["git", "apply", "--check", "-"]
    done = subprocess.run(check, input=DIFF[1], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert [line for line in DIFF[1].splitlines() if line.startswith("+++")] == [
        "+++ b/src/dualgap/losses/__init__.py",
        "+++ b/src/dualgap/losses/log_cosh.py",
    ]


@pytest.mark.parametrize("penalty", ["l1", "l2", "lp(1.5)", "linf"])
@pytest.mark.parametrize("strength", [{"lam": 0.05}, {"budget": 2.0}], ids=["lam", "budget"])
def test_a_loss(
    penalty: str, strength: dict[str, float], data: tuple[Matrix, Vector], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert DIFF
    lines = DIFF[1].partition("+++ b/src/dualgap/losses/log_cosh.py\n")[2].splitlines()[1:]
    file: dict[str, type[losses.Loss]] = {"__name__": __name__}  # type: ignore[dict-item]
    exec("\n".join(line[1:] for line in lines), file)
    monkeypatch.setitem(losses.CATALOGUE, "log_cosh", file["LogCosh"])
    solution = dg.fit(*data, loss="log_cosh", penalty=penalty, **strength)  # type: ignore[arg-type]
    assert proven(solution, *data)


# -- a penalty ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Graded(Penalty):
    """h(w) = Σ j |w_j|: later columns are dearer."""

    name = "graded"
    formula = "sum j |w_j|"
    takes_factors = True

    def gauge(self, factors: Vector, scale: Vector) -> Separable:
        return Separable(factors * scale * np.arange(1.0, len(scale) + 1.0), np.zeros_like(scale))


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber(1)"])
@pytest.mark.parametrize("strength", [{"lam": 0.1}, {"budget": 9.0}], ids=["lam", "budget"])
def test_a_penalty(
    loss: str, strength: dict[str, float], data: tuple[Matrix, Vector], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(penalties.CATALOGUE, "graded", Graded)
    solution = dg.fit(*data, loss=loss, penalty="graded", **strength)  # type: ignore[arg-type]
    assert proven(solution, *data)
    same = dg.fit(*data, loss=loss, penalty="l1", penalty_factors=np.arange(1.0, 6.0), **strength)  # type: ignore[arg-type]
    assert solution.objective == pytest.approx(same.objective, rel=1e-5)


# -- a solver -----------------------------------------------------------------------------------------


def test_a_solver(data: tuple[Matrix, Vector], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SOLVERS", dict(registry.SOLVERS))
    monkeypatch.setattr(registry, "MANUAL", set(registry.MANUAL))

    @registry.solver("steepest", manual=True)
    @dataclass(frozen=True)
    class Steepest:
        """w ← w − ∇P(w)/L, smooth losses, ridge: what a first try of a student looks like."""

        name: ClassVar[str] = "steepest"

        def missing(self, problem: Problem) -> tuple[str, ...]:
            smooth = problem.loss_has(Trait.QUADRATIC) and Trait.QUADRATIC in problem.regulariser.traits
            return () if smooth else ("loss or penalty is not quadratic",)

        def cost(self, problem: Problem) -> float:
            return 1e3 * problem.design.stored

        def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
            bend = 2.0 * np.linalg.eigvalsh(problem.design.weighted_gram(problem.a))[-1] + 1.0
            w = start.w
            while True:
                yield Iterate(w)
                theta = problem.slope(problem.predict(w))
                w = w + (problem.correlation(theta) - 0.02 * np.where(problem.free, 0.0, w)) / bend

    X, y = data
    X = X / X.std(axis=0)  # powers of two in the scales aside, the problem is then the one that was asked
    solution = dg.fit(X, y, loss="squared", penalty="l2", lam=0.01, solver="steepest", fit_intercept=False)
    assert solution.solver == "steepest"
    assert proven(solution, X, y)
    with pytest.raises(NoSolverError, match="loss or penalty is not quadratic"):
        dg.fit(X, y, loss="absolute", penalty="l2", lam=0.01, solver="steepest")


# -- a storage ----------------------------------------------------------------------------------------


class Halves:
    """An array kept as two, one on top of the other. What it does not do itself the whole array does."""

    def __init__(self, array: Matrix) -> None:
        self.top, self.bottom = np.array_split(array, 2)

    def __getattr__(self, name: str) -> Any:
        return getattr(Dense(self.toarray()), name)

    def toarray(self) -> Matrix:
        return np.concatenate([self.top, self.bottom])

    def matvec(self, w: Vector) -> Vector:
        return np.concatenate([self.top @ w, self.bottom @ w])

    def transpose_matvec(self, theta: Vector) -> Vector:
        return self.top.T @ theta[: len(self.top)] + self.bottom.T @ theta[len(self.top) :]

    def rows(self, which: Index | Mask) -> Halves:
        return Halves(self.toarray()[which])

    def columns(self, which: Index | Mask) -> Halves:
        return Halves(self.toarray()[:, which])

    def rough(self) -> Halves:
        return self


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber(1)"])
@pytest.mark.parametrize("penalty", ["none", "l1", "l2", "linf"])
def test_a_storage(loss: str, penalty: str, data: tuple[Matrix, Vector]) -> None:
    X, y = data
    chosen, factors = penalties.CATALOGUE[penalty](), np.ones(X.shape[1])
    form = Penalised(chosen.gauge(factors, factors), 0.1)
    problem = Problem(Halves(X), y, np.full(len(y), 1.0 / len(y)), loss_named(loss), form, False)
    working = precondition(problem)
    outcome = drive(working, lambda: registry.candidates(working.problem, "auto"), None, Limits(1e-6))
    assert outcome.status is Status.CERTIFIED
