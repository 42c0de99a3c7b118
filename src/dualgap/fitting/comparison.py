"""dg.compare: several algorithms on one problem, side by side above the certified optimum."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.drive.registry import as_given
from dualgap.drive.solver import Solver
from dualgap.drive.trace import Against
from dualgap.errors import DataError, NotCertifiedWarning, needed
from dualgap.fitting.fit import fit
from dualgap.fitting.solution import Solution

TIGHT = 1e-10  # what the reference aims at; where it ends is the floor
FLOOR = 1e-13  # objectives are drawn above the optimum down to this share of it


@dataclass(frozen=True, eq=False)
class Comparison:
    """A solution per algorithm, by label; `reference` is the certified optimum that all are held against."""

    solutions: dict[str, Solution]
    reference: Solution

    @property
    def optimum(self) -> float:
        """The highest proven bound of all runs: no weights do better."""
        return max(s.bound for s in (*self.solutions.values(), self.reference))

    def frame(self) -> Any:
        """All traces in one data frame, with the label and the distance to the optimum."""
        pd = needed("pandas", "frames", "A frame")
        parts = [s.trace.frame().assign(label=label) for label, s in self.solutions.items()]
        whole = pd.concat(parts, ignore_index=True)
        return whole.assign(above=whole["best"] - self.optimum)

    def summary(self) -> str:
        """One line per algorithm: how far it came, in how many steps and how much time."""
        width = max(len(label) for label in self.solutions)
        lines = [f"optimum {self.reference.objective:.8g}, proven to {self.reference.relative_gap:.1e}"]
        for label, s in self.solutions.items():
            above = max(s.objective - self.optimum, 0.0)
            effort = f"{s.n_iter:7d} iterations  {s.seconds:8.3g} s"
            lines.append(f"  {label:<{width}}  {above:9.2e} above  {effort}  {s.status}")
        return "\n".join(lines)

    __str__ = summary

    def plot(self, *, against: Sequence[Against] = ("iteration", "seconds"), axes: Any = None) -> Any:
        """Best objective above the optimum, both axes logarithmic; nothing is proven below the line."""
        plt = needed("matplotlib.pyplot", "plot", "A picture")
        if axes is None:
            size = (4.5 * len(against) + 2.0, 3.8)
            axes = plt.subplots(1, len(against), figsize=size, sharey=True, layout="constrained")[1]
        axes = np.atleast_1d(axes)
        for one, name in zip(axes, against, strict=True):
            self._draw(one, name)
        axes[0].set_ylabel("objective above the optimum")
        axes[-1].legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        return axes

    def _draw(self, axes: Any, against: Against) -> None:
        certain = max(self.reference.gap, FLOOR * abs(self.optimum))
        for label, s in self.solutions.items():
            trace = s.trace
            above = np.maximum(trace.column("best") - self.optimum, certain)
            x = trace.column(against)
            axes.loglog(x[x > 0], above[x > 0], label=label)
        axes.axhline(certain, color="0.5", ls="--", lw=1, label="proven optimum")
        axes.set(xlabel=against)
        axes.spines[["top", "right"]].set_visible(False)


def compare(
    solvers: Sequence[str | Solver] | Mapping[str, str | Solver], X: Any, y: Any, **keywords: Any
) -> Comparison:
    """Run each algorithm on the same problem, and one more that certifies the optimum.

    `solvers` is a list of names and objects, or a mapping from labels to them; the keywords are those of
    `dg.fit`. Runs that end before the tolerance do so without a warning: that is what is being watched.
    """
    runs = dict(solvers) if isinstance(solvers, Mapping) else {_label(one): one for one in solvers}
    if not runs:
        raise DataError("compare needs at least one solver.")
    if not isinstance(solvers, Mapping) and len(runs) < len(solvers):
        raise DataError("Two of the solvers have the same label; give a mapping from labels to solvers.")
    how = ("max_iter", "max_time", "stop", "callback", "warm_start", "tol")
    asked = {name: value for name, value in keywords.items() if name not in how}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        reference = fit(X, y, tol=TIGHT, **asked)
        for one in runs.values():
            if as_given(one):
                fit(X, y, solver=one, max_iter=1, **asked)  # so that no run pays for compilation
        solutions = {label: fit(X, y, solver=one, **keywords) for label, one in runs.items()}
    return Comparison(solutions, reference)


def _label(one: str | Solver) -> str:
    """The name, with the options that differ from the default."""
    if isinstance(one, str):
        return one
    default = type(one)()
    changed = [
        f"{field.name}={getattr(one, field.name)}"
        for field in dataclasses.fields(one)  # type: ignore[arg-type]
        if getattr(one, field.name) != getattr(default, field.name)
    ]
    return f"{one.name}({', '.join(changed)})" if changed else one.name
