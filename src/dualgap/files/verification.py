"""A model against the rows: every number that it claims is computed again, and none of them is believed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.design import Design
from dualgap.errors import DataError
from dualgap.files.store import fingerprint
from dualgap.files.write import made, matrix_of
from dualgap.fitting.inputs import read_table
from dualgap.fitting.objective import Objective, column_scales
from dualgap.fitting.offsets import parted
from dualgap.fitting.solution import Solution
from dualgap.fitting.summary import held_columns
from dualgap.fitting.telling import relative_gap
from dualgap.problem.problem import Problem
from dualgap.proof.certificate import narrowest
from dualgap.proof.check import SHARE, Checked
from dualgap.proof.claims import distance, proven_zero
from dualgap.proof.rounding import FEW, added, gamma
from dualgap.proof.statement import SMALL
from dualgap.tables.columns import numbered

PRECISE = 2.0**-37  # relative gap that is hoped for here: where rounding blurs an eighth of it, digits double
LOOSE = 2.0**-20  # a tolerance beyond this one makes nothing looser here
WIDTH = 1.0 / 16.0  # share by which a box may differ: what only rounding tells apart rounds anew each time
FEASIBLE = 2.0**-20  # share of the largest θ by which the kernel may move one to meet the constraints
NAMED = 4  # columns in a sentence
UNPROVEN = "the fit itself was not proven to its tolerance"


@dataclass(frozen=True, eq=False)
class Truth:
    """What holds of the weights on these rows. `room` is what rounding leaves open of the bound."""

    objective: float
    sure: tuple[float, float]  # a claimed objective between these is that of the weights
    bound: float
    room: float
    null: float
    null_room: float
    zero: Mask
    error: float | None
    least_error: float  # with the rounding forgiven
    box: Vector | None = None
    outside: bool = False  # the weights break the budget
    infeasible: bool = False  # θ is not in the dual's domain
    ends: tuple[Vector, Vector] | None = None  # the multipliers of bounds, and by how much they may differ
    missed: float = 0.0  # a constraint is missed by this much at least

    @property
    def gap(self) -> float:
        """objective − bound."""
        return self.objective - self.bound

    @property
    def relative(self) -> float:
        """The relative gap."""
        return relative_gap(self.gap, self.objective, self.null)


def examine(
    solution: Solution, X: Any, y: Any, offset: Vector | None = None
) -> tuple[list[str], dict[str, Any]]:
    """What speaks against a solution on these rows, sentence by sentence, and what holds there.

    Where the rows cannot be those of the fit (another shape, other classes) there are no values. An offset,
    given or in a column of X, must be that of the fit.
    """
    objections = list(_of_the_offset(solution, X, offset))
    X = made(solution, X)
    objections += _of_the_file(solution, X, y)
    broken = list(_unusable(solution))
    if broken:
        return objections + broken, {}
    try:
        with np.errstate(all="ignore"):
            truths = _truths(solution, X, y)
            objections += _of_the_columns(solution, read_table(X).design)
    except DataError as error:
        return [*objections, str(error)], {}
    whole = truths[0]
    if solution.parts:
        whole = _summed(truths)
        labels = solution.outputs or solution.certificate.classes or ()
        for part, truth, label in zip(solution.parts, truths, labels, strict=True):
            whose = f"output {label!r}" if solution.outputs else f"class {label!r} against the rest"
            objections += [f"{whose}: {said}" for said in _claims(part, truth)]
    objections += _claims(solution, whole)
    if not solution.converged:
        objections.append(f"{UNPROVEN}: {solution.status}")
    return objections, _told(solution, whole)


def rows_in_use(terms: Objective) -> str:
    """How many rows count, and how much, in words."""
    weights, used = terms.sample_weight, terms.used
    n, count = len(weights), int(np.count_nonzero(used))
    rows = f"{n} row{'s' if n != 1 else ''}"
    said = f"{rows}, every one counts" if count == n else f"{count} of {rows} count (weight > 0)"
    low, high = float(weights[used].min()), float(weights[used].max())
    return said + (" the same" if low == high else f", with weights from {low:.6g} to {high:.6g}")


def _of_the_offset(solution: Solution, X: Any, given: Vector | None) -> Iterator[str]:
    """That of the rows, where they tell one, must be that of the model."""
    known, name = solution.terms.offset, solution.terms.offset_name
    if given is None and name is not None and hasattr(X, "columns"):
        given = np.asarray(parted(X, name)[1], dtype=np.float64)
    if given is not None and not np.array_equal(given, np.zeros(0) if known is None else known):
        yield "the offset of these rows is not that of the fit"


def _of_the_file(solution: Solution, X: Any, y: Any) -> Iterator[str]:
    """What needs no arithmetic: the words, the names, the fingerprint."""
    facts, names = solution.facts, getattr(X, "columns", None)
    words = facts.get("words", solution.terms.words())
    if words != solution.terms.words():
        yield f"the model calls its problem {words[:200]!r}, but it is {solution.terms.words()!r}"
    if names is not None and solution.names is not None and tuple(map(str, names)) != solution.names:
        yield "the columns are not those of the fit: their names differ"
    claimed = facts.get("fingerprint")
    if claimed is not None and claimed != fingerprint(matrix_of(X), y):
        yield "the rows are not those of the fit: their fingerprint differs"


def _unusable(solution: Solution) -> Iterator[str]:
    """Weights and θ that no rows can make sense of."""
    proof, terms = solution.certificate, solution.terms
    if proof is None:
        yield "nothing was proven of these weights"
        return
    n, p = len(terms.sample_weight), len(terms.scale)
    many = () if proof.form == "single" else (len(solution.outputs or proof.classes or ()),)
    shapes = [("weights", solution.coef, (*many, p)), ("intercept", solution.intercept, many)]
    shapes += [("proven zeros", solution.proven_zero, (*many, p))]
    if proof.search is None and n:  # else the rows are elsewhere, and θ is a rule for them
        shapes.append(("θ", proof.theta, (n, *many)))
    for name, values, shape in shapes:
        found = np.asarray(values)
        if found.shape != shape:
            yield f"{name}: the shape is {found.shape}, the problem needs {shape}"
        elif not np.all(np.isfinite(found)):
            yield f"{name}: NaN or infinity"
    if not terms.fit_intercept and np.any(solution.intercept):
        yield "the problem has no intercept, the model has one"
    same = np.array_equal(proof.coef, solution.coef) and np.array_equal(proof.intercept, solution.intercept)
    if not same or (proof.objective, proof.bound) != (solution.objective, solution.bound):
        yield "the certificate is that of other weights"
    if proof.search is None and n and np.any(proof.theta[~terms.used]):
        yield "θ is not zero in rows that do not count"


def _truths(solution: Solution, X: Any, y: Any) -> list[Truth]:
    """One problem, or one for each class against the rest."""
    proof = solution.certificate
    tasks = proof.terms.tasks(proof, X, y)
    sources = solution.parts or (solution,)
    return [
        _truth(source, task, *point)
        for source, task, point in zip(sources, tasks, proof.points(), strict=True)
    ]


def _truth(source: Solution, task: Any, w: Vector, theta: Any) -> Truth:
    """What the kernel and its claims say of one problem's weights and θ."""
    proof, problem, hard = source.certificate, task.problem, source.terms.hard
    if proof.search is not None and task.run.solver.missing(problem):
        raise DataError(f"The search {task.run.solver.name} does not solve the problem that the model tells.")
    task = replace(task, tolerance=proof.tolerance)
    found = _sharp(task.judged(w, theta))
    moved = _moved(found, w)
    # a sum of squares or losses, weights and digits as they are, is off by no more elsewhere
    doubt = (8.0 * FEW + 2.0 * gamma(len(w))) * found.primal
    sure = found.primal - doubt, found.primal + doubt
    null = (found.primal, doubt) if hard else _null(problem)
    if proof.search is not None:  # nothing is proven of weights where the problem is not convex
        zero = np.zeros(source.coef.shape, dtype=bool)
        return Truth(found.primal, sure, found.dual, doubt, *null, zero, None, 0.0, None, moved)
    above = found.primal + found.width
    found, room, most = _precise(task, found, (w, theta), null[0])
    if not hard:  # plain arithmetic never says less than it is; θ plays no part in how much more
        below = min(found.rounding, found.width, most)
        sure = found.primal - below, max(above, found.primal + found.width)
    forgiven = replace(found, dual=min(found.dual + 2.0 * room, found.primal))
    error, least = distance(problem, found), distance(problem, forgiven)
    zero = proven_zero(problem, found).reshape(*source.coef.shape[:-1], -1)[..., : len(source.terms.scale)]
    given = task.counted(theta) if hasattr(task, "counted") else theta[task.used]
    far = float(np.abs(found.theta - given).max()) > FEASIBLE * float(np.abs(theta).max())
    values = found.primal, sure, found.dual, room, *null
    ends = _at_bounds(source.terms, found, len(problem.y))
    missed = _missed(problem, found)
    return Truth(*values, zero & (not hard), error, least or 0.0, found.box, moved, far, ends, missed)


