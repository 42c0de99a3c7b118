"""mcp and scad: stationary points, said to be no more; the best there is where that can be shown."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector
from dualgap.cli.main import main
from dualgap.errors import DataError, NotCertifiedWarning
from dualgap.penalties import Mcp, Scad

PENALTIES = ("mcp(3)", "mcp(1.5)", "scad(3.7)", "scad(2.1)")


def data(n: int, p: int, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, 1.5 * X[:, 0] - 0.8 * X[:, 1] + 0.4 * rng.normal(size=n)


def fit(X: Matrix, y: Vector, **keywords: Any) -> dg.Solution:
    """A fit of which nobody expects that it is proven."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        return dg.fit(X, y, **keywords)


def price(penalty: str, w: Any, lam: float) -> Any:
    """λ h of the usual formulas, weight by weight."""
    x, gamma = np.abs(w), float(penalty[penalty.index("(") + 1 : -1])
    if penalty.startswith("mcp"):
        return np.where(x <= gamma * lam, lam * x - x**2 / (2 * gamma), gamma * lam**2 / 2)
    bent = (2 * gamma * lam * x - x**2 - lam**2) / (2 * (gamma - 1))
    return np.where(x <= lam, lam * x, np.where(x <= gamma * lam, bent, lam**2 * (gamma + 1) / 2))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_formulas(penalty: str) -> None:
    """Values, tangents as slopes, chords below; with factors and scales as those of λ and w."""
    rng = np.random.default_rng(0)
    kind = Mcp if penalty.startswith("mcp") else Scad
    factors, scale, lam = np.array([1.0, 0.5, 2.0]), np.array([1.0, 3.0, 0.2]), 0.7
    gauge = kind(float(penalty[penalty.index("(") + 1 : -1])).at(lam).gauge(factors, scale)
    for w in rng.normal(size=(60, 3)) * rng.choice([0.1, 1.0, 10.0], size=(60, 1)):
        expected = sum(
            float(price(penalty, s * x, f * lam)) for x, f, s in zip(w, factors, scale, strict=True)
        )
        assert lam * gauge.value(w) == pytest.approx(expected, rel=1e-12)
        step = 1e-6
        for j, tangent in enumerate(gauge.tangent(w, 0.0)):
            ahead, behind = w.copy(), w.copy()
            ahead[j], behind[j] = w[j] + step * np.sign(w[j]), w[j] - step * np.sign(w[j])
            slope = (gauge.value(ahead) - gauge.value(behind)) / (2 * step)
            assert tangent == pytest.approx(slope, abs=1e-4 * (1 + slope))
        for reach in (gauge.value(w), 2.0 * gauge.value(w)):
            assert float(gauge.chord(reach) @ np.abs(w)) <= gauge.value(w) * (1 + 1e-12)
        factor = np.array([2.0, 0.5, 4.0])
        assert gauge.substituted(factor).value(w) == pytest.approx(gauge.value(factor * w))
        keep = np.array([True, False, True])
        assert gauge.restricted(keep).value(w[keep]) == pytest.approx(gauge.value(np.where(keep, w, 0.0)))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_two_weights_against_a_grid(penalty: str) -> None:
    X, y = data(20, 2)
    found = fit(X, y, loss="squared", penalty=penalty, lam=0.3, fit_intercept=False)
    axis = np.linspace(-2.5, 2.5, 501)
    grid = np.array(np.meshgrid(axis, axis)).reshape(2, -1)
    values = ((X @ grid - y[:, None]) ** 2).mean(axis=0) + price(penalty, grid, 0.3).sum(axis=0)
    assert found.bound <= float(values.min()) + 1e-12
    assert found.objective <= float(values.min()) + 1e-9
    assert found.objective == pytest.approx(
        float(((X @ found.coef - y) ** 2).mean() + price(penalty, found.coef, 0.3).sum()), rel=1e-12
    )


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber(1)", "poisson", "squared_hinge"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_stationary(loss: str, penalty: str) -> None:
    """The pull of each column is the slope of its price, or below that at zero."""
    X, y = data(80, 120, seed=2)
    y = (
        np.sign(y)
        if "hinge" in loss or loss == "logistic"
        else np.round(np.exp(0.5 * y))
        if loss == "poisson"
        else y
    )
    found = fit(X, y, loss=loss, penalty=penalty, lam=0.08)
    assert found.converged or "not proven optimal" in found.status
    problem = found.terms.problem(dg.fitting.reading.read_table(X).design, y)
    w = np.append(found.coef, found.intercept)
    pull = problem.design.transpose_matvec(problem.slope(problem.design.matvec(w)))
    step = 1e-7
    slope = (
        price(penalty, np.abs(found.coef) + step, 0.08) - price(penalty, np.abs(found.coef), 0.08)
    ) / step
    live = found.coef != 0.0
    assert live.any() and not live.all()
    np.testing.assert_allclose(pull[:-1][live], np.sign(found.coef[live]) * slope[live], atol=2e-4)
    assert np.abs(pull[:-1][~live]).max() <= 0.08 * (1 + 1e-5) and abs(pull[-1]) < 1e-4


