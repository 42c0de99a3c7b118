"""The bounds by themselves: valid at any vector, whatever the split; the exchange equals its plain twin."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.discrete.subset.exchange import exchange, forward
from dualgap.discrete.subset.split import first_split, improve_split, spectral_split
from dualgap.discrete.subset.split_bound import Node, Scratch, leaders, relax


def quadratic(seed: int, p: int) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3 * p, p)) + 0.7 * rng.normal(size=(3 * p, 1))
    X /= np.linalg.norm(X, axis=0)
    y = X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=3 * p)
    y /= np.linalg.norm(y)
    return X.T @ X, X.T @ y


def best(gram: Matrix, linear: Vector, price: float, room: int) -> float:
    values = [1.0]
    for size in range(1, room + 1):
        for chosen in itertools.combinations(range(len(gram)), size):
            S = list(chosen)
            gain = float(linear[S] @ np.linalg.solve(gram[np.ix_(S, S)], linear[S]))
            values.append(1.0 - gain + price * size)
    return float(min(values))


def node(gram: Matrix, linear: Vector, split: Vector, w: Vector, price: float, room: int) -> Node:
    return Node(gram, linear, split, w, 1.0, price, len(gram), room, float(gram.max()))


def scratch(p: int) -> Scratch:
    return Scratch(*(np.empty(p + 2) for _ in range(4)))


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_holds_for_any_start_and_any_split(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gram, linear = quadratic(seed, 7)
    price, room = (0.0, 0.02)[seed % 2], (2, 3, 7)[seed % 3]
    lacking, split = spectral_split(gram, room)
    assert lacking == 0
    assert np.linalg.eigvalsh(gram - np.diag(split))[0] >= 0.0
    true = best(gram, linear, price, room)
    work = scratch(7)
    for rounds in (1, 60):
        part = node(gram, linear, split.copy(), rng.normal(size=7), price, room)
        bound, multiplier = relax(part, work, true + 1e-9, 0.1, rounds)
        assert bound <= true + 1e-12
    if improve_split(part, work, multiplier):
        assert np.linalg.eigvalsh(gram - np.diag(part.split))[0] >= -1e-13
        better, _ = relax(part, work, true + 1e-9, multiplier, 60)
        assert better <= true + 1e-12
    assert bound >= 1.0 - linear @ np.linalg.solve(gram, linear) - 1e-9  # never below the full model


def test_dependent_columns_have_no_split() -> None:
    gram, _ = quadratic(0, 5)
    X = np.linalg.cholesky(gram).T
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    X /= np.linalg.norm(X, axis=0)
    lacking, ranks = first_split(X.T @ X, np.zeros(6), 100, 6)
    assert lacking == 1
    assert set(np.argsort(-ranks)[:3]) == {0, 1, 5}


@compiled
def _leaders(values: Vector, room: int, price: float, ordered: Vector) -> tuple[float, float, float]:
    return leaders(values, values.shape[0], room, price, ordered)


@pytest.mark.parametrize("seed", range(20))
def test_leaders_against_sorting(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.5, 1.0, 2.0], 9) + (seed % 2) * rng.random(9)
    room, price = int(rng.integers(0, 12)), 0.3 * (seed % 3)
    total, last, first = _leaders(values, room, price, np.empty(12))
    falling = np.sort(np.maximum(values - price, 0.0))[::-1]
    assert total == pytest.approx(falling[:room].sum())
    if room < 9:
        assert first == pytest.approx(falling[room])
        assert last == pytest.approx(falling[room - 1] if room else 0.0)


@pytest.mark.parametrize("seed", range(10))
def test_forward_and_exchange_against_plain_loops(seed: int) -> None:
    gram, linear = quadratic(seed, 8)

    def value(chosen: list[int]) -> float:
        part = gram[np.ix_(chosen, chosen)]
        return float(-linear[chosen] @ np.linalg.solve(part, linear[chosen])) if chosen else 0.0

    greedy: list[int] = []
    for _ in range(3):
        greedy.append(min((j for j in range(8) if j not in greedy), key=lambda j: value([*greedy, j])))
    found = forward(gram, linear, 0.0, 3)
    assert found.tolist() == greedy
    support, reached = exchange(gram, linear, 0.0, 3, found)
    assert reached == pytest.approx(value(support.tolist()), abs=1e-12) and reached <= value(greedy) + 1e-12
    for out in support:
        for into in set(range(8)) - set(support.tolist()):
            swapped = [into if j == out else int(j) for j in support]
            assert value(swapped) >= reached - 1e-12
