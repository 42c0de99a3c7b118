"""A fixed draw of the attack: no claim of the library may be false. `attack.py` draws as many as wanted."""

from __future__ import annotations

import pytest

from exact.attack import run_case
from exact.known import CASES

SEED = 2
DRAWN = {"fits": 240, "forged": 60, "margins": 60, "kernels": 40, "levels": 40, "files": 16, "subsets": 16}
DRAWN |= {"offsets": 60, "signs": 60, "outputs": 60, "slopes": 60}
TOGETHER = 20  # cases in a test
MOST = 20  # false claims in its message


def false_claims(kind: str, case: int | str) -> list[str]:
    """The false claims of a case, each with the line that repeats it."""
    again = f"python tests/exact/attack.py --seed {SEED} --kind {kind} --only {case}"
    verdict = run_case(kind, SEED, case).verdict
    return [f"{name}: {words} (relative {size:.1e})\n  {again}" for name, words, size in verdict.false]


@pytest.mark.parametrize("name", CASES)
def test_what_was_false_once(name: str) -> None:
    told = false_claims("all", name)
    assert not told, "\n".join(told[:MOST])


@pytest.mark.parametrize(
    ("kind", "first"), [(kind, first) for kind, count in DRAWN.items() for first in range(0, count, TOGETHER)]
)
def test_drawn(kind: str, first: int) -> None:
    told = []
    for case in range(first, min(first + TOGETHER, DRAWN[kind])):
        told += false_claims(kind, case)
    assert not told, "\n".join([f"{len(told)} false claims", *told[:MOST]])
