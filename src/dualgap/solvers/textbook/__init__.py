"""The algorithms of the lectures, as they are written there: to be chosen by name, watched and compared."""

from dualgap.solvers.textbook.descent import GradientDescent, Momentum, Nesterov, Subgradient
from dualgap.solvers.textbook.proximal import ProjectedGradient, ProximalGradient

__all__ = [
    "GradientDescent",
    "Momentum",
    "Nesterov",
    "ProjectedGradient",
    "ProximalGradient",
    "Subgradient",
]
