"""dg.certify: how far above the optimum are weights that came from anywhere?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.blocks.dataset import elsewhere
from dualgap.device.arrivals import to_host
from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates
from dualgap.drive.run import drive
from dualgap.drive.solver import Iterate, Solver
from dualgap.errors import DataError
from dualgap.fitting.assessment import Assessment
from dualgap.fitting.claims import Fitted
from dualgap.fitting.groups import refuse_groups
from dualgap.fitting.inputs import read_labels, read_table, read_weights
from dualgap.fitting.joint_problem import joint_family, joint_problem
from dualgap.fitting.multiclass import form_of, joined
from dualgap.fitting.names import penalty_named
from dualgap.fitting.offsets import parted, read_offset, without
from dualgap.fitting.options import read_limits, read_solver
from dualgap.fitting.outputs import joint_certificate, output_problem, outputs_working
from dualgap.fitting.peer_files import read_model_file
from dualgap.fitting.reading import Reading, asked_of, read
from dualgap.fitting.several import refuse_several
from dualgap.fitting.signs import refuse_in_blocks
from dualgap.fitting.sklearn_models import read_model, transformed
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import certificate, relative_gap
from dualgap.losses import Loss
from dualgap.penalties import Penalty
from dualgap.problem.certificate import proven
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem
from dualgap.problem.repeated import reduced
from dualgap.proof.certificate import Certificate
from dualgap.proof.check import Checked
from dualgap.proof.claims import distance

NEAR = 1e-6  # a budget broken by less than this share is rounding, and mended


def certify(  # noqa: PLR0913
    X: Any,
    y: Any,
    coef: Any = None,
    intercept: Any = 0.0,
    *,
    loss: str | Loss | None = None,
    penalty: str | Penalty = "l2",
    lam: float | None = None,
    C: float | None = None,
    budget: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    offset: Any = None,
    penalty_factors: Any = None,
    standardize: bool = False,
    groups: Any = None,
    bounds: Any = None,
    constraints: Any = None,
    multiclass: str = "auto",
    solver: str | Solver = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
) -> Assessment:
    """How far above the optimum are these weights at most?

    `coef` is an array of weights, with the objective in the keywords of `fit`; or a fitted linear model of
    scikit-learn, skglm, celer, glum or statsmodels (or a pipeline or a search that ends in one), whose
    objective is read off it; or a model file of LIBLINEAR or LIBSVM, with its `C`; or a Solution. The dual
    point that proves the answer is found here, so that the excess is the true one up to `tol`. Where the
    problem is not convex a search proves the bound, for as long as `max_time` says (a minute, if nothing
    does); what it could not prove is said in a note. A model that does not keep its `offset`, such as glum's,
    needs that beside it. Rows in blocks have their target with them:
    `certify(dg.dataset(...), coef, intercept, loss=...)`.
    """
    began = time.perf_counter()
    limits = read_limits(tol, max_iter, max_time, None)
    X, y, coef, intercept = (to_host(one) for one in (X, y, coef, intercept))
    sample_weight, offset = to_host(sample_weight), to_host(offset)
    rows = elsewhere(X, offset=offset)
    asked = asked_of(locals(), but=("loss", "sample_weight", "offset"))
    if rows is not None:  # the target is with the rows: what follows them are the weights
        from dualgap.fitting.streamed import certify_streamed

        if loss is None:
            raise DataError("Weights for a data set need loss= and a strength beside them.")
        refuse_in_blocks(asked.pop("bounds"), asked.pop("constraints"))
        refuse_several(loss, "rows that are read in blocks")
        refuse_groups(penalty_named(penalty))
        del asked["groups"]
        asked |= {"loss": loss, "multiclass": multiclass}
        return certify_streamed(rows, y, intercept if coef is None else coef, limits, asked)
    if loss is None:
        given = {**asked, "multiclass": multiclass, "intercept": intercept}
        task = _of_model(X, y, coef, (sample_weight, offset), given)
    else:
        reading = read(X, y, loss=loss, sample_weight=sample_weight, offset=offset, **asked)
        form = form_of(reading, multiclass)
        task = _Task(
            (reading,), _weights(coef, intercept, reading), form, "These weights", (), reading.labels
        )
    return _assess(task, read_solver(solver), limits, began)


@dataclass(frozen=True, eq=False)
class _Task:
    """Readings (several where a regression loss classifies), and a row (coef, intercept) per problem."""

    readings: tuple[Reading, ...]
    weights: NDArray[np.float64]
    form: str
    source: str
    notes: tuple[str, ...]
    classes: tuple[Any, ...] | None


def _weights(coef: Any, intercept: Any, reading: Reading, problems: int | None = None) -> NDArray[np.float64]:
    """Rows of coef with the intercept behind, checked against the data; a row per class, or per problem."""
    try:
        table = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        level = np.atleast_1d(np.asarray(intercept, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        raise DataError(
            f"coef must be numbers or a fitted model, not {type(coef).__name__}; "
            "numbers need loss= and a strength beside them."
        ) from None
    rows = reading.count if reading.several else problems or 1
    p = reading.table.design.shape[1]
    if table.shape == (p, 1) and rows == 1:
        table = table.T
    if table.shape != (rows, p):
        raise DataError(f"coef has the shape {np.shape(coef)}; X with {p} columns needs ({rows}, {p}).")
    if len(level) not in (1, rows):
        raise DataError(f"intercept has {len(level)} entries; {rows} are needed.")
    full = np.column_stack([table, np.broadcast_to(level, (rows,))])
    if not np.all(np.isfinite(full)):
        raise DataError("The weights hold NaN or infinity.")
    if not reading.terms.fit_intercept and np.any(full[:, -1] != 0.0):
        raise DataError("fit_intercept=False, but the weights come with an intercept.")
    return full


def _of_model(X: Any, y: Any, model: Any, by_row: tuple[Any, Any], given: dict[str, Any]) -> _Task:
    """`by_row` are the weights and the offset of the rows."""
    notes: tuple[str, ...] = ()
    file = isinstance(model, str | PathLike)
    C = given.pop("C") if file else None
    usual = signature(certify).parameters
    stray = [name for name, value in given.items() if np.ndim(value) or value != usual[name].default]
    if stray:
        raise DataError(
            f"Give loss= beside {stray[0]}=; or a fitted model alone, which says what it minimised."
        )
    if file:
        return _of_fitted(X, y, read_model_file(Path(model), C), by_row, notes)
    while hasattr(model, "named_steps") or hasattr(model, "best_estimator_"):
        if hasattr(model, "best_estimator_"):
            notes += (f"the best of {type(model).__name__}, {model.best_params_}",)
            model = model.best_estimator_
            continue
        if len(model.steps) > 1:
            X, before = transformed(X, model)
            notes += (f"on the columns as they leave {before}",)
        model = model.steps[-1][1]
    model = getattr(model, "solution_", model)
    if not isinstance(model, Solution):
        return _of_fitted(X, y, read_model(model), by_row, notes)
    if any(value is not None for value in by_row):
        raise DataError(
            "A Solution knows the weights and the offset of its rows; leave sample_weight and offset out."
        )
    return replace(_of_solution(X, y, model), notes=notes)


def _of_solution(X: Any, y: Any, solution: Solution) -> _Task:
    X = without(X, solution.terms.offset_name)
    terms, table = solution.terms, read_table(X, learn=True)
    n = table.design.shape[0]
    if (n, table.design.shape[1]) != (len(terms.sample_weight), len(terms.scale)):
        raise DataError("This Solution is of other data: X has another shape than the X it was fitted on.")
    if table.names is not None and solution.names is not None and table.names != solution.names:
        raise DataError("X has other columns than the Solution, or in another order; give those of the fit.")
    if terms.hard:
        raise DataError("certify cannot judge a hard margin (C=inf); its certificate's recheck(X, y) can.")
    if solution.classes is None:
        reading = read(X, y, loss=terms.loss, penalty="none")
    else:
        reading = read(X, y, loss=terms.loss, penalty="none", sample_weight=terms.sample_weight)
    known = None if solution.classes is None else tuple(solution.classes.tolist())
    if reading.labels != known:
        raise DataError(f"y has the classes {reading.labels}, the Solution {known}; give the y of the fit.")
    reading = replace(reading, terms=terms)
    if reading.outputs is not None and reading.count != len(solution.coef):
        raise DataError(f"y has {reading.count} outputs, the Solution {len(solution.coef)}; give its y.")
    weights = _weights(solution.coef, solution.intercept, reading)
    form = form_of(reading, "auto") if solution.outputs else solution.multiclass or "one_vs_rest"
    return _Task((reading,), weights, form, "This Solution", (), reading.labels)


def _of_fitted(X: Any, y: Any, fitted: Fitted, by_row: tuple[Any, Any], notes: tuple[str, ...]) -> _Task:
    sample_weight, offset = by_row
    claim = fitted.claim
    X, offset, column = parted(X, offset)
    columns = read_table(X, learn=True)
    n, p = columns.design.shape
    fitted = fitted.on(p)
    fitted.check(n, columns.names)
    weights = read_weights(sample_weight, n)
    weights = weights * _class_weights(fitted, y, weights)
    penalty, lam = claim.objective(weights)
    offset = _known_offset(fitted, read_offset(offset, n, claim.loss, column))
    keywords: dict[str, Any] = dict(
        loss=claim.loss,
        penalty=penalty,
        lam=lam,
        fit_intercept=fitted.fit_intercept,
        sample_weight=weights,
        offset=offset,
        penalty_factors=claim.factors,
        groups=claim.groups,
    )
    if claim.labels:
        assert fitted.classes is not None
        _, which = _check_classes(fitted, y, n)
        positive = range(len(fitted.classes)) if len(fitted.classes) > 2 else (1,)
        readings = tuple(read(X, np.where(which == k, 1.0, -1.0), **keywords) for k in positive)
        table = _weights(fitted.coef, fitted.intercept, readings[0], len(readings))
        names = tuple(fitted.classes.tolist())
        return _Task(readings, table, "one_vs_rest", fitted.name, claim.notes + notes, names)
    if fitted.classes is not None:
        _check_classes(fitted, y, n)
    reading = read(X, y, **keywords)
    if fitted.coef.ndim == 2 and fitted.classes is None and len(fitted.coef) != reading.count:
        raise DataError(
            f"This {fitted.name} has {len(fitted.coef)} targets, y {reading.count}; give the y of the fit."
        )
    full = _weights(fitted.coef, fitted.intercept, reading)
    form = claim.multiclass if reading.outputs is None else form_of(reading, "auto")
    if claim.noise is not None:
        scores = reading.table.design.matvec(full[0, :-1]) + full[0, -1]
        residual = reading.y - reading.terms.shifted(scores)
        notes = claim.scale_notes(residual, weights) + notes
    return _Task((reading,), full, form, fitted.name, claim.notes + notes, reading.labels)


def _known_offset(fitted: Fitted, given: Vector | None) -> Vector | None:
    """That of the model, where it keeps one; else the one given."""
    known = fitted.claim.offset
    if known is None or given is None:
        return given if known is None else known
    if not np.array_equal(known, given):
        raise DataError(f"This {fitted.name} was fitted with another offset; leave offset= out.")
    return known


def _check_classes(fitted: Fitted, y: Any, n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    found, which = read_labels(y, n)
    assert fitted.classes is not None
    if found.tolist() != list(fitted.classes.tolist()):
        raise DataError(
            f"y has the classes {found.tolist()}, the model was fitted on {fitted.classes.tolist()}; "
            "give the y of the fit."
        )
    return found, which


def _class_weights(fitted: Fitted, y: Any, sample_weight: Vector) -> Vector:
    claim, n = fitted.claim, len(sample_weight)
    if claim.class_weight is None:
        return np.ones(n)
    _, which = _check_classes(fitted, y, n)
    assert fitted.classes is not None
    if len(fitted.classes) > 2 and claim.multiclass == "one_vs_rest" and not claim.shared_weights:
        raise DataError(
            f"{fitted.name} with class_weight gives each class its weight in its own problem only; "
            "certify the classes one by one, with sample_weight."
        )
    from sklearn.utils.class_weight import compute_class_weight

    more = {}
    if claim.balance_by_weight and "sample_weight" in signature(compute_class_weight).parameters:
        more["sample_weight"] = sample_weight  # since scikit-learn 1.7
    with np.errstate(divide="ignore"):
        factors = compute_class_weight(
            claim.class_weight, classes=fitted.classes, y=fitted.classes[which], **more
        )
    return np.where(np.isfinite(factors), factors, 0.0)[which]  # a class of weight zero weighs nothing


def _assess(task: _Task, solver: str | Solver, limits: Limits, began: float) -> Assessment:
    reading = task.readings[0]
    terms = reading.terms
    weights = task.weights if terms.fit_intercept else task.weights[:, :-1]
    if reading.outputs is not None and task.form == "joint":
        parts = [_joint_outputs(reading, weights, solver, limits)]
        proof = joint_certificate(reading, parts[0].best, limits.tolerance)
    elif reading.many_classes and task.form == "multinomial":
        parts = [_joint(reading, weights, solver, limits)]
        proof = certificate(reading, parts[0].best, limits.tolerance, "multinomial")
    else:
        parts = [
            _one(own, targets, w, solver, limits)
            for (own, targets), w in zip(_problems(task), weights, strict=True)
        ]
        each = [
            p.searched or certificate(reading, p.best, limits.tolerance, classes=task.classes) for p in parts
        ]
        form = "one_vs_rest" if reading.outputs is None else "outputs"
        proof = each[0] if len(each) == 1 else joined(each, limits.tolerance, terms, form)
    errors = [p.error for p in parts if p.error is not None]
    mended = any(p.mended for p in parts)
    return Assessment(
        objective=proof.objective,
        bound=proof.bound,
        best_known=sum(p.best_known for p in parts),
        relative_gap=relative_gap(proof.gap, proof.objective, sum(p.null for p in parts)),
        coef_error=float(np.linalg.norm(errors)) if len(errors) == len(parts) else None,
        certificate=proof,
        words=terms.words(),
        source=task.source,
        shape=reading.table.design.shape,
        seconds=time.perf_counter() - began,
        notes=task.notes
        + (("the weights were moved into the budget or the bounds, which they broke by rounding",) * mended)
        + tuple(dict.fromkeys(p.note for p in parts if p.note)),
    )


def _problems(task: _Task) -> list[tuple[Reading, Vector]]:
    """Each problem's reading and targets."""
    first = task.readings[0]
    if first.several:
        return [(first.alone(k), first.targets(k)) for k in range(first.count)]
    return [(reading, reading.targets()) for reading in task.readings]