def _missed(problem: Problem, found: Checked) -> float:
    """How far the weights miss a constraint at least."""
    if problem.constraints is None:
        return 0.0
    _, doubt, most = problem.constraints.missed(problem.coef(found.w), exact=True)
    return max(float((most - 2.0 * doubt).max(initial=0.0)), 0.0)


def _at_bounds(terms: Objective, found: Checked, n: int) -> tuple[Vector, Vector] | None:
    """The multipliers of bounds as θ and μ imply them, and what moving θ may change of them."""
    if terms.bounds is None:
        return None
    ends = terms.bound_multipliers(found.w, found.correlation, found.theta[n:])
    if ends is None:
        return None
    size = float(np.abs(found.correlation).max(initial=0.0)) + float(np.abs(ends).max(initial=0.0))
    return ends, found.reach[: len(ends)] + FEASIBLE * size


def _precise(
    task: Any, found: Checked, point: tuple[Vector, Any], null: float
) -> tuple[Checked, float, float]:
    """The values in as many digits as it takes, what rounding leaves open of the bound, and the most it may.

    That is an eighth of a gap worth asking for: what rounding hides beyond that is not proven. Nor is it
    more than a quarter of the gap there is: rounding is paid for wherever a gap is computed.
    """
    problem, wanted = task.problem, min(max(task.tolerance, PRECISE), LOOSE)
    precise = _sharp(replace(task, tolerance=PRECISE).judged(*point))
    boxed = found.box is not None
    found = found if boxed or precise.box is not None else precise
    most = SHARE * wanted * max(abs(found.primal), SMALL * abs(null))
    room = min(_charged(problem, precise if boxed else found), most, 0.25 * found.gap)
    return found, room + (WIDTH * found.gap if boxed else 0.0), most


