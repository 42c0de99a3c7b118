"""Intervals of weights: textbook formulas written out, and coverage of what was drawn."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog
from scipy.special import expit
from sklearn.datasets import load_diabetes

import dualgap as dg
from dualgap.cli.main import main
from dualgap.errors import DataError

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 3))
TRUE = np.array([1.0, -0.5, 0.0])
Y = X @ TRUE + 2.0 + RNG.normal(size=N)
LABELS = np.where(RNG.random(N) < expit(X @ TRUE), "yes", "no")
FULL = np.column_stack([np.ones(N), X])


def free(loss: str, y: Any = Y, **more: Any) -> dg.Solution:
    return dg.fit(X, y, loss=loss, penalty="none", tol=1e-10, **more)


def test_least_squares_has_students_intervals() -> None:
    found = free("squared").intervals(0.9)
    w = np.linalg.solve(FULL.T @ FULL, FULL.T @ Y)
    noise = np.sum((Y - FULL @ w) ** 2) / (N - 4)
    error = np.sqrt(noise * np.diag(np.linalg.inv(FULL.T @ FULL)))
    reach = stats.t(N - 4).ppf(0.95) * error
    assert [row.column for row in found] == ["intercept", "x0", "x1", "x2"] and "classical" in found.method
    assert np.allclose([row.low for row in found], w - reach, atol=1e-6)
    assert np.allclose([row.high for row in found], w + reach, atol=1e-6)
    assert np.allclose([row.p or 0.0 for row in found], 2 * stats.t(N - 4).sf(np.abs(w / error)), atol=1e-6)


def test_robust_errors_are_the_sandwich() -> None:
    found = free("squared").intervals(method="robust")
    w = np.linalg.solve(FULL.T @ FULL, FULL.T @ Y)
    bread, r = np.linalg.inv(FULL.T @ FULL), Y - FULL @ w
    error = np.sqrt(np.diag(N / (N - 4) * bread @ (FULL.T * r**2) @ FULL @ bread))
    assert np.allclose([row.error or 0.0 for row in found], error, rtol=1e-6)
    assert "robust" in free("huber(1.35)").intervals().method


def test_logistic_regression_gives_odds_ratios() -> None:
    solution = free("logistic", LABELS)
    found = solution.intervals()
    chance = expit(FULL @ np.append(solution.intercept, solution.coef))
    error = np.sqrt(np.diag(np.linalg.inv((FULL.T * chance * (1 - chance)) @ FULL)))
    assert np.allclose([row.error or 0.0 for row in found], error, rtol=1e-5)
    assert found.ratio == "odds ratio" and "odds ratio" in str(found)
    ratio, low, high = found.rows[1].ratio()
    assert np.isclose(ratio, np.exp(solution.coef[0])) and low < ratio < high


def test_counts_have_rate_ratios() -> None:
    counts = np.random.default_rng(1).poisson(np.exp(0.3 + 0.5 * X[:, 0]))
    found = free("poisson", counts).intervals()
    assert found.ratio == "rate ratio" and "robust" in found.method
    assert found.rows[1].low < 0.5 < found.rows[1].high


def test_quantiles_have_a_sandwich_near_the_truth() -> None:
    """Of normal noise the error of the median's slope is sqrt(π/2) times that of least squares."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(4000, 2))
    solution = dg.fit(rows, rows @ [1.0, 2.0] + rng.normal(size=4000), loss="absolute", penalty="none")
    found = solution.intervals()
    assert "sandwich" in found.method
    errors = np.array([row.error or 0.0 for row in found])
    assert np.allclose(errors, np.sqrt(np.pi / 2 / 4000), rtol=0.15)


STACK = np.column_stack(
    [
        [80, 80, 75, 62, 62, 62, 62, 62, 58, 58, 58, 58, 58, 58, 50, 50, 50, 50, 50, 56, 70],
        [27, 27, 25, 24, 22, 23, 24, 24, 23, 18, 18, 17, 18, 19, 18, 18, 19, 19, 20, 20, 20],
        [89, 88, 90, 87, 87, 87, 93, 93, 87, 80, 89, 88, 82, 93, 89, 86, 72, 79, 80, 82, 91],
    ]
).astype(float)
LOST = np.array([42, 37, 37, 28, 18, 18, 19, 20, 15, 14, 14, 13, 11, 12, 8, 7, 8, 8, 9, 15, 15], dtype=float)


def rank_statistic(D: Any, y: Any, q: float, j: int, b: float) -> float:
    """|T| of the hypothesis that weight j is b, by a linear program of its own."""
    others = np.delete(D, j, axis=1)
    left = D[:, j] - others @ np.linalg.lstsq(others, D[:, j], rcond=None)[0]
    found = linprog(
        b * D[:, j] - y, A_eq=others.T, b_eq=(1 - q) * others.sum(axis=0), bounds=(0, 1), method="highs-ds"
    )
    return abs(float(D[:, j] @ (found.x - (1 - q)))) / np.sqrt(q * (1 - q) * (left @ left))


