"""What is told where rounding keeps a gap open, for every kind of problem with weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.errors import NotCertifiedWarning

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
CLASSES, OUTPUTS, TARGETS = RNG.integers(0, 3, 60), RNG.standard_normal((60, 3)), RNG.standard_normal(60)
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "classes": (CLASSES, {"loss": "logistic", "multiclass": "multinomial", "penalty": "l1"}),
    "joint hinge": (CLASSES, {"loss": "hinge", "multiclass": "crammer_singer", "penalty": "l2"}),
    "quantiles": (TARGETS, {"loss": "quantiles(0.1, 0.5, 0.9)", "penalty": "l1"}),
    "outputs": (OUTPUTS, {"loss": "squared", "penalty": "l21"}),
    "constraints": (
        TARGETS,
        {"loss": "absolute", "penalty": "l1", "constraints": (np.ones((1, 5)), 0.0, 1.0)},
    ),
    "groups": (TARGETS, {"loss": "absolute", "penalty": "group_lasso", "groups": [0, 0, 1, 1, 2]}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rounding_is_blamed_for_what_it_leaves(kind: str) -> None:
    targets, asked = KINDS[kind]
    with pytest.warns(NotCertifiedWarning, match="Rounding alone leaves this gap"):
        found = dg.fit(X, targets, lam=0.01, tol=1e-17, **asked)
    assert 0.0 < found.relative_gap < 1e-10
