"""Pages in a real Chromium: no complaints, the slider moves everything, tables sort, words can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dualgap as dg
from browser import READABLE, Browser, browser, found
from dualgap.report import write

pytestmark = pytest.mark.skipif(found() is None, reason="there is no Chromium; `apt-get install chromium`")

NAMES = ("surface <m²>", 'année "1990" & après', "</script><b>x", *(f"colonne {j}" for j in range(15)))


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as one:
        try:
            one.send("Browser.getVersion")
        except (OSError, TimeoutError) as error:
            pytest.skip(f"the Chromium that is there does not start: {error}")
        yield one


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A fit, a path and a search, with names that a page must survive."""
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(150, len(NAMES))), columns=list(NAMES))
    z = 3 * X.iloc[:, 0] - 2 * X.iloc[:, 1] + X.iloc[:, 5] + rng.normal(size=150)
    y = np.where(z > 0, "oui", "non")
    told: dict[str, Any] = dict(loss="logistic", penalty="l1")
    fit = dg.fit(X, y, lam=0.02, **told)
    path = dg.path(X[:100], z[:100], loss="squared", penalty="l1")
    search = dg.cross_validate(X, y, cv=3, n_lams=15, **told)
    along = dg.path(X, y, lams=search.lams, **told)
    return {
        "fit": write(fit, folder / "fit.html", data=(X, y), command="dualgap fit maisons.csv"),
        "path": write(path, folder / "path.html", data=(X[:100], z[:100]), test=(X[100:], z[100:])),
        "cv": write(search, folder / "cv.html", data=(X, y), along=along),
    }


@pytest.mark.parametrize("name", ["fit", "path", "cv"])
@pytest.mark.parametrize("width, dark", [(1200, False), (375, True)])
def test_pages_are_quiet_and_fit_the_screen(
    chromium: Browser, pages: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    page = chromium.open(pages[name], width=width, dark=dark)
    assert page.complaints() == []
    assert len(page.requests()) == 1, "the page itself and nothing else"
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("document.title").startswith(("Fit", "Path", "Cross"))
    names = page.run("[...document.querySelectorAll('#weights-table th[scope=row]')].map(e => e.textContent)")
    assert any(one.startswith("</script><b>x") for one in names)
    assert page.run(READABLE) == []
    page.close()


STATE = """
(() => ({
  place: document.querySelector('.slider output').textContent,
  reads: [...document.querySelectorAll('dd[data-reads]')].map(e => e.textContent),
  cursors: [...document.querySelectorAll('#path line[data-moves]')].map(e => Number(e.getAttribute('x1'))),
  dots: [...document.querySelectorAll('#path circle[data-moves]')].map(e => Number(e.getAttribute('cy'))),
  weights: [...document.querySelectorAll('#path [data-weight] .value')].map(e => e.textContent),
  bars: [...document.querySelectorAll('#path [data-weight] i')].map(e => e.getBoundingClientRect().width),
  spoken: document.getElementById('strength').getAttribute('aria-valuetext'),
}))()
"""


@pytest.mark.parametrize("name", ["path", "cv"])
def test_the_slider_moves_weights_and_errors(chromium: Browser, pages: dict[str, Path], name: str) -> None:
    page = chromium.open(pages[name])
    page.run("document.getElementById('strength').focus()")
    page.key("Home")
    first = page.run(STATE)
    assert set(first["weights"]) == {"0"} and max(first["bars"]) < 0.5, (
        "all weights are zero at the largest λ"
    )
    page.key("ArrowRight")
    second = page.run(STATE)
    assert second["place"] != first["place"] and second["spoken"] == second["place"]
    page.key("End")
    last = page.run(STATE)
    for part in ("place", "reads", "weights", "bars"):
        assert last[part] != first[part]
    assert all(a < b for a, b in zip(first["cursors"], last["cursors"], strict=True))
    assert len(last["cursors"]) >= 2 and len(last["dots"]) >= 2
    assert last["dots"][0] > first["dots"][0], "the loss on the rows of the fit is lower on the paper"
    assert page.complaints() == []
    page.close()


def test_the_table_sorts_and_filters_by_keyboard(chromium: Browser, pages: dict[str, Path]) -> None:
    page = chromium.open(pages["fit"])
    column = "[...document.querySelectorAll('#weights-table tbody tr')].map(r => r.cells[{}].dataset.v)"
    page.run("document.querySelectorAll('#weights-table button')[1].focus()")
    page.key("Enter")
    falling = [float(v) for v in page.run(column.format(1))]
    assert falling == sorted(falling, reverse=True) and len(set(falling)) > 3
    assert (
        page.run("document.querySelectorAll('#weights-table th')[1].getAttribute('aria-sort')")
        == "descending"
    )
    page.key("Enter")
    rising = [float(v) for v in page.run(column.format(1))]
    assert rising == sorted(rising)
    page.run("document.querySelectorAll('#weights-table button')[0].click()")
    names = page.run("[...document.querySelectorAll('#weights-table tbody th')].map(e => e.textContent)")
    ours = [int(one.split()[1]) for one in names if one.startswith("colonne")]
    assert ours == list(range(15)), "numbers in names count as numbers"
    page.run(
        "(() => { const i = document.querySelector('input[type=search]'); i.value = 'surface';"
        "i.dispatchEvent(new Event('input')); })()"
    )
    shown = page.run(
        "[...document.querySelectorAll('#weights-table tbody tr')].filter(r => !r.hidden).length"
    )
    assert shown == 1 and page.run("document.querySelector('[data-counts]').textContent") == "1 of 19"
    page.close()


def test_the_page_prints_light_and_whole(chromium: Browser, pages: dict[str, Path]) -> None:
    page = chromium.open(pages["cv"], dark=True)
    page.ask("Emulation.setEmulatedMedia", media="print", features=[])
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.run("getComputedStyle(document.querySelector('.slider')).display") == "none"
    printed = page.ask("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
    assert len(printed["data"]) > 20_000
    page.close()
