"""Offsets: every prediction counted from a number of its row, for every convex loss, in every call."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector
from dualgap.cli.main import main
from dualgap.errors import DataError, ModelFileError
from dualgap.losses import CATALOGUE
from dualgap.traits import Trait

CONVEX = tuple(name for name, kind in CATALOGUE.items() if Trait.CONVEX in kind().traits)
TRANSLATING = tuple(name for name in CONVEX if CATALOGUE[name].translates)
PENALTIES = ("l1", "l2", "elastic_net(0.5)", "linf", "none")


def rows(loss: str, n: int = 60, p: int = 4, seed: int = 0) -> tuple[Matrix, Any, Vector]:
    """X, y and an offset that matters."""
    rng = np.random.default_rng(seed)
    X, offset = rng.normal(size=(n, p)), rng.normal(size=n) + 1.0
    z = X @ rng.normal(size=p) * 0.4 + offset
    if loss in ("poisson", "tweedie"):
        return X, rng.poisson(np.exp(z)).astype(float), offset
    if loss == "gamma":
        return X, rng.gamma(2.0, 0.5 * np.exp(z)), offset
    if loss == "binomial":
        return X, rng.binomial(6, 1.0 / (1.0 + np.exp(1.0 - z))) / 6.0, offset
    if Trait.CLASSIFICATION in CATALOGUE[loss]().traits:
        return X, np.where(z - 1.0 + rng.normal(size=n) > 0.0, 1, -1), offset
    return X, z + rng.normal(size=n), offset


def strength(penalty: str) -> dict[str, float]:
    return {} if penalty == "none" else {"lam": 0.05}


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", CONVEX)
def test_every_loss_is_proven_and_its_objective_is_that_of_the_shifted_predictions(
    loss: str, penalty: str
) -> None:
    X, y, offset = rows(loss)
    found = dg.fit(X, y, loss=loss, penalty=penalty, offset=offset, **strength(penalty))
    assert found.converged
    z = X @ found.coef + found.intercept + offset
    mean = float(CATALOGUE[loss]().value(y.astype(float), z).mean())
    assert found.objective == pytest.approx(mean + found.price, rel=1e-9)
    again = found.certificate.recheck(X, y)
    assert again.gap <= 2e-6 * max(again.objective, 1e-4 * found.facts["null"])
    judged = dg.certify(X, y, found.coef, found.intercept, loss=loss, penalty=penalty, offset=offset,
                        **strength(penalty))  # fmt: skip
    assert judged.relative_gap <= 1e-6
    np.testing.assert_array_equal(found.decision_function(X, offset), z)


@pytest.mark.parametrize("loss", CONVEX)
def test_a_constant_offset_is_taken_from_the_intercept(loss: str) -> None:
    X, y, _ = rows(loss)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l2", "lam": 0.05, "tol": 1e-10}
    plain, moved = dg.fit(X, y, **asked), dg.fit(X, y, offset=0.75, **asked)
    assert moved.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(moved.coef, plain.coef, atol=1e-4)
    np.testing.assert_allclose(moved.intercept + 0.75, plain.intercept, atol=1e-3)


@pytest.mark.parametrize("loss", TRANSLATING)
def test_where_only_differences_count_it_is_taken_from_the_target(loss: str) -> None:
    X, y, offset = rows(loss)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l1", "lam": 0.05, "tol": 1e-9}
    found, moved = dg.fit(X, y, offset=offset, **asked), dg.fit(X, y - offset, **asked)
    assert found.objective == pytest.approx(moved.objective, rel=1e-8)


def test_rates_are_counts_over_exposure_weighted_by_it() -> None:
    X, y, offset = rows("poisson")
    exposure = np.exp(offset)
    asked: dict[str, Any] = {"loss": "poisson", "penalty": "l2", "tol": 1e-12}
    counts = dg.fit(X, y, lam=0.1, offset=offset, **asked)
    share = exposure.sum() / len(y)
    rates = dg.fit(X, y / exposure, lam=0.1 / share, sample_weight=exposure, **asked)
    np.testing.assert_allclose(counts.coef, rates.coef, rtol=1e-6)
    assert counts.intercept == pytest.approx(rates.intercept, rel=1e-6)
    np.testing.assert_allclose(counts.predict(X, offset), rates.predict(X) * exposure, rtol=1e-6)
    np.testing.assert_allclose(counts.predict(X, 0), rates.predict(X), rtol=1e-6)


@pytest.mark.parametrize("loss", ["poisson", "logistic", "hinge", "squared_hinge", "gamma"])
@pytest.mark.parametrize("form", [{"lam": 0.05}, {"budget": 0.4}])
def test_a_conic_solver_agrees(loss: str, form: dict[str, float]) -> None:
    cp = pytest.importorskip("cvxpy")
    X, y, offset = rows(loss)
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    z = X @ w + b + offset
    each = {
        "poisson": lambda: (
            cp.exp(z) - cp.multiply(y, z) - y + np.where(y > 0, y * np.log(np.maximum(y, 1)), 0)
        ),
        "gamma": lambda: cp.multiply(y, cp.exp(-z)) + z - np.log(y) - 1.0,
        "logistic": lambda: cp.logistic(-cp.multiply(y, z)),
        "hinge": lambda: cp.pos(1 - cp.multiply(y, z)),
        "squared_hinge": lambda: cp.square(cp.pos(1 - cp.multiply(y, z))),
    }[loss]()
    mean = cp.sum(each) / len(y)
    problem = (
        cp.Problem(cp.Minimize(mean + form["lam"] * cp.norm1(w)))
        if "lam" in form
        else cp.Problem(cp.Minimize(mean), [cp.norm1(w) <= form["budget"]])
    )
    problem.solve(solver="CLARABEL")
    found = dg.fit(X, y, loss=loss, penalty="l1", offset=offset, tol=1e-9, **form)
    assert found.objective == pytest.approx(problem.value, rel=1e-6)


def test_some_rows_take_their_offset_along() -> None:
    """Rows of weight zero, and rows given twice."""
    X, y, offset = rows("logistic")
    asked: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "lam": 0.02, "tol": 1e-10}
    times = np.random.default_rng(1).integers(0, 3, len(y))
    again = np.repeat(np.arange(len(y)), times)
    weighted = dg.fit(X, y, sample_weight=times, offset=offset, **asked)
    copied = dg.fit(X[again], y[again], offset=offset[again], **asked)
    assert weighted.objective == pytest.approx(copied.objective, rel=1e-9)
    same = np.zeros_like(X)
    found = dg.fit(same, y, offset=offset, **asked)
    assert found.converged and not found.coef.any()


@pytest.mark.parametrize("loss", ["squared", "hinge", "poisson"])
def test_paths_and_searches(loss: str) -> None:
    X, y, offset = rows(loss)
    path = dg.path(X, y, loss=loss, penalty="l1", offset=offset, n_lams=6)
    assert path.exact == (loss != "poisson")
    lam = float(path.lams[len(path) // 2])
    one = dg.fit(X, y, loss=loss, penalty="l1", lam=lam, offset=offset, tol=1e-9)
    assert path.solution(lam=lam).objective == pytest.approx(one.objective, rel=1e-6)
    np.testing.assert_allclose(path.test_risks(X, y, offset), path.risks, rtol=1e-9)
    assert path.decision_functions(X, offset).shape == (len(path), len(y))
    search = dg.cross_validate(
        X, y, loss=loss, penalty="l2", offset=offset, lams=[1e-1, 1e-3], cv=3, tol=1e-9
    )
    folds = np.array_split(np.arange(len(y)), 3)
    if loss != "hinge":
        by_hand = []
        for k, test in enumerate(folds):
            train = np.setdiff1d(np.arange(len(y)), test)
            fitted = dg.fit(
                X[train], y[train], loss=loss, penalty="l2", lam=0.1, offset=offset[train], tol=1e-9
            )
            z = X[test] @ fitted.coef + fitted.intercept + offset[test]
            by_hand.append(CATALOGUE[loss]().value(y[test], z).mean())
            assert search.scores[k][0] == pytest.approx(by_hand[k], rel=1e-4)
    stable = dg.stability(X, y, loss=loss, penalty="l1", lam=lam, offset=offset, resamples=3)
    np.testing.assert_allclose(stable.solution.objective, one.objective, rtol=1e-5)
    assert "offset" in str(dg.explain(X, y, loss=loss, lam=0.1, offset=offset))


def test_intervals_are_those_of_the_shifted_predictions() -> None:
    X, y, offset = rows("squared")
    found = dg.fit(X, y, loss="squared", penalty="none", offset=offset).intervals()
    plain = dg.fit(X, y - offset, loss="squared", penalty="none").intervals()
    for one, other in zip(found, plain, strict=True):
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-6)
    counted = dg.fit(*rows("poisson")[:2], loss="poisson", lam=0.1, offset=offset)
    drawn = counted.intervals(method="bootstrap", n_boot=20, progress=False)
    assert all(one.low <= one.high for one in drawn)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_of_frames(kind: str) -> None:
    X, y, offset = rows("poisson")
    table: Any = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"exposure": np.exp(offset), "o": offset}
    frame = pd.DataFrame(table) if kind == "pandas" else pytest.importorskip("polars").DataFrame(table)
    asked: dict[str, Any] = {"loss": "poisson", "lam": 0.1}
    plain = dg.fit(X, y, offset=offset, **asked)
    less = frame.drop(columns=["o"]) if kind == "pandas" else frame.drop("o")
    found = dg.fit(less, y, offset="log(exposure)", **asked)
    assert found.names == tuple(f"x{j}" for j in range(X.shape[1]))
    np.testing.assert_allclose(found.coef, plain.coef, rtol=1e-9)
    np.testing.assert_allclose(found.predict(less), plain.predict(X, offset), rtol=1e-9)
    assert "log(exposure)" in found.summary()
    assert found.certificate.recheck(less, y).gap <= 2e-6 * found.objective
    named = frame.drop(columns=["exposure"]) if kind == "pandas" else frame.drop("exposure")
    np.testing.assert_allclose(dg.fit(named, y, offset="o", **asked).coef, plain.coef, rtol=1e-9)
    with pytest.raises(DataError, match="is not a column of X; there are x0"):
        dg.fit(named, y, offset="exposures", **asked)
    with pytest.raises(DataError, match="'exposure' is -1 in row 2, which has no logarithm"):
        dg.fit(pd.DataFrame(table).drop(columns="o").assign(exposure=[1.0, 1.0, -1.0] + [1.0] * 57), y,
               offset="log(exposure)", **asked)  # fmt: skip


def test_estimators() -> None:
    X, y, offset = rows("poisson")
    solved = dg.fit(X, y, loss="poisson", C=1.0, offset=offset)
    model = dg.LinearRegressor("poisson").fit(X, y, offset=offset)
    np.testing.assert_array_equal(model.coef_, solved.coef)
    np.testing.assert_allclose(model.predict(X, offset), np.exp(X @ solved.coef + solved.intercept + offset))
    null = dg.fit(np.zeros((len(y), 1)), y, loss="poisson", lam=1.0, offset=offset).objective
    mean = solved.objective - solved.price
    assert model.score(X, y, offset=offset) == pytest.approx(1.0 - mean / null, rel=1e-6)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(logged=offset)
    named = dg.LinearRegressor("poisson").fit(frame, y, offset="logged")
    assert named.n_features_in_ == X.shape[1]
    np.testing.assert_allclose(named.predict(frame), model.predict(X, offset), rtol=1e-9)
    np.testing.assert_allclose(named.predict(frame.drop(columns="logged"), 0), model.predict(X, 0), rtol=1e-9)
    with pytest.raises(DataError, match=r"fitted with an offset: give offset=.*'logged'"):
        named.predict(frame.drop(columns="logged"))
    searched = dg.LinearRegressorCV("poisson", n_lams=4, cv=3).fit(X, y, offset=offset)
    assert searched.score(X, y, offset=offset) > 0.0
    X, y, offset = rows("logistic")
    machine = dg.LinearClassifier().fit(X, y, offset=offset)
    z = machine.decision_function(X, offset)
    np.testing.assert_allclose(z, machine.decision_function(X, 0) + offset)
    np.testing.assert_allclose(machine.predict_proba(X, offset)[:, 1], 1.0 / (1.0 + np.exp(-z)))
    assert machine.score(X, y, offset=offset) == np.mean((z > 0) == (y > 0))


@pytest.mark.parametrize(
    "loss", ["squared", "absolute", "huber", "poisson", "logistic", "hinge", "squared_hinge"]
)
def test_kernel_machines(loss: str) -> None:
    X, y, offset = rows(loss)
    classes = Trait.CLASSIFICATION in CATALOGUE[loss]().traits
    kind = dg.KernelClassifier if classes else dg.KernelRegressor
    model = kind(loss, "linear", lam=0.1).fit(X, y, offset=offset)
    plain = dg.fit(X, y, loss=loss, penalty="l2", lam=0.1, offset=offset)
    assert model.solution_.objective == pytest.approx(plain.objective, rel=3e-6)
    assert model.solution_.relative_gap <= 1e-6
    again = model.solution_.certificate.recheck(X @ X.T, y)
    assert again.gap <= 3e-6 * plain.facts["null"]
    predicted = model.decision_function(X, offset) if classes else model.linear_predictor(X, offset)
    np.testing.assert_allclose(predicted, plain.decision_function(X, offset), atol=2e-2)
    with pytest.raises(DataError, match="fitted with an offset"):
        model.predict(X)


def test_model_files_keep_it_and_verify_it(tmp_path: Path) -> None:
    X, y, offset = rows("poisson")
    found = dg.fit(X, y, loss="poisson", lam=0.1, offset=offset)
    place = found.save(tmp_path / "model.json", data=(X, y))
    loaded = dg.load(place)
    np.testing.assert_array_equal(loaded.predict(X, offset), found.predict(X, offset))
    assert loaded.certificate.recheck(X, y).gap <= 2e-6 * found.objective
    assert json.loads(place.read_text())["version"] == 3
    with pytest.raises(DataError, match="Xw \\+ b alone"):
        found.export(tmp_path / "model.sql")
    document = json.loads(place.read_text())
    document["objective"]["offset"] = document["objective"]["offset"][:-1]
    bad = tmp_path / "bad.json"
    from dualgap.files.store import write_document

    del document["checksum"]
    write_document(bad, document, {})
    with pytest.raises(ModelFileError, match="offset"):
        dg.load(bad)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y, offset = rows("poisson")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(exposure=np.exp(offset), claims=y.astype(int))
    data, model, page = tmp_path / "claims.csv", tmp_path / "model.json", tmp_path / "page.html"
    frame.to_csv(data, index=False)
    asked = ["--target", "claims", "--loss", "poisson", "--offset", "log(exposure)"]
    fit = ["fit", str(data), *asked, "--lam", "0.1", "--no-standardise", "--hold-out", "0.2"]
    assert main([*fit, "--out", str(model), "--report", str(page)]) == 0
    assert "with an offset (log(exposure))" in capsys.readouterr().out
    assert "offset=offset" in page.read_text() and "log(exposure)" in page.read_text()
    fit = ["fit", str(data), *asked, "--lam", "0.1", "--no-standardise"]
    assert main([*fit, "--out", str(model), "--force"]) == 0
    plain = dg.fit(X, y, loss="poisson", lam=0.1, offset=np.log(frame["exposure"]))
    loaded = dg.load(model)
    np.testing.assert_allclose(loaded.coef, plain.coef, rtol=1e-6)
    assert loaded.terms.offset_name == "log(exposure)"
    capsys.readouterr()
    assert main(["predict", str(model), str(data)]) == 0
    told = [float(line) for line in capsys.readouterr().out.split()[1:]]
    np.testing.assert_allclose(told, plain.predict(X, np.log(frame["exposure"])), rtol=1e-6)
    assert main(["verify", str(model), str(data)]) == 0
    other = tmp_path / "other.csv"
    frame.assign(exposure=2.0 * frame["exposure"]).to_csv(other, index=False)
    assert main(["verify", str(model), str(other)]) == 1
    assert "the offset of these rows is not that of the fit" in capsys.readouterr().out
    assert main(["report", str(model), str(data), "--out", str(page), "--force"]) == 0
    assert "+ o<sub>i</sub>" in page.read_text()
    for verb in (["cv", "--folds", "3"], ["path", "--points", "4"], ["explain"]):
        assert main([verb[0], str(data), *asked, *verb[1:]]) == 0
    _, _, recipe, shift = dg.tables.read(str(data), target="claims", offset="log(exposure)")
    assert recipe.names == tuple("abcd")
    np.testing.assert_allclose(shift, offset)
    assert main(["fit", str(data), "--target", "claims", "--offset", "exposures", "--lam", "1"]) != 0


def test_pages(tmp_path: Path) -> None:
    X, y, offset = rows("poisson")
    search = dg.cross_validate(X, y, loss="poisson", offset=offset, n_lams=4, cv=3)
    path = dg.path(X, y, loss="poisson", offset=offset, n_lams=4)
    half = (X[:20], y[:20], offset[:20])
    page = dg.report.write(search, tmp_path / "page.html", along=path, data=(X, y), test=half)
    assert "D²" in Path(page).read_text() and "o<sub>i</sub>" in Path(page).read_text()


def test_what_has_no_offset_says_so() -> None:
    X, y, offset = rows("squared")
    asked: dict[str, Any] = {"loss": "squared", "lam": 0.1}
    with pytest.raises(DataError, match="X has 60 rows, offset has 59"):
        dg.fit(X, y, offset=offset[1:], **asked)
    with pytest.raises(DataError, match="offset is nan in row 3"):
        dg.fit(X, y, offset=np.where(np.arange(60) == 3, np.nan, offset), **asked)
    with pytest.raises(DataError, match="exposure of 0"):
        dg.fit(X, y, offset=np.where(np.arange(60) == 3, -np.inf, offset), **asked)
    with pytest.raises(DataError, match="names a column, and X has no names"):
        dg.fit(X, y, offset="o", **asked)
    with pytest.raises(DataError, match=r"give np\.log\(exposure\)"):
        dg.fit(X, np.abs(y), loss="poisson", lam=0.1, offset=1000.0 * np.abs(offset))
    with pytest.raises(DataError, match="3 classes"):
        dg.fit(X, np.arange(60) % 3, loss="logistic", lam=0.1, offset=offset)
    with pytest.raises(DataError, match="search for zero_one"):
        dg.fit(X, np.sign(y), loss="zero_one", penalty="none", offset=offset)
    with pytest.raises(DataError, match="search for squared with l0"):
        dg.fit(X, y, loss="squared", penalty="l0", budget=2, offset=offset)
    with pytest.raises(DataError, match="hard margin"):
        dg.fit(X, np.sign(y), loss="hinge", C=np.inf, offset=offset)
    found = dg.fit(X, y, **asked)
    with pytest.raises(DataError, match="fitted without an offset"):
        found.predict(X, offset)
    shifted = dg.fit(X, y, offset=offset, **asked)
    with pytest.raises(DataError, match="fitted with an offset: give offset="):
        shifted.predict(X)
    with pytest.raises(DataError, match="leave sample_weight and offset out"):
        dg.certify(X, y, shifted, offset=offset)
    assert dg.certify(X, y, shifted).relative_gap <= 1e-6


def test_another_offset_is_another_problem() -> None:
    X, y, offset = rows("logistic")
    found = dg.fit(X, y, loss="logistic", lam=0.01, offset=offset)
    terms = dataclasses.replace(found.terms, offset=offset + np.linspace(-1.0, 1.0, len(y)))
    false = dataclasses.replace(found.certificate, terms=terms).recheck(X, y)
    assert false.gap > 1e-3 * false.objective


@pytest.mark.parametrize("loss", CONVEX)
@pytest.mark.parametrize("penalty", ["l2", "l2_norm", "elastic_net(0.5)"])
def test_a_ball_with_more_columns_than_rows_takes_an_offset(loss: str, penalty: str) -> None:
    X, y, offset = rows(loss, n=3, p=12, seed=1)
    if Trait.CLASSIFICATION in CATALOGUE[loss]().traits:
        y = np.array([1, -1, 1])
    asked: dict[str, Any] = {"loss": loss, "penalty": penalty, "budget": 20.0, "fit_intercept": False}
    for solver in ("auto", "interior_point"):
        found = dg.fit(X, y, offset=offset, **asked, solver=solver)
        assert found.converged, (solver, found)
