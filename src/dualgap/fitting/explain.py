"""dg.explain: which solver would run, and why each other would not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dualgap.fitting.reading import read
from dualgap.problem.precondition import precondition
from dualgap.solvers.registry import SOLVERS, Verdict, verdicts


@dataclass(frozen=True)
class Explanation:
    """Prints as a table; `chosen` is the solver that would run."""

    words: str
    verdicts: tuple[Verdict, ...]

    @property
    def chosen(self) -> str | None:
        """The name of the solver that "auto" takes first."""
        able = [v.name for v in self.verdicts if not v.missing and not v.manual]
        return able[0] if able else None

    def __str__(self) -> str:
        width = max(len(v.name) for v in self.verdicts)
        lines = [self.words]
        for v in self.verdicts:
            if v.missing:
                text = "cannot: " + "; ".join(v.missing)
            else:
                first = v.name == self.chosen
                reason = "runs first" if first else "only by name" if v.manual else "stands by"
                text = f"{reason}, about {v.cost:.1e} operations"
            lines.append(f"  {v.name:<{width}}  {text}")
        return "\n".join(lines)

    __repr__ = __str__


def explain(X: Any, y: Any, **keywords: Any) -> Explanation:
    """What `fit` with these keywords would do, without doing it."""
    reading = read(X, y, **keywords)
    problem = reading.terms.problem(reading.table.design, reading.targets())
    return Explanation(reading.terms.words(), tuple(verdicts(precondition(problem).problem)))


def list_solvers() -> list[str]:
    """The names that `solver=` takes, beside "auto"."""
    return sorted(SOLVERS)
