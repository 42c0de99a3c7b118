"""Suboptimality against time, a picture per cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

MARKERS = "osv^D<>P"
FLOOR = 1e-12  # below this it is rounding


def draw(row: dict[str, Any], folder: Path, target: float) -> None:
    """Both axes logarithmic; ours on top, those who gave no answer as arrows on the target's line."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.axhline(target, color="0.5", linewidth=0.8, linestyle="--")
    for k, (name, points) in enumerate(row["curves"].items()):
        colour, own = f"C{k}", name == "dualgap"
        if points:
            seconds, excess = np.array(points).T
            style = {"marker": "*", "markersize": 13} if own else {"marker": MARKERS[k % len(MARKERS)]}
            label = f"{name}, certified" if own else name
            excess = np.maximum(excess, FLOOR)
            axes.loglog(seconds, excess, color=colour, label=label, zorder=3 if own else 2, **style)
        late = row["late"].get(name)
        if late is not None:
            axes.loglog([late], [target], ">", color=colour, label=f"{name}: no answer in {late:.0f} s")
    axes.set(xlabel="seconds (one thread)", ylabel="relative suboptimality", title=row["cell"])
    axes.legend(fontsize=8)
    figure.savefig(folder / f"{_file_name(row)}.png", dpi=120)
    plt.close(figure)


def _file_name(row: dict[str, Any]) -> str:
    words = "".join(c if c.isalnum() else " " for c in row["cell"]).split()
    return "_".join([*words, str(row["seed"])])
