"""One look for all figures: colours that all eyes tell apart, dashes for those who print in black."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from dualgap.paths.plot import COLOURS, DASHES

BLACK, BLUE, RED, GREEN, PURPLE, BROWN, SKY = COLOURS
LINES: tuple[Any, ...] = (*DASHES, (0, (3, 1, 1, 1, 1, 1)), (0, (2, 2.5)))
GREY = "0.45"
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SMALL = 8  # points: legends and notes
DPI = 120  # of a picture on a page
FAR = 200.0  # times: along more than two decades 1, 2, 5 of each would touch


def canvas(
    rows: int, columns: int, *, width: float = 3.7, height: float = 3.3, **options: Any
) -> tuple[Figure, NDArray[Any]]:
    """A figure of rows × columns panels, each so many inches wide and high; pyplot is not involved."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained", dpi=DPI)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def stroke(k: int, **more: Any) -> dict[str, Any]:
    """The look of line k: a colour and a dash of its own."""
    look = {
        "color": COLOURS[k % len(COLOURS)],
        "linestyle": LINES[k % len(LINES)],
        "linewidth": 1.5,
    }
    return look | more


def frame(ax: Any, x: str, y: str, title: str = "") -> None:
    """Labels, and no more ink than it takes."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if title:
        ax.set_title(title, fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(direction="out", length=3)


def plane(ax: Any, x: str, y: str, title: str = "") -> None:
    """A panel that is a map: both axes in the same unit."""
    frame(ax, x, y, title)
    ax.set_aspect("equal")


def legend(ax: Any, **options: Any) -> None:
    """Names of the lines, without a box; white behind, so that lines do not cross the words."""
    look = {"fontsize": SMALL, "framealpha": 0.85, "edgecolor": "none", "handlelength": 2.6}
    ax.legend(**look | options)


def legend_below(ax: Any, **options: Any) -> None:
    """Names under the panel, where a map leaves no room."""
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.16), **options)


def log_ticks(ax: Any) -> None:
    """A logarithmic axis across with a few plain numbers: 1, 2, 5, 10, or powers of ten over a long way."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    subs = (1.0, 2.0, 5.0) if high < FAR * low else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=subs, numticks=20))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    ax.xaxis.set_minor_formatter(NullFormatter())


def note(ax: Any, text: str, place: tuple[float, float], **options: Any) -> None:
    """A few words in the picture, at a place in units of the axes' data."""
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8}
    ax.annotate(text, place, **{"fontsize": SMALL, "bbox": box, "zorder": 9} | options)


def number(value: float, form: str = "g") -> str:
    """A number with a real minus sign."""
    return format(value, form).replace("-", "−")