@dataclass(frozen=True, eq=False)
class _Found:
    """The weights' own objective with the best bound found; `mended` if they had to move into the budget."""

    best: Checked
    best_known: float
    null: float
    error: float | None
    mended: bool
    searched: Certificate | None = None
    note: str = ""


def _one(reading: Reading, targets: Vector, w: Vector, solver: str | Solver, limits: Limits) -> _Found:
    problem = reading.terms.problem(reading.table.design, targets)
    if not problem.convex:
        return _searched(reading, problem, w, solver, limits)
    return _bounded(problem, lambda: reduced(problem), w, solver, limits)


def _searched(reading: Reading, problem: Problem, w: Vector, solver: str | Solver, limits: Limits) -> _Found:
    """The bound of a search that starts from these weights."""
    from dualgap.discrete import choose, pursued
    from dualgap.fitting.searched import search_certificate
    from dualgap.proof.check import searched

    mended, inside = _mended(problem, w), problem.regulariser.feasible(w)
    outcome = pursued(problem, choose(problem, solver), inside, limits)
    proof = search_certificate(reading, problem, outcome, limits, inside)
    found = outcome.bounds
    best = searched(problem, inside, found.dual, found.theta)
    if outcome.proven:
        note = f"the bound is the optimum, which {outcome.solver} has found and proven"
    else:
        note = f"the bound is what {outcome.solver} could prove; {outcome.sentence}"
    return _Found(best, min(found.primal, proof.objective), problem.null, None, mended, proof, note)


