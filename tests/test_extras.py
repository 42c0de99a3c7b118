"""What the package and each extra promise, once each: run with the newest versions here, with the lowest that
pyproject.toml allows by tools/lowest.py. One loop is compiled and no more: each takes seconds."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso
from sklearn.model_selection import cross_val_score

import dualgap as dg
from dualgap.cli.main import main
from dualgap.errors import NoSolverError
from dualgap.tables.sources import read_rows

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PROMISED = (
    "cli",
    "plot",
    "frames",
    "onnx",
    "qp",
    "figures",
    "scale",
    "formula",
    "device",
)  # for people who use it
IMPORTED = {
    "scikit-learn": "sklearn",
    "array-api-compat": "array_api_compat",
}  # distributions of another name than their module
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
FIT: dict[str, Any] = {"loss": "squared", "penalty": "l1", "lam": 20.0, "standardize": True}


# -- used, and sufficient -----------------------------------------------------------------------------


def named(requirements: list[str]) -> set[str]:
    found = {re.split(r"[\[<>=]", one)[0] for one in requirements}
    return {IMPORTED.get(name, name) for name in found}


def imported() -> set[str]:
    """The packages that some source imports, or looks for by name."""
    found: set[str] = set()
    for source in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {one.name.split(".")[0] for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "needed":
                module = ast.literal_eval(node.args[0])
                found.add(module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"dualgap", "llvmlite"}  # which is numba's own


def test_what_is_listed_is_imported_and_what_is_imported_is_listed() -> None:
    promised = named([*PROJECT["dependencies"], *(one for extra in PROMISED for one in EXTRAS[extra])])
    assert imported() == promised


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("pandas", "frames", lambda: dg.fit(X, y, **FIT).trace.frame()),
        ("pandas", "cli", lambda: read_rows("diabetes.csv")),
        ("pyarrow", "cli", lambda: read_rows("diabetes.parquet")),
        ("matplotlib", "plot", lambda: dg.fit(X, y, **FIT).trace.plot()),
        ("onnx", "onnx", lambda: dg.fit(X, y, **FIT).export("model.onnx")),
        ("clarabel", "qp", lambda: dg.fit(X, y, **FIT, solver="quadratic_program")),
    ],
)
def test_what_is_missing_is_said(
    package: str, extra: str, call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X.to_csv(tmp_path / "diabetes.csv", index=False)
    (tmp_path / "diabetes.parquet").write_bytes(b"PAR1PAR1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.pyplot", None)
    with pytest.raises((ImportError, NoSolverError), match=rf"pip install '?dualgap\[{extra}\]"):
        call()


def test_the_version_is_said_once() -> None:
    assert "version" not in PROJECT and PROJECT["dynamic"] == ["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changes, flags=re.MULTILINE)[0] == dg.__version__


# -- the package --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber(50)"])
@pytest.mark.parametrize("penalty", ["l2", "linf"])
def test_fits_are_proven(loss: str, penalty: str) -> None:
    for table in (X.to_numpy(), sp.csr_array(X.to_numpy())):
        solution = dg.fit(table, y, loss=loss, penalty=penalty, lam=0.5)
        assert solution.relative_gap <= 1e-6
        assert solution.certificate.recheck(table, y).bound <= solution.objective


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_classes(loss: str) -> None:
    model = dg.LinearClassifier(loss, "l2", C=1.0, standardize=True)
    assert cross_val_score(model, X, y > 140.0, cv=2).mean() > 0.65


def test_a_loop_is_compiled() -> None:
    solution = dg.fit(
        X, y, loss="squared", penalty="l1", lam=20.0, standardize=True, solver="coordinate_descent"
    )
    assert solution.converged


def test_paths_searches_and_certificates_of_others() -> None:
    search = dg.cross_validate(X, y, loss="squared", penalty="l2", standardize=True, cv=3)
    assert search.solution.converged
    assert dg.certify(X, y, Lasso(alpha=1.0).fit(X, y)).relative_gap <= 1e-3


# -- each extra ---------------------------------------------------------------------------------------


def test_frames() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    solution = dg.fit(X, y, **FIT)
    assert isinstance(solution.trace.frame(), pandas.DataFrame)
    other = dg.fit(polars.DataFrame({name: X[name].to_numpy() for name in X}), y.to_numpy(), **FIT)
    assert solution.names == other.names and np.array_equal(solution.coef, other.coef)


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_cli_reads(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = X.assign(progress=y, kind=np.where(X["age"] > 50, "old", "young"))
    write: dict[str, Callable[[Path], None]] = {
        "csv": lambda file: table.to_csv(file, index=False),
        "parquet": table.to_parquet,
        "feather": table.to_feather,
    }
    rows, model = tmp_path / f"rows.{ending}", tmp_path / "model.json"
    write[ending](rows)
    command = ["fit", str(rows), "--target", "progress", "--lam", "1", "--out", str(model)]
    assert main([*command, "--report", str(tmp_path / "page.html")]) == 0
    assert main(["verify", str(model), str(rows)]) == 0
    assert main(["predict", str(model), str(rows)]) == 0
    assert "proven" in capsys.readouterr().out


def test_onnx(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    solution = dg.fit(X, y, **FIT)
    file = solution.export(tmp_path / "model.onnx")
    answer = runtime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    scores = answer.run(None, {"X": X.to_numpy(dtype=np.float64)})[0]
    assert np.allclose(scores[:, 0], solution.predict(X), rtol=1e-12)


def test_plot() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    dg.path(X, y, loss="squared", penalty="l2", standardize=True).plot()
    dg.fit(X, y, **FIT).trace.plot()


@pytest.mark.parametrize("side", ["primal", "dual"])
def test_qp(side: Any) -> None:
    solver = dg.solvers.QuadraticProgram(side=side)
    assert dg.fit(X, y, loss="absolute", penalty="l2", lam=0.1, solver=solver, tol=1e-4).converged
