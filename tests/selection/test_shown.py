"""What people see of a search: table, words, picture."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap as dg
from path_instances import ordinary


def test_table_and_words() -> None:
    pytest.importorskip("pandas")
    X, y = ordinary("squared", 40, 4, seed=1)
    search = dg.cross_validate(X, y, loss="squared", penalty="l1", n_lams=6, cv=3, rule="1se")
    frame = search.frame()
    assert list(frame.columns) == ["lam", "mean", "se", "n_nonzero", "gap", "fold_0", "fold_1", "fold_2"]
    assert frame["mean"].idxmin() == search.index_min
    words = repr(search)
    for part in (
        "squared + l1",
        "3 of 3 folds",
        f"{search.lam_min:.6g}",
        "chosen by 1se",
        "largest relative gap",
    ):
        assert part in words


@pytest.mark.parametrize("form", ["penalised", "constrained"])
def test_picture(form: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = ordinary("squared", 40, 4, seed=2)
    search = dg.cross_validate(
        X, y, loss="squared", penalty="l1", form=form, n_lams=12, rule=lambda search: 10
    )
    figure = search.plot()
    (ax,) = figure.axes
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(said) == 3
    assert f"{search.strengths[search.index_1se]:.3g}" in said[1]
    upright = [line for line in ax.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2]
    assert [float(line.get_xdata()[0]) for line in upright] == pytest.approx(
        [search.strengths[k] for k in (search.index_min, search.index_1se, 10)]
    )
    low, high = ax.get_ylim()
    assert low < np.min(search.mean - search.se) < np.max(search.mean + search.se) < high
    matplotlib.pyplot.close(figure)
