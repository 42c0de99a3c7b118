"""Bounds that hold in a box: what is added up holds in the narrowest."""

from __future__ import annotations

import warnings

import numpy as np

import dualgap as dg


def test_a_bound_of_all_classes_holds_only_where_each_of_theirs_does() -> None:
    x = np.arange(10.0) / 9.0
    X = np.c_[x, x * x, 0.1 * x + x * x / 3.0]  # the third is told from the others by rounding alone
    y = np.array([1, 0, 0, 0, 0, 1, 1, 2, 2, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.errors.NotCertifiedWarning)
        found = dg.fit(X, y, loss="hinge", penalty="none", fit_intercept=False)
    boxes = [part.certificate.box for part in found.parts if part.certificate.box is not None]
    assert boxes, "these columns should need a box"
    for box in boxes:
        assert np.all(found.certificate.box <= box)
    again = found.certificate.recheck(X, y)
    assert again.box is not None and again.box[2] < 1e12