def _sharp(found: Checked) -> Checked:
    """With the least that is known of the objective: plain sums depend on how the rows are kept."""
    return found if found.known is None else replace(found, primal=found.known, known=None)


def _charged(problem: Problem, found: Checked) -> float:
    """What of the gap is there because of rounding alone, that of x·θ included."""
    blurred, sharp = (
        problem.regulariser.bracket(found.w, found.correlation, reach).value
        for reach in (found.reach, np.zeros_like(found.reach))
    )
    return found.rounding + max(blurred - sharp, 0.0)


def _moved(found: Checked, w: Vector) -> bool:
    """Did the kernel have to bring the weights into the budget?"""
    return bool(np.any(np.abs(found.w - w) > (16.0 * FEW + 4.0 * gamma(len(w))) * np.abs(w)))


def _null(problem: Problem) -> tuple[float, float]:
    """The objective without any column, and how far off it may be computed elsewhere.

    The best constant is known to the rounding of a mean; so is its difference to each target.
    """
    null, terms = problem.null, gamma(problem.n + 8)
    several = hasattr(problem, "classes") or hasattr(problem, "outputs")
    if several or not problem.intercept:
        return null, 8.0 * terms * (1.0 + null) if several else 8.0 * terms * null
    constant = float(problem.null_weights[-1])
    step = terms * (float(np.abs(problem.y).max()) + abs(constant))
    here, *there = (
        problem.loss.value(problem.y, np.full(problem.n, constant + s)) for s in (0.0, -step, step)
    )
    return null, float(problem.a @ np.max(np.abs(np.array(there) - here), axis=0)) + 8.0 * terms * null


