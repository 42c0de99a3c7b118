"""The matrix of a model at curvatures that were kept: when it serves, and how well."""

from __future__ import annotations

import numpy as np

from dualgap import losses, penalties
from dualgap.solvers.kept_curvature import KeptCurvature
from random_problems import Recipe

SWIFT = 1e6  # between the products of 20 columns and of 200


def _kept(p: int) -> tuple[KeptCurvature, np.ndarray, np.ndarray]:
    problem = Recipe(400, p).build(losses.Logistic(), penalties.L1())
    array, h = np.asfortranarray(problem.design.features.toarray()), np.full(problem.n, 0.25) * problem.a
    kept = KeptCurvature(problem, swift=SWIFT)
    kept.anew(array, np.arange(p), h)
    return kept, array, h


def test_who_asks_for_the_curvatures_kept_does_not_hide_by_how_much_they_are_off() -> None:
    kept, array, h = _kept(200)
    assert kept.fits(1.05 * h)
    off = kept.off
    assert 0.04 < off < 0.06
    found, _ = kept.at(array, np.arange(200), kept.h)
    np.testing.assert_allclose(found, (array.T * h) @ array, rtol=1e-4, atol=1e-6)
    assert kept.off == off


def test_curvatures_of_few_numbers_are_kept_only_if_none_has_changed() -> None:
    kept, _, h = _kept(20)
    assert kept.fits(h.copy()) and not kept.fits(1.05 * h)


def test_steps_that_gain_little_let_them_go_unless_columns_came_in() -> None:
    kept, _, h = _kept(200)
    for came, fits in ((True, True), (False, False)):
        assert kept.fits(1.05 * h)
        kept.learn(1.0)
        if came:
            kept.begin()
        kept.learn(0.5)
        assert kept.fits(1.05 * h) == fits