def inverted(D: Any, y: Any, q: float, j: int, inside: float, far: float, critical: float) -> float:
    """Where |T| would be critical between the last two breakpoints, both found by halving."""

    def edge(low: float, high: float, level: float) -> float:
        for _ in range(50):
            middle = 0.5 * (low + high)
            if rank_statistic(D, y, q, j, middle) < level:
                low = middle
            else:
                high = middle
        return low

    beyond = edge(inside, far, critical)
    small = 1e-7 * (far - inside)
    t0, t1 = (rank_statistic(D, y, q, j, beyond + way * small) for way in (-1, 1))
    last = edge(inside, beyond - small, t0 - 1e-9)
    return last + (beyond - last) * (critical - t0) / (t1 - t0)


@pytest.mark.parametrize("q", [0.5, 0.25])
def test_rank_tests_are_inverted_as_by_linear_programs(q: float) -> None:
    """Stackloss: whole numbers, rows twice, a vertex that more rows than columns meet."""
    solution = dg.fit(STACK, LOST, loss=dg.losses.Quantile(q), penalty="none", tol=1e-10)
    found = solution.intervals(0.9, method="rank")
    D, critical = np.column_stack([STACK, np.ones(21)]), float(stats.t(17).ppf(0.95))
    for row, j in zip(found, [3, 0, 1, 2], strict=True):
        width = row.high - row.low
        assert row.error is None and row.p is None and width > 0.0
        for end, way in ((row.low, -1.0), (row.high, 1.0)):
            if abs(end - row.weight) < 1e-6 * width:  # T passes its critical value at the weight itself
                assert rank_statistic(D, LOST, q, j, row.weight + way * 1e-4 * width) >= critical
                continue
            want = inverted(D, LOST, q, j, row.weight, end + way * width, critical)
            assert end == pytest.approx(want, abs=2e-5 * width), (row.column, way)


def test_rank_intervals_are_those_of_quantregs_page() -> None:
    """Published with the package: the median of stackloss, all ends but the low one of AirFlow."""
    found = dg.fit(STACK, LOST, loss="absolute", penalty="none", tol=1e-10).intervals(0.9, "rank")
    ends = [(round(row.low, 5), round(row.high, 5)) for row in found]
    assert ends[0] == (-41.61973, -29.67754) and ends[2:] == [(0.32182, 1.4109), (-0.21348, -0.02891)]
    assert ends[1][1] == 1.14117


def test_rank_intervals_cover_and_say_what_they_cannot() -> None:
    rng, inside = np.random.default_rng(7), 0
    for _ in range(60):
        rows = rng.normal(size=(40, 2))
        y = rows @ [1.0, -1.0] + rng.standard_t(3, size=40)
        free = dg.fit(rows, y, loss="quantile(0.5)", penalty="none")
        row = free.intervals(0.8, "rank").rows[1]
        inside += row.low < 1.0 < row.high
    assert 38 <= inside <= 57  # 48 expected of a right level; 38 is three deviations below
    few = dg.fit(X[:5], Y[:5], loss="absolute", penalty="none").intervals(0.95, "rank")
    assert all(np.isinf(row.low) or np.isinf(row.high) for row in few), "five rows rule out no weight"
    twice = dg.fit(np.column_stack([X, X[:, 0]]), Y, loss="absolute", penalty="none")
    with pytest.raises(DataError, match="none is a sum of others"):
        twice.intervals(method="rank")
    weighted = dg.fit(X, Y, loss="absolute", penalty="none", sample_weight=np.linspace(1, 2, N))
    for method in ("rank", "sandwich"):
        with pytest.raises(DataError, match="rows that count the same"):
            weighted.intervals(method=method)
    with pytest.raises(DataError, match="not for the squared loss"):
        free_of = dg.fit(X, Y, loss="squared", penalty="none")
        free_of.intervals(method="rank")


def test_a_tube_is_no_quantile() -> None:
    tube = dg.fit(X, Y, loss="epsilon_insensitive(0.5)", penalty="none")
    assert "bootstrap" in tube.intervals(n_boot=20, progress=False).method
    assert "low and high" not in tube.summary()


@pytest.mark.parametrize(("loss", "power"), [("poisson", 1.0), ("gamma", 2.0), ("tweedie(1.5)", 1.5)])
def test_classical_errors_of_counts_and_amounts(loss: str, power: float) -> None:
    """φ (DᵀWD)⁻¹ with W = μ^(2−p); φ is 1 for counts, else Pearson's."""
    rng = np.random.default_rng(3)
    mean = np.exp(0.3 + 0.5 * X[:, 0])
    y = rng.poisson(mean) if loss == "poisson" else rng.gamma(2.0, mean / 2.0)
    solution = dg.fit(X, y, loss=loss, penalty="none", tol=1e-10)
    mu = solution.predict(X)
    bread = np.linalg.inv((FULL.T * mu ** (2 - power)) @ FULL)
    pearson = 1.0 if loss == "poisson" else float(np.sum((y - mu) ** 2 / mu**power)) / (N - 4)
    found = solution.intervals(method="classical")
    assert np.allclose([row.error or 0.0 for row in found], np.sqrt(pearson * np.diag(bread)), rtol=1e-5)
    assert ("statistic is z" in found.method) == (loss == "poisson")


