"""The losses. A new one is a new file and a line in CATALOGUE."""

from __future__ import annotations

from dualgap.losses.base import Loss, Terms
from dualgap.losses.binomial import Binomial
from dualgap.losses.epsilon_insensitive import EpsilonInsensitive, SquaredEpsilonInsensitive
from dualgap.losses.exponential import Exponential
from dualgap.losses.gamma import Gamma
from dualgap.losses.hinge import Hinge, Perceptron
from dualgap.losses.huber import Huber
from dualgap.losses.levels import Quantiles
from dualgap.losses.logistic import Logistic
from dualgap.losses.poisson import Poisson
from dualgap.losses.quantile import Absolute, Quantile
from dualgap.losses.sigmoid import Sigmoid
from dualgap.losses.squared import Squared
from dualgap.losses.squared_hinge import SquaredHinge
from dualgap.losses.tweedie import Tweedie
from dualgap.losses.zero_one import ZeroOne

CATALOGUE: dict[str, type[Loss]] = {
    "squared": Squared,
    "absolute": Absolute,
    "quantile": Quantile,
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "binomial": Binomial,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "logistic": Logistic,
    "exponential": Exponential,
    "perceptron": Perceptron,
    "zero_one": ZeroOne,
    "sigmoid": Sigmoid,
}

# Of several predictions for each row: they are told their levels, and stated row by row for each.
OF_SEVERAL: dict[str, type[Quantiles]] = {"quantiles": Quantiles}

__all__ = [
    "CATALOGUE",
    "OF_SEVERAL",
    "Absolute",
    "Binomial",
    "EpsilonInsensitive",
    "Exponential",
    "Gamma",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Perceptron",
    "Poisson",
    "Quantile",
    "Quantiles",
    "Sigmoid",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Terms",
    "Tweedie",
    "ZeroOne",
]
