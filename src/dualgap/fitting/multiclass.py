"""More than two classes: one against the rest for every classification loss, jointly for two of them."""

from __future__ import annotations

import difflib
import time
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits, Status
from dualgap.drive.solver import Solver
from dualgap.drive.trace import Trace
from dualgap.drive.turns import in_turn, one_by_one
from dualgap.errors import DataError, UnboundedError
from dualgap.fitting.one_problem import fit_one
from dualgap.fitting.options import read_start
from dualgap.fitting.reading import Reading
from dualgap.fitting.several import joint
from dualgap.fitting.side_by_side import Stated
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import answer, relative_gap
from dualgap.losses import Loss
from dualgap.losses.joint import joint_hinge
from dualgap.penalties import Penalty
from dualgap.proof.certificate import Certificate, narrowest
from dualgap.proof.rounding import added
from dualgap.traits import Trait

FORMS = ("auto", "one_vs_rest", "multinomial", "crammer_singer")


def read_form(multiclass: Any, loss: Loss, penalty: Penalty) -> str:
    """ "one_vs_rest", or "multinomial" for all classes jointly, checked against loss and penalty."""
    if multiclass not in FORMS:
        close = difflib.get_close_matches(str(multiclass), FORMS, n=1, cutoff=0.3)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise DataError(f"There is no multiclass={multiclass!r}.{hint} Known: {', '.join(FORMS)}.")
    if penalty.ordered or penalty.slope_at_zero is not None:
        return _rest_alone(penalty, multiclass)
    joint = Trait.ENTROPIC in loss.traits  # softmax is the form of its entropy for many classes
    if multiclass == "multinomial" and not joint:
        raise DataError(
            f'multiclass="multinomial" is a form of the logistic loss; with {loss} use "one_vs_rest".'
        )
    if multiclass == "crammer_singer":
        if not joint_hinge(loss):
            raise DataError(
                f'multiclass="crammer_singer" is a form of the hinge loss; with {loss} use "one_vs_rest".'
            )
        return "multinomial"
    return "multinomial" if joint and multiclass == "auto" else str(multiclass).replace("auto", "one_vs_rest")


def _rest_alone(penalty: Penalty, multiclass: str) -> str:
    """Where classes cannot be fitted jointly."""
    if multiclass not in ("auto", "one_vs_rest"):
        raise DataError(
            f'With {penalty} each class is held against the rest: multiclass="one_vs_rest", '
            f"not {multiclass!r}."
        )
    return "one_vs_rest"


def form_of(reading: Reading, multiclass: Any) -> str:
    """How several classes or outputs are fitted: each on its own, or all jointly."""
    if reading.outputs is not None:
        return "joint" if joint(reading.terms) else "outputs"
    form = read_form(multiclass, reading.terms.loss, reading.terms.penalty)
    if reading.several and Trait.CONVEX not in reading.terms.regulariser.traits:
        return _rest_alone(reading.terms.penalty, multiclass)
    return form


def fit_many(
    reading: Reading, form: str, solver: str | Solver, limits: Limits, warm_start: Any = None
) -> Solution:
    """The fit for more than two classes, or several outputs; `form` as `form_of` gives it."""
    if form == "joint":
        from dualgap.fitting.outputs import fit_jointly

        return fit_jointly(reading, solver, limits, warm_start)
    if form == "multinomial":
        from dualgap.fitting.joint import fit_multinomial  # here: most fits never need it

        return fit_multinomial(reading, solver, limits, warm_start)
    return _fit_each(reading, solver, limits, warm_start)


class Fits(Protocol):
    """Fits of the same data at one strength after another."""

    def fit(self, lam: float | None, budget: float | None, start: Solution | None = None) -> Solution:
        """At a strength, or under a budget; without a start, from the fits before."""


def fits_of(reading: Reading, form: str, solver: str | Solver, limits: Limits) -> Fits:
    """What a path or a fold asks for; `form` as `form_of` gives it."""
    if form == "joint":
        from dualgap.fitting.outputs import OutputFits

        return OutputFits(reading, solver, limits)
    if form == "multinomial":
        from dualgap.fitting.joint import JointFits

        return JointFits(reading, solver, limits)
    return (EachFits if reading.several else OneFits)(reading, solver, limits)


class OneFits:
    """One problem, started from the fit before."""

    def __init__(self, reading: Reading, solver: str | Solver, limits: Limits) -> None:
        self._reading, self._solver, self._limits = _sharing(reading), solver, limits
        self._last: Solution | None = None

    def fit(self, lam: float | None, budget: float | None, start: Solution | None = None) -> Solution:
        """See `Fits`."""
        reading = replace(self._reading, terms=replace(self._reading.terms, lam=lam, budget=budget))
        self._last = self._fitted(reading, start or self._last)
        return self._last

    def _fitted(self, reading: Reading, start: Solution | None) -> Solution:
        return fit_one(reading, reading.targets(), self._solver, self._limits, start)


class EachFits(OneFits):
    """One class against the rest, each started from the fit before."""

    def _fitted(self, reading: Reading, start: Solution | None) -> Solution:
        return _fit_each(reading, self._solver, self._limits, start)


