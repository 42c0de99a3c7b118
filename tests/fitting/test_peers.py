"""Models of other libraries: what certify judges is the objective that each of them documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import svm

import dualgap as dg
from dualgap.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore")

Array = NDArray[np.float64]
RNG = np.random.default_rng(3)
N, P = 80, 5
X = RNG.normal(size=(N, P)) + 0.3
Z = X @ np.array([1.0, -1.5, 0.0, 0.5, 0.2]) + RNG.normal(size=N)
LABELS = (Z > 0.2).astype(int)
SIGNS = np.where(LABELS == 1, 1.0, -1.0)
NEAR = 1e-3  # of what first-order peers reach


def logistic(z: Array) -> Array:
    return np.logaddexp(0.0, -SIGNS * z)


def judged(model: Any, y: Any, stated: float, mean: float = 1.0) -> None:
    """The excess is small, and the objective is the peer's own but for the factor of the mean loss."""
    found = dg.certify(X, y, model)
    assert found.excess <= NEAR * abs(found.objective)
    assert found.objective * mean == pytest.approx(stated, rel=1e-9)


def net(w: Array, r: Array, alpha: float, ratio: float) -> float:
    return float(r @ r / (2 * N) + alpha * (ratio * np.abs(w).sum() + 0.5 * (1 - ratio) * w @ w))


@pytest.mark.parametrize("package", ["skglm", "celer"])
def test_lasso_and_elastic_net(package: str) -> None:
    peer = pytest.importorskip(package, reason=f"{package} is not installed")
    for model, ratio in ((peer.Lasso(alpha=0.1), 1.0), (peer.ElasticNet(alpha=0.1, l1_ratio=0.4), 0.4)):
        model.fit(X, Z)
        judged(model, Z, net(model.coef_, Z - model.predict(X), 0.1, ratio), 0.5)


def test_classifiers_of_skglm_and_celer() -> None:
    skglm = pytest.importorskip("skglm", reason="skglm is not installed")
    model = skglm.SparseLogisticRegression(alpha=0.02, tol=1e-8).fit(X, LABELS)
    w, z = model.coef_.ravel(), X @ model.coef_.ravel() + model.intercept_
    judged(model, LABELS, float(logistic(z).mean() + 0.02 * np.abs(w).sum()))
    machine = skglm.LinearSVC(C=0.5, tol=1e-8).fit(X, LABELS)
    w = machine.coef_.ravel()
    judged(machine, LABELS, float(0.5 * np.maximum(1 - SIGNS * (X @ w), 0).sum() + 0.5 * w @ w), 0.5 * N)
    celer = pytest.importorskip("celer", reason="celer is not installed")
    model = celer.LogisticRegression(C=0.5, tol=1e-8).fit(X, LABELS)
    w = model.coef_.ravel()
    judged(model, LABELS, float(0.5 * logistic(X @ w).sum() + np.abs(w).sum()), 0.5 * N)
    with pytest.raises(DataError, match="certify cannot read a MCPRegression"):
        dg.certify(X, Z, skglm.MCPRegression(alpha=0.1).fit(X, Z))


def test_models_of_skglm_that_are_put_together() -> None:
    skglm = pytest.importorskip("skglm", reason="skglm is not installed")
    from skglm.datafits import Huber, Logistic, Quadratic
    from skglm.penalties import L1, MCPenalty, WeightedL1

    made = skglm.GeneralizedLinearEstimator
    model = made(Huber(0.8), L1(0.05)).fit(X, Z)
    r = np.abs(Z - model.predict(X))
    stated = np.where(r < 0.8, 0.5 * r * r, 0.8 * r - 0.32).mean() + 0.05 * np.abs(model.coef_).sum()
    judged(model, Z, float(stated), 0.5)
    prices = np.array([1.0, 0.5, 2.0, 1.0, 3.0])
    model = made(Logistic(), WeightedL1(0.02, prices)).fit(X, LABELS)
    w, z = model.coef_.ravel(), X @ model.coef_.ravel() + model.intercept_
    judged(model, LABELS, float(logistic(z).mean() + 0.02 * prices @ np.abs(w)))
    with pytest.raises(
        DataError, match="Quadratic with MCPenalty is not read; the datafits Quadratic, Huber"
    ):
        dg.certify(X, Z, made(Quadratic(), MCPenalty(0.1, 3.0)).fit(X, Z))


