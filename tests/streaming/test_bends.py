"""Losses whose curvature jumps: rows near a bend are kept as they are, and two scans are enough."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dualgap as dg
from dualgap.fitting.names import loss_named
from dualgap.streaming.far import NearBend


@pytest.mark.parametrize("name", ["huber(0.5)", "squared_hinge", "squared_epsilon_insensitive(0.3)"])
def test_bends_are_where_the_curvature_jumps(name: str) -> None:
    loss = loss_named(name)
    rng = np.random.default_rng(1)
    y, z = np.sign(rng.normal(size=4000)), 3.0 * rng.normal(size=4000)
    found = np.flatnonzero(NearBend(loss, np.array([1.0, 0.0]), 0.1).distances(y, z) <= 0.1)
    jumps = [loss.second_derivative(y, z - 0.1) != loss.second_derivative(y, z + 0.1)]
    assert np.array_equal(found, np.flatnonzero(jumps[0])) and 0 < len(found) < 1000


@pytest.mark.parametrize(("loss", "penalty"), [("huber", "l1"), ("squared_hinge", "l2")])
def test_two_scans(tmp_path: Path, loss: str, penalty: str) -> None:
    """Three were needed where the model did not know of the bend; the rule for θ outlives a file."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(270_000, 50)) + 0.3
    y = X @ rng.normal(size=50) + rng.standard_t(4, size=len(X))
    y = np.where(y > 0.5, "yes", "no") if loss == "squared_hinge" else y
    rows = dg.dataset(X, y)
    found = dg.fit(rows, loss=loss, penalty=penalty, lam=1e-3)
    assert found.converged and found.n_iter == 2
    found.save(tmp_path / "model.json")
    again = dg.load(tmp_path / "model.json").certificate.recheck(rows)
    assert again.gap <= 1e-6 * again.objective
