"""Facts about losses and penalties, as flags. A capability (code that exists) is a method, not a flag."""

from __future__ import annotations

import enum


class Trait(enum.Flag):
    """What is mathematically true of a function; `closure` adds what follows."""

    NONE = 0
    CONVEX = enum.auto()
    SMOOTH = enum.auto()  # differentiable with a Lipschitz derivative on bounded sets
    BOUNDED_CURVATURE = enum.auto()  # the derivative is Lipschitz everywhere
    QUADRATIC = enum.auto()
    PIECEWISE_LINEAR = enum.auto()
    PIECEWISE_QUADRATIC = enum.auto()
    ENTROPIC = enum.auto()  # the conjugate is the entropy of the slope's place between its bounds
    CLASSIFICATION = enum.auto()
    MEANS = enum.auto()  # half a deviance: predictions speak of means, and cost nothing where these are y
    SEPARABLE = enum.auto()
    STRONGLY_CONVEX = enum.auto()
    POLYHEDRAL = enum.auto()
    LEAVES_ROWS_OUT = enum.auto()  # nothing is lost behind a margin or in a tube
    ATTAINED = enum.auto()  # bounded below and its minimum over any affine set is attained

    def __contains__(self, other: Trait) -> bool:
        """Are these among them? As enum has it, without its checks: a small fit asks twenty times."""
        return self._value_ & other._value_ == other._value_ != 0

    def closure(self) -> Trait:
        """All facts that follow from these, kept with the member: an enum is slow to hash."""
        known: Trait | None = self.__dict__.get("closed")
        if known is None:
            known = self
            for premise, conclusion in IMPLICATIONS:
                if premise in known:
                    known |= conclusion
            self.__dict__["closed"] = known
        return known


IMPLICATIONS: tuple[tuple[Trait, Trait], ...] = (
    (Trait.QUADRATIC, Trait.PIECEWISE_QUADRATIC | Trait.SMOOTH | Trait.BOUNDED_CURVATURE),
    (Trait.PIECEWISE_LINEAR, Trait.PIECEWISE_QUADRATIC | Trait.POLYHEDRAL),
    (Trait.PIECEWISE_QUADRATIC, Trait.CONVEX | Trait.ATTAINED),
    (Trait.BOUNDED_CURVATURE, Trait.SMOOTH),
    (Trait.ENTROPIC, Trait.CONVEX),
    (Trait.STRONGLY_CONVEX, Trait.CONVEX),
)