def in_a_row(fits: Fits, strengths: Vector, *, penalised: bool, limits: Limits) -> list[Solution]:
    """The fits at these strengths, or under these budgets, as far as the time goes."""
    found: list[Solution] = []
    for strength in in_turn(strengths, limits):
        value = float(strength)
        found.append(fits.fit(value, None) if penalised else fits.fit(None, value))
    if len(found) > 1 and limits.spent and not found[-1].converged:
        found.pop()  # half done
    return found


def _fit_each(reading: Reading, solver: str | Solver, limits: Limits, warm_start: Any) -> Solution:
    """A problem per class or output; limits on time and the wish to stop hold for all of them together."""
    began = time.perf_counter()
    classes, reading = reading.count, _sharing(reading)
    starts: list[Any] = [None] * classes
    if warm_start is not None:
        coef, intercept, _ = read_start(warm_start, (classes, len(reading.terms.scale)))
        starts = list(zip(coef, intercept, strict=True))
    # half the tolerance, so that the sums keep it also where some classes are far easier than others
    half = replace(limits, tolerance=0.5 * limits.tolerance)
    ahead = Stated(reading, half.tolerance) if solver == "auto" and warm_start is None else None
    parts = one_by_one(
        classes,
        half,
        lambda k, own: _against_the_rest(reading, k, solver, own, starts[k], ahead and ahead.output(k)),
    )
    return together(reading, parts, limits, time.perf_counter() - began)


def _sharing(reading: Reading) -> Reading:
    """The same with rows that keep what all problems ask of them."""
    return replace(reading, table=replace(reading.table, design=reading.table.design.remembering()))


def _against_the_rest(
    reading: Reading, k: int, solver: str | Solver, limits: Limits, start: Any, stated: Any = None
) -> Solution:
    own = reading.alone(k)
    try:
        return fit_one(own, own.targets(k), solver, limits, start, stated)
    except UnboundedError as error:
        which = f"Class {reading.labels[k]!r} against the rest" if reading.labels else f"Output {k}"
        raise UnboundedError(
            f"{which}: {error}",
            direction=error.direction,
            intercept=error.intercept,
        ) from None


def together(reading: Reading, parts: list[Solution], limits: Limits, seconds: float) -> Solution:
    """One solution from those of each class against the rest: sums of the values, a row of weights each."""
    form = "one_vs_rest" if reading.outputs is None else "outputs"
    proof = joined([p.certificate for p in parts], limits.tolerance, reading.terms, form)
    null = sum(p.facts["null"] for p in parts)
    relative = relative_gap(proof.gap, proof.objective, null)
    converged = relative <= limits.tolerance
    errors = [p.coef_error for p in parts if p.coef_error is not None]
    failed = [p.status for p in parts if not p.converged]
    return answer(
        reading,
        proof,
        None,
        relative_gap=relative,
        converged=converged,
        status=Status.CERTIFIED.value if converged else failed[0],
        solver=", ".join(dict.fromkeys(p.solver for p in parts)),
        n_iter=sum(p.n_iter for p in parts),
        seconds=seconds,
        trace=_trace(parts),
        coef_error=float(np.linalg.norm(errors)) if len(errors) == len(parts) else None,
        coef_error_reason=parts[0].coef_error_reason,
        proven_zero=lambda: np.array([p.proven_zero for p in parts]),
        facts=reading.facts(null),
        parts=tuple(parts),
        multiclass=None if reading.outputs else form,
    )


def joined(
    parts: list[Certificate], tolerance: float, terms: Any = None, form: str = "one_vs_rest"
) -> Certificate:
    """One certificate from those of each class against the rest, or of each output: a row of weights, a
    column of θ each.
    """
    searched = parts[0].theta is None or any(one.search for one in parts)
    return Certificate(
        None if searched else _side_by_side([one.theta for one in parts]),
        np.array([one.coef for one in parts]),
        np.array([one.intercept for one in parts]),
        added((one.objective for one in parts), up=True),
        added((one.bound for one in parts), up=False),
        parts[0].terms if terms is None else terms,
        parts[0].classes,
        form,
        narrowest([one.box for one in parts]),
        tolerance,
        tuple(one.search for one in parts) if searched else None,
        multipliers=_stacked([one.multipliers for one in parts]),
        bound_multipliers=_stacked([one.bound_multipliers for one in parts]),
        violation=max(one.violation for one in parts),
    )


def _stacked(multipliers: list[Any]) -> Any:
    """A row for each class, where there are any."""
    return None if any(one is None for one in multipliers) else np.array(multipliers)


def _side_by_side(thetas: list[Any]) -> Any:
    """A column each; or the rules, where θ is given by rules."""
    return np.column_stack(thetas) if isinstance(thetas[0], np.ndarray) else tuple(thetas)


def _trace(parts: list[Solution]) -> Trace:
    """One line after another, each part's objective and bound with what the others start and end at."""
    firsts = [p.trace[0] for p in parts]
    trace = Trace()
    seconds, count = 0.0, 0
    for k, part in enumerate(parts):
        done, ahead = parts[:k], firsts[k + 1 :]
        upper = sum(p.objective for p in done) + sum(r.objective for r in ahead)
        lower = sum(p.bound for p in done) + sum(r.bound for r in ahead)
        trace += [
            replace(
                r,
                iteration=count + r.iteration,
                seconds=seconds + r.seconds,
                objective=r.objective + upper,
                best=r.best + upper,
                bound=r.bound + lower,
            )
            for r in part.trace
        ]
        seconds, count = seconds + part.seconds, count + part.n_iter
    return trace