@pytest.mark.parametrize("loss", ["absolute", "quantile(0.3)", "hinge", "epsilon_insensitive(0.1)"])
def test_kinked_losses_fall_below_the_l1_answer(loss: str) -> None:
    X, y = data(60, 20, seed=4)
    y = np.sign(y) if loss == "hinge" else y
    found = fit(X, y, loss=loss, penalty="scad(3.7)", lam=0.05)
    lasso = dg.fit(X, y, loss=loss, penalty="l1", lam=0.05)
    assert (
        found.objective
        <= lasso.objective - lasso.price + float(price("scad(3.7)", lasso.coef, 0.05).sum()) + 1e-9
    )
    assert "Stationary" in found.status


def exactly(X: Matrix, y: Vector, w: Vector, b: float, penalty: str, lam: float) -> Fraction:
    """P in rational numbers."""
    rows = [[Fraction(float(x)) for x in row] for row in X]
    weights, level = [Fraction(float(v)) for v in w], Fraction(float(b))
    total = Fraction(0)
    for row, target in zip(rows, y, strict=True):
        miss = sum((x * v for x, v in zip(row, weights, strict=True)), level) - Fraction(float(target))
        total += miss * miss / len(y)
    g, strength = Fraction(float(penalty[penalty.index("(") + 1 : -1])), Fraction(lam)
    for v in map(abs, weights):
        m = min(v, g * strength)
        bend = g * strength if penalty.startswith("mcp") else (g - 1) * strength
        start = Fraction(0) if penalty.startswith("mcp") else strength
        total += strength * (m - max(m - start, 0) ** 2 / (2 * bend))
    return total


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", ["mcp(3)", "scad(3.7)"])
def test_convex_on_the_data_is_proven_and_no_rational_point_is_below(penalty: str, intercept: bool) -> None:
    X, y = data(80, 6, seed=1)
    X[:, 2] = X[:, 2] * 1e3 + 1e5 * intercept
    found = dg.fit(X, y, loss="squared", penalty=penalty, lam=0.3, fit_intercept=intercept, tol=1e-8)
    assert found.converged and found.status.startswith("Proven")
    again = found.certificate.recheck(X, y)
    assert again.bound <= found.objective
    here = exactly(X, y, found.coef, found.intercept, penalty, 0.3)
    assert Fraction(found.bound) <= here <= Fraction(found.objective)
    rng = np.random.default_rng(0)
    for size in 10.0 ** -np.arange(0, 14):
        w = found.coef + size * rng.normal(size=6) * np.abs(found.coef)
        b = found.intercept + (size * rng.normal() if intercept else 0.0)
        assert Fraction(found.bound) <= exactly(X, y, w, b, penalty, 0.3)


@pytest.mark.parametrize("penalty", ["mcp(1.05)", "scad(2.01)"])
def test_what_is_not_convex_is_not_proven(penalty: str) -> None:
    """Twins: on their difference the loss is flat, whatever the penalty."""
    X, y = data(40, 3)
    found = fit(np.column_stack([X, X[:, 0]]), y, loss="squared", penalty=penalty, lam=0.1)
    assert not found.converged and found.bound == 0.0


