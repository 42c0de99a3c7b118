"""Primal-dual active set: guess which variables are free, solve for them exactly, correct the guess.

From a crude start the guess settles in a few Cholesky solves. There is no theorem that it must, so the gap
has the last word and the block method goes on where it does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from typing import Any, ClassVar

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.kernel_machines.box import Box
from dualgap.kernel_machines.pursuit import Proposal
from dualgap.kernels import Gram
from dualgap.linalg.cholesky import Solve, cholesky

JITTER = 1e-13  # of the largest diagonal entry: what the rounding of some hundred terms can take from it
LESS = 1e-15  # the same where refinement in more digits makes up for too little
SLACK = 1e-8  # beyond a bound, of the width of the box (or the largest value) before a variable is held there
EDGE = 1e-9  # of the unit, before a held variable is let go
MOST_FREE = 6000  # variables: their matrix in double precision, 288 MB, is the most that is factored
MOST = 25  # guesses: a choice, far more than were seen
SETTLED = 1e-13  # of the unit: slopes that agree to this agree
STEPS = 12  # of refinement against Kβ in twice the digits, while each halves what is left


class FreeGuess(ABC):
    """Which variables are `free`; the others are held at the values in `parts`."""

    most: ClassVar[int] = MOST

    def __init__(self, box: Box, parts: Vector) -> None:
        self.box, self.parts = box, parts.copy()
        self.free = free_variables(box, parts)

    def run(self) -> Iterator[Any]:
        """Correct the guess until it stands; then, and only then, an answer. None is a pause."""
        seen: set[bytes] = set()
        for _ in range(self.most):
            tried = yield from self._tried()
            if tried is None or tried in seen:
                return
            if not tried:
                yield self._answer()
                return
            seen.add(tried)
            yield None

    @abstractmethod
    def _tried(self) -> Generator[None, None, bytes | None]:
        """The free variables solved for, and what that makes of the guess: nothing if it stands.

        None if it cannot be solved.
        """

    @abstractmethod
    def _answer(self) -> Any:
        """What the guess that stands says."""

    def _correct(self, pull: Vector, slack: float, edge: float) -> bytes:
        """Hold what left the box, let go what pulls away from its bound; the new guess if there is one."""
        box, free = self.box, self.free
        under, over = box.outside(self.parts, free, slack)
        eager = self._let_go(box.eager(self.parts, free, pull, edge), pull)
        self._hold(np.where(under, box.low, np.where(over, box.high, self.parts)))
        self.free = (free & ~under & ~over) | eager
        return self.free.tobytes() if (under | over | eager).any() else b""

    def _let_go(self, eager: Mask, pull: Vector) -> Mask:
        """Which of the variables that pull away are let go."""
        return eager

    def _hold(self, parts: Vector) -> None:
        self.parts = parts


class ActiveSet(FreeGuess):
    """In double precision.

    `image`, if given, is β ↦ Kβ in as many digits as it takes, where those of a plain product do not suffice.
    """

    def __init__(
        self,
        box: Box,
        gram: Gram,
        tied: bool,
        parts: Vector,
        image: Callable[[Vector], Vector] | None = None,
        slack: float = SLACK,
    ) -> None:
        super().__init__(box, parts)
        self.gram, self.tied, self.image, self.slack = gram, tied, image, slack
        self.b: float | None = None
        self._held, self._held_f = np.zeros(box.n), np.zeros(box.n)

    def _tried(self) -> Generator[None, None, bytes | None]:
        yield from ()
        f = self._solved() if np.count_nonzero(self.free) <= MOST_FREE else None
        if f is None:
            return None
        self._found = Proposal("active_set", self.box.joined(self.parts), f, self.b)
        slope = self.box.slope(self.parts, f)
        b = self._level(slope) if self.b is None else self.b
        return self._correct(slope - b, self.slack, EDGE * max(self.box.unit, 1e-300))

    def _answer(self) -> Proposal:
        return self._found

    def _solved(self) -> Vector | None:
        """The free variables solved for; f = Kβ in double precision."""
        box, free = self.box, np.flatnonzero(self.free)
        held = box.joined(np.where(self.free, 0.0, self.parts))
        self._held_f += self.gram.product(held - self._held)
        self._held = held
        rest = -float(held.sum())
        if not len(free):
            self.b = None
            found = self._held_f.copy() if self.image is None else self.image(held)
            return found if not self.tied or abs(rest) <= 1e-12 * np.abs(held).sum() else None
        rows = box.row[free]
        if len(np.unique(rows)) < len(rows) and not box.ridge.any():
            return None  # two terms of one row cannot both be free
        A = self.gram.square(rows)
        A[np.diag_indices(len(free))] += box.ridge[free]
        right = box.kink[free] - self._held_f[rows]
        inverse = _Bordered(A, tied=self.tied, jitter=JITTER if self.image is None else LESS)
        self.parts[free], self.b = inverse(right, rest)
        if self.image is not None:
            return self._refined(free, inverse, self.image)
        return self._held_f + self.gram.combine(*merged(rows, self.parts[free]))

    def _refined(self, free: Index, inverse: _Bordered, image: Callable[[Vector], Vector]) -> Vector:
        """The free variables moved until slope = b holds in the digits of `image`, or gets no better."""
        best, kept = np.inf, (self.parts.copy(), np.zeros(0), self.b)
        for _ in range(STEPS + 1):
            f = image(self.box.joined(self.parts))
            slope = self.box.slope(self.parts, f)[free]
            level = float(slope.mean()) if self.tied else 0.0
            off = float(np.abs(slope - level).max())
            slow, better = off > 0.5 * best, off < best
            if better:
                best, kept = off, (self.parts.copy(), f, level)
            if slow or off <= SETTLED * self.box.unit:
                break
            self.parts[free] += inverse(slope, -float(self.parts.sum()))[0]
        self.parts, f, self.b = kept
        return f

    def _level(self, slope: Vector) -> float:
        """An intercept between what the held variables ask for."""
        if not self.tied:
            return 0.0
        top, bottom = extremes(self.box, self.parts, slope)
        return 0.5 * (float(slope[top]) + float(slope[bottom]))

    def _let_go(self, eager: Mask, pull: Vector) -> Mask:
        """The worst pair alone, where no free variable has settled b."""
        if self.b is not None or not eager.any():
            return eager
        found = np.zeros(len(pull), dtype=bool)
        found[list(extremes(self.box, self.parts, pull))] = True
        return found


def free_variables(box: Box, parts: Vector) -> Mask:
    """Those that lie strictly inside."""
    return np.asarray((parts > box.low) & (parts < box.high))


def extremes(box: Box, parts: Vector, slope: Vector) -> tuple[int, int]:
    """The variables with most to gain from an increase and from a decrease."""
    up = np.where(parts < box.high, slope, -np.inf)
    down = np.where(parts > box.low, slope, np.inf)
    return int(np.argmax(up)), int(np.argmin(down))


def merged(rows: Index, values: Vector) -> tuple[Index, Vector]:
    """Each row once."""
    unique, where = np.unique(rows, return_inverse=True)
    return unique, np.asarray(np.bincount(where, values, len(unique)), dtype=np.float64)


class _Bordered:
    """A β + b = right with Σβ = total (`tied`), or A β = right."""

    def __init__(self, A: Matrix, *, tied: bool, jitter: float) -> None:
        self.A, self.tied = A, tied
        if tied and len(A) > 1:
            # differences to the last row take b out: A may be singular where the constraint completes it
            last = A[-1, :-1]
            reduced = A[:-1, :-1] - last
            reduced -= last[:, None]
            reduced += A[-1, -1]
            A = reduced
        self.inverse = refining(A, jitter)

    def __call__(self, right: Vector, total: float) -> tuple[Vector, float]:
        """β and b."""
        A = self.A
        if not self.tied:
            return self.inverse(right), 0.0
        side = right - total * A[:, -1]
        beta = np.append(self.inverse(side[:-1] - side[-1]), 0.0) if len(A) > 1 else np.zeros(1)
        beta[-1] = total - float(beta.sum())
        return beta, float((right - A @ beta).mean())


def refining(A: Matrix, share: float) -> Solve:
    """A⁻¹ by Cholesky, as much added to the diagonal as it takes, and steps of refinement."""
    # in units of the largest entry: differences of nearly equal rows are rounding beside it
    raises = [share * 100.0**k for k in range(9)]
    solve = cholesky(A.copy(), raises, float(np.diagonal(A).max(initial=0.0)) + 1e-300)

    def refined(right: Matrix) -> Matrix:
        solved = solve(right)
        for _ in range(2):
            solved = solved + solve(right - A @ solved)
        return np.asarray(solved)

    return refined
