"""Real data that need no download: digits from a folder, and the documentation of installed packages as text.

The folder is the one that DUALGAP_DATA names, or `shared/data` beside the project. The text is what the
functions of SciPy and scikit-learn say of themselves: a row per docstring, its words as tf-idf, and the
question which of the two it comes from.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import TfidfVectorizer

from dualgap.lectures.data import folder

Load: TypeAlias = Callable[[], tuple[Any, np.ndarray]]


def available() -> dict[str, Load]:
    """What is there, by name; nothing is read yet."""
    found: dict[str, Load] = {"docstrings": docstrings, "breast cancer 569x30": breast_cancer}
    if _digits_file().is_file():
        found["digits 0 or 1, 12665x784"] = digits
    return found


def rows(load: Load, share: float, seed: int) -> tuple[Any, np.ndarray]:
    """All rows, or a share of them drawn at random; other seeds are other orders."""
    X, y = load()
    order = np.random.default_rng(seed).permutation(len(y))[: int(len(y) * share)]
    return X[order], y[order]


def _digits_file() -> Path:
    return folder() / "mnist01" / "mnist01.npz"


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Grey values between 0 and 1; many columns are 0 throughout, and the classes can be separated."""
    with np.load(_digits_file()) as file:
        return file["X_train"] / 255.0, np.where(file["y_train"] > 0, 1.0, -1.0)


def breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """Thirty measures, some nearly collinear, brought to mean 0 and standard deviation 1."""
    X, labels = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(labels > 0, 1.0, -1.0)


@cache
def docstrings() -> tuple[Any, np.ndarray]:
    """Sparse rows of unit length, some tens of thousands of words."""
    texts: list[str] = []
    labels: list[float] = []
    for package, label in ((scipy, 1.0), (sklearn, -1.0)):
        assert package.__file__ is not None
        own = list(_of_package(Path(package.__file__).parent))
        texts += own
        labels += [label] * len(own)
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    X.sort_indices()
    return X, np.array(labels)


def _of_package(root: Path) -> Iterator[str]:
    """Every docstring of ten words or more."""
    for file in sorted(root.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                text = ast.get_docstring(node, clean=False) or ""
                if len(text.split()) >= 10:
                    yield text
