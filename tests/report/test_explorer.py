"""The page to explore: in a real Chromium, by keyboard, at two widths, by day and by night; its command."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from browser import READABLE, Browser, Page, browser, found
from dualgap.cli.main import main
from dualgap.report import explore

chromium_wanted = pytest.mark.skipif(
    found() is None, reason="there is no Chromium; `apt-get install chromium`"
)
NAMES = ("surface <m²>", "</script><b>x", 'année "1990" & après')
LARGEST = 2_000_000  # bytes of a page


def rows(kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3)) * [1.0, 20.0, 0.1] + [0.0, 5.0, 100.0]
    z = (X - [0.0, 5.0, 100.0]) / [1.0, 20.0, 0.1] @ [2.0, -1.0, 0.5] + 0.8 * rng.normal(size=60)
    return X, (10.0 * z + 50.0 if kind == "numbers" else np.where(z > 0.3, "oui", "non"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("explore")
    return {
        kind: explore(*rows(kind), folder / f"{kind}.html", names=NAMES, target="prix <€>")
        for kind in ("numbers", "classes")
    }


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as one:
        try:
            one.send("Browser.getVersion")
        except (OSError, TimeoutError) as error:
            pytest.skip(f"the Chromium that is there does not start: {error}")
        yield one


def carried(page: Path) -> dict[str, Any]:
    """What the page draws from."""
    text = page.read_text(encoding="utf-8")
    told = re.search(r'<script type="application/json" id="explorer-values">(.*?)</script>', text, re.DOTALL)
    assert told is not None
    return dict(json.loads(told[1]))


def unpacked(text: str) -> Any:
    return np.frombuffer(base64.b64decode(text), dtype="<f4").astype(float)


# -- what is on the page -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_every_pair_is_solved_and_proven(pages: dict[str, Path], kind: str) -> None:
    told = carried(pages[kind])
    assert pages[kind].stat().st_size < LARGEST
    assert [len(row) for row in told["paths"]] == [4, 4, 4, 4]
    for one in (one for row in told["paths"] for one in row):
        assert np.all(unpacked(one["gaps"]) <= 1e-6)
        assert np.all(np.diff(unpacked(one["lams"])) < 0)


def test_a_point_is_what_fit_says(pages: dict[str, Path]) -> None:
    told = carried(pages["numbers"])
    X, y = rows("numbers")
    for loss, row in zip(("squared", "absolute"), told["paths"], strict=False):
        one, k = row[0], 25
        fitted = dg.fit(X, y, loss=loss, penalty="l1", lam=float(unpacked(one["lams"])[k]), standardize=True)
        standard = fitted.coef * X.std(axis=0)
        assert unpacked(one["w"]).reshape(-1, 3)[k] == pytest.approx(
            standard, abs=1e-3 * np.abs(standard).max()
        )


def test_many_rows_columns_and_classes_are_bounded_and_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 90))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + rng.normal(size=(900, 3)), axis=1)]
    lines: list[str] = []
    page = explore(X, y, tmp_path / "big.html", rows=80, one="b", max_time=20, tell=lines.append)
    told, text = carried(page), page.read_text(encoding="utf-8")
    assert told["n"] == 80 and len(told["names"]) == 60 and told["classes"] == ["others", "b"]
    assert "80 of 900 rows" in text and "60 of 90 columns" in text and "against the others" in text
    assert "x1" in told["names"], "a column that matters stays"
    assert len(lines) == 16
    most = (
        4 / 3 * 4 * (1000 * 62 + 16 * 48 * 65)
    )  # base64 of single precision: rows and columns, and the paths
    assert most + 100_000 < LARGEST


def test_what_there_was_no_time_for_is_not_there(tmp_path: Path) -> None:
    X, y = rows("numbers")
    with pytest.raises(dg.errors.NoSolverError, match="max_time"):
        explore(X, y, tmp_path / "none.html", max_time=1e-9)
    assert not (tmp_path / "none.html").exists()


def test_what_cannot_be_explored_is_refused_with_a_sentence(tmp_path: Path) -> None:
    X, y = rows("numbers")
    for given, words in (
        ({"columns": ("x0", "x9")}, "no column 'x9'"),
        ({"columns": ("x1", "x1")}, "two columns"),
        ({"rows": 1}, "at least 2"),
        ({"one": "z"}, "whole|continuous|class"),
    ):
        with pytest.raises(dg.errors.DataError, match=words):
            explore(X, y, tmp_path / "no.html", **given)
    with pytest.raises(dg.errors.DataError, match="two columns that vary"):
        explore(np.column_stack([X[:, 0], np.ones(60)]), y, tmp_path / "no.html")
    with pytest.raises(dg.errors.DataError, match="the same"):
        explore(X, np.ones(60), tmp_path / "no.html")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "rows.csv"
    X, y = rows("numbers")
    lines = ["a,b,c,price", *(",".join(map(str, [*x, t])) for x, t in zip(X, y, strict=True))]
    table.write_text("\n".join(lines), encoding="utf-8")
    page = tmp_path / "page.html"
    words = ["explore", str(table), "--target", "price", "--out", str(page), "--plane", "c", "a"]
    assert main(words) == 0
    assert capsys.readouterr().out.count("48 points, largest relative gap") == 16
    assert carried(page)["plane"] == [2, 0]
    assert main(words) == 2 and "--force" in capsys.readouterr().err
    assert main(["explore", str(table), "--target", "price", "--out", str(table)]) == 2
    assert main([*words, "--force", "--quantile", "1.5"]) == 2
    assert main([*words, "--force", "--rows", "1"]) == 2


# -- in a browser ------------------------------------------------------------------------------------


@chromium_wanted
@pytest.mark.parametrize("kind", ["numbers", "classes"])
@pytest.mark.parametrize("width, dark", [(1280, False), (1280, True), (390, False), (390, True)])
def test_the_page_is_quiet_and_fits_the_screen(
    chromium: Browser, pages: dict[str, Path], kind: str, width: int, dark: bool
) -> None:
    page = chromium.open(pages[kind], width=width, dark=dark)
    assert page.complaints() == [] and len(page.requests()) == 1
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run(READABLE) == []
    assert page.run("[...document.querySelectorAll('#first option')].map(o => o.textContent)") == list(NAMES)
    assert page.run("document.querySelectorAll('figure svg[role=img]').length") == 6
    small = "[...document.querySelectorAll('.radios label, select')].filter(e => e.offsetHeight < 24).length"
    assert page.run(small) == 0, "large enough for a finger"
    page.close()


STATE = """
new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done({
  tiles: Object.fromEntries(
    [...document.querySelectorAll('dd[id]')].map(e => [e.id.slice(5), e.textContent])),
  spoken: document.getElementById('strength').getAttribute('aria-valuetext'),
  pictures: Object.fromEntries(
    [...document.querySelectorAll('div[id^=picture]')].map(e => [e.id.slice(8), e.innerHTML])),
  weights: document.getElementById('list').innerHTML,
  loss: document.querySelector('input[name=loss]:checked').value,
  penalty: document.querySelector('input[name=penalty]:checked').value,
}))))
"""


def as_number(text: str) -> float:
    return float(text.replace("−", "-").replace(" %", ""))


@chromium_wanted
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_sliders_move_everything_by_keyboard(chromium: Browser, pages: dict[str, Path], kind: str) -> None:
    page = chromium.open(pages[kind])
    page.run("document.getElementById('strength').focus()")
    page.key("Home")
    first = page.run(STATE)
    assert as_number(first["tiles"]["ball"]) == 0.0 and first["tiles"]["used"] == "0 of 3"
    page.key("End")
    last = page.run(STATE)
    for name, picture in first["pictures"].items():
        assert picture != last["pictures"][name], name
    assert first["weights"] != last["weights"]
    assert as_number(last["tiles"]["lam"]) < as_number(first["tiles"]["lam"])
    assert as_number(last["tiles"]["explained"]) > as_number(first["tiles"]["explained"])
    page.key("ArrowLeft")
    before = page.run(STATE)
    assert before["spoken"] == f"λ = {before['tiles']['lam']}" != last["spoken"]
    page.run("document.getElementById('ball').focus()")
    for _ in range(3):
        page.key("ArrowLeft")
        smaller = page.run(STATE)
        assert as_number(smaller["tiles"]["ball"]) < as_number(before["tiles"]["ball"])
        before = smaller
    page.key("Home")
    assert page.run(STATE)["tiles"]["used"] == "0 of 3"
    assert page.complaints() == []
    page.close()


@chromium_wanted
def test_losses_penalties_and_columns_are_chosen_by_keyboard(
    chromium: Browser, pages: dict[str, Path]
) -> None:
    page = chromium.open(pages["classes"], width=390)
    page.run("document.querySelector('input[name=loss]').focus()")
    page.key("ArrowRight")
    other = page.run(STATE)
    assert other["loss"] == "1"
    page.run("document.querySelector('input[name=penalty]').focus()")
    page.key("ArrowRight")
    ridge = page.run(STATE)
    assert ridge["penalty"] == "1" and ridge["tiles"]["used"] == "3 of 3"
    pick = (
        "(() => { const s = document.getElementById('first'); s.value = '{}';"
        "s.dispatchEvent(new Event('change')); })()"
    )
    taken = page.run("document.getElementById('second').value")
    free = page.run("document.getElementById('first').value")
    page.run(pick.replace("{}", taken))
    assert page.run("document.getElementById('second').value") == free, "one column cannot span a plane"
    assert page.run(STATE)["pictures"]["plane"] != ridge["pictures"]["plane"]
    assert page.complaints() == []
    page.close()


# How far the solution on the paper is from the rim of the ball, and from the contour through it.
TOUCHING = """
(() => {
  const plane = document.getElementById('picture-plane');
  const dot = plane.querySelector('circle.follower');
  const [x, y] = ['cx', 'cy'].map(n => Number(dot.getAttribute(n)));
  const least = selector => {
    const path = plane.querySelector(selector);
    if (!path.getAttribute('d')) return null;
    const length = path.getTotalLength();
    let best = Infinity;
    for (let t = 0; t <= 4000; t++) {
      const at = path.getPointAtLength(length * t / 4000);
      best = Math.min(best, Math.hypot(at.x - x, at.y - y));
    }
    return best;
  };
  return [least('.ball'), least('path.contour.touching')];
})()
"""


K = 12  # the place on the paths at which they are looked at: farther on, kinked losses are at their minimum


def choose(page: Page, name: str, k: int) -> None:
    page.run(f"document.querySelector('input[name={name}][value=\"{k}\"]').click()")


@chromium_wanted
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_the_script_computes_what_was_solved(chromium: Browser, pages: dict[str, Path], kind: str) -> None:
    """Its losses on its rows give the mean losses of the paths; ball and contour meet at the solution."""
    told = carried(pages[kind])
    page = chromium.open(pages[kind])
    drawn = 0
    for k in range(4):
        choose(page, "loss", k)
        for q in range(4):
            choose(page, "penalty", q)
            page.run("document.getElementById('strength').focus()")
            page.key("Home")
            for _ in range(K):
                page.key("ArrowRight")
            state = page.run(STATE)
            risk = unpacked(told["paths"][k][q]["risks"])[K]
            explained = 100 * (1 - risk / told["losses"][k]["constant"])
            assert as_number(state["tiles"]["explained"]) == pytest.approx(explained, abs=0.02)
            rim, contour = page.run(TOUCHING)
            assert contour is None or contour < 4.0, (k, q, contour)  # a cell of the grid is 6.7 wide
            drawn += contour is not None  # none at the very minimum, which kinked losses may reach
            names = told["penalties"][q]["name"]
            assert names == "linf" or rim < 1.0, (k, q, rim)  # others may hold the largest weight
    assert drawn >= 14
    page.close()
