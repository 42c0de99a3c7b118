"""dg.path with l0: the best subset of every size, what is proven of each, and what is left when time ends."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

import dualgap as dg
from brute_force import Subsets, best_fit, best_squares
from dualgap.arrays import Matrix, Vector
from dualgap.discrete import BranchAndBound
from dualgap.discrete.subset.path import subset_path
from dualgap.drive.limits import Limits
from dualgap.drive.trace import Record
from dualgap.errors import DataError, NoSolverError, NotCertifiedWarning
from dualgap.fitting.reading import read
from dualgap.losses import Logistic
from dualgap.paths.subsets import SubsetPath


def draw(n: int, p: int, noise: float = 1.0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    return X, X[:, 0] - X[:, 2] + 0.5 * X[:, 3] + noise * rng.normal(size=n)


def sizes(X: Matrix, y: Vector, **keywords: Any) -> SubsetPath:
    found = dg.path(X, y, **{"loss": "squared", "penalty": "l0", **keywords})
    assert isinstance(found, SubsetPath)
    return found


@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("intercept", [True, False])
def test_every_size_equals_brute_force(ridge: float, intercept: bool) -> None:
    X, y = draw(25, 6)
    weights, factors = np.arange(25) % 3 + 0.0, [1.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    penalty = f"l0_l2({ridge})" if ridge else "l0"
    found = sizes(
        X, y, penalty=penalty, fit_intercept=intercept, sample_weight=weights, penalty_factors=factors
    )
    used = weights > 0
    for k, objective, bound in zip(found.sizes, found.objectives, found.bounds, strict=True):
        rule = Subsets(limit=int(k), ridge=ridge, intercept=intercept, always=(1,))
        best = best_squares(X[used], y[used], weights[used], rule)
        assert objective == pytest.approx(best, rel=1e-8) and bound <= best * (1 + 1e-9)
    assert found.sizes.tolist() == list(range(6)) and found.exact and found.proven.all()
    assert np.all(np.diff(found.objectives) <= 0.0) and np.all(np.diff(found.bounds) <= 1e-12)


def test_the_points_and_what_lies_between() -> None:
    data = load_diabetes(as_frame=True)
    found = sizes(data.data, data.target, sizes=5)
    alone = dg.fit(data.data, data.target, loss="squared", penalty="l0", budget=3)
    np.testing.assert_allclose(found.coef(budget=3), alone.coef, atol=1e-9)
    np.testing.assert_allclose(found.coef(budget=3.7), found.coefs[3])
    assert found.intercept(budget=3) == pytest.approx(alone.intercept)
    assert found.chosen(3) == ("bmi", "bp", "s5") and found.n_nonzero.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.solution(budget=3).certificate.recheck(data.data, data.target).gap <= 1e-6 * alone.objective
    seven = found.solution(budget=7)
    assert seven.n_nonzero == 7 and seven.converged
    paid = found.solution(lam=50.0)
    expected = dg.fit(data.data, data.target, loss="squared", penalty="l0", lam=50.0)
    assert paid.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.budget(50.0) == expected.n_nonzero
    residual = data.target.to_numpy() - found.decision_functions(data.data)
    np.testing.assert_allclose(found.risks, (residual**2).mean(axis=1), rtol=1e-10)
    np.testing.assert_allclose(found.test_risks(data.data, data.target), found.risks, rtol=1e-10)
    assert found.pareto().budgets.tolist() == [0, 1, 2, 3, 4, 5]
    assert repr(found) == "SubsetPath(squared + l0: sizes 0 to 5, 6 of 6 proven)"


def test_frame_and_picture() -> None:
    import matplotlib

    matplotlib.use("Agg")
    X, y = draw(40, 8)
    found = sizes(pd.DataFrame(X, columns=list("abcdefgh")), y, sizes=[1, 3])
    frame = found.frame()
    assert frame["k"].tolist() == [1, 3] and frame["proven"].all() and "status" in frame
    assert frame["columns"][1] == ", ".join(found.chosen(3)) and len(found.chosen(3)) == 3
    figure = found.plot(test=(X, y))
    assert [ax.get_xlabel() for ax in figure.axes] == ["number of columns k"] * 2
    matplotlib.pyplot.close(figure)
    with pytest.raises(DataError, match="x='budget'"):
        found.plot(x="lam")


def test_hollow_marks_where_nothing_is_proven() -> None:
    import matplotlib

    matplotlib.use("Agg")
    X, y = draw(70, 60, noise=4.0)
    with pytest.warns(NotCertifiedWarning, match="sizes are not proven"):
        found = sizes(X, y, sizes=[1, 20], max_iter=3)
    assert found.proven.tolist() == [True, False] and found.bounds[1] < found.objectives[1]
    assert "iteration limit" in found.statuses[1] and not found.exact
    axes = found.plot(ax=matplotlib.pyplot.subplots()[1]).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["proven the best", "best found, bar to the proven bound"]
    matplotlib.pyplot.close(axes.figure)


@pytest.mark.parametrize("loss", ["logistic", "absolute", "zero_one"])
def test_other_losses(loss: str) -> None:
    X, y = draw(24, 4)
    labels = np.where(y + np.random.default_rng(1).normal(size=24) > 0, "up", "down")
    found = sizes(X, y if loss == "absolute" else labels, loss=loss, penalty="l0")
    assert found.exact and np.all(np.diff(found.objectives) <= 1e-12)
    if loss == "logistic":
        sides = np.where(labels == "up", 1.0, -1.0)
        best = best_fit(X, sides, np.ones(24), Logistic(), Subsets(limit=2))
        assert found.objectives[2] == pytest.approx(best, rel=2e-6)


def test_time_is_for_the_whole_path() -> None:
    X, y = draw(70, 60, noise=4.0)
    began = time.perf_counter()
    with pytest.warns(NotCertifiedWarning):
        found = sizes(X, y, sizes=25, max_time=0.3)
    assert time.perf_counter() - began < 5.0 and len(found) == 26  # every size has an answer
    assert np.all(np.diff(found.objectives) <= 1e-12) and np.all(found.bounds <= found.objectives)
    exact = dg.fit(X, y, loss="squared", penalty="l0", budget=3)
    assert found.bounds[3] <= exact.objective * (1 + 1e-9) <= found.objectives[3] * (1 + 2e-9)


def test_interrupted_the_finished_sizes_stay() -> None:
    X, y = draw(60, 20)
    reading = read(X, y, loss="squared", penalty="l0", lam=1.0)
    problem = reading.terms.problem(reading.table.design, y)
    seen = itertools.count()

    def interrupt(record: Record) -> bool:
        if next(seen) >= 8:
            raise KeyboardInterrupt
        return False

    answers = subset_path(problem, range(21), Limits(callback=interrupt), BranchAndBound())
    assert 1 <= len(answers) < 21 and answers[-1].stopped and "Interrupted" in answers[-1].sentence
    assert all(answer.proven and not answer.stopped for answer in answers[:-1])
    assert answers[-1].bounds.dual <= answers[-1].bounds.primal


def test_refusals() -> None:
    X, y = draw(30, 4)
    for wrong in (2.5, -1, "many", [[1, 2]], []):
        with pytest.raises(DataError, match="whole number K"):
            sizes(X, y, sizes=wrong)
    for given in ({"lams": [1.0]}, {"everywhere": 1e-3}, {"exact": True}):
        with pytest.raises(DataError, match="number of columns"):
            sizes(X, y, **given)
    with pytest.raises(DataError, match="l0 and l0_l2"):
        dg.path(X, y, loss="squared", penalty="l1", sizes=3)
    with pytest.raises(DataError, match="two classes"):
        dg.path(X, np.arange(30) % 3, loss="hinge", penalty="l0")
    with pytest.raises(DataError, match="No λ belongs"):
        sizes(X, y).lam(2)
    with pytest.raises(NoSolverError, match="not convex"):
        sizes(X, y, solver="newton")
    assert sizes(X, y, sizes=99).sizes.tolist() == [0, 1, 2, 3, 4]
    assert np.isnan(sizes(X, y).lams).all()


def test_criteria_of_every_size() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    y = X[:, 0] - X[:, 2] + 0.5 * rng.normal(size=60)
    path = dg.path(X, y, loss="squared", penalty="l0")
    fitted = 60 * (np.log(2.0 * np.pi * path.risks) + 1.0)
    assert np.allclose(path.criterion("bic"), fitted + np.log(60) * (path.sizes + 1))
    assert np.allclose(path.criterion("aic"), fitted + 2.0 * (path.sizes + 1))
    assert path.sizes[path.criterion("bic").argmin()] == 2
    squares = dg.path(X, y, loss="squared", penalty="l0_l2(0.1)", sizes=2)
    chosen = X[:, squares.coefs[2] != 0.0]
    centred = chosen - chosen.mean(axis=0)
    bent = centred.T @ centred / 60
    used = 1.0 + np.trace(np.linalg.solve(bent + 0.1 * np.eye(2), bent))
    expected = 60 * (np.log(2.0 * np.pi * squares.risks[2]) + 1.0) + 2.0 * used
    assert squares.criterion("aic")[2] == pytest.approx(expected, rel=1e-9)
    with pytest.raises(DataError, match="likelihood"):
        dg.path(X, np.sign(y), loss="hinge", penalty="l0", sizes=1).criterion("bic")
