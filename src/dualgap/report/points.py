"""The points of a path that a page shows: few enough to send, close enough that lines look as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Vector
from dualgap.fitting.decisions import decisions, row_losses, said
from dualgap.fitting.inputs import read_table
from dualgap.fitting.offsets import of_new_rows, read_offset
from dualgap.paths.path import Path
from dualgap.report.rows import sample, targets_of
from dualgap.report.subject import Subject

MOST = 120  # points on the page
BEYOND = 30.0  # how far below the last breakpoint a path to λ = 0 is drawn
WORK = 5_000_000  # predictions made for the errors along a path; beyond, a sample of the rows is predicted


@dataclass(frozen=True, eq=False)
class Points:
    """Strengths λ, falling (or budgets, rising), with the weights there, a column per class and name."""

    at: Vector
    symbol: str  # "λ" or "budget"
    coefs: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    exact: bool


@dataclass(frozen=True, eq=False)
class Errors:
    """Mean loss and share of wrong rows at every point; None where there are no rows to tell."""

    title: str
    loss: Vector
    wrong: Vector | None
    sampled: int  # rows that were predicted, 0 for all


def points(path: Path) -> Points:
    """The path at up to MOST strengths; between breakpoints it is straight in λ or 1/λ, and filled in."""
    if np.isnan(path.lams).any():
        return Points(path.budgets, "budget", path.coefs, path.intercepts, path.exact)
    kept = np.flatnonzero(path.lams > max(path.lams[0], 0.0) * 1e-9)
    lams = path.lams[kept]
    if not len(lams):
        return Points(path.budgets, "budget", path.coefs, path.intercepts, path.exact)
    if path.breakpoints and not path.constant and path.coefs.ndim == 2 and len(lams) > 1:
        return _filled(path, kept)
    kept = kept[_spread(np.log(lams), MOST)]
    return Points(path.lams[kept], "λ", path.coefs[kept], path.intercepts[kept], path.exact)


def _spread(places: Vector, most: int) -> Index:
    """Up to so many places, evenly, the ends among them."""
    if len(places) <= most:
        return np.arange(len(places))
    wanted = np.linspace(places[0], places[-1], most)
    nearest = np.abs(places[:, None] - wanted[None, :]).argmin(axis=0) if len(places) < 20_000 else None
    if nearest is None:
        nearest = np.linspace(0, len(places) - 1, most).astype(int)
    return np.unique(nearest)


def _filled(path: Path, kept: Index) -> Points:
    """Breakpoints (as many as there is room for) and points between them, evenly in the logarithm of λ."""
    lams = path.lams[kept]
    bends, end = lams[_spread(np.log(lams), MOST // 2)], lams[-1]
    if path.lams[-1] == 0.0 and not path.inverse:  # the last stretch, which has no end on this axis
        kept, end = np.append(kept, len(path) - 1), end / BEYOND
        lams = path.lams[kept]
    at = np.unique(np.concatenate([bends, np.geomspace(lams[0], end, MOST // 2)[1:]]))[::-1]
    level, wanted = (1.0 / lams, 1.0 / at) if path.inverse else (lams, at)
    order = np.argsort(level, kind="stable")
    both = np.column_stack([path.coefs[kept], path.intercepts[kept]])[order]
    filled = np.column_stack([np.interp(wanted, level[order], column) for column in both.T])
    return Points(at, "λ", filled[:, :-1], filled[:, -1], path.exact)


def nonzero(found: Points) -> NDArray[np.int64]:
    """How many columns have a weight at each point."""
    flat = found.coefs if found.coefs.ndim == 2 else np.abs(found.coefs).max(axis=1)
    return np.asarray(np.count_nonzero(flat, axis=1))


def errors_along(about: Subject, found: Points, pair: tuple[Any, ...], title: str) -> Errors:
    """Mean loss and share of wrong rows at every point, for the rows given."""
    solution, fitted = about.solution, pair is about.data
    X, y, *more = pair
    own_offset = about.terms.offset if fitted else None
    X, offset = of_new_rows(about.terms, X, more[0] if more else own_offset)
    design = read_table(about.read(X)).design
    n = design.shape[0]
    shift = read_offset(offset, n, about.terms.loss)
    targets = targets_of(solution, y, n)
    own = about.terms.sample_weight
    weights = own if len(own) == n and fitted else np.ones(n)
    classes = len(np.atleast_2d(solution.coef))
    rows = sample(n, max(WORK // (len(found.at) * classes), 1000))
    if len(rows) < n:
        design, targets, weights = design.rows(rows), targets[rows], weights[rows]
        shift = None if shift is None else shift[rows]
    share = weights / weights.sum()
    told = np.array(
        [
            _at(about, decisions(design, *one) + (0.0 if shift is None else shift), targets, share)
            for one in zip(found.coefs, found.intercepts, strict=True)
        ]
    )
    wrong = None if solution.classes is None else told[:, 1]
    return Errors(title, told[:, 0], wrong, len(rows) if len(rows) < n else 0)


def _at(about: Subject, scores: Any, targets: Vector, share: Vector) -> tuple[float, float]:
    """The mean loss, and the share of wrong rows (0 where there are no classes)."""
    classes = about.solution.classes is not None
    each = row_losses(about.terms.loss, targets, scores, about.solution.multiclass, classes)
    return float(each @ share), float((said(scores) != targets) @ share) if classes else 0.0
