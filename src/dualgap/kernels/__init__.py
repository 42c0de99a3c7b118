"""Mercer kernels and their Gram matrices."""

from __future__ import annotations

from dualgap.kernels.base import Kernel
from dualgap.kernels.gram import Gram, LinearGram, gram_of
from dualgap.kernels.mercer import (
    CATALOGUE,
    FunctionKernel,
    Gaussian,
    Laplacian,
    LinearKernel,
    Polynomial,
    SigmoidKernel,
    kernel_named,
)

__all__ = [
    "CATALOGUE",
    "FunctionKernel",
    "Gaussian",
    "Gram",
    "Kernel",
    "Laplacian",
    "LinearGram",
    "LinearKernel",
    "Polynomial",
    "SigmoidKernel",
    "gram_of",
    "kernel_named",
]
