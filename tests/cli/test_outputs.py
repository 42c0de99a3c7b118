"""No verb writes over what it reads, and no crash leaves half a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualgap.cli import console
from dualgap.cli.main import main
from dualgap.files import store


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Rows, other rows, a model of them, and ways to each by links."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    table = np.column_stack([X, X @ [1.0, 2.0] + rng.standard_normal(40)])
    for name in ("rows.csv", "others.csv"):
        np.savetxt(tmp_path / name, table, delimiter=",", header="a,b,y", comments="")
        (tmp_path / f"soft-{name}").symlink_to(tmp_path / name)
        os.link(tmp_path / name, tmp_path / f"hard-{name}")
    model = str(tmp_path / "model.json")
    assert (
        main(["fit", str(tmp_path / "rows.csv"), "--target", "y", "--lam", "0.1", "--out", model])
        == console.OK
    )
    (tmp_path / "soft-model.json").symlink_to(tmp_path / "model.json")
    capsys.readouterr()
    return tmp_path


CASES = [
    ("fit", "rows.csv", "--lam", "0.1", "--out", "rows.csv"),
    ("fit", "rows.csv", "--lam", "0.1", "--out", "soft-rows.csv"),
    ("fit", "soft-rows.csv", "--lam", "0.1", "--report", "rows.csv"),
    ("fit", "rows.csv", "--lam", "0.1", "--out", "hard-rows.csv"),
    ("fit", "rows.csv", "--out", "./../{here}/rows.csv"),
    ("cv", "rows.csv", "--out", "rows.csv"),
    ("cv", "rows.csv", "--report", "soft-rows.csv"),
    ("path", "rows.csv", "--out", "rows.csv"),
    ("path", "rows.csv", "--plot", "rows.csv"),
    ("path", "rows.csv", "--report", "rows.csv"),
    ("path", "rows.csv", "--test", "others.csv", "--out", "soft-others.csv"),
    ("predict", "model.json", "rows.csv", "--out", "rows.csv"),
    ("predict", "model.json", "rows.csv", "--out", "model.json"),
    ("predict", "soft-model.json", "rows.csv", "--out", "model.json"),
    ("report", "model.json", "--out", "model.json"),
    ("report", "model.json", "rows.csv", "--out", "hard-rows.csv"),
    ("export", "model.json", "model.json"),
    ("export", "soft-model.json", "model.json"),
]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_what_is_read_is_not_written(
    case: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code = main([word.format(here=folder.name) for word in case])
    said = capsys.readouterr()
    assert code == console.BAD_INPUT and said.out == ""
    assert said.err.count("\n") == 1 and "name another file to write to." in said.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_two_outputs_are_two_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = str(folder / "new")
    code = main(["fit", str(folder / "rows.csv"), "--lam", "0.1", "--out", new, "--report", new])
    assert code == console.BAD_INPUT and "--out and --report both name" in capsys.readouterr().err
    assert not Path(new).exists()


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_place_that_cannot_be_written_is_refused_first(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["fit", str(folder / "rows.csv"), "--lam", "0.1", option, str(folder / "nowhere" / "x")])
    said = capsys.readouterr()
    assert (code, said.out) == (console.BAD_INPUT, "") and "cannot be written there" in said.err


def test_a_model_may_be_written_again(folder: Path) -> None:
    model = str(folder / "model.json")
    assert (
        main(["fit", str(folder / "rows.csv"), "--target", "y", "--lam", "0.2", "--out", model]) == console.OK
    )


@pytest.mark.parametrize(
    "case",
    [
        ("predict", "model.json", "rows.csv", "--out", "x.csv"),
        ("path", "rows.csv", "--target", "y", "--out", "x.csv"),
        ("path", "rows.csv", "--target", "y", "--plot", "x.svg"),
        ("report", "model.json", "--out", "x.html"),
        ("export", "model.json", "x.py"),
    ],
    ids=" ".join,
)
def test_a_crash_leaves_the_file_as_it_was(
    case: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    target = Path(case[-1])
    target.write_text("kept")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    assert main(list(case)) == console.BAD_INPUT
    assert "No space left on device" in capsys.readouterr().err
    assert target.read_text() == "kept" and not list(folder.glob(".*.part"))


def test_an_unknown_kind_of_picture_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["path", str(folder / "rows.csv"), "--target", "y", "--plot", str(folder / "x.foo")])
    assert code == console.BAD_INPUT and "no picture format 'foo'" in capsys.readouterr().err
