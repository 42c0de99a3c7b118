"""Does this model still deserve its gap on this file? Both values are computed again from the rows and θ."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dualgap.cli import options
from dualgap.cli.console import NOT_PROVEN, OK, Console

if TYPE_CHECKING:
    from dualgap.fitting.solution import Solution
    from dualgap.tables.prepare import Prepared

ROUNDING = 1e-11  # relative, by which a sum over the rows may differ on another machine


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap verify` takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    options.add_rows(parser)
    parser.add_argument(
        "--target", metavar="COL", help="the target, for a model that was not fitted on a file"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Load, treat the columns as in the fit, recompute, compare."""
    import dualgap as dg
    from dualgap.cli.model import recipe_for
    from dualgap.tables.prepare import default_target, repeat
    from dualgap.tables.read import read_rows

    solution = dg.load(args.model)
    absent = solution.recipe.absent if solution.recipe is not None else ()
    raw = read_rows(args.rows, absent=absent, form=args.format)
    target = args.target or (solution.recipe.target if solution.recipe is not None else default_target(raw))
    rows = repeat(raw, recipe_for(solution, raw, target))
    objections, values = examine(solution, rows)
    console.say(solution.terms.words())
    console.say(f"  in the model      objective {solution.objective:.12g}, bound {solution.bound:.12g}")
    if "objective" in values:
        console.say(f"  on these rows     objective {values['objective']:.12g}, bound {values['bound']:.12g}")
    for objection in objections:
        console.say(f"  NO: {objection}")
    verified = not objections
    if verified:
        console.say(f"verified: no weights beat these by a relative {solution.relative_gap:.1e}")
    else:
        _elsewhere(solution, rows, console, values)
    console.result({"verified": verified, "objections": objections, **values})
    return OK if verified else NOT_PROVEN


def examine(solution: Solution, rows: Prepared) -> tuple[list[str], dict[str, Any]]:
    """What speaks against the model on these rows, and both values there."""
    from dualgap.errors import DataError
    from dualgap.files.fingerprint import fingerprint

    objections = []
    claimed = solution.facts.get("fingerprint")
    if claimed is not None and claimed != fingerprint(rows.X, rows.y):
        objections.append("the rows are not those of the fit: their fingerprint differs")
    try:
        again = _recheck(solution, rows)
    except DataError as error:
        return [*objections, str(error)], {}
    objective, bound = again
    scale = max(abs(solution.objective), abs(solution.facts["null"]) * 1e-4, 1e-300)
    if not abs(objective - solution.objective) <= ROUNDING * scale:
        objections.append(f"the objective is {objective:.12g}, the model says {solution.objective:.12g}")
    if not bound >= solution.bound - ROUNDING * scale:
        objections.append(f"θ proves the bound {bound:.12g}, the model says {solution.bound:.12g}")
    if not solution.converged:
        objections.append(f"the fit itself was not proven to its tolerance: {solution.status}")
    return objections, {"objective": objective, "bound": bound}


def _recheck(solution: Solution, rows: Prepared) -> tuple[float, float]:
    """Both values; where each class has a proof of its own, the sums, that class being the second label."""
    import numpy as np

    proofs = solution.certificate
    if not isinstance(proofs, tuple):
        again = proofs.recheck(rows.X, rows.y)
        return again.objective, again.bound
    assert solution.classes is not None
    labels = solution.classes
    found = [
        proof.recheck(rows.X, np.where(rows.y == label, labels[1], labels[0]))
        for proof, label in zip(proofs, labels, strict=True)
    ]
    return sum(one.objective for one in found), sum(one.bound for one in found)


def _elsewhere(solution: Solution, rows: Prepared, console: Console, values: dict[str, Any]) -> None:
    """How far from optimal are these weights here, proven afresh? Columns keep the scale of the fit."""
    import scipy.sparse as sp

    import dualgap as dg
    from dualgap.fitting.class_certificate import ClassCertificate
    from dualgap.fitting.proof import Certificate

    terms = solution.terms
    if not isinstance(solution.certificate, Certificate | ClassCertificate):
        return
    X = sp.csc_array(rows.X / terms.scale) if sp.issparse(rows.X) else rows.X / terms.scale
    objective: dict[str, Any] = dict(
        loss=terms.loss, penalty=terms.penalty, lam=terms.lam, budget=terms.budget
    )
    factors = None if (terms.factors == 1.0).all() else terms.factors
    try:
        found = dg.certify(
            X,
            rows.y,
            solution.coef * terms.scale,
            solution.intercept,
            **objective,
            fit_intercept=terms.fit_intercept,
            penalty_factors=factors,
            multiclass=solution.multiclass or "auto",
        )
    except ValueError as error:  # other classes, one class only, no minimum: there is nothing to compare with
        console.say(f"On these rows nothing can be said: {error}")
        return
    values["relative_gap_here"] = found.relative_gap
    console.say(f"On these rows, every row counting once:\n{found}")
