"""Model files whose θ is a rule, and the command line on files that are read in blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dualgap as dg
from dualgap.cli.main import main
from dualgap.errors import DataError, ModelFileError
from dualgap.files.scanned import examine_scanned
from streaming.rows import drawn, parquet, small_blocks

__all__ = ["small_blocks"]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "hinge", "absolute"])
def test_a_saved_model_is_verified_and_a_forged_one_is_not(loss: str, tmp_path: Path) -> None:
    X, y, labels = drawn(3000)
    rows = parquet(X, labels if loss in ("logistic", "hinge", "squared_hinge") else y, tmp_path)
    found = dg.fit(rows, loss=loss, penalty="l1", lam=0.01)
    kept = dg.load(found.save(tmp_path / "model.json"))
    assert np.array_equal(kept.coef, found.coef) and kept.bound == found.bound and kept.scans == found.scans
    objections, values = examine_scanned(kept, rows)
    assert not objections and values["relative_gap"] <= 1e-6
    assert kept.certificate.recheck(rows).gap == pytest.approx(found.certificate.recheck(rows).gap)
    document = json.loads((tmp_path / "model.json").read_text())
    for name, value in (("bound", found.objective), ("objective", 0.9 * found.objective)):
        other = json.loads(json.dumps(document))
        other["answer"][name] = value
        other["answer"]["relative_gap"] = 0.0
        forged = opened(other, tmp_path)
        assert examine_scanned(forged, rows)[0]


@pytest.mark.usefixtures("small_blocks")
def test_an_error_bar_of_a_scan_cannot_be_shortened(tmp_path: Path) -> None:
    """Not even where rounding makes up nearly all of a gap: it is paid for wherever a gap is computed."""
    X, y, _ = drawn(3000)
    rows = parquet(X, y, tmp_path)
    found = dg.fit(rows, loss="squared", penalty="l2", lam=0.1, tol=1e-12)
    document = json.loads(found.save(tmp_path / "model.json").read_text())
    assert not examine_scanned(opened(document, tmp_path), rows)[0]
    for share in (0.0, 0.3):
        document["answer"]["coef_error"] = share * found.coef_error
        assert examine_scanned(opened(document, tmp_path), rows)[0]


def test_what_rows_in_blocks_do_not_have_is_refused(tmp_path: Path) -> None:
    X, y, _ = drawn(500)
    found = dg.fit(dg.dataset(X, y), loss="squared", penalty="l2", lam=0.1)
    document = json.loads(found.save(tmp_path / "m.json").read_text())
    for name, value in (("hard_margin", True), ("sample_weight", 1.0)):
        other = json.loads(json.dumps(document))
        other["objective"][name] = value
        with pytest.raises(ModelFileError, match=name):
            opened(other, tmp_path)


def opened(document: dict[str, Any], folder: Path) -> Any:
    """A document that was tampered with, read as a file whose checksum its forger has mended."""
    from dualgap.files.read import solution_of

    return solution_of(document, folder / "forged.json")


def test_a_rule_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    X, y, _ = drawn(500)
    found = dg.fit(dg.dataset(X, y), loss="absolute", penalty="l2", lam=0.01)
    document = json.loads(found.save(tmp_path / "m.json").read_text())
    rule = document["answer"]["certificate"]["rule"]
    for name, value in (("kind", "curved"), ("numbers", [3.0, 1.0]), ("w", [1.0]), ("groups", [0.0])):
        other = json.loads(json.dumps(document))
        other["answer"]["certificate"]["rule"] = rule | {name: value}
        with pytest.raises(ModelFileError):
            opened(other, tmp_path)


@pytest.mark.usefixtures("small_blocks")
def test_the_command_streams_saves_and_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y, _ = drawn(3000)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)])
    frame["town"] = np.where(X[:, 0] > 0.0, "Bern", "Chur")
    frame["y"] = y
    files = [str(tmp_path / f"part{k}.parquet") for k in range(2)]
    for k, file in enumerate(files):
        frame[1500 * k : 1500 * (k + 1)].to_parquet(file, row_group_size=300)
    model = str(tmp_path / "model.json")
    assert main(["fit", *files, "--target", "y", "--lam", "0.01", "--penalty", "l1", "--out", model]) == 0
    told = capsys.readouterr().out
    assert "read in blocks" in told and "proven" in told and "scans" in told and "'town' has 2 levels" in told
    assert main(["verify", model, *files]) == 0
    assert "verified" in capsys.readouterr().out
    frame[:2000].to_parquet(files[1], row_group_size=300)
    assert main(["verify", model, *files]) == 1
    capsys.readouterr()
    assert main(["fit", *files, "--target", "y", "--loss", "huber", "--cv", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["relative_gap"] <= 1e-6 and len(found["lams"]) == 20 and found["scans"] > 1.0


@pytest.mark.usefixtures("small_blocks")
def test_one_file_streams_when_memory_is_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y, _ = drawn(2000)
    parquet(X, y, tmp_path)
    file = str(tmp_path / "a.parquet")
    assert main(["fit", file, "--target", "y", "--lam", "0.1"]) == 0
    assert "read in blocks" not in capsys.readouterr().out
    assert main(["fit", file, "--target", "y", "--lam", "0.1", "--memory", "1KB"]) == 0
    assert "read in blocks" in capsys.readouterr().out
    for many in ("many", "1.2.3GB"):
        assert main(["fit", file, "--target", "y", "--lam", "0.1", "--memory", many]) == 3
    for several in (str(tmp_path), str(tmp_path / "*.parquet")):  # which a shell may leave as it is
        assert main(["fit", several, "--target", "y", "--lam", "0.1"]) == 0


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_predictions_of_files_come_block_by_block_as_in_memory(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=3000), "town": rng.choice(["Bern", "Chur", "Genf"], 3000)})
    frame["y"] = np.where(frame["a"] + (frame["town"] == "Chur") + rng.normal(size=3000) > 0.5, "yes", "no")
    files = []
    for k in range(2):
        part = frame[1500 * k : 1500 * (k + 1)]
        files.append(str(tmp_path / f"part{k}.{kind}"))
        part.to_parquet(files[-1], row_group_size=400) if kind == "parquet" else part.to_csv(
            files[-1], index=False
        )
    model, out, page = (str(tmp_path / name) for name in ("m.json", "out.csv", "page.html"))
    asked = ["--target", "y", "--loss", "logistic", "--lam", "0.01", "--out", model, "--report", page]
    assert main(["fit", *files, *asked]) == 0
    assert "rows given, of those that were scanned" in Path(page).read_text(encoding="utf-8")
    assert main(["predict", model, *files, "--proba", "--out", out]) == 0
    found, whole = pd.read_csv(out), dg.load(model)
    assert list(found["prediction"]) == list(whole.predict(frame[["a", "town"]]))
    assert np.allclose(found["probability yes"], whole.predict_proba(frame[["a", "town"]])[:, 1])
    frame.loc[2900, "town"] = "Uri"
    frame[1500:].to_csv(tmp_path / "late.csv", index=False)
    late = [str(tmp_path / "late.csv"), "--memory", "1KB"]
    assert main(["predict", model, *late, "--out", out, "--force"]) == 3
    assert main(["predict", model, *late, "--out", out, "--force", "--unseen", "reference"]) == 0


def test_columns_are_found_by_their_names(tmp_path: Path) -> None:
    X, y, _ = drawn(500)
    parquet(X, y, tmp_path)
    names = [f"x{j}" for j in range(5)]
    pattern = str(tmp_path / "*.parquet")
    rows, turned = (dg.dataset(pattern, target="y", columns=one) for one in (names, names[::-1]))
    found = dg.fit(rows, loss="squared", penalty="l2", lam=0.1)
    assert np.allclose(found.predict(turned), found.predict(rows), rtol=1e-12)
    table = pa.table({name if name != "x3" else "z": X[:, j] for j, name in enumerate(names)} | {"y": y})
    with pytest.raises(DataError, match="no column 'x3', which the fit had"):
        found.predict(dg.dataset(table, target="y"))
