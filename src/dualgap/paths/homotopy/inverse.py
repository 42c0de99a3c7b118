"""The explicit inverse G of a symmetric system, lower triangle only, under changes of one or two slots."""

from __future__ import annotations

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.paths.homotopy.course import SIZE, Course


@compiled(reassociate=True, inner=True)
def times(G: Matrix, size: int, x: Vector, out: Vector) -> None:
    """out = G x."""
    for a in range(size):
        xa, total = x[a], 0.0
        row = G[a]
        for c in range(a):
            total += row[c] * x[c]
            out[c] += row[c] * xa
        out[a] = total + row[a] * xa


@compiled(reassociate=True, inner=True)
def inner(size: int, x: Vector, y: Vector) -> float:
    """x · y over the slots."""
    total = 0.0
    for a in range(size):
        total += x[a] * y[a]
    return total


@compiled(inner=True)
def column(G: Matrix, size: int, k: int, out: Vector) -> None:
    """out = G[:, k]."""
    for c in range(k + 1):
        out[c] = G[k, c]
    for a in range(k + 1, size):
        out[a] = G[a, k]


@compiled(inner=True)
def rank_one(G: Matrix, size: int, g: Vector, factor: float) -> None:
    """G += factor · g gᵀ."""
    for a in range(size):
        t = factor * g[a]
        if t != 0.0:
            row = G[a]
            for c in range(a + 1):
                row[c] += t * g[c]


@compiled(inner=True)
def rank_two(G: Matrix, size: int, first: Vector, second: Vector, core: tuple[float, float, float]) -> None:
    """G += core[0] ffᵀ + core[1] (fsᵀ + sfᵀ) + core[2] ssᵀ."""
    for a in range(size):
        x = core[0] * first[a] + core[1] * second[a]
        y = core[1] * first[a] + core[2] * second[a]
        row = G[a]
        for c in range(a + 1):
            row[c] += x * first[c] + y * second[c]


@compiled(inner=True)
def seat(course: Course, key: int) -> None:
    """The key takes the next slot."""
    slot = course.count[SIZE]
    course.keys[slot] = key
    course.place[key] = slot
    course.count[SIZE] = slot + 1


@compiled(inner=True)
def append(course: Course, g: Vector, sigma: float, key: int) -> None:
    """One slot more; g = G u for its column u, sigma = its diagonal − u·g."""
    G, size = course.inverse, course.count[SIZE]
    rank_one(G, size, g, 1.0 / sigma)
    for a in range(size):
        G[size, a] = -g[a] / sigma
    G[size, size] = 1.0 / sigma
    seat(course, key)


@compiled(inner=True)
def forget(course: Course, k: int) -> None:
    """Take slot k off the books (G already freed of it) and move the last slot into its place."""
    G, last = course.inverse, course.count[SIZE] - 1
    keys, slot = course.keys, course.slot
    course.place[keys[k]] = -1
    if k != last:
        for c in range(k):
            G[k, c] = G[last, c]
        G[k, k] = G[last, last]
        for a in range(k + 1, last):
            G[a, k] = G[last, a]
        keys[k] = keys[last]
        course.place[keys[k]] = k
        for c in range(8):
            slot[c, k] = slot[c, last]
    course.count[SIZE] = last


@compiled(inner=True)
def remove_two(course: Course, k: int, other: int, first: Vector, second: Vector) -> None:
    """Two slots less; first = G[:, k], second = G[:, other]. Answers lose what they had there."""
    a, b, c = first[k], first[other], second[other]
    determinant = a * c - b * b
    core = (-c / determinant, b / determinant, -a / determinant)
    _lean(course, core, k, other, first, second)
    rank_two(course.inverse, course.count[SIZE], first, second, core)
    forget(course, max(k, other))
    forget(course, min(k, other))


@compiled(inner=True)
def _lean(
    course: Course, core: tuple[float, float, float], k: int, other: int, first: Vector, second: Vector
) -> None:
    """answers += [first, second] · core · (answer k, answer other)."""
    slot = course.slot
    for c in range(4):
        x = core[0] * slot[c, k] + core[1] * slot[c, other]
        y = core[1] * slot[c, k] + core[2] * slot[c, other]
        for a in range(course.count[SIZE]):
            slot[c, a] += x * first[a] + y * second[a]


@compiled(inner=True)
def append_two(
    course: Course, lines: Matrix, corner: tuple[float, float, float], keys: tuple[int, int]
) -> None:
    """Two slots more; lines are u, Gu of the first and of the second, corner the 2 × 2 among themselves.

    Their right sides must be in place; the answers follow.
    """
    G, size, slot = course.inverse, course.count[SIZE], course.slot
    s11 = corner[0] - inner(size, lines[0], lines[1])
    s12 = corner[1] - inner(size, lines[0], lines[3])
    s22 = corner[2] - inner(size, lines[2], lines[3])
    determinant = s11 * s22 - s12 * s12
    core = (s22 / determinant, -s12 / determinant, s11 / determinant)
    for c in range(4):
        first = slot[4 + c, size] - inner(size, lines[0], slot[c])
        second = slot[4 + c, size + 1] - inner(size, lines[2], slot[c])
        slot[c, size] = core[0] * first + core[1] * second
        slot[c, size + 1] = core[1] * first + core[2] * second
        for a in range(size):
            slot[c, a] -= slot[c, size] * lines[1, a] + slot[c, size + 1] * lines[3, a]
    rank_two(G, size, lines[1], lines[3], core)
    for a in range(size):
        G[size, a] = -(core[0] * lines[1, a] + core[1] * lines[3, a])
        G[size + 1, a] = -(core[1] * lines[1, a] + core[2] * lines[3, a])
    G[size, size], G[size + 1, size], G[size + 1, size + 1] = core
    seat(course, keys[0])
    seat(course, keys[1])


@compiled(inner=True)
def replace(course: Course, k: int, key: int, lines: Matrix, corner: float) -> float:
    """Slot k gets another column: lines[0] is new − old with entry k zero, corner that of the diagonal.

    lines[1] must be G[:, k] and lines[2] G times lines[0]; the answers must have been moved by G times the
    change of the right sides. Returns the pivot, small where the new system is nearly singular.
    """
    G, size, slot = course.inverse, course.count[SIZE], course.slot
    along, rest = lines[1, k], inner(size, lines[0], lines[2]) - corner
    pivot = 1.0 + lines[2, k]
    determinant = along * rest - pivot * pivot
    core = (-rest / determinant, pivot / determinant, -along / determinant)
    for c in range(4):
        here, there = slot[c, k], inner(size, lines[0], slot[c])
        x, y = core[0] * here + core[1] * there, core[1] * here + core[2] * there
        for a in range(size):
            slot[c, a] += x * lines[1, a] + y * lines[2, a]
    rank_two(G, size, lines[1], lines[2], core)
    course.place[course.keys[k]] = -1
    course.keys[k] = key
    course.place[key] = k
    return abs(pivot)
