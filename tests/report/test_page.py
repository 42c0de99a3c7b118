"""What is on a page, without a browser: it is whole, small, closed to the outside, safe from names."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap import losses, penalties
from dualgap.report import formulas, write
from dualgap.report.axis import Axis, spanning
from dualgap.report.rows import roc
from saved_models import FITS, NUMBERS, X, solved

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(2)'>",
    "prix d'été, €/m² & co",
    "</script><!-- ]]> ${x} \\u003c",
    "\u202egnp.exe \x00\x07",
)
VOID = {"meta", "link", "br", "input", "img", "path", "line", "circle"}


class Reader(HTMLParser):
    """Elements, attributes and text; objects where elements do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID or (tag == "path" and not self.get_starttag_text().endswith("/>")):  # type: ignore[union-attr]
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> after {self.open[-3:]}"

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def paged(thing: Any, folder: Path, **more: Any) -> tuple[str, Reader]:
    text = write(thing, folder / "page.html", **more).read_text("utf-8")
    return text, Reader(text)


@pytest.mark.parametrize("name", FITS)
def test_every_kind_of_fit_has_a_page(name: str, tmp_path: Path) -> None:
    solution, y = solved(name)
    if solution.outputs is not None:
        with pytest.raises(
            dg.errors.DataError, match=f"of one output, and this fit has {len(solution.outputs)}"
        ):
            paged(solution, tmp_path)
        assert not list(tmp_path.iterdir())
        return
    text, page = paged(solution, tmp_path, data=(X, y), command="dualgap fit data.csv")
    assert ("Not proven to the tolerance" in page.text) is (not solution.converged)
    assert "No weights whatever" in page.text and "dualgap fit data.csv" in page.text
    assert page.text.count("rows of the fit") >= 1, "the rows are recognised as those of the fit"
    assert "nan" not in re.sub(r"<script.*?</script>", "", text, flags=re.S).lower()
    assert len(text) < 200_000
    assert page.elements["svg"] >= 1
    assert paged(solution, tmp_path, data=(X, y), command="dualgap fit data.csv")[0] == text, "the same again"
    assert "How well it predicts" not in paged(solution, tmp_path)[1].text


@pytest.mark.parametrize("kind", ["fit", "path", "cv"])
def test_hostile_names(kind: str, tmp_path: Path) -> None:
    names = [*HOSTILE, *(f"x{j}" for j in range(3))]
    rng = np.random.default_rng(3)
    data = rng.normal(size=(60, len(names)))
    y = np.array(HOSTILE[:2])[(data[:, 0] + data[:, 1] + 0.3 * rng.normal(size=60) > 0).astype(int)]
    more: dict[str, Any] = dict(loss="logistic", penalty="l1")
    frame = pd.DataFrame(data, columns=names)
    lams = np.geomspace(0.2, 0.01, 5)
    thing: Any
    along = None
    if kind == "fit":
        thing = dg.fit(frame, y, lam=0.01, **more)
    elif kind == "path":
        thing = dg.path(frame, y, lams=lams, **more)
    else:
        thing = dg.cross_validate(frame, y, lams=lams, cv=3, **more)
        along = dg.path(frame, y, lams=lams, **more)
    text, page = paged(
        thing, tmp_path, data=(frame, y), along=along, notes=(*HOSTILE, "\ud800"), command=HOSTILE[1]
    )
    assert page.elements["img"] == 0
    assert page.elements["script"] == (1 if kind == "fit" else 2)
    assert not any(name.startswith("on") for _, name, _ in page.attributes)
    for one in HOSTILE[:3]:
        assert one in page.text
    assert "\x00" not in text and "\u202e" not in text


def test_nothing_from_outside(tmp_path: Path) -> None:
    solution, y = solved("two classes")
    text, page = paged(solution, tmp_path, data=(X, y))
    places = [value for _, name, value in page.attributes if name in ("src", "href", "action", "srcset")]
    assert places and all(value.startswith("#") or value == "data:," for value in places)
    assert not re.search(r"https?:|@import|url\(", text)
    policy = next(value for _, name, value in page.attributes if "default-src" in value)
    assert "default-src 'none'" in policy and "sha256-" in policy and "connect-src" not in policy


