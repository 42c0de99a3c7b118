"""Groups of columns: agreement with another solver, and every place where users say groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.datasets import load_breast_cancer

import dualgap as dg
from dualgap.cli.main import main
from dualgap.losses import CATALOGUE
from dualgap.traits import Trait

cp = pytest.importorskip("cvxpy")

GROUPS = np.repeat([0, 1, 2], [3, 1, 2])
CONVEX = [name for name, cls in CATALOGUE.items() if Trait.CONVEX in cls().traits]


def data(loss: str, n: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(len(loss))
    X = rng.normal(size=(n, 6)) + 0.5 * rng.normal(size=(n, 1))
    z = X @ np.array([1.0, -1.0, 0.5, 0.0, 0.3, 0.0]) + rng.normal(size=n)
    facts = CATALOGUE[loss]().traits
    if Trait.CLASSIFICATION in facts:
        return X, np.where(z + rng.normal(size=n) > 0, 1.0, -1.0)
    if loss == "binomial":
        return X, np.round(8.0 / (1.0 + np.exp(-z))) / 8.0
    return X, np.exp(0.4 * z) + (0.1 if loss == "gamma" else 0.0) if Trait.MEANS in facts else z


def risk(loss: str, y: Any, z: Any) -> Any:
    """The mean loss as cvxpy writes it, up to a constant."""
    m = cp.multiply(y, z)
    return cp.sum(
        {
            "squared": lambda: cp.square(z - y),
            "absolute": lambda: cp.abs(z - y),
            "quantile": lambda: 0.5 * cp.abs(z - y),
            "huber": lambda: cp.huber(z - y, 1.35),
            "epsilon_insensitive": lambda: cp.pos(cp.abs(z - y) - 0.1),
            "squared_epsilon_insensitive": lambda: cp.square(cp.pos(cp.abs(z - y) - 0.1)),
            "hinge": lambda: cp.pos(1 - m),
            "squared_hinge": lambda: cp.square(cp.pos(1 - m)),
            "logistic": lambda: cp.logistic(-m),
            "exponential": lambda: cp.exp(-m),
            "perceptron": lambda: cp.pos(-m),
            "poisson": lambda: cp.exp(z) - m,
            "gamma": lambda: cp.multiply(y, cp.exp(-z)) + z,
            "tweedie": lambda: 2.0 * cp.multiply(y, cp.exp(-0.5 * z)) + 2.0 * cp.exp(0.5 * z),
            "binomial": lambda: cp.logistic(z) - m,
        }[loss]()
    ) / len(y)


def size(w: Any, share: float | None) -> Any:
    """α ‖w‖₁ + (1 − α) Σ √|g| ‖w_g‖₂; without α the sorted norm, as a sum of those of the largest weights."""
    if share is None:
        prices = -ndtri(np.arange(1, 7) * 0.3 / 12)
        falls = np.append(prices[:-1] - prices[1:], prices[-1])
        return sum(fall * cp.sum_largest(cp.abs(w), k + 1) for k, fall in enumerate(falls))
    parts = [np.sqrt(np.sum(g == GROUPS)) * cp.norm(w[g == GROUPS], 2) for g in range(3)]
    return share * cp.norm(w, 1) + (1 - share) * sum(parts)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("form", ["lam", "budget"])
@pytest.mark.parametrize("share", [0.0, 0.5, None])
@pytest.mark.parametrize("loss", CONVEX)
def test_agrees_with_a_conic_solver(loss: str, share: float | None, form: str) -> None:
    X, y = data(loss)
    penalty = "slope(0.3)" if share is None else f"sparse_group({share})" if share else "group_lasso"
    asked: dict[str, Any] = {"lam": 0.05} if form == "lam" else {"budget": 0.8}
    asked |= {} if share is None else {"groups": GROUPS}
    found = dg.fit(X, y, loss=loss, penalty=penalty, tol=1e-9, **asked)
    assert found.converged
    w, b = cp.Variable(6), cp.Variable()
    least = risk(loss, y, X @ w + b)
    if form == "lam":
        problem = cp.Problem(cp.Minimize(least + 0.05 * size(w, share)))
    else:
        problem = cp.Problem(cp.Minimize(least), [size(w, share) <= 0.8])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    # the loss of one is that of the other and a constant: the mean over the rows at w = 0 tells it
    at_zero = (
        CATALOGUE[loss]().value(y, np.zeros(len(y))).mean()
        - risk(loss, y, cp.Constant(np.zeros(len(y)))).value
    )
    assert found.objective == pytest.approx(float(problem.value + at_zero), rel=2e-7, abs=1e-8)
    if Trait.SMOOTH in CATALOGUE[loss]().traits:
        np.testing.assert_allclose(found.coef, w.value, atol=2e-3)


@pytest.mark.parametrize("loss", ["squared", "logistic", "quantile"])
def test_factors_weights_scales_and_no_intercept(loss: str) -> None:
    """A factor is one of a group; one of 0 leaves the group free. Standardising is scaling the columns."""
    X, y = data(loss)
    s = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    factors = np.array([2.0, 0.0, 1.0])[GROUPS]
    asked: dict[str, Any] = {"loss": loss, "penalty": "group_lasso", "lam": 0.05, "groups": GROUPS}
    found = dg.fit(X, y, penalty_factors=factors, sample_weight=s, fit_intercept=False, tol=1e-9, **asked)
    w = cp.Variable(6)
    parts = sum(
        float(factors[g == GROUPS][0]) * np.sqrt(np.sum(g == GROUPS)) * cp.norm(w[g == GROUPS], 2)
        for g in range(3)
    )
    one = CATALOGUE[loss]()
    least = sum(a * risk(loss, y[[i]], X[[i]] @ w) for i, a in enumerate(s / s.sum()))
    problem = cp.Problem(cp.Minimize(least + 0.05 * parts))
    problem.solve(solver="CLARABEL")
    mine = float((s / s.sum()) @ one.value(y, X @ w.value)) + 0.05 * float(parts.value)
    assert found.converged and found.objective == pytest.approx(mine, rel=1e-6)
    spread = X.std(axis=0)
    scaled, plain = (
        dg.fit(X, y, standardize=True, tol=1e-9, **asked),
        dg.fit(X / spread, y, tol=1e-9, **asked),
    )
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-8)


@pytest.mark.parametrize("penalty", ["group_lasso", "slope(0.3)"])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_linear_constraints(loss: str, penalty: str) -> None:
    X, y = data(loss)
    asked: dict[str, Any] = {} if penalty[0] == "s" else {"groups": GROUPS}
    rows = np.ones((1, 6)), 0.2, 0.3
    found = dg.fit(X, y, loss=loss, penalty=penalty, lam=0.05, constraints=rows, tol=1e-8, **asked)
    w, b = cp.Variable(6), cp.Variable()
    price = 0.05 * size(w, None if penalty[0] == "s" else 0.0)
    problem = cp.Problem(cp.Minimize(risk(loss, y, X @ w + b) + price), [cp.sum(w) >= 0.2, cp.sum(w) <= 0.3])
    problem.solve(solver="CLARABEL")
    assert found.converged and found.objective == pytest.approx(float(problem.value), rel=1e-6)


def test_every_way_to_say_groups() -> None:
    X, y = data("squared")
    frame = pd.DataFrame(X, columns=list("abcdef"))
    asked: dict[str, Any] = {"loss": "squared", "penalty": "group_lasso", "lam": 0.3, "tol": 1e-9}
    expected = dg.fit(X, y, groups=GROUPS, **asked)
    for groups in (list("xxxyzz"), [[0, 1, 2], [3], [4, 5]], [[2, 1, 0], (-1, -2)], [range(3), [4, 5]]):
        found = dg.fit(X, y, groups=groups, **asked)
        np.testing.assert_allclose(found.coef, expected.coef, atol=1e-8)
    found = dg.fit(frame, y, groups=[["a", "b", "c"], ["e", "f"]], **asked)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-8)
    words = frame.assign(city=np.resize(["u", "v", "w"], len(y)), day=np.resize(["m", "n"], len(y)))
    by_column = dg.fit(words, y, groups="columns", **asked)
    cities = [j for j, name in enumerate(by_column.names or ()) if name.startswith("city=")]
    assert len(cities) == 2 and len(set(by_column.coef[cities] == 0.0)) == 1


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (None, "needs groups="),
        ("rows", "not 'rows'"),
        ("columns", "X is a matrix"),
        ([1, 2], "2 labels, X has 6 columns"),
        ([["a"]], "'a', which is not a column"),
        ([[0, 1], [1]], "column 1 twice"),
        ([[0.5]], "a column is its name or a number from 0 to 5"),
        ([[6]], "from 0 to 5"),
        (3, "not int"),
    ],
)
def test_groups_that_are_none(groups: Any, words: str) -> None:
    X, y = data("squared")
    with pytest.raises(dg.errors.DataError, match=words):
        dg.fit(X, y, loss="squared", penalty="group_lasso", lam=1.0, groups=groups)


def test_refusals_of_factors_and_of_other_penalties() -> None:
    X, y = data("squared")
    with pytest.raises(dg.errors.DataError, match="one of a group: column 1 has 1"):
        factors = np.arange(6.0)
        dg.fit(X, y, loss="squared", penalty="group_lasso", lam=1.0, groups=GROUPS, penalty_factors=factors)
    with pytest.raises(dg.errors.DataError, match="not with l1"):
        dg.fit(X, y, loss="squared", penalty="l1", lam=1.0, groups=GROUPS)
    with pytest.raises(dg.errors.DataError, match="all rows in memory"):
        dg.fit(
            dg.dataset(lambda: iter([(X, y)])), loss="squared", penalty="group_lasso", lam=1.0, groups=GROUPS
        )


def test_paths_folds_estimators_and_assessments() -> None:
    X, y = data("squared", 90)
    path = dg.path(X, y, loss="squared", penalty="group_lasso", groups=GROUPS, n_lams=12)
    assert path.gaps.max() <= 1e-6 and path.n_nonzero[0] == 0 and path.n_nonzero[-1] == 6
    lam = float(path.lams[5])
    one = dg.fit(X, y, loss="squared", penalty="group_lasso", groups=GROUPS, lam=lam)
    assert path.solution(lam=lam).objective == pytest.approx(one.objective, rel=1e-6)
    search = dg.cross_validate(
        X, y, loss="squared", penalty="group_lasso", column_groups=GROUPS, n_lams=6, cv=3, progress=False
    )
    model = dg.LinearRegressorCV("squared", "group_lasso", groups=GROUPS, n_lams=6, cv=3).fit(X, y)
    assert model.lam_ == search.lam_min and search.solution.converged
    machine = dg.LinearClassifier("hinge", "sparse_group(0.3)", groups=GROUPS, lam=0.05).fit(X, y > 0)
    assert machine.solution_.converged and machine.score(X, y > 0) > 0.7
    claim: dict[str, Any] = {"loss": "squared", "penalty": "group_lasso", "groups": GROUPS, "lam": lam}
    assert dg.certify(X, y, one.coef, one.intercept, **claim).relative_gap <= 1e-6
    assert dg.certify(X, y, 1.1 * one.coef, one.intercept, **claim).relative_gap > 1e-4
    assert "group" in str(dg.explain(X, y, **claim))


@pytest.mark.parametrize("form", [{"lam": 0.02}, {"budget": 2.0}], ids=str)
@pytest.mark.parametrize("multiclass", ["multinomial", "one_vs_rest"])
def test_many_classes(multiclass: str, form: dict[str, float]) -> None:
    X, z = data("squared", 60)
    y = np.digitize(z, [-0.7, 0.7])
    found = dg.fit(X, y, loss="logistic", penalty="group_lasso", groups=GROUPS, multiclass=multiclass, **form)
    assert found.converged and found.certificate.recheck(X, y).objective == pytest.approx(found.objective)


def test_groups_at_zero_are_proven_to_be() -> None:
    X, y = data("squared", 200)
    found = dg.fit(X, y, loss="squared", penalty="group_lasso", groups=GROUPS, lam=1.0, tol=1e-10)
    idle = found.coef == 0.0
    assert idle.any() and not idle.all()
    assert found.proven_zero.any() and not np.any(found.proven_zero & ~idle)
    for g in range(3):
        assert len(set(idle[g == GROUPS])) == 1


def test_a_model_file_keeps_the_groups(tmp_path: Path) -> None:
    X, y = data("squared")
    found = dg.fit(X, y, loss="absolute", penalty="sparse_group(0.3)", groups=GROUPS, lam=0.05)
    found.save(tmp_path / "model.json")
    again = dg.load(tmp_path / "model.json")
    assert again.terms.penalty == found.terms.penalty
    assert again.certificate.recheck(X, y).bound == found.certificate.recheck(X, y).bound


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    X, y = data("squared")
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(city=np.resize(["u", "v", "w"], len(y)), y=y)
    monkeypatch.chdir(tmp_path)
    frame.to_csv("rows.csv", index=False)
    Path("groups.txt").write_text("a, b\ncity\n")
    asked = [
        "fit",
        "rows.csv",
        "--target",
        "y",
        "--penalty",
        "group_lasso",
        "--lam",
        "0.01",
        "--out",
        "m.json",
    ]
    for which in ("groups.txt", "p,p,q"):
        assert main([*asked, "--groups", which, "--report", "page.html", "--force"]) == 0
        assert dg.load("m.json").terms.penalty.parts == (0, 0, 1, 1)
    assert main(["verify", "m.json", "rows.csv"]) == 0
    assert main([*asked, "--groups", "columns", "--force"]) == 0
    assert dg.load("m.json").terms.penalty.parts == (0, 1, 2, 2)
    for verb in (["path", "--points", "5"], ["cv"]):
        words = ["rows.csv", "--target", "y", "--penalty", "group_lasso", "--groups", "columns"]
        assert main([verb[0], *words, *verb[1:]]) == 0
    capsys.readouterr()
    assert main([*asked, "--groups", "p,q", "--force"]) != 0
    assert "one label for each of the 3 columns" in capsys.readouterr().err
    Path("groups.txt").write_text("a, b\nb, size\n")
    assert main([*asked, "--groups", "groups.txt", "--force"]) != 0
    assert "line 2: 'b' is in line 1 too" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:The relative duality gap")  # no gap is so small: the solver is to run
@pytest.mark.parametrize("loss", ["squared", "logistic", "gamma", "poisson", "binomial", "squared_hinge"])
@pytest.mark.parametrize("penalty", ["group_lasso", "sparse_group(0.5)", "slope(0.1)"])
@pytest.mark.parametrize("level", [0.0, 3.0])
def test_columns_that_are_all_constant_leave_the_intercept(loss: str, penalty: str, level: float) -> None:
    _, y = data(loss)
    X = np.full((len(y), 3), level)
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "lam": 0.1, "tol": 1e-15, "max_time": 1.0}
    if "group" in penalty:
        asked |= {"solver": "group_descent", "groups": [0, 0, 1]}
    else:
        asked |= {"solver": "sorted_descent"}
    found = dg.fit(X, y, **asked)
    alone = dg.fit(np.zeros((len(y), 1)), y, loss=loss, penalty="none")
    assert not found.coef.any()
    assert found.objective == pytest.approx(alone.objective, rel=1e-12)


@pytest.mark.parametrize("sequence", [[1.0] * 40, [1.0] + [0.0] * 39, list(np.linspace(2.0, 0.0, 40))])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_any_falling_prices_have_one_optimum(loss: str, sequence: list[float]) -> None:
    """All equal are l1, one alone is the largest weight; two solvers prove the same of all."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 40))
    y = X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=60)
    asked: dict[str, Any] = {"penalty": dg.penalties.Slope(sequence=sequence), "lam": 0.05, "loss": loss}
    y = np.sign(y) if loss == "logistic" else y
    found = dg.fit(X, y, solver="sorted_descent", **asked)
    other = dg.fit(X, y, solver="augmented_lagrangian", **asked)
    assert found.converged and other.converged
    assert found.bound <= other.objective and other.bound <= found.objective
    if sequence[-1] == 1.0:
        lasso = dg.fit(X, y, loss=loss, penalty="l1", lam=0.05)
        assert found.objective == pytest.approx(lasso.objective, rel=2e-6)


