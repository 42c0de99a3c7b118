"""Data sets that come with scikit-learn: nothing is fetched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.tables.columns import RawTable, as_table


@dataclass(frozen=True)
class Shipped:
    """A name, where it comes from, what is predicted."""

    name: str
    rows: int
    columns: int
    target: str
    about: str


SHIPPED = {
    one.name: one
    for one in (
        Shipped("breast_cancer", 569, 30, "diagnosis", "cell nuclei, malignant or benign"),
        Shipped("diabetes", 442, 10, "progression", "disease progression after a year, a number"),
        Shipped("digits", 1797, 64, "digit", "8 × 8 images of ten digits"),
        Shipped("iris", 150, 4, "species", "three species of iris"),
        Shipped("wine", 178, 13, "cultivar", "three cultivars of wine"),
    )
}


def load_shipped(name: str) -> RawTable:
    """The data set of that name; classes go by their names."""
    from sklearn import datasets

    known = SHIPPED[name]
    bunch = getattr(datasets, f"load_{name}")()
    names = tuple(str(title) for title in bunch.feature_names)
    y = bunch.target
    if name not in ("diabetes", "digits"):
        y = np.asarray(bunch.target_names)[y]
    return as_table(np.asarray(bunch.data, dtype=np.float64), name, names).with_target(y, known.target)
