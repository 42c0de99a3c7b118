"""Regularised linear models: any loss, any penalty, and a duality gap that proves the answer.

>>> import dualgap as dg
>>> from sklearn.datasets import load_diabetes
>>> solution = dg.fit(*load_diabetes(return_X_y=True), loss="absolute", penalty="l1", lam=0.01)
>>> solution.relative_gap <= 1e-6
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dualgap.version import __version__ as __version__

# Public name -> module; loaded when first asked for, so that `import dualgap` costs nothing.
_WHERE = {
    "fit": "dualgap.fitting.fit",
    "Solution": "dualgap.fitting.solution",
    "certify": "dualgap.fitting.certify",
    "dataset": "dualgap.blocks.dataset",
    "compare": "dualgap.fitting.comparison",
    "explain": "dualgap.fitting.explain",
    "list_solvers": "dualgap.fitting.explain",
    "load": "dualgap.files.read",
    "moments": "dualgap.fitting.moments",
    "Moments": "dualgap.fitting.moments",
    "path": "dualgap.paths.request",
    "cross_validate": "dualgap.selection.cross_validate",
    "Search": "dualgap.selection.search",
    "stability": "dualgap.selection.stability",
    "KernelClassifier": "dualgap.estimators.kernel",
    "KernelRegressor": "dualgap.estimators.kernel",
    "LinearRegressor": "dualgap.estimators.regression",
    "NuClassifier": "dualgap.estimators.nu",
    "NuRegressor": "dualgap.estimators.nu",
    "OneClass": "dualgap.estimators.nu",
    "LinearClassifier": "dualgap.estimators.classification",
    "LinearClassifierCV": "dualgap.estimators.search",
    "LinearRegressorCV": "dualgap.estimators.search",
}
_ELSEWHERE = {
    "figures": "dualgap.lectures",
    "steps": "dualgap.solvers.textbook.steps",
    "stopping": "dualgap.drive.stopping",
}
_MODULES = ("discrete", "errors", "losses", "penalties", "report", "solvers", "tables")

__all__ = [
    "KernelClassifier",
    "KernelRegressor",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "Moments",
    "NuClassifier",
    "NuRegressor",
    "OneClass",
    "Search",
    "Solution",
    "certify",
    "compare",
    "cross_validate",
    "dataset",
    "discrete",
    "errors",
    "explain",
    "figures",
    "fit",
    "list_solvers",
    "load",
    "losses",
    "moments",
    "path",
    "penalties",
    "report",
    "solvers",
    "stability",
    "steps",
    "stopping",
    "tables",
]

if TYPE_CHECKING:
    from dualgap import discrete, errors, losses, penalties, report, solvers, tables
    from dualgap import lectures as figures
    from dualgap.blocks.dataset import dataset
    from dualgap.drive import stopping
    from dualgap.estimators.classification import LinearClassifier
    from dualgap.estimators.kernel import KernelClassifier, KernelRegressor
    from dualgap.estimators.nu import NuClassifier, NuRegressor, OneClass
    from dualgap.estimators.regression import LinearRegressor
    from dualgap.estimators.search import LinearClassifierCV, LinearRegressorCV
    from dualgap.files.read import load
    from dualgap.fitting.certify import certify
    from dualgap.fitting.comparison import compare
    from dualgap.fitting.explain import explain, list_solvers
    from dualgap.fitting.fit import fit
    from dualgap.fitting.moments import Moments, moments
    from dualgap.fitting.solution import Solution
    from dualgap.paths.request import path
    from dualgap.selection.cross_validate import cross_validate
    from dualgap.selection.search import Search
    from dualgap.selection.stability import stability
    from dualgap.solvers.textbook import steps


if not TYPE_CHECKING:  # to a checker only the names above are there, so that a slip is seen

    def __getattr__(name: str) -> Any:
        if name in _WHERE:
            value = getattr(importlib.import_module(_WHERE[name]), name)
        elif name in _ELSEWHERE:
            value = importlib.import_module(_ELSEWHERE[name])
        elif name in _MODULES:
            value = importlib.import_module(f"dualgap.{name}")
        else:
            raise AttributeError(f"module 'dualgap' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