def test_after_selection_there_is_a_sentence_and_no_p_value() -> None:
    solution = dg.fit(X, Y, loss="squared", penalty="l1", lam=0.3)
    found = solution.intervals(n_boot=60)
    assert all(row.p is None for row in found) and "no p-values" in found.remark
    shares = {row.column: row.selected for row in found}
    assert shares["x0"] == 1.0 and (shares["x2"] or 0.0) < 0.9
    again = solution.intervals(n_boot=60, n_jobs=2)
    assert [row.low for row in again] == [row.low for row in found], "the seed makes them, not the processes"
    assert solution.intervals(n_boot=60, random_state=1).rows != found.rows


def test_the_bootstrap_is_near_the_textbook() -> None:
    solution = free("squared")
    wide, usual = solution.intervals(method="bootstrap", n_boot=300), solution.intervals()
    for one, other in zip(wide, usual, strict=True):
        assert one.error == pytest.approx(other.error, rel=0.35) and one.low < one.weight < one.high


def test_many_classes_are_told_class_by_class() -> None:
    y = np.array(["a", "b", "c"])[np.digitize(X @ TRUE + RNG.normal(size=N), [-0.5, 0.5])]
    found = dg.fit(X, y, loss="logistic", lam=0.1).intervals(n_boot=20)
    assert [row.column for row in found][:5] == ["a: intercept", "a: x0", "a: x1", "a: x2", "b: intercept"]


def test_what_cannot_be_is_said() -> None:
    solution = dg.fit(X, Y, loss="squared", lam=0.1)
    with pytest.raises(DataError, match="without a penalty"):
        solution.intervals(method="classical")
    with pytest.raises(DataError, match="strictly between 0 and 1"):
        solution.intervals(95)
    with pytest.raises(DataError, match="not for the absolute loss"):
        free("absolute").intervals(method="robust")
    with pytest.raises(DataError, match=r"give data=\(X, y\)"):
        pickle.loads(pickle.dumps(solution)).intervals()
    with pytest.raises(DataError, match="120 rows"):
        solution.intervals(data=(X[:50], Y[:50]))


def test_on_the_command_line_and_on_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, page = tmp_path / "rows.csv", tmp_path / "page.html"
    np.savetxt(rows, np.column_stack([X, Y]), delimiter=",", header="a,b,c,y", comments="")
    told = ["fit", str(rows), "--target", "y", "--penalty", "none", "--intervals", "0.9"]
    assert main([*told, "--report", str(page)]) == 0
    out = capsys.readouterr().out
    assert "90 % intervals, classical" in out and "low 90 %" in out
    assert "90 % intervals, classical" in page.read_text("utf-8")
    assert (
        main([*told, "--loss", "absolute", "--intervals-by", "rank", "--report", str(page), "--force"]) == 0
    )
    assert "90 % intervals, inverted rank test" in capsys.readouterr().out
    assert main([*told, "--intervals-by", "ranks"]) == 2
    assert "There is no method 'ranks'" in capsys.readouterr().err
    assert main([*told, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["intervals"]
    assert found["rows"][1]["column"] == "a" and found["rows"][1]["low"] < found["rows"][1]["weight"]


def test_summaries_have_intervals_where_a_formula_gives_them(tmp_path: Path) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    free = dg.fit(X, y, loss="squared", penalty="none")
    reach = next(row for row in free.intervals() if row.column == "bmi")
    line = next(line for line in free.summary().splitlines() if line.strip().startswith("bmi"))
    assert line.split()[3:5] == [f"{reach.low:.5g}", f"{reach.high:.5g}"]
    assert "low and high: 95 % intervals, classical" in free.summary()
    for other in (
        dg.fit(X, y, loss="squared", penalty="l1", lam=1.0),
        dg.fit(X[:8], y[:8], loss="squared", penalty="none"),  # nothing to judge by
        dg.load(free.save(tmp_path / "model.json")),  # the rows are elsewhere
    ):
        assert "low and high" not in other.summary()
    page = dg.report.write(free, tmp_path / "page.html", data=(X, y)).read_text(encoding="utf-8")
    assert "95 % intervals, classical" in page


def test_after_selection_a_sentence_says_how_often() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    found = dg.fit(X, y, loss="squared", penalty="l1", lam=5.0, standardize=True)
    reach = found.intervals(n_boot=40, progress=False)
    often = [row.column for row in reach if (row.selected or 0.0) >= 0.9 and row.column != "intercept"]
    assert f"chosen in 90 % of the resamples or more: {', '.join(often)};" in reach.remark


def test_a_column_of_next_to_nothing_is_told_without_a_warning() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = X[:, 1] + rng.normal(size=30)
    X[:, 0] *= 1e-150
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for loss in ("squared", "huber(1.35)"):
            assert "std" in dg.fit(X, y, loss=loss, penalty="none").summary()
