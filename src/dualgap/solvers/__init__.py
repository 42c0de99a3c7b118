"""The solvers. A new one is a new file with `@solver("name")` and a line here."""

from dualgap.solvers.augmented_lagrangian import AugmentedLagrangian
from dualgap.solvers.closed_form import ClosedForm
from dualgap.solvers.interior_point import InteriorPoint
from dualgap.solvers.newton import Newton

__all__ = ["AugmentedLagrangian", "ClosedForm", "InteriorPoint", "Newton"]
