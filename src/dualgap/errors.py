"""What can go wrong, one class per decision a caller can make."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualgap.arrays import Vector


class DataError(ValueError):
    """The data or a keyword cannot be used; the message names the place and the remedy."""


class NoSolverError(ValueError):
    """No solver, or not the one asked for, fits this problem; the message gives the reasons."""


class InfeasibleError(ValueError):
    """The constraints cannot be met. `proof` holds what shows it."""

    def __init__(self, message: str, *, proof: Vector | None = None) -> None:
        super().__init__(message)
        self.proof = proof


class UnboundedError(ValueError):
    """No finite minimiser exists. Along `direction` (and `intercept`) the objective falls for ever."""

    def __init__(self, message: str, *, direction: Vector, intercept: float | Vector = 0.0) -> None:
        super().__init__(message)
        self.direction = direction
        self.intercept = intercept


class ProcessorError(ArithmeticError):
    """The processor does not round as a proof needs it, and cannot be told to."""


class NotCertifiedWarning(UserWarning):
    """The duality gap did not reach the tolerance; the message says the gap in numbers."""


class TemporaryCacheWarning(UserWarning):
    """What is compiled cannot be kept where it belongs."""


class ModelFileError(DataError):
    """A model file cannot be trusted or understood; the message names the file and the place in it."""


class MissingPackageError(ImportError):
    """An optional package is not there; the message says how to install it."""


def needed(module: str, extra: str, what: str) -> Any:
    """An optional module, or the sentence that says which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise MissingPackageError(f"{what} needs {package}: pip install 'dualgap[{extra}]'.") from None
