"""The picture of a path over quantiles: each weight as a staircase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap.errors import needed
from dualgap.paths.plot import Strokes, draw_weights

if TYPE_CHECKING:
    from dualgap.paths.quantiles import QuantilePath


def draw(path: QuantilePath, *, ax: Any, names: Any, top: int) -> Any:
    """Draw and return the figure; weights per standard deviation where they are penalised so."""
    plt = needed("matplotlib.pyplot", "plot", "A picture")
    if ax is None:
        ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]
    at = np.repeat(path.quantiles, 2)[1:-1]
    strokes = Strokes(at, np.repeat(path.coefs, 2, axis=0), np.repeat(path.intercepts, 2))
    draw_weights(ax, path, strokes, names, top, ends=False)  # near 0 and 1 all lines may meet
    ax.set_xlabel("quantile")
    scaled = bool(np.any(path.terms.scale != 1.0))
    ax.set_ylabel("weight per standard deviation" if scaled else "weight")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax.figure