def _summed(truths: list[Truth]) -> Truth:
    """One class against the rest: sums of the values, a row of zeros each."""
    errors = [one.error for one in truths if one.error is not None]
    objective, share = added((one.objective for one in truths), up=True), gamma(len(truths) + 4)
    return Truth(
        objective,
        (
            sum(one.sure[0] for one in truths) - share * abs(objective),
            sum(one.sure[1] for one in truths) + share * abs(objective),
        ),
        added((one.bound for one in truths), up=False),
        sum(one.room for one in truths) + share * abs(objective),
        sum(one.null for one in truths),
        sum(one.null_room for one in truths) + share * sum(one.null for one in truths),
        np.array([one.zero for one in truths]),
        float(np.linalg.norm(errors)) * (1.0 + FEW) if len(errors) == len(truths) else None,
        float(np.linalg.norm([one.least_error for one in truths])) * (1.0 - FEW),
        narrowest([one.box for one in truths]),
        any(one.outside for one in truths),
        any(one.infeasible for one in truths),
        missed=max(one.missed for one in truths),
    )


def _claims(said: Solution, truth: Truth) -> Iterator[str]:
    """Every claim that is not what the rows give, or does not follow from it."""
    yield from _values(said, truth)
    if truth.outside:
        yield f"the weights are outside the {'bounds' if said.terms.bounds is not None else 'budget'}"
    if truth.infeasible:
        yield "θ is outside the domain of the dual: the bound is that of another point near it"
    yield from _of_the_ends(said, truth)
    zeros = np.atleast_2d(said.proven_zero & ~truth.zero).any(axis=0)
    if zeros.any():
        yield f"not proven to be zero in every optimal answer: {_columns(said, np.flatnonzero(zeros))}"
    if said.coef_error is not None and truth.error is None:
        yield f"nothing is proven of the distance to optimal weights, the model says {said.coef_error:.3g}"
    elif said.coef_error is not None and not said.coef_error >= truth.least_error:
        within = float(truth.error or 0.0), said.coef_error
        yield _unlike("the weights are proven within {} of the optimal ones, the model says {}", *within, 3)
    if truth.box is not None:
        claimed = np.full(len(truth.box), np.inf) if said.certificate.box is None else said.certificate.box
        if not np.all(claimed <= truth.box * (1.0 + WIDTH)):
            held = held_columns(said, truth.box)
            yield f"the bound holds only {held}; the model says " + (
                "nothing of it" if said.certificate.box is None else held_columns(said, claimed)
            )


def _of_the_ends(said: Solution, truth: Truth) -> Iterator[str]:
    """What is told of bounds and constraints."""
    claimed = said.certificate.bound_multipliers
    if truth.ends is not None and claimed is not None:
        ends, room = truth.ends
        for j in np.flatnonzero(~(np.abs(claimed - ends) <= room))[:1]:
            what = f"θ implies the multiplier {{}} of the bounds of {_named(said, int(j))}, "
            yield _unlike(what + "the model says {}", float(ends[j]), float(claimed[j]), 6)
    if not said.certificate.violation >= truth.missed:
        missed = truth.missed, said.certificate.violation
        yield _unlike("the weights miss a constraint by {}, the model says {}", *missed, 3)