@pytest.mark.parametrize("label", [np.nan, None])
def test_a_label_that_is_missing_is_none(label: Any) -> None:
    X, y = data("squared")
    labels = [0] * (X.shape[1] - 1) + [label]
    with pytest.raises(dg.errors.DataError, match="no label for column"):
        dg.fit(X, y, loss="squared", penalty="group_lasso", lam=0.1, groups=labels)


@pytest.mark.parametrize("penalty", ["mcp(3)", "l21"])
def test_a_path_of_targets_that_are_constant_has_one_point(penalty: str) -> None:
    X, y = data("squared")
    target = np.ones((len(y), 2)) if penalty == "l21" else np.ones(len(y))
    path = dg.path(X, target, loss="squared", penalty=penalty, n_lams=4)
    assert len(path) == 1 and not path.n_nonzero.any()


def test_sorted_prices_of_nothing_are_refused() -> None:
    X, y = data("squared")
    with pytest.raises(dg.errors.DataError, match="single column"):
        dg.fit(X[:, :1], y, loss="squared", penalty="slope(1.0)", budget=1.0)
    assert dg.fit(X[:, :2], y, loss="squared", penalty="slope(1.0)", budget=1.0).converged


def test_a_series_goes_by_the_names_in_its_index() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=list("abcd"))
    y = rng.normal(size=40)
    turned = pd.Index(list("dcba"))
    asked: dict[str, Any] = {"loss": "squared", "penalty": "group_lasso", "lam": 0.05}
    plain = dg.fit(frame, y, groups=[0, 1, 1, 1], **asked)
    found = dg.fit(frame, y, groups=pd.Series([1, 1, 1, 0], index=turned), **asked)
    assert found.objective == pytest.approx(plain.objective, rel=1e-12)
    asked = {"loss": "squared", "penalty": "l1", "lam": 0.02}
    low = pd.Series([0.3, 0.2, -1.0, 0.1], index=turned)
    found = dg.fit(
        frame, y, bounds=(low, 1.0), penalty_factors=pd.Series([0, 1, 2, 3], index=turned), **asked
    )
    assert np.all(found.coef >= [0.1, -1.0, 0.2, 0.3])
    plain = dg.fit(frame, y, bounds=([0.1, -1.0, 0.2, 0.3], 1.0), penalty_factors=[3, 2, 1, 0], **asked)
    np.testing.assert_array_equal(found.coef, plain.coef)
    # an index of other words says nothing of columns
    by_place = dg.fit(frame, y, penalty_factors=pd.Series([3, 2, 1, 0], index=list("wxyz")), **asked)
    plain = dg.fit(frame, y, penalty_factors=[3, 2, 1, 0], **asked)
    np.testing.assert_array_equal(by_place.coef, plain.coef)


