"""The perceptron stops with its bound, or ends with the proof that it never would."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
import transcriptions as source
from dualgap.drive.solver import Iterate
from dualgap.errors import NoSolverError, NotCertifiedWarning
from dualgap.solvers.textbook.perceptron import Votes

X, Y, MIXED = source.data(60, 3)
APART = np.where(X @ [1.0, -2.0, 0.5] + 0.3 > 0, 1, 0)
KEYS: dict[str, Any] = {"loss": "perceptron", "penalty": "none"}


@pytest.mark.parametrize("matrix", [X, sp.csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("labels", [APART, 2 * APART - 1], ids=["0/1", "+-1"])
def test_separable_data_end_without_mistakes_below_the_bound(labels: Any, matrix: Any) -> None:
    found = dg.fit(matrix, labels, solver="perceptron", **KEYS)
    assert found.converged and found.objective == 0.0
    assert np.array_equal(found.predict(matrix), labels)
    mistakes, bound = re.findall(r"after (\d+) mistakes.*= ([\d.e+]+)\.$", found.status)[0]
    assert 0 < int(mistakes) <= float(bound)


def test_its_passes_are_those_of_the_source() -> None:
    signs = 2.0 * APART - 1.0
    from dualgap.fitting.reading import read

    reading = read(X, signs, **KEYS)
    problem = reading.terms.problem(reading.table.design, signs)
    found = [one.w for one in islice(dg.solvers.Perceptron(0.5).iterates(problem, Iterate(np.zeros(4))), 100)]
    expected = list(source.perceptron(X, signs, 0.5, len(found)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_averaged_is_the_mean_over_all_rows_seen() -> None:
    signs = 2.0 * APART - 1.0
    Z, w, seen = source.with_ones(X), np.zeros(4), []
    for i in range(len(Z)):
        if signs[i] * (Z[i] @ w) <= 0.0:
            w = w + signs[i] * Z[i]
        seen.append(w)
    with pytest.warns(NotCertifiedWarning):
        found = dg.fit(X, signs, solver=dg.solvers.Perceptron(averaged=True), max_iter=1, **KEYS)
    np.testing.assert_allclose(np.append(found.coef, found.intercept), np.mean(seen, axis=0), rtol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_other_data_end_with_the_proof(fit_intercept: bool) -> None:
    with pytest.warns(NotCertifiedWarning, match="No plane separates"):
        found = dg.fit(X, MIXED, solver="perceptron", fit_intercept=fit_intercept, **KEYS)
    theta = found.certificate.theta
    assert theta.any() and np.all(MIXED * theta >= 0.0)
    size = np.abs(X).T @ np.abs(theta)
    assert np.all(np.abs(X.T @ theta) <= 1e-8 * size)
    if fit_intercept:
        assert abs(theta.sum()) <= 1e-8 * np.abs(theta).sum()
    assert found.coef.any(), "the answer is the perceptron's, not w = 0"


def test_it_refuses_other_losses_and_penalties() -> None:
    with pytest.raises(NoSolverError, match="not the perceptron's"):
        dg.fit(X, APART, loss="hinge", penalty="none", solver="perceptron")
    with pytest.raises(NoSolverError, match="penalty"):
        dg.fit(X, APART, loss="perceptron", penalty="l2", lam=0.1, solver="perceptron")


def test_votes_are_those_of_every_plane_by_its_life() -> None:
    votes = Votes.cast(X, APART, passes=3)
    assert votes.lives.sum() == 3 * len(X)
    sides = np.sign(source.with_ones(X) @ votes.planes.T)
    np.testing.assert_allclose(votes.decision_function(X), sides @ votes.lives / votes.lives.sum())
    assert np.mean(votes.predict(X) == 2 * APART - 1) > 0.9