def _values(said: Solution, truth: Truth) -> Iterator[str]:
    """The numbers of the proof."""
    if not truth.sure[0] <= said.objective <= truth.sure[1] < np.inf:
        yield _unlike("the objective is {}, the model says {}", truth.objective, said.objective, 12)
    by = "the search" if said.certificate.search is not None else "θ"
    if not -np.inf < said.bound <= truth.bound + truth.room:
        yield _unlike(by + " proves the bound {}, the model says {}", truth.bound, said.bound, 12)
    if not abs(said.facts["null"] - truth.null) <= truth.null_room:
        nulls = truth.null, said.facts["null"]
        yield _unlike("without any column the objective is {}, the model says {}", *nulls, 12)
    own = relative_gap(said.objective - said.bound, said.objective, said.facts["null"])
    if not abs(own - said.relative_gap) <= 4.0 * FEW * own < np.inf:
        apart = "objective and bound of the model are a relative {} apart, it says {}"
        yield _unlike(apart, own, said.relative_gap, 3)
    open_ = relative_gap(2.0 * truth.room, truth.objective, truth.null)
    if not said.relative_gap >= truth.relative - open_:
        yield _unlike("the relative gap is {}, the model says {}", truth.relative, said.relative_gap, 3)
    tolerance = said.certificate.tolerance
    if said.converged and not truth.relative - min(open_, SHARE * tolerance) <= tolerance:
        yield f"the model says it is proven to {tolerance:.3g}, the relative gap is {truth.relative:.3g}"


def _unlike(sentence: str, first: float, second: float, digits: int) -> str:
    """A sentence about two numbers, with as many digits as tell them apart."""
    while digits < 17 and f"{first:.{digits}g}" == f"{second:.{digits}g}":
        digits += 1
    return sentence.format(f"{first:.{digits}g}", f"{second:.{digits}g}")


def _named(said: Solution, j: int) -> str:
    return _columns(said, np.array([j])).replace("{", "{{").replace("}", "}}")


def _columns(said: Solution, which: Any) -> str:
    names = said.names or numbered(len(said.terms.scale))
    shown = ", ".join(names[j] for j in which[:NAMED])
    return shown + (f" and {len(which) - NAMED} more" if len(which) > NAMED else "")


def _of_the_columns(solution: Solution, design: Design) -> Iterator[str]:
    """Scales and spreads must be those of the rows."""
    terms, weights = solution.terms, solution.terms.sample_weight
    a = weights / weights.sum()
    room = gamma(4 * len(a) + 64) * design.weighted_square_norms(a)
    centred, plain = (column_scales(design, weights, centred=flag) for flag in (True, False))
    if np.any(terms.scale != 1.0):
        right = centred if terms.fit_intercept else plain
        yield from _off(solution, terms.scale, right, room, "the penalty sees")
    spread = solution.facts["spread"]
    # without an intercept some fits count from zero
    other = plain if not terms.fit_intercept and np.all(np.abs(spread**2 - plain**2) <= room) else centred
    yield from _off(solution, spread, other, room, "the spread is")


def _off(solution: Solution, said: Vector, right: Vector, room: Vector, what: str) -> Iterator[str]:
    wrong = np.flatnonzero(~(np.abs(said**2 - right**2) <= room))
    if len(wrong):
        where = _named(solution, int(wrong[0]))
        sentence = f"{what} the standard deviation of {where}, {{}} in these rows; the model says {{}}"
        yield _unlike(sentence, float(right[wrong[0]]), float(said[wrong[0]]), 6)


def _told(solution: Solution, truth: Truth) -> dict[str, Any]:
    """What holds on these rows, for people and programs."""
    terms = solution.terms
    names = solution.names or numbered(len(terms.scale))
    held = None
    if truth.box is not None:
        sizes = zip([*names, "intercept"], truth.box.tolist(), strict=False)
        held = {name: size for name, size in sizes if size < np.inf}
    return {
        "objective": truth.objective,
        "bound": truth.bound,
        "gap": truth.gap,
        "relative_gap": truth.relative,
        "tolerance": solution.certificate.tolerance,
        "null": truth.null,
        "rows": len(terms.sample_weight),
        "rows_that_count": int(np.count_nonzero(terms.used)),
        "columns": len(terms.scale),
        "n_nonzero": solution.n_nonzero,
        "proven_zero": int(np.count_nonzero(truth.zero & solution.proven_zero)),
        "coef_error": truth.error,
        "box": held,
    }
