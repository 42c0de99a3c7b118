"""The algorithms of the lectures, as they are written there: to be chosen by name, watched and compared."""

from dualgap.solvers.textbook.descent import GradientDescent, Momentum, Nesterov, Subgradient
from dualgap.solvers.textbook.perceptron import Perceptron, Votes
from dualgap.solvers.textbook.proximal import ProjectedGradient, ProximalGradient
from dualgap.solvers.textbook.quadratic_program import QuadraticProgram
from dualgap.solvers.textbook.stochastic import Pegasos, StochasticGradient, StochasticSubgradient

__all__ = [
    "GradientDescent",
    "Momentum",
    "Nesterov",
    "Pegasos",
    "Perceptron",
    "ProjectedGradient",
    "ProximalGradient",
    "QuadraticProgram",
    "StochasticGradient",
    "StochasticSubgradient",
    "Subgradient",
    "Votes",
]