def _joint(reading: Reading, weights: NDArray[np.float64], solver: str | Solver, limits: Limits) -> _Found:
    problem = joint_problem(reading.terms, reading.table.design, reading.y, len(weights))
    return _bounded(problem, lambda: joint_family(reading).working, weights.ravel(), solver, limits)


def _joint_outputs(
    reading: Reading, weights: NDArray[np.float64], solver: str | Solver, limits: Limits
) -> _Found:
    targets = [reading.targets(k) for k in range(reading.count)]
    problem = output_problem(reading.terms, reading.table.design, targets)
    return _bounded(problem, lambda: outputs_working(reading), weights.ravel(), solver, limits)


def _bounded(
    problem: Problem, prepare: Callable[[], Working], w: Vector, solver: str | Solver, limits: Limits
) -> _Found:
    """First the slope at the weights; if that is not tight the solvers, from these weights on."""
    mended = _mended(problem, w)
    best = proven(problem, w, None, limits.tolerance)
    known = best.primal
    if problem.relative(best.gap, best.primal) > limits.tolerance:
        working = prepare()
        start = Iterate(working.coordinates(best.w), working.working_theta(best.theta))
        found = drive(working, lambda: candidates(working.problem, solver), start, limits).bounds
        known = min(known, found.primal)
        # the gap of these weights, term by term
        again = problem.judged(best.w, found.theta, limits.tolerance)
        best = replace(best.improved(found).improved(again), w=best.w, primal=best.primal)
    return _Found(best, known, problem.null, distance(problem, best), mended)


