"""Rows for a device: the real one where there is one, torch's arrays of the host where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualgap import losses
from dualgap.losses import Loss
from dualgap.traits import Trait

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'dualgap[device]'")
PLACE = "cuda" if torch.cuda.is_available() else "cpu"
P = 6
LOSSES = [
    loss
    for loss in (cls() for cls in losses.CATALOGUE.values())
    if Trait.CONVEX in loss.traits and loss.anywhere and loss.name != "perceptron"
]


def put(values: Any) -> Any:
    """On the device."""
    return torch.from_numpy(np.ascontiguousarray(values)).to(PLACE)


def drawn(n: int = 3000, seed: int = 0) -> tuple[Any, Any, Any]:
    """X with columns of many scales, targets that are numbers, labels."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, P))
    z = Z @ np.array([1.0, -0.5, 0.0, 0.8, 0.0, 0.3])
    y = z + rng.standard_t(5, size=n)
    labels = np.where(z + rng.logistic(size=n) > 0.0, 1, 0)
    return Z * [1.0, 3.0, 0.2, 1.0, 10.0, 1.0] + [0.0, 5.0, 0.0, 1.0, -20.0, 0.0], y, labels


def targets(loss: Loss, y: Any, labels: Any) -> Any:
    """Those that the loss takes; for one of means sizes, some of them at the least that it takes."""
    if Trait.CLASSIFICATION in loss.traits or Trait.MEANS not in loss.traits:
        return labels if Trait.CLASSIFICATION in loss.traits else y
    size = np.abs(y) / float(np.abs(y).max()) if loss.highest < np.inf else np.abs(y) + 0.01
    return np.where(size <= np.quantile(size, 0.2), 0.0, size) if loss.lowest == 0.0 else size


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples and bands so small that a few thousand rows are many."""
    monkeypatch.setattr("dualgap.streaming.resident.LEAST", 0)
    monkeypatch.setattr("dualgap.streaming.bands.LEAST", 0)
    monkeypatch.setattr("dualgap.streaming.bands.FEWER", 150)