def test_no_pictures_are_imported(tmp_path: Path) -> None:
    script = (
        "import sys, numpy as np, dualgap as dg; from dualgap.report import write;"
        "X = np.eye(4); y = np.arange(4.0); s = dg.fit(X, y, loss='squared', lam=0.1);"
        f"write(s, {str(tmp_path / 'page.html')!r}, data=(X, y));"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_path_with_test_rows(tmp_path: Path) -> None:
    y = solved("no penalty")[1]
    path = dg.path(X[:30], y[:30], loss="squared", penalty="l1")
    page = paged(path, tmp_path, data=(X[:30], y[:30]), test=(X[30:], y[30:]))[1]
    assert "the least loss on the test rows" in page.text
    best = float(np.min(path.test_risks(X[30:], y[30:])))
    shown = re.search(r"On test rows least at λ = [\d.]+: (\d+\.?\d*)", page.text)
    assert shown and float(shown[1]) <= best * 1.001, "between breakpoints it may be lower still"
    slider = {name: value for tag, name, value in page.attributes if tag == "input"}
    assert slider["type"] == "range" and int(slider["max"]) >= 10


def test_subset_sizes_have_a_slider(tmp_path: Path) -> None:
    y = solved("no penalty")[1]
    path = dg.path(X, y, loss="squared", penalty="l0")
    page = paged(path, tmp_path, data=(X, y))[1]
    assert "budget = " in page.text and "Along the path" in page.text


def test_both_strengths_of_a_search_are_marked(tmp_path: Path) -> None:
    y = solved("no penalty")[1]
    search = dg.cross_validate(X, y, loss="squared", penalty="l1", cv=5, n_lams=20, rule="1se")
    page = paged(search, tmp_path, data=(X, y))[1]
    for words in ("Cross-validation", "1se (chosen)", "min", "5 folds"):
        assert words in page.text
    assert f"{search.lam_1se:.4g}" in page.text


def test_other_rows_are_not_called_those_of_the_fit(tmp_path: Path) -> None:
    solution, y = solved("two classes")
    page = paged(solution, tmp_path, data=(X + 0.5, y))[1]
    assert "not those of the fit" in page.text and "do not reproduce the objective" in page.text


def test_support_vectors_are_those_of_the_certificate(tmp_path: Path) -> None:
    solution, y = solved("hard margin")
    held = int(np.count_nonzero(solution.certificate.theta))
    page = paged(solution, tmp_path, data=(X, y))[1]
    assert f"rows that hold the answer{held} of 40" in page.text.replace(" (", " (").replace(
        "answer ", "answer"
    )
    margin = 2 / np.linalg.norm(solution.coef)
    assert f"{margin:.4g}" in page.text


def test_sparse_rows_weights_and_estimators(tmp_path: Path) -> None:
    y = solved("two classes")[1]
    rows = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    model = dg.LinearClassifier(loss="squared_hinge", C=1.0).fit(rows, y, sample_weight=np.arange(40.0) + 1.0)
    page = paged(model, tmp_path, data=(rows, y))[1]
    assert "Rows have weights" in page.text and "rows of the fit" in page.text
    with pytest.raises(dg.errors.DataError, match="not of a int"):
        write(3, tmp_path / "page.html")
    with pytest.raises(dg.errors.DataError, match="pair"):
        write(model, tmp_path / "page.html", data=X)


def test_large_data_make_a_small_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(100_000, 3))
    y = data @ [1.0, 2.0, 0.0] + rng.normal(size=100_000)
    solution = dg.fit(data, y, loss="squared", lam=0.1)
    text = paged(solution, tmp_path, data=(data, y))[0]
    assert len(text) < 150_000 and "of 100\u202f000 rows are drawn" in text
    wide = rng.normal(size=(30, 3000))
    solution = dg.fit(wide, wide[:, 0], loss="squared", lam=1.0)
    text, page = paged(solution, tmp_path, data=(wide, wide[:, 0]))
    assert len(text) < 300_000 and "The 400 largest of 3 000 are shown" in page.text


def test_every_loss_and_penalty_has_words() -> None:
    assert set(formulas.LOSSES) == set(losses.CATALOGUE)
    assert set(formulas.PENALTIES) == set(penalties.CATALOGUE)
    for kind in losses.CATALOGUE.values():
        assert "{" not in formulas.loss_formula(kind()) + formulas.loss_words(kind())


def test_roc_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(1)
    scores, hit, weights = rng.integers(0, 9, 200) / 3.0, rng.random(200) < 0.4, rng.random(200)
    assert roc(hit, scores, weights)[2] == pytest.approx(
        roc_auc_score(hit, scores, sample_weight=weights), rel=1e-12
    )


@pytest.mark.parametrize(
    "low, high", [(0.0, 1.0), (-3e-7, 8e-7), (1e9, 1e9 + 5), (-1234.0, 99.0), (2.0, 2.0)]
)
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    axis = spanning([low, high])
    places = [place for place, _ in axis.ticks()]
    assert 1 <= len(places) <= 9 and all(axis.low <= place <= axis.high for place in places)
    assert len({words for _, words in axis.ticks()}) in (1, len(places)) or high - low < 1e-6 * abs(high)


def test_logarithmic_ticks() -> None:
    assert [words for _, words in Axis(1e-7, 1.0, log=True).ticks()] == ["1e−6", "1e−4", "0.01", "1"]
    assert [words for _, words in Axis(0.1, 2.0, log=True).ticks()] == ["0.1", "0.2", "0.5", "1", "2"]


def test_a_forged_model_is_not_called_proven(tmp_path: Path) -> None:
    solution, y = solved("factors and scales")
    honest = write(solution, tmp_path / "page.html", data=(X, y)).read_text("utf-8")
    assert "all of it again from the rows" in honest and "Not proven on the rows given" not in honest
    forged = dataclasses.replace(solution, coef_error=1e-300, proven_zero=np.ones(4, dtype=bool))
    text = write(forged, tmp_path / "page.html", data=(X, y)).read_text("utf-8")
    assert "Not proven on the rows given" in text and "not proven to be zero in every optimal answer" in text
    assert '<span class="badge bad">not proven</span>' in text


def test_columns_that_only_rounding_tells_apart_are_named(tmp_path: Path) -> None:
    rows = np.c_[X, X[:, 0] + 2.0**-50 * X[:, 1]]
    solution = dg.fit(rows, NUMBERS, loss="squared", penalty="none")
    text = write(solution, tmp_path / "page.html", data=(rows, NUMBERS)).read_text("utf-8")
    assert "No weights of the sizes below" in text and "in column x4" in text and "drop it" in text


def test_weights_of_many_classes_are_shown_class_by_class(tmp_path: Path) -> None:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    solution = dg.fit(X, names, loss="logistic", lam=0.01)
    text = dg.report.write(solution, tmp_path / "page.html", data=(X, names)).read_text("utf-8")
    table = text[text.index('id="weights-table"') :]
    labels = re.findall(r'<td class="text">(\w+)</td>', table[: table.index("</table>")])
    assert labels == [label for label in ("setosa", "versicolor", "virginica") for _ in range(5)]