def test_a_search_says_which_groups_are_those_of_columns() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    with pytest.raises(dg.errors.DataError, match="needs column_groups="):
        dg.cross_validate(X, y, loss="squared", penalty="group_lasso", groups=[0, 0, 1, 1])
    found = dg.cross_validate(
        X, y, loss="squared", penalty="group_lasso", column_groups=[0, 0, 1, 1], n_lams=3, progress=False
    )
    assert found.solution.converged


@pytest.mark.parametrize(("loss", "level", "end"), [("poisson", 0.0, "minus"), ("binomial", 1.0, "plus")])
def test_an_intercept_without_end_is_told_with_its_side(loss: str, level: float, end: str) -> None:
    with pytest.raises(dg.errors.UnboundedError, match=f"the intercept goes to {end} infinity"):
        dg.fit(np.arange(6.0)[:, None], np.full(6, level), loss=loss, penalty="l2", lam=0.1)


@pytest.mark.parametrize("penalty", ["group_lasso", "sparse_group(0.5)"])
@pytest.mark.parametrize("form", ["lam", "budget"])
@pytest.mark.parametrize("loss", CONVEX)
def test_raw_columns_of_one_group_may_be_of_any_size(loss: str, form: str, penalty: str) -> None:
    X, y = data(loss)
    sizes = 10.0 ** np.array([-2.0, 0.0, 3.0, 2.0, -3.0, 2.0])
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "groups": GROUPS, form: 0.01}
    found = dg.fit(X * sizes, y, **asked)
    assert found.converged, found
    assert found.certificate.recheck(X * sizes, y).bound <= found.objective


