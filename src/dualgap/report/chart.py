"""A small chart as SVG. Colours are classes of the style sheet: day, night and paper each have theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.paths.plot import apart
from dualgap.report.axis import Axis
from dualgap.report.markup import clipped, safe

WIDTH, HEIGHT = 400.0, 270.0  # as wide as a phone, so that words keep their size there
LEFT, TOP, BOTTOM = 60.0, 14.0, 44.0  # room for the numbers and labels of the axes
SERIES = 8  # colours, each with a dash of its own


class Chart:
    """Marks are added in the order in which they cover each other."""

    def __init__(self, x: Axis, y: Axis, about: str, *, right: float = 14.0, top: float = TOP) -> None:
        self.x, self.y, self.about = x, y, about
        self.right, self.top = WIDTH - right, top
        self.bottom = HEIGHT - BOTTOM
        self.marks: list[str] = []

    # -- places --------------------------------------------------------------------------------------

    def across(self, values: Any) -> Vector:
        """Horizontal places on the paper."""
        return np.asarray(LEFT + (self.right - LEFT) * self.x.share(values))

    def up(self, values: Any) -> Vector:
        """Vertical places on the paper, kept near the frame."""
        share = np.clip(self.y.share(values), -0.5, 1.5)
        return np.asarray(self.bottom - (self.bottom - self.top) * share)

    # -- marks ---------------------------------------------------------------------------------------

    def line(self, x: Any, y: Any, look: str, title: str = "") -> None:
        """A line through finite points."""
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        kept = np.isfinite(x) & np.isfinite(y)
        if kept.any():
            path = "M" + "L".join(_points(self.across(x[kept]), self.up(y[kept])))
            self.marks.append(f'<path class="line {look}" d="{path}">{_title(title)}</path>')

    def band(self, x: Any, low: Any, high: Any, look: str) -> None:
        """The area between two lines."""
        x, low, high = (np.asarray(v, dtype=np.float64) for v in (x, low, high))
        kept = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
        if kept.any():
            there = _points(self.across(x[kept]), self.up(high[kept]))
            back = _points(self.across(x[kept][::-1]), self.up(low[kept][::-1]))
            self.marks.append(f'<path class="area {look}" d="M{"L".join(there + back)}Z"/>')

    def dots(self, x: Any, y: Any, look: str) -> None:
        """Many dots as one path: a line of no length has round ends."""
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if len(x):
            path = "".join(f"M{point}h0" for point in _points(self.across(x), self.up(y)))
            self.marks.append(f'<path class="dots {look}" d="{path}"/>')

    def bars(self, edges: Vector, heights: Vector, look: str) -> None:
        """A histogram."""
        left, floor, tops = self.across(edges), float(self.up(max(self.y.low, 0.0))), self.up(heights)
        parts = [
            f"M{a:.1f} {floor:.1f}V{t:.1f}H{b:.1f}V{floor:.1f}Z"
            for a, b, t in zip(left[:-1], left[1:], tops, strict=True)
            if t < floor
        ]
        self.marks.append(f'<path class="bars {look}" d="{"".join(parts)}"/>')

    def upright(self, x: float, look: str, text: str = "", row: int = 0) -> None:
        """A vertical line, with words at its top."""
        self.marks.append(f'<line class="mark {look}" {self._height(x)}/>')
        if text:
            at = float(self.across(x))
            end = at > 0.6 * WIDTH
            self.text(at + (-4 if end else 4), self.top + 10 + 14 * row, text, "end" if end else "start")

    def level(self, y: float, look: str) -> None:
        """A horizontal line."""
        at = float(self.up(y))
        self.marks.append(
            f'<line class="mark {look}" x1="{LEFT:g}" x2="{self.right:g}" y1="{at:.1f}" y2="{at:.1f}"/>'
        )

    def text(self, x: float, y: float, words: str, anchor: str = "start", look: str = "") -> None:
        """Words at a place on the paper."""
        self.marks.append(
            f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{safe(words)}</text>'
        )

    def cursor(self, name: str, x: float) -> None:
        """The line that the slider moves."""
        self.marks.append(f'<line class="cursor" data-moves="{name}" {self._height(x)}/>')

    def _height(self, x: float) -> str:
        """The ends of a vertical line."""
        at = float(self.across(x))
        return f'x1="{at:.1f}" x2="{at:.1f}" y1="{self.top:g}" y2="{self.bottom:g}"'

    def follower(self, name: str, x: float, y: float, look: str) -> None:
        """The dot that the slider moves along a line."""
        where = f'cx="{float(self.across(x)):.1f}" cy="{float(self.up(y)):.1f}" r="4.5"'
        self.marks.append(f'<circle class="follower {look}" data-moves="{name}" {where}/>')

    def ends(self, y: Vector, names: list[str], looks: list[str]) -> None:
        """Names at the right ends of lines, moved apart where they would meet."""
        wanted = self.up(y)
        places = apart(np.clip(wanted, self.top, self.bottom), 12.5)
        for at, name, look, start in zip(places, names, looks, wanted, strict=True):
            tie = f"M{self.right:.1f} {start:.1f}L{self.right + 7:.1f} {at:.1f}"
            self.marks.append(f'<path class="tie {look}" d="{tie}"/>')
            place = f'x="{self.right + 9:.1f}" y="{at + 4:.1f}"'
            self.marks.append(f'<text class="name {look}" {place}>{clipped(name, 13)}</text>')

    # -- the whole -----------------------------------------------------------------------------------

    def svg(self) -> str:
        """The picture."""
        return (
            f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{safe(self.about)}">'
            f"{self._frame()}{''.join(self.marks)}</svg>"
        )

    def _frame(self) -> str:
        parts = []
        for value, words in self.x.ticks():
            at = float(self.across(value))
            parts.append(f'<path class="tick" d="M{at:.1f} {self.bottom:g}v4"/>')
            place = f'x="{at:.1f}" y="{self.bottom + 16:g}"'
            parts.append(f'<text class="tick" {place} text-anchor="middle">{words}</text>')
        for value, words in self.y.ticks(5):
            at = float(self.up(value))
            parts.append(f'<path class="guide" d="M{LEFT:g} {at:.1f}H{self.right:g}"/>')
            parts.append(
                f'<text class="tick" x="{LEFT - 6:g}" y="{at + 4:.1f}" text-anchor="end">{words}</text>'
            )
        parts.append(f'<path class="axis" d="M{LEFT:g} {self.bottom:g}H{self.right:g}"/>')
        middle = (LEFT + self.right) / 2
        label = f'x="{middle:g}" y="{HEIGHT - 8:g}" text-anchor="middle"'
        parts.append(f'<text class="label" {label}>{safe(self.x.label)}</text>')
        turned = (
            f'transform="translate(11 {(self.top + self.bottom) / 2:g}) rotate(-90)" text-anchor="middle"'
        )
        parts.append(f'<text class="label" {turned}>{safe(self.y.label)}</text>')
        return "".join(parts)


def look(rank: int) -> str:
    """The class of series number `rank`: a colour, and a dash that changes when colours come round again."""
    return f"s{rank % SERIES} d{(rank + rank // SERIES) % 5}"


def key(entries: list[tuple[str, str]]) -> str:
    """What each kind of line is; (class, words)."""
    shown = "".join(f'<span class="entry">{swatch(look)}{words}</span>' for look, words in entries)
    return f'<div class="key">{shown}</div>'


def swatch(look: str) -> str:
    """A short piece of a line, beside its name."""
    line = f'<path class="line {look}" d="M1 5H25"/>'
    return f'<svg class="swatch" viewBox="0 0 26 10" aria-hidden="true">{line}</svg>'


def _points(x: Vector, y: Vector) -> list[str]:
    return [f"{a:.1f} {b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def _title(words: str) -> str:
    return f"<title>{safe(words)}</title>" if words else ""
