"""The solvers. A new one is a new file with `@solver("name")` and a line here."""

from dualgap.solvers.augmented_lagrangian import AugmentedLagrangian
from dualgap.solvers.bounded.working_box import BoxNewton
from dualgap.solvers.closed_form import ClosedForm
from dualgap.solvers.dual_ascent.method import DualCoordinateAscent
from dualgap.solvers.groups.descent import GroupDescent
from dualgap.solvers.interior_point import InteriorPoint
from dualgap.solvers.lasso.coordinate_descent import CoordinateDescent
from dualgap.solvers.newton import Newton
from dualgap.solvers.sorted.descent import SortedDescent
from dualgap.solvers.textbook.descent import GradientDescent, Momentum, Nesterov, Subgradient
from dualgap.solvers.textbook.perceptron import Perceptron, Votes
from dualgap.solvers.textbook.proximal import ProjectedGradient, ProximalGradient
from dualgap.solvers.textbook.quadratic_program import QuadraticProgram
from dualgap.solvers.textbook.stochastic import Pegasos, StochasticGradient, StochasticSubgradient

__all__ = [
    "AugmentedLagrangian",
    "BoxNewton",
    "ClosedForm",
    "CoordinateDescent",
    "DualCoordinateAscent",
    "GradientDescent",
    "GroupDescent",
    "InteriorPoint",
    "Momentum",
    "Nesterov",
    "Newton",
    "Pegasos",
    "Perceptron",
    "ProjectedGradient",
    "ProximalGradient",
    "QuadraticProgram",
    "SortedDescent",
    "StochasticGradient",
    "StochasticSubgradient",
    "Subgradient",
    "Votes",
]
