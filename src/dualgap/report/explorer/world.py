"""The rows and columns that a page to explore carries: few enough to send, and all that it speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design import Design
from dualgap.errors import DataError
from dualgap.fitting.inputs import Table, read_labels, read_numbers, read_table
from dualgap.report.rows import sample

ROWS = 1000  # with COLUMNS a page of 0.65 MB, and 60 to 100 ms for a move of the slider in Chromium
COLUMNS = 60  # more names than a list of columns is read for
ROUNDING = 1e-12  # a variance below this share of the mean square is the rounding of one that is zero


@dataclass(frozen=True, eq=False)
class World:
    """Rows with columns centred, and per standard deviation where `scaled`; targets, or −1 and +1."""

    X: Matrix
    y: Vector
    share: Vector  # of each row in the mean loss
    names: tuple[str, ...]
    target: str
    classes: tuple[str, str] | None
    scaled: bool
    said: tuple[str, ...]  # what was left out


@dataclass(frozen=True)
class ExploredPart:
    """What to take of a table: rows at most, which class against the rest, columns as they are or scaled."""

    rows: int = ROWS
    one: Any = None
    standardize: bool = True
    target: str = "y"


def world_of(X: Any, y: Any, weights: Any, names: Any, scope: ExploredPart) -> World:
    """Read a table, draw rows, keep the columns that go with the target, centre and scale them."""
    table = read_table(X)
    n = table.design.shape[0]
    targets, classes, said = _targets(y, n, scope)
    drawn = sample(n, scope.rows)
    if len(drawn) < n:
        said.append(f"{len(drawn)} of {n} rows, drawn at random: everything here is about these")
    full = np.ones(n) if weights is None else read_numbers(weights, n)
    share = full[drawn] / full[drawn].sum()
    target = targets[drawn]
    if len(np.unique(target)) < 2:
        raise DataError(f"All {len(drawn)} rows have the same {scope.target}; there is nothing to explore.")
    labels = _labels(table, names)
    here = table.design.rows(drawn)
    kept, varying = _kept(here, target, share)
    if len(kept) < 2:
        raise DataError("A plane takes two columns that vary, and here there are fewer.")
    if len(kept) < varying:
        said.append(f"{len(kept)} of {len(labels)} columns: those that go most with {scope.target}")
    inside = here.columns(kept).toarray()
    inside = inside - share @ inside
    if scope.standardize:
        inside = inside / np.sqrt(share @ (inside * inside))
    chosen = tuple(labels[j] for j in kept)
    return World(inside, target, share, chosen, scope.target, classes, scope.standardize, tuple(said))


def _targets(y: Any, n: int, scope: ExploredPart) -> tuple[Vector, tuple[str, str] | None, list[str]]:
    """Numbers; or −1 and +1 with the names of both. Many classes: one against the rest."""
    kind = np.asarray(y).dtype.kind
    if kind in "iuf" and scope.one is None and len(np.unique(np.asarray(y))) > 2:
        return read_numbers(y, n), None, []
    found, which = read_labels(y, n)
    labels = [str(label) for label in found.tolist()]
    if scope.one is not None and str(scope.one) not in labels:
        raise DataError(f"{scope.target} has no class {scope.one!r}. Known: {', '.join(labels[:12])}.")
    if len(labels) < 2:
        raise DataError(f"All rows have the same {scope.target}; there is nothing to explore.")
    if len(labels) == 2:
        plus = labels.index(str(scope.one)) if scope.one is not None else 1
        return np.where(which == plus, 1.0, -1.0), (labels[1 - plus], labels[plus]), []
    plus = labels.index(str(scope.one)) if scope.one is not None else int(np.argmax(np.bincount(which)))
    said = [f"{len(labels)} classes: {labels[plus]!r} against the others"]
    return np.where(which == plus, 1.0, -1.0), ("others", labels[plus]), said


def _labels(table: Table, names: Any) -> tuple[str, ...]:
    p = table.design.shape[1]
    found = table.names if names is None else tuple(map(str, names))
    if found is None:
        return tuple(f"x{j}" for j in range(p))
    if len(found) != p:
        raise DataError(f"names has {len(found)} entries for {p} columns.")
    return found


def _kept(here: Design, target: Vector, share: Vector) -> tuple[Index, int]:
    """Up to COLUMNS columns that vary, those that correlate most with the target, in their order."""
    means, squares = here.transpose_matvec(share), here.weighted_square_norms(share)
    variance = squares - means * means
    varies = variance > ROUNDING * squares
    along = np.abs(here.transpose_matvec(share * (target - share @ target)))
    fits = np.where(varies, along / np.sqrt(np.where(varies, variance, 1.0)), -1.0)
    best = np.argsort(-fits, kind="stable")[:COLUMNS]
    return np.sort(best[fits[best] >= 0.0]), int(np.count_nonzero(varies))
