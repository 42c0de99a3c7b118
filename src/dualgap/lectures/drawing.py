"""What a figure function returns: the picture, and what to see in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Drawing:
    """A matplotlib figure with its caption."""

    figure: Figure
    caption: str
