"""A model file keeps a solution to the bit, and nothing that is not one is loaded."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from dualgap.errors import DataError, ModelFileError
from dualgap.files import store, write
from dualgap.tables.frames import from_frame
from dualgap.tables.learn import Wishes
from dualgap.tables.prepare import prepare
from saved_models import FITS, NUMBERS, X, solved

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", sorted(FITS))
def test_a_solution_survives_to_the_bit(name: str, tmp_path: Path) -> None:
    solution, y = solved(name)
    path = solution.save(tmp_path / "model.json", data=(X, y))
    again = dg.load(path)
    assert np.array_equal(again.decision_function(X), solution.decision_function(X))
    assert np.array_equal(again.predict(X), solution.predict(X))
    assert again.predict(X).dtype == solution.predict(X).dtype
    told = dataclasses.replace(solution, data=None).summary()  # files keep no rows
    assert again.summary() == told
    if hasattr(solution.terms.loss, "log_odds"):
        assert np.array_equal(again.predict_proba(X), solution.predict_proba(X))
    first, second = solution.certificate.recheck(X, y), again.certificate.recheck(X, y)
    assert (first.objective, first.bound) == (second.objective, second.bound)
    assert dg.load(again.save(tmp_path / "copy.json")).summary() == told
    assert (tmp_path / "copy.json").read_bytes() == path.read_bytes()


def test_large_arrays_go_beside_and_are_missed_when_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "PLAIN", 3)
    solution, _ = solved("weighted quantile")
    plain = dg.load(solution.save(tmp_path / "base64.json"))
    assert "base64" in (tmp_path / "base64.json").read_text()
    monkeypatch.setattr(write, "LARGE", 20)
    dg.load(solution.save(tmp_path / "model.json"))
    (beside,) = tmp_path.glob("*.npz")
    assert np.array_equal(dg.load(tmp_path / "model.json").certificate.theta, solution.certificate.theta)
    assert np.array_equal(plain.certificate.theta, solution.certificate.theta)
    other, _ = solved("no penalty")
    other.save(tmp_path / "model.json")
    assert [path.name for path in tmp_path.glob("*.npz")] != [beside.name], "the old one is gone"
    (new,) = tmp_path.glob("*.npz")
    content = bytearray(new.read_bytes())
    content[200] ^= 1
    new.write_bytes(bytes(content))
    with pytest.raises(ModelFileError, match="changed since it was written"):
        dg.load(tmp_path / "model.json")
    new.unlink()
    with pytest.raises(ModelFileError, match="not beside it"):
        dg.load(tmp_path / "model.json")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solution, _ = solved("two classes")
    path = solution.save(tmp_path / "model.json")
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left"):
        solved("no penalty")[0].save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a dualgap model file"),
        (b"[]", "holds no object"),
        (b"{}", "format"),
        (b'{"format": "dualgap-model"}', "checksum"),
        (b'{"format": "dualgap-model", "format": "x"}', "stands twice"),
        (b'{"format": NaN}', "not JSON"),
        (b'{"format": "dualgap-model", "checksum": "", "a": 1e999}', "not a dualgap model file"),
        (b"[" * 100_000, "not a dualgap model file"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not a dualgap model file"),
        (b"\xff\xfe\x00", "not a dualgap model file"),
        (b"\x80\x04\x95cos\nsystem\n", "not a dualgap model file"),
    ],
)
def test_what_is_no_model_gets_a_sentence(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=said):
        dg.load(path)


def test_no_file_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="There is no model file"):
        dg.load(tmp_path / "none.json")
    with pytest.raises(ModelFileError, match="is a folder"):
        dg.load(tmp_path)
    with pytest.raises(DataError, match="cannot be written"):
        solved("two classes")[0].save(tmp_path / "nowhere" / "model.json")


def changed(path: Path, change: Any) -> None:
    """Change the document, and give it the checksum that makes it look untouched."""
    document = json.loads(path.read_text())
    change(document)
    document["checksum"] = store.checksum(document)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("version",), 3, "version 3"),
        (("rows",), 41, "rows should be the length of θ"),
        (("columns",), 10**12, "columns should be"),
        (("rows",), 2**31, "rows should be the length of θ"),
        (("columns",), 2**31, "spread should have the shape"),
        (("names",), ["a"], "4 names"),
        (("objective", "loss", "name"), "__import__", "objective.loss.name should be one of"),
        (("objective", "loss", "parameters"), {"q": 2.0}, "strictly between 0 and 1"),
        (("objective", "lam"), None, "budget"),
        (("objective", "lam"), "nan", "finite number"),
        (("objective", "loss", "parameters"), {"t": 2.0}, "parameters should be q alone"),
        (
            ("answer", "coef"),
            {"dtype": "<f8", "shape": [4], "base64": "AAAAAAAA8H8AAAAAAADwfwAAAAAAAPB/AAAAAAAA8H8="},
            "answer.coef holds NaN or infinity",
        ),
        (("answer", "coef"), [1.0, True, 3.0, 4.0], "list of numbers"),
        (("answer", "coef"), [10**400, 0, 0, 0], "64 bits"),
        (("answer", "coef"), {"dtype": "<f8", "shape": [4], "base64": "AAAA"}, "as many bytes"),
        (("answer", "coef"), {"dtype": "<f8", "shape": [2**40], "base64": ""}, "one or two lengths"),
        (("answer", "coef"), {"dtype": "|O", "shape": [4], "base64": ""}, "dtype should be"),
        (("answer", "coef"), {"dtype": "<f8", "shape": [4], "npz": "../../etc/passwd"}, "beside"),
        (("answer", "certificate", "kind"), "pickle", "kind should be one of"),
        (("answer", "trace"), [[1]], "a list of records"),
        (("classes",), {"dtype": "<U3", "values": ["a", "b"]}, "classification loss"),
    ],
)
def test_wrong_values_are_named(place: tuple[str, ...], value: Any, said: str, tmp_path: Path) -> None:
    path = solved("weighted quantile")[0].save(tmp_path / "model.json")

    def change(document: dict[str, Any]) -> None:
        inner = document
        for name in place[:-1]:
            inner = inner[name]
        inner[place[-1]] = value

    changed(path, change)
    with pytest.raises(ModelFileError, match=said):
        dg.load(path)


def test_a_file_beside_must_lie_beside(tmp_path: Path) -> None:
    path = solved("weighted quantile")[0].save(tmp_path / "model.json")

    def change(document: dict[str, Any]) -> None:
        document["beside"] = {"file": "../secret.0123456789abcdef.npz", "sha256": "0"}
        document["answer"]["coef"] = {"dtype": "<f8", "shape": [4], "npz": "a0"}

    changed(path, change)
    with pytest.raises(ModelFileError, match="no file beside it"):
        dg.load(path)


def test_a_changed_coefficient_does_not_load_and_with_a_new_checksum_does_not_recheck(tmp_path: Path) -> None:
    solution, y = solved("factors and scales")
    path = solution.save(tmp_path / "model.json")
    text = path.read_text()
    digits = repr(float(solution.coef[2]))
    assert digits in text
    path.write_text(text.replace(digits, repr(float(np.nextafter(solution.coef[2], np.inf))), 1))
    with pytest.raises(ModelFileError, match="changed since it was written"):
        dg.load(path)
    path.write_text(text)

    def change(document: dict[str, Any]) -> None:
        document["answer"]["coef"][2] *= 1.01

    changed(path, change)
    loaded = dg.load(path)
    assert loaded.certificate.recheck(X, y).objective > loaded.objective * (1 + 1e-9)


def test_a_recipe_travels_with_the_model(tmp_path: Path) -> None:
    frame = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 0, "a", "b"), "y": NUMBERS})
    made = prepare(from_frame(frame, "rows"), Wishes("y"))
    import dataclasses

    solution = dg.fit(made.X, made.y, loss="squared", lam=0.1)
    solution = dataclasses.replace(solution, names=made.recipe.names, recipe=made.recipe)
    loaded = dg.load(solution.save(tmp_path / "model.json"))
    assert loaded.recipe == made.recipe
    bare = dataclasses.replace(solution, names=None, recipe=None)
    assert np.array_equal(loaded.predict(frame[["kind", "size"]]), bare.predict(made.X))
    with pytest.raises(DataError, match="the level 'z' in row 1"):
        loaded.predict(frame.assign(kind="z"))


@pytest.mark.parametrize("name", ["mixed-columns", "three-classes"])
def test_old_files_keep_loading(name: str) -> None:
    """Files of version 1, never to be written again: what they predict stays what it is."""
    solution = dg.load(GOLDEN / f"{name}.json")
    rows = pd.read_csv(GOLDEN / f"{name}.csv")
    expected = rows.pop("expected").to_numpy()
    X = rows if solution.recipe is not None else rows.to_numpy()
    found = solution.predict(X)
    assert (
        np.array_equal(found, expected)
        if found.dtype.kind != "f"
        else np.allclose(found, expected, rtol=1e-13)
    )
    assert solution.converged and solution.relative_gap <= 1e-6


def test_kernel_machines_are_refused_with_a_sentence(tmp_path: Path) -> None:
    model = dg.KernelRegressor(C=1.0).fit(X, NUMBERS)
    with pytest.raises(DataError, match="Model files hold linear models"):
        model.solution_.save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_estimators_save_through_their_solution(tmp_path: Path) -> None:
    model = dg.LinearRegressor(loss="huber", C=1.0).fit(X, NUMBERS)
    assert np.array_equal(dg.load(model.solution_.save(tmp_path / "m.json")).predict(X), model.predict(X))