@pytest.mark.parametrize("package", ["skglm", "celer"])
def test_columns_with_prices_of_their_own_and_groups(package: str) -> None:
    peer = pytest.importorskip(package, reason=f"{package} is not installed")
    prices = np.array([1.0, 0.5, 2.0, 1.0, 3.0])
    weighted = peer.WeightedLasso if package == "skglm" else peer.Lasso
    model = weighted(alpha=0.1, weights=prices, tol=1e-8).fit(X, Z)
    r = Z - model.predict(X)
    judged(model, Z, float(r @ r / (2 * N) + 0.1 * prices @ np.abs(model.coef_)), 0.5)
    for groups in ([[0, 3], [1, 2, 4]], [2, 3], 5):
        model = peer.GroupLasso(groups=groups, alpha=0.1, tol=1e-8).fit(X, Z)
        lists = {2: [[0, 1], [2, 3, 4]], 5: [[0, 1, 2, 3, 4]]}
        parts = groups if groups == [[0, 3], [1, 2, 4]] else lists[groups if groups == 5 else 2]
        r = Z - model.predict(X)
        size = sum(float(np.linalg.norm(model.coef_[part])) for part in parts)
        judged(model, Z, float(r @ r / (2 * N) + 0.1 * size), 0.5)


def test_glum() -> None:
    glum = pytest.importorskip("glum", reason="glum is not installed")
    told: dict[str, Any] = {"alpha": 0.1, "l1_ratio": 0.3, "gradient_tol": 1e-8}
    model = glum.GeneralizedLinearRegressor(family="normal", **told).fit(X, Z)
    judged(model, Z, net(model.coef_, Z - model.predict(X), 0.1, 0.3), 0.5)
    model = glum.GeneralizedLinearRegressor(family="binomial", **told).fit(X, LABELS)
    w, z = model.coef_, X @ model.coef_ + model.intercept_
    judged(model, LABELS, float(logistic(z).mean() + 0.1 * (0.3 * np.abs(w).sum() + 0.35 * w @ w)))
    bounded = glum.GeneralizedLinearRegressor(family="normal", lower_bounds=np.zeros(P), **told).fit(X, Z)
    with pytest.raises(DataError, match="lower_bounds constrains the weights"):
        dg.certify(X, Z, bounded)
    with pytest.raises(DataError, match="the link"):
        dg.certify(
            X, np.exp(Z), glum.GeneralizedLinearRegressor(family="normal", link="log").fit(X, np.exp(Z))
        )


def test_statsmodels() -> None:
    models = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    with_ones = models.add_constant(X)
    plain = models.OLS(Z, with_ones).fit()
    for table in (X, with_ones):
        found = dg.certify(table, Z, plain)
        assert found.excess <= 1e-9 and found.objective == pytest.approx(float(np.mean(plain.resid**2)))
    quantile = models.QuantReg(Z, with_ones).fit(q=0.3)
    r = np.asarray(quantile.resid)
    judged(quantile, Z, float(np.maximum(0.3 * r, -0.7 * r).mean()))
    judged(
        models.Logit(LABELS, with_ones).fit(disp=0),
        LABELS,
        -models.Logit(LABELS, with_ones).fit(disp=0).llf / N,
    )
    family = models.families.Binomial()
    judged(
        models.GLM(LABELS, with_ones, family=family).fit(), LABELS, plain_deviance(models, with_ones, family)
    )
    with pytest.raises(DataError, match="certify cannot read a RLM"):
        dg.certify(X, Z, models.RLM(Z, with_ones).fit())
    with pytest.raises(DataError, match="does not keep its penalty"):
        dg.certify(X, Z, models.OLS(Z, with_ones).fit_regularized(alpha=0.1))


def plain_deviance(models: Any, table: Array, family: Any) -> float:
    return float(models.GLM(LABELS, table, family=family).fit().deviance / (2 * N))


def liblinear(path: Path, solver: str, coef: Array, labels: str, bias: float = -1) -> Path:
    rows = "\n".join(" ".join(map(repr, row.tolist())) + " " for row in np.atleast_2d(coef).T)
    head = f"solver_type {solver}\nnr_class 2\nlabel {labels}\nnr_feature {P}\nbias {bias:g}\nw\n"
    path.write_text(head + rows + "\n")
    return path


