from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import dualgap as dg
from dualgap.drive.registry import of_kind
from dualgap.errors import DataError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(50, 4))
y = X[:, 0] + RNG.normal(size=50)


def test_the_chosen_solver_is_the_one_that_runs() -> None:
    for loss, penalty in (("squared", "l2"), ("absolute", "l1"), ("squared", "lp(3)")):
        told = dg.explain(X, y, loss=loss, penalty=penalty, lam=0.05)
        assert dg.fit(X, y, loss=loss, penalty=penalty, lam=0.05).solver == told.chosen


@pytest.mark.parametrize("penalty", ["none", "l1", "l2", "elastic_net"])
@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "squared_hinge"])
def test_a_solver_that_runs_without_comparison_is_told_too(loss: str, penalty: str) -> None:
    rows = load_diabetes(return_X_y=True)
    targets = np.where(rows[1] > 150, 1, -1) if loss in ("logistic", "squared_hinge") else rows[1]
    asked = {"loss": loss, "penalty": penalty} | ({} if penalty == "none" else {"lam": 1e-4})
    told = dg.explain(rows[0], targets, **asked)
    assert dg.fit(rows[0], targets, **asked).solver == told.chosen
    assert f"  {told.chosen} " in str(told).splitlines()[1] + " "
    assert str(told).count("runs first") == 1


def test_every_solver_is_in_it_with_a_reason() -> None:
    told = dg.explain(X, y, loss="absolute", penalty="linf", lam=0.05)
    text = str(told)
    assert all(f"  {name} " in text for name in of_kind("convex"))
    assert "runs first" in text
    assert all(v.missing or v.cost > 0 for v in told.verdicts)
    refused = [v for v in told.verdicts if v.missing]
    assert refused
    assert all(f"cannot: {'; '.join(v.missing)}" in text for v in refused)


def test_it_checks_as_fit_does() -> None:
    with pytest.raises(DataError, match="exactly one strength"):
        dg.explain(X, y, loss="squared", penalty="l1")


def test_it_starts_with_the_objective() -> None:
    told = dg.explain(X, y, loss="huber(2)", penalty="l1", budget=1.0)
    assert str(told).startswith("mean huber(2) loss subject to sum |w_j| <= 1")


def test_many_classes_are_explained_too() -> None:
    labels = np.arange(50) % 3
    assert dg.explain(X, labels, loss="hinge", penalty="l2", lam=0.1).chosen is not None


def test_the_list_is_of_names_that_fit_takes() -> None:
    assert set(of_kind("convex")) <= set(dg.list_solvers())
    assert dg.fit(X, y, loss="squared", penalty="l2", lam=0.1, solver="newton").solver == "newton"