@pytest.mark.parametrize(
    "strength", [{"lam": 0.05}, {"lam": 1e-5}, {"budget": 1.0}, {"budget": 100.0}], ids=str
)
@pytest.mark.parametrize("penalty", ["group_lasso", "sparse_group(0.5)"])
@pytest.mark.parametrize("loss", ["hinge", "absolute", "logistic"])
def test_groups_of_raw_columns_are_proven(loss: str, penalty: str, strength: dict[str, float]) -> None:
    rows, labels = load_breast_cancer(return_X_y=True)  # columns from thousandths to thousands
    groups = np.arange(rows.shape[1]) // 3
    found = dg.fit(rows, labels, loss=loss, penalty=penalty, groups=groups, **strength)
    assert found.converged and found.relative_gap <= 1e-6
    again = found.certificate.recheck(rows, labels)
    assert again.bound <= found.objective and again.gap <= 2e-6 * found.objective


@pytest.mark.parametrize("form", ["lam", "budget"])
@pytest.mark.parametrize("loss", ["hinge", "quantile(0.3)", "squared_hinge"])
def test_many_groups_with_more_columns_than_rows(loss: str, form: str) -> None:
    rng = np.random.default_rng(5)
    X, groups = rng.standard_normal((30, 90)), np.arange(90) % 31
    y = np.where(X[:, 0] + X[:, 31] + 0.3 * rng.standard_normal(30) > 0.0, 1.0, -1.0)
    asked: dict[str, Any] = {"loss": loss, "penalty": "sparse_group(0.3)", "groups": groups}
    strength = {form: 0.02 if form == "lam" else 0.5}
    one = dg.fit(X, y, solver="interior_point", **asked, **strength)
    other = dg.fit(X, y, solver="augmented_lagrangian", **asked, **strength)
    assert one.converged and other.converged
    assert max(one.bound, other.bound) <= min(one.objective, other.objective)