def test_files_of_liblinear(tmp_path: Path) -> None:
    model = svm.LinearSVC(C=0.7, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, LABELS)
    w = model.coef_[0]
    file = liblinear(tmp_path / "a.model", "L2R_L2LOSS_SVC_DUAL", w, "1 0")
    stated = float(0.7 * (np.maximum(1 - SIGNS * (X @ w), 0) ** 2).sum() + 0.5 * w @ w)
    found = dg.certify(X, LABELS, file, C=0.7)
    assert found.excess <= 1e-6 and found.objective * 0.7 * N == pytest.approx(stated)
    turned = liblinear(tmp_path / "b.model", "L2R_L2LOSS_SVC_DUAL", -w, "0 1")
    assert dg.certify(X, LABELS, str(turned), C=0.7).objective == pytest.approx(found.objective)
    wide = np.column_stack([X, np.zeros(N)])  # a column that the file does not mention
    assert dg.certify(wide, LABELS, file, C=0.7).objective == pytest.approx(found.objective)
    with pytest.raises(DataError, match="does not keep its C"):
        dg.certify(X, LABELS, file)
    with pytest.raises(DataError, match="does not keep its epsilon"):
        dg.certify(X, LABELS, liblinear(tmp_path / "c.model", "L2R_L2LOSS_SVR", w, "1 0"), C=1.0)
    with pytest.raises(DataError, match="another objective"):
        dg.certify(X, LABELS, liblinear(tmp_path / "d.model", "MCSVM_CS", w, "1 0"), C=1.0)
    ones = liblinear(tmp_path / "e.model", "L2R_L2LOSS_SVC", np.append(w, 0.1), "1 0", bias=1)
    assert "penalises its intercept" in dg.certify(X, LABELS, ones, C=0.7).notes[0]


def test_files_of_libsvm(tmp_path: Path) -> None:
    model = svm.SVC(kernel="linear", C=0.7, tol=1e-8).fit(X, LABELS)
    lines = [
        f"{c!r} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist()))
        for c, row in zip((-model.dual_coef_[0]).tolist(), model.support_vectors_, strict=True)
    ]
    rho = f"rho {float(model.intercept_[0])!r}\n"
    head = f"svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv {len(lines)}\n{rho}label 0 1\nSV\n"
    text = head + "\n".join(lines) + "\n"
    (tmp_path / "m.model").write_text(text)
    found = dg.certify(X, LABELS, tmp_path / "m.model", C=0.7)
    assert found.excess <= 1e-5 and found.objective == pytest.approx(dg.certify(X, LABELS, model).objective)
    (tmp_path / "rbf.model").write_text(text.replace("kernel_type linear", "kernel_type rbf"))
    with pytest.raises(DataError, match="with a rbf kernel is not certified"):
        dg.certify(X, LABELS, tmp_path / "rbf.model", C=0.7)
    (tmp_path / "no.model").write_text("nonsense")
    with pytest.raises(DataError, match="no model file"):
        dg.certify(X, LABELS, tmp_path / "no.model", C=0.7)
    (tmp_path / "cut.model").write_text(text.replace(rho, ""))
    with pytest.raises(DataError, match="damaged model file"):
        dg.certify(X, LABELS, tmp_path / "cut.model", C=0.7)


def test_offsets_and_exposures() -> None:
    """statsmodels keeps them; glum does not, and is told."""
    exposure, counts = np.exp(0.3 * X[:, 0] + 1.0), np.round(np.exp(0.3 * Z + 0.7))
    claimed = dg.fit(X, counts, loss="poisson", penalty="none", offset=np.log(exposure), tol=1e-10)
    models = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    with_ones, family = models.add_constant(X), models.families.Poisson()
    for model in (
        models.GLM(counts, with_ones, family=family, exposure=exposure),
        models.GLM(counts, with_ones, family=family, offset=np.log(exposure)),
        models.Poisson(counts, with_ones, exposure=exposure),
    ):
        found = dg.certify(X, counts, model.fit(disp=0))
        assert found.excess <= 1e-9 and found.objective == pytest.approx(claimed.objective, rel=1e-8)
        with pytest.raises(DataError, match="another offset"):
            dg.certify(X, counts, model.fit(disp=0), offset=exposure)
    amounts, power = np.exp(Z), models.families.Tweedie(var_power=1.5, link=models.families.links.Log())
    for family in (models.families.Gamma(models.families.links.Log()), power):
        assert dg.certify(X, amounts, models.GLM(amounts, with_ones, family=family).fit()).excess <= 1e-9
    glum = pytest.importorskip("glum", reason="glum is not installed")
    model = glum.GeneralizedLinearRegressor(family="poisson", alpha=0.1, gradient_tol=1e-9)
    model.fit(X, counts, offset=np.log(exposure))
    assert dg.certify(X, counts, model, offset=np.log(exposure)).excess <= 1e-6
    assert dg.certify(X, counts, model).excess > 1e-3
