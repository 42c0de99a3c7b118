"""dg.explain: which solver would run, and why each other would not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dualgap.discrete  # noqa: F401  its searches enter the registry
from dualgap.device.arrivals import to_host
from dualgap.drive.registry import BY_NAME, Verdict, at_once, of_kind, verdicts
from dualgap.fitting.joint_problem import joint_family
from dualgap.fitting.multiclass import form_of
from dualgap.fitting.outputs import outputs_working
from dualgap.fitting.reading import read, what_of
from dualgap.problem.repeated import reduced


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


def explain(X: Any, y: Any, *, multiclass: str = "auto", **keywords: Any) -> Explanation:
    """What `fit` with these keywords would do, without doing it."""
    reading = read(to_host(X), to_host(y), **{name: to_host(one) for name, one in what_of(keywords).items()})
    terms, design = reading.terms, reading.table.design
    form = form_of(reading, multiclass)
    if form == "joint":
        working = outputs_working(reading)
        return Explanation(f"{terms.words()}; all outputs jointly", tuple(verdicts(working.problem)))
    if reading.many_classes and form == "multinomial":
        joint = joint_family(reading).working.problem
        return Explanation(f"{terms.words()}; all classes jointly", tuple(verdicts(joint)))
    first = reading.alone(0)
    problem = first.terms.problem(design, first.targets())
    if not problem.convex:
        return Explanation(terms.words(), tuple(verdicts(problem)))
    ahead = at_once(problem.unshifted)
    told = verdicts(reduced(problem).problem)
    told.sort(key=lambda verdict: ahead is None or verdict.name != ahead.name)  # the others stay in order
    return Explanation(terms.words(), tuple(told))


def list_solvers() -> list[str]:
    """The names that `solver=` takes, beside "auto"."""
    return sorted(of_kind(*BY_NAME))
