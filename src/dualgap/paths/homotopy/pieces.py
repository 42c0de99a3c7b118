"""A piecewise quadratic loss, row by row: kinks, and on each piece the derivative curvature·z + slope."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.losses.base import Terms
from dualgap.paths.homotopy.course import BENT_KINK, BENT_SLOPE, CURVATURE, KINK_AT, SLOPE_AT

BEND = 1e-8  # how far the bent problem is from the true one, relative


def row_pieces(terms: Terms, a: Vector, random: np.random.Generator) -> NDArray[np.float64]:
    """The layers of Course.pieces for Σ a_i L(y_i, z_i): bent and true kinks and slopes, one curvature."""
    terms = _merged(terms)
    kink, slope, curvature = _derive(terms, a)
    bent_kink, bent_slope, _ = _derive(_bent(terms, random), a)
    layers = np.zeros((5, *kink.shape))
    layers[BENT_KINK], layers[KINK_AT] = bent_kink, kink
    layers[BENT_SLOPE, :, :-1], layers[SLOPE_AT, :, :-1] = bent_slope, slope
    layers[CURVATURE, :, :-1] = curvature
    return layers


def _merged(terms: Terms) -> Terms:
    """Two terms at the same kinks, one ending where the other begins, are one: epsilon = 0 leaves no tube."""
    if terms.kink.shape[1] != 2 or np.any(terms.kink[:, 0] != terms.kink[:, 1]):
        return terms
    if np.any(terms.upper[:, 0] != terms.lower[:, 1]):
        return terms
    lower, upper = terms.lower.sum(axis=1, keepdims=True), terms.upper.sum(axis=1, keepdims=True)
    return Terms(terms.kink[:, :1], lower, upper, terms.softness)


def _bent(terms: Terms, random: np.random.Generator) -> Terms:
    """Kinks moved, in order, and slopes stretched; a slope of zero stays zero."""
    n, count = terms.kink.shape
    size = np.maximum(np.abs(terms.kink).max(axis=1, keepdims=True), 1.0)
    shift = random.uniform(-1.0, 1.0, (n, 1)) + np.arange(count) * random.uniform(0.2, 1.0, (n, 1))
    stretch = 1.0 + BEND * random.uniform(-1.0, 1.0, (2, n, count))
    return replace(
        terms,
        kink=terms.kink + BEND * size * shift,
        lower=np.where(np.isfinite(terms.lower), terms.lower * stretch[0], terms.lower),
        upper=np.where(np.isfinite(terms.upper), terms.upper * stretch[1], terms.upper),
    )


def _derive(terms: Terms, a: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """Kinks with infinite ends, slopes and curvatures of the pieces between them."""
    low, high = terms.kink, terms.kink
    if terms.softness > 0.0:
        low, high = terms.kink + terms.softness * terms.lower, terms.kink + terms.softness * terms.upper
    n = len(a)
    edges = np.sort(np.column_stack([low, high]) if terms.softness > 0.0 else low, axis=1)
    edges = edges[:, np.isfinite(edges).any(axis=0)] if edges.size else edges
    edges = _left_aligned(edges)
    kink = np.column_stack([np.full(n, -np.inf), edges, np.full(n, np.inf)])
    inside = _midpoints(kink)
    slope, curvature = np.zeros_like(inside), np.zeros_like(inside)
    for k in range(terms.kink.shape[1]):
        below, above = inside < low[:, k, None], inside > high[:, k, None]
        between = ~below & ~above
        slope += np.where(below, terms.lower[:, k, None], 0.0) + np.where(above, terms.upper[:, k, None], 0.0)
        if terms.softness > 0.0:
            slope -= between * (terms.kink[:, k, None] / terms.softness)
            curvature += between / terms.softness
    weight = a[:, None]
    return kink, slope * weight, curvature * weight


def _left_aligned(edges: Matrix) -> Matrix:
    """The finite kinks of every row first, infinities dropped where no row needs the place."""
    finite = np.where(np.isfinite(edges), edges, np.inf)
    finite.sort(axis=1)
    return finite[:, : int(np.isfinite(finite).sum(axis=1).max(initial=0))]


def _midpoints(kink: Matrix) -> Matrix:
    """A point inside every piece."""
    left, right = kink[:, :-1], kink[:, 1:]
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (left + right)
    only_left, only_right = np.isinf(right) & np.isfinite(left), np.isinf(left) & np.isfinite(right)
    unit = 1.0 + np.abs(np.where(np.isfinite(kink), kink, 0.0)).max(axis=1, keepdims=True)
    middle = np.where(only_left, left + unit, np.where(only_right, right - unit, middle))
    return np.where(np.isinf(left) & np.isinf(right), 0.0, middle)