def _mended(problem: Problem, w: Vector) -> bool:
    """Do the weights break a budget or bounds by rounding? More than that is another problem's answer."""
    regulariser = problem.regulariser
    moved = _into_bounds(problem, w)
    if not regulariser.constrained or np.isfinite(regulariser.value(w)):
        return moved
    size, radius = regulariser.size(w), regulariser.radius
    if size > radius * (1.0 + NEAR) + 1e-12:
        raise DataError(
            f"These weights break the budget: the penalty is {size:.6g}, the budget {radius:.6g}; "
            "they answer another problem."
        )
    return True


def _into_bounds(problem: Problem, w: Vector) -> bool:
    """Do the weights break bounds or constraints by rounding?"""
    box, constraints = problem.regulariser.box, problem.constraints
    moved = False
    if box is not None and not box.holds(w):
        off = np.maximum(box.low - w, w - box.high)
        j = int(np.argmax(off))
        if off[j] > NEAR * max(abs(float(w[j])), float(np.abs(w).max()), 1e-300):
            raise DataError(
                f"These weights break the bounds: that of column {j} is {w[j]:.6g}, outside "
                f"{box.low[j]:g} to {box.high[j]:g}; they answer another problem."
            )
        moved = True
    if constraints is not None:
        beyond, sizes = constraints.missed(problem.coef(w))[2], constraints.sizes(problem.coef(w))
        i = int(np.argmax(beyond - NEAR * sizes))
        if beyond[i] > NEAR * sizes[i]:
            raise DataError(
                f"These weights miss constraint {i} by {beyond[i]:.3g}; they answer another problem."
            )
        moved = moved or not constraints.kept(problem.coef(w))[1]
    return moved
