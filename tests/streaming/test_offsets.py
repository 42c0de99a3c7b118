"""Rows in blocks that are counted from an offset: the answer in memory within both gaps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.cli.main import main
from dualgap.errors import DataError
from dualgap.files.scanned import examine_scanned
from dualgap.losses import Loss, Squared
from dualgap.penalties import CATALOGUE
from dualgap.proof.blocks import StreamStatement
from dualgap.proof.moments import judged_by_moments, moments_of
from streaming.rows import LOSSES, drawn, memory, small_blocks, targets
from streaming.test_fits import agrees

__all__ = ["small_blocks"]


def exposed(n: int = 3000, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """X, targets that are numbers, labels, exposures."""
    X, y, labels = drawn(n, seed)
    return X, y, labels, np.random.default_rng([seed, 1]).uniform(0.5, 3.0, n)


def _frame(X: Any, y: Any, exposure: Any) -> pd.DataFrame:
    frame = pd.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])})
    return frame.assign(exposure=exposure, y=y)[["x0", "x1", "exposure", "x2", "x3", "x4", "y"]]


def _parquet(X: Any, y: Any, exposure: Any, folder: Path) -> tuple[Any, Any]:
    _frame(X, y, exposure).to_parquet(folder / "rows.parquet", row_group_size=500)
    return dg.dataset(folder / "rows.parquet", target="y"), "log(exposure)"


def _csv(X: Any, y: Any, exposure: Any, folder: Path) -> tuple[Any, Any]:
    _frame(X, y, exposure).to_csv(folder / "rows.csv", index=False)
    return dg.dataset(folder / "rows.csv", target="y"), "log(exposure)"


def _table(X: Any, y: Any, exposure: Any, folder: Path) -> tuple[Any, Any]:
    import pyarrow as pa

    frame = _frame(X, y, exposure).rename(columns={"exposure": "start"}).assign(start=np.log(exposure))
    return dg.dataset(pa.Table.from_pandas(frame), target="y"), "start"


def _npy(X: Any, y: Any, exposure: Any, folder: Path) -> tuple[Any, Any]:
    for name, part in (("X", X), ("y", y), ("o", np.log(exposure))):
        np.save(folder / f"{name}.npy", part)
    return dg.dataset((folder / "X.npy", folder / "y.npy")), folder / "o.npy"


def _arrays(X: Any, y: Any, exposure: Any, folder: Path) -> tuple[Any, Any]:
    return memory(X, y, folder), np.log(exposure)


def _chunks(X: Any, y: Any, exposure: Any, folder: Path) -> tuple[Any, Any]:
    def blocks() -> Iterator[tuple[Any, ...]]:
        for i in range(0, len(y), 333):
            part = slice(i, i + 333)
            yield X[part], y[part], None, np.log(exposure[part])

    return dg.dataset(blocks), None


def _dask_array(X: Any, y: Any, exposure: Any, folder: Path) -> tuple[Any, Any]:
    array = pytest.importorskip("dask.array")
    rows = dg.dataset(array.from_array(X, chunks=(900, 2)), array.from_array(y, chunks=900))
    return rows, np.log(exposure)


def _dask_frame(X: Any, y: Any, exposure: Any, folder: Path) -> tuple[Any, Any]:
    frames = pytest.importorskip("dask.dataframe")
    return dg.dataset(frames.from_pandas(_frame(X, y, exposure), npartitions=4), target="y"), "log(exposure)"


SOURCES: list[Callable[..., tuple[Any, Any]]] = [
    _parquet,
    _csv,
    _table,
    _npy,
    _arrays,
    _chunks,
    _dask_array,
    _dask_frame,
]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["squared", "poisson", "hinge"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda one: one.__name__)
def test_every_source_counts_from_the_offset(source: Any, loss: str, tmp_path: Path) -> None:
    X, y, labels, exposure = exposed()
    y = {"hinge": labels, "poisson": np.floor(np.abs(y))}.get(loss, y)
    rows, offset = source(X, y, exposure, tmp_path)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l1", "lam": 0.02}
    found = dg.fit(rows, offset=offset, **asked)
    whole = dg.fit(X, y, offset=np.log(exposure), **asked)
    assert found.converged and agrees(found, whole) and found.coef.shape == (5,)
    assert "offset" in found.terms.words()
    counted = rows if offset is None else rows.with_offset(offset)
    again = found.certificate.recheck(counted)
    assert again.bound >= found.bound - 1e-9 * found.objective
    assert np.allclose(found.predict(counted), found.predict(X, offset=np.log(exposure)))
    if isinstance(offset, str):  # found by its name
        assert np.array_equal(found.predict(rows), found.predict(counted))
        assert found.certificate.recheck(rows).gap == again.gap


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("penalty", [{"penalty": "none"}, {"penalty": "l2", "lam": 0.01}], ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_loss_is_proven_with_an_offset(loss: Loss, penalty: Any, tmp_path: Path) -> None:
    X, y, labels, exposure = exposed(4000, seed=1)
    y, weight = targets(loss, y, labels), np.random.default_rng(2).integers(0, 3, 4000).astype(float)
    rows = dg.dataset(X, y, weights=weight, offset=np.log(exposure))
    found = dg.fit(rows, loss=loss, **penalty)
    whole = dg.fit(X, y, loss=loss, sample_weight=weight, offset=np.log(exposure), **penalty)
    assert agrees(found, whole) and found.converged == whole.converged


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["squared", "poisson", "absolute"])
def test_paths_folds_and_certificates_with_an_offset(loss: str, tmp_path: Path) -> None:
    X, y, _, exposure = exposed()
    y = np.floor(np.abs(y)) if loss == "poisson" else y
    shift, lams = np.log(exposure), [0.1, 0.01]
    rows, offset = _parquet(X, y, exposure, tmp_path)
    asked: dict[str, Any] = {"loss": loss, "penalty": "l1"}
    path = dg.path(rows, offset=offset, lams=lams, **asked)
    for k, lam in enumerate(path.lams):
        whole = dg.fit(X, y, offset=shift, lam=lam, **asked)
        assert path.gaps[k] <= 1e-6 and agrees(path.solution(lam=lam), whole)
    search = dg.cross_validate(rows, offset=offset, lams=lams, cv=3, **asked)
    fold = (np.arange(len(y)) // 64) % 3
    own = dg.fit(X[fold != 1], y[fold != 1], offset=shift[fold != 1], lam=0.1, tol=1e-9, **asked)
    score = own.terms.loss.value(y, own.linear_predictor(X, offset=shift))[fold == 1].mean()
    assert search.scores[1, 0] == pytest.approx(score, rel=1e-3)
    assert search.solution.converged and search.solution.terms.offset_name == "log(exposure)"
    told = dg.certify(rows, own.coef, own.intercept, offset=offset, lam=0.1, **asked)
    whole = dg.certify(X, y, own.coef, own.intercept, offset=shift, lam=0.1, **asked)
    assert told.objective == pytest.approx(whole.objective, rel=1e-9)
    assert told.bound == pytest.approx(whole.bound, rel=1e-5)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["squared", "poisson", "absolute", "hinge"])
def test_models_and_the_command_line_with_an_offset(loss: str, tmp_path: Path, capsys: Any) -> None:
    X, y, labels, exposure = exposed()
    y = {"hinge": labels, "poisson": np.floor(np.abs(y))}.get(loss, y)
    _parquet(X, y, exposure, tmp_path)
    file, model = str(tmp_path / "rows.parquet"), str(tmp_path / "model.json")
    fit = [file, "--target", "y", "--offset", "log(exposure)", "--loss", loss, "--lam", "0.01"]
    assert main(["fit", *fit, "--memory", "1K", "--out", model, "--report", str(tmp_path / "page.html")]) == 0
    assert "log(exposure)" in capsys.readouterr().out
    assert main(["verify", model, file]) == 0
    assert main(["predict", model, file, file, "--out", str(tmp_path / "out.csv")]) == 0
    kept = dg.load(model)
    told = pd.read_csv(tmp_path / "out.csv")["prediction"].to_numpy()
    assert np.allclose(told[: len(y)], kept.predict(_frame(X, y, exposure).drop(columns="y")))
    rows = dg.dataset(file, target="y")
    assert kept.terms.offset_name == "log(exposure)" and not examine_scanned(kept, rows)[0]
    assert examine_scanned(replace(kept, objective=0.9 * kept.objective), rows)[0]
    document = json.loads(Path(model).read_text())
    assert document["objective"]["offset_name"] == "log(exposure)"


@pytest.mark.usefixtures("small_blocks")
def test_offsets_that_make_no_sense(tmp_path: Path) -> None:
    X, y, _, exposure = exposed(900)
    exposure[700] = 0.0
    asked: dict[str, Any] = {"penalty": "l2", "lam": 0.1}
    rows, offset = _parquet(X, np.abs(y), exposure, tmp_path)
    with pytest.raises(DataError, match=r"offset is -inf in row 701 of .*rows\.parquet.*exposure of 0"):
        dg.fit(rows, loss="poisson", offset=offset, **asked)
    with pytest.raises(DataError, match="not a column of"):
        dg.fit(rows, loss="poisson", offset="log(time)", **asked)
    with pytest.raises(DataError, match="named columns"):
        dg.fit(rows, loss="poisson", offset=exposure, **asked)
    with pytest.raises(DataError, match="X has no names"):
        dg.fit(memory(X, y, tmp_path), loss="squared", offset="exposure", **asked)
    with pytest.raises(DataError, match="offset already"):
        dg.fit(rows.with_offset("exposure"), loss="poisson", offset=offset, **asked)
    with pytest.raises(DataError, match=r"the logarithm of the exposure"):
        dg.fit(dg.dataset(X, np.abs(y), offset=1e3 * exposure), loss="poisson", **asked)
    with pytest.raises(DataError, match="several classes"):
        dg.fit(dg.dataset(X, np.arange(900) % 3, offset=exposure), loss="hinge", **asked)
    with pytest.raises(DataError, match="Moments keep no offset"):
        dg.moments(dg.dataset(X, y, offset=exposure))
    plain = dg.fit(dg.dataset(X, y), loss="squared", **asked)
    with pytest.raises(DataError, match="without an offset"):
        plain.predict(dg.dataset(X, y, offset=exposure))
    moved = dg.fit(dg.dataset(X, y, offset=exposure), loss="squared", **asked)
    with pytest.raises(DataError, match=r"dg\.dataset\(\.\.\., offset=\)"):
        moved.certificate.recheck(dg.dataset(X, y))
    assert moved.certificate.recheck(dg.dataset(X, y, offset=0.0)).objective != moved.objective


@pytest.mark.parametrize("far", [0.0, 1e9, 1e15])
def test_moments_of_differences_know_their_rounding(far: float) -> None:
    """y and offset that are huge and nearly alike: the difference is what exact arithmetic makes of it."""
    from fractions import Fraction

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y, shift = far + rng.normal(size=40), far + rng.normal(size=40)
    level = np.array([0.0, 0.0, float(rng.normal())])
    found = moments_of(X, np.column_stack([y, shift]), None, level)
    true = sum(
        (Fraction(a) - Fraction(b) - Fraction(float(level[2]))) ** 2 for a, b in zip(y, shift, strict=True)
    )
    assert abs(Fraction(float(found.matrix[-2, -2])) - true) <= Fraction(found.share) * true
    gauge = CATALOGUE["l2"]().gauge(np.ones(2), np.ones(2)).extended()
    from dualgap.penalties import Penalised

    stated = StreamStatement.stated(Squared(), Penalised(gauge, 0.1), intercept=True)
    judged = judged_by_moments(stated, found, found, np.zeros(3), np.zeros(4), 1e-6)
    assert 0.0 <= judged.dual <= judged.primal