def test_paths_folds_and_estimators() -> None:
    X, y = data(90, 30, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        path = dg.path(X, y, loss="huber(1)", penalty="mcp(3)", n_lams=7)
        assert path.n_nonzero[0] == 0 and path.n_nonzero[-1] > 2 and not path.exact
        np.testing.assert_allclose(path.risks + path.lams * path.budgets, path.objectives)
        between = float(path.lams[2] * 0.9)
        alone = fit(X, y, loss="huber(1)", penalty="mcp(3)", lam=between)
        assert path.solution(lam=between).objective <= alone.objective * (1 + 1e-3)
        search = dg.cross_validate(X, y, loss="squared", penalty="scad(3.7)", n_lams=6, cv=3, progress=False)
        model = dg.LinearRegressorCV("squared", "scad(3.7)", n_lams=6, cv=3).fit(X, y)
        assert model.lam_ == search.lam_min
        assert dg.LinearClassifier("logistic", "mcp(3)", lam=0.05).fit(X, y > 0).score(X, y > 0) > 0.8
        many = dg.fit(X, np.digitize(y, [-1, 1]), loss="logistic", penalty="mcp(3)", lam=0.05)
        assert many.multiclass == "one_vs_rest" and many.price > 0.0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"penalty": "mcp(1)"}, "above 1"),
        ({"penalty": "scad(2)"}, "above 2"),
        ({"lam": None, "budget": 1.0}, "inside"),
        ({"bounds": "nonnegative"}, "bounds="),
    ],
)
def test_refusals(more: dict[str, Any], words: str) -> None:
    X, y = data(30, 3)
    with pytest.raises(DataError, match=words):
        dg.fit(X, y, **({"loss": "squared", "penalty": "mcp(3)", "lam": 0.1} | more))


def test_files_and_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    X, y = data(60, 4)
    monkeypatch.chdir(tmp_path)
    found = dg.fit(X, y, loss="squared", penalty="mcp(3)", lam=0.3, penalty_factors=[1, 1, 2, 1])
    found.save("one.json")
    again = dg.load("one.json")
    assert again.terms.penalty == found.terms.penalty
    assert again.certificate.recheck(X, y).objective == pytest.approx(found.objective, rel=1e-12)
    np.savetxt("rows.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,y", comments="")
    asked = ["fit", "rows.csv", "--target", "y", "--penalty", "mcp(3)", "--lam", "0.3", "--out", "m.json"]
    assert main(asked) == 0 and "proven" in capsys.readouterr().out
    assert main(["verify", "m.json", "rows.csv"]) == 0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_coordinate_descent_leaves_nothing_that_tangents_would_gain(loss: str, penalty: str) -> None:
    """The end of one search is an end of the other."""
    X, y = data(80, 120, seed=5)
    y = np.sign(y) if loss == "logistic" else y
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "lam": 0.08}
    found = fit(X, y, solver="folded_descent", **asked)
    again = fit(X, y, solver="local_linear", warm_start=found, **asked)
    assert 0 < found.n_nonzero < 120
    assert again.objective == pytest.approx(found.objective, rel=1e-7)


@pytest.mark.parametrize("loss", ["squared", "hinge", "gamma"])
@pytest.mark.parametrize("penalty", ["mcp(3)", "scad(3.7)"])
def test_columns_none_of_which_has_a_price_are_fitted_as_without_one(loss: str, penalty: str) -> None:
    X, z = data(40, 3)
    y = {"squared": z, "hinge": np.where(z + X[:, 2] ** 2 > 0.5, 1.0, -1.0), "gamma": np.exp(z)}[loss]
    found = fit(X, y, loss=loss, penalty=penalty, lam=0.1, penalty_factors=np.zeros(3))
    plain = dg.fit(X, y, loss=loss, penalty="none")
    assert found.objective == pytest.approx(plain.objective, rel=1e-6)
