"""Steps along convex lines, found by slopes alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dualgap.linalg.line_search import ENOUGH, convex_step, search

# slopes of convex functions, and where they vanish
LINES = [
    (lambda t: t - 1.0, 1.0),
    (lambda t: t - 7.0, 7.0),
    (lambda t: t - 1e-4, 1e-4),
    (lambda t: np.exp(min(t, 700.0)) - 1e6, np.log(1e6)),
    (lambda t: np.exp(500.0 * t) - 2.0 if t < 1.2 else np.inf, np.log(2.0) / 500.0),
    (lambda t: (t - 3.0) ** 3, 3.0),
    (lambda t: t - 0.5 if t < 0.6 else np.nan, 0.5),
]


@pytest.mark.parametrize(("slope", "root"), LINES)
def test_the_slope_falls_to_a_quarter(slope: Callable[[float], float], root: float) -> None:
    step = convex_step(slope)
    assert step > 0.0
    assert abs(slope(step)) <= ENOUGH * abs(slope(0.0))


@pytest.mark.parametrize(("slope", "root"), LINES)
@pytest.mark.parametrize("enough", [0.1, 1e-6])
def test_with_second_derivatives_too(slope: Callable[[float], float], root: float, enough: float) -> None:
    def along(t: float) -> tuple[float, float, float]:
        return slope(t), (slope(t + 1e-7) - slope(t - 1e-7)) / 2e-7, t

    step, there = search(along, slope(0.0), enough)
    assert there == step
    assert abs(slope(step)) <= enough * abs(slope(0.0))


def test_one_where_that_will_do() -> None:
    assert convex_step(lambda t: 1.1 * t - 1.0) == 1.0


def test_nothing_where_the_function_rises() -> None:
    assert convex_step(lambda t: 1.0 + t) == 0.0
    assert convex_step(lambda t: np.nan) == 0.0


@pytest.mark.parametrize("kink", [0.3, 1.0, 40.0])
def test_a_kink_is_met_from_below(kink: float) -> None:
    assert convex_step(lambda t: -1.0 if t < kink else 1.0) == pytest.approx(kink, rel=1e-9)


def test_a_function_that_falls_for_ever() -> None:
    assert 1e9 < convex_step(lambda t: -1.0) < np.inf


def test_no_way_down() -> None:
    assert search(lambda t: (1.0, 0.0, "far"), -1.0) == (0.0, None)


def test_search_stops_at_a_kink_grows_and_shuns_overflow() -> None:
    def kink(t: float) -> tuple[float, float, float]:
        return (-1.0 if t < 0.3 else 5.0), 0.0, t

    t, payload = search(kink, -1.0, 0.1)
    assert t == payload == pytest.approx(0.3, rel=1e-6)
    assert search(lambda t: (t - 1000.0, 1.0, None), -1000.0, 0.1)[0] == pytest.approx(1000.0, rel=0.1)
    assert search(lambda t: (t - 0.01 if t < 0.5 else np.nan, 1.0, t), -0.01, 0.1)[0] == pytest.approx(
        0.01, rel=0.2
    )
    assert search(lambda t: (1.0, 0.0, t), -1.0, 0.1) == (0.0, None)
