"""A loss without kinks has loops of its own, which leave slides to the general ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.paths.homotopy import follow


def test_columns_that_depend_on_one_another_are_left_to_the_general_loops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(57)  # the first seed of small whole numbers that gets there
    n, p = int(rng.integers(3, 7)), int(rng.integers(3, 10))
    X, y = rng.integers(-2, 3, (n, p)).astype(float), rng.integers(-3, 4, n).astype(float)
    handed: list[int] = []

    def general(*arguments: Any, loop: Any = follow.any_loss) -> Any:
        handed.append(1)
        return loop(*arguments)

    monkeypatch.setattr(follow, "any_loss", general)
    path = dg.path(X, y, loss="squared", penalty="l1")
    assert 0 < len(handed) < 20, "each event is handed over once"
    assert path.exact
    for lam in path.lams[path.lams > 1e-3]:
        there = path.solution(lam=float(lam))
        assert there.relative_gap < 1e-9
