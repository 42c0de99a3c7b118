"""No verb writes over what it reads, and no crash leaves half a file."""

from __future__ import annotations

import io
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
    ("fit", "rows.csv", "--lam", "0.1", "--out", "Rows.CSV"),
    ("fit", "rows.csv", "--lam", "0.1", "--out", "rows.csv", "--force"),
    ("fit", "rows.csv", "--test", "others.csv", "--lam", "0.1", "--out", "others.csv", "--force"),
]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_what_is_read_is_not_written(
    case: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code = main([word.format(here=folder.name) for word in case])
    said = capsys.readouterr()
    assert code == console.USAGE and said.out == ""
    assert said.err.count("\n") == 1 and "name another file to write to." in said.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_two_outputs_are_two_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = str(folder / "new")
    code = main(["fit", str(folder / "rows.csv"), "--lam", "0.1", "--out", new, "--report", new])
    assert code == console.USAGE and "--out and --report both name" in capsys.readouterr().err
    assert not Path(new).exists()


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_place_that_cannot_be_written_is_refused_first(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["fit", str(folder / "rows.csv"), "--lam", "0.1", option, str(folder / "nowhere" / "x")])
    said = capsys.readouterr()
    assert (code, said.out) == (console.USAGE, "") and "cannot be written there" in said.err


EXISTING = [
    ("fit", "rows.csv", "--target", "y", "--lam", "0.2", "--out", "model.json"),
    ("fit", "rows.csv", "--target", "y", "--lam", "0.2", "--report", "kept.html"),
    ("cv", "rows.csv", "--target", "y", "--points", "5", "--out", "kept.html"),
    ("path", "rows.csv", "--target", "y", "--out", "kept.html"),
    ("path", "rows.csv", "--target", "y", "--plot", "kept.png"),
    ("predict", "model.json", "rows.csv", "--out", "kept.html"),
    ("report", "model.json", "--out", "kept.html"),
    ("export", "model.json", "kept.py"),
    ("figures", "norm_balls", "--out", "drawn"),
]


@pytest.fixture
def kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of the user's that have the names of outputs."""
    monkeypatch.chdir(folder)
    for name in ("kept.html", "kept.png", "kept.py", "drawn/norm_balls.png"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("mine")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", EXISTING, ids=" ".join)
def test_what_exists_is_written_over_only_on_demand(
    case: tuple[str, ...], kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(kept)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # no terminal: nobody is asked
    assert main(list(case)) == console.USAGE
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and "say --force" in said.err
    assert contents(kept) == before
    assert main([*case, "--force"]) == console.OK
    assert contents(kept) != before


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "code"), [("y\n", console.OK), ("\n", console.USAGE), ("", console.USAGE)]
)
def test_on_a_terminal_one_is_asked(
    answer: str,
    code: int,
    kept: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    assert main(["report", "model.json", "--out", "kept.html"]) == code
    assert "Go on? [y/N]" in capsys.readouterr().err
    assert (Path("kept.html").read_text("utf-8") == "mine") == (code != console.OK)


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
    assert main([*case, "--force"]) == console.BAD_INPUT
    assert "No space left on device" in capsys.readouterr().err
    assert target.read_text() == "kept" and not list(folder.glob(".*.part"))


def test_an_unknown_kind_of_picture_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["path", str(folder / "rows.csv"), "--target", "y", "--plot", str(folder / "x.foo")])
    assert code == console.USAGE and "no picture format 'foo'" in capsys.readouterr().err
