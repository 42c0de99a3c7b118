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
    """Both axes logarithmic. Ours is drawn at the gap that it proves; it is no further from the optimum."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.axhline(target, color="0.5", linewidth=0.8, linestyle="--")
    style: dict[str, Any] = {"color": "C0", "marker": "*", "markersize": 13, "linestyle": "none", "zorder": 3}
    axes.plot([row["ours"]], [max(row["gap"], FLOOR)], label="dualgap, certified gap", **style)
    rivals = [name for name in row["curves"] if name != "dualgap"]
    for k, name in enumerate(rivals):
        _rival(axes, row, name, {"color": f"C{k + 1}", "marker": MARKERS[k % len(MARKERS)]}, target)
    axes.set(xscale="log", yscale="log", xlabel="seconds (one thread)", ylabel="relative suboptimality")
    axes.set_title(row["cell"])
    axes.set(xlim=decades(axes.get_xlim()), ylim=decades(axes.get_ylim()))
    axes.legend(fontsize=8)
    figure.savefig(folder / f"{_file_name(row)}.png", dpi=120)
    plt.close(figure)


def _rival(axes: Any, row: dict[str, Any], name: str, style: dict[str, Any], target: float) -> None:
    """What it reached; an arrow on the target's line if it gave no answer."""
    points, late = row["curves"][name], row["late"].get(name)
    if points:
        seconds, excess = np.array(points).T
        axes.plot(seconds, np.maximum(excess, FLOOR), label=name, **style)
    if late is not None:
        label = f"{name}: no answer in {late:.0f} s"
        axes.plot([late], [target], ">", markersize=9, color=style["color"], label=label)


def decades(limits: tuple[float, float]) -> tuple[float, float]:
    """Whole powers of ten, so that the axis has labels."""
    low, high = np.log10(limits)
    return float(10.0 ** np.floor(low)), float(10.0 ** np.ceil(high))


def _file_name(row: dict[str, Any]) -> str:
    words = "".join(c if c.isalnum() else " " for c in row["cell"]).split()
    return "_".join([*words, str(row["seed"])])
