"""Does this model still deserve its gap on this file? All that it claims is computed again from the rows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dualgap.cli import options
from dualgap.cli.console import NOT_PROVEN, OK, Console

if TYPE_CHECKING:
    from dualgap.fitting.solution import Solution
    from dualgap.tables.prepare import Prepared


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `dualgap verify` takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    options.add_rows(parser, many=True)
    options.add_target(parser)
    parser.add_argument(
        "--hold-out", type=float, metavar="SHARE", help="the fit held out this share of the rows"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Load, treat the columns as in the fit, recompute, compare."""
    from dualgap.cli.model import opened, repeated
    from dualgap.cli.prepared_task import held_out
    from dualgap.files.read import load
    from dualgap.files.verification import examine, rows_in_use

    scanned = load(args.model)
    if scanned.certificate is not None and not len(scanned.terms.sample_weight):
        return _by_scans(scanned, args, console)
    args.rows = args.rows[0]
    solution, raw = opened(args)
    rows = repeated(solution, raw, args.target)
    if args.hold_out is not None:
        rows = rows.only(held_out(len(rows.y), args.hold_out)[1])
    objections, values = examine(solution, rows.X, rows.y, rows.offset)
    return _told(solution, rows_in_use(solution.terms), objections, values, console, rows)


def _by_scans(solution: Solution, args: argparse.Namespace, console: Console) -> int:
    """A model whose θ is a rule: the rows are scanned again, wherever they are."""
    from dualgap.cli.streamed import again
    from dualgap.files.scanned import examine_scanned

    objections, values = examine_scanned(solution, again(args.rows, solution))
    seen = f"{values.get('rows', 'not counted')}, read in blocks"
    return _told(solution, seen, objections, values, console)


def _told(
    solution: Solution,
    seen: str,
    objections: list[str],
    values: dict[str, Any],
    console: Console,
    rows: Prepared | None = None,
) -> int:
    """What holds and what does not; where rows in memory contradict the model, what is proven there."""
    console.say(solution.terms.words())
    console.say(f"  rows              {seen}")
    console.say(f"  in the model      objective {solution.objective:.12g}, bound {solution.bound:.12g}")
    if values:
        console.say(f"  on these rows     objective {values['objective']:.12g}, bound {values['bound']:.12g}")
        _also(solution, values, console)
    for objection in objections:
        console.say(f"  NO: {objection}")
    if not objections:
        among = "" if values["box"] is None else "within that size, "
        console.say(f"verified: {among}no weights beat these by a relative {values['relative_gap']:.1e}")
    elif rows is not None:
        _elsewhere(solution, rows, console, values)
    console.result({"verified": not objections, "objections": objections, **values})
    return NOT_PROVEN if objections else OK


def _also(solution: Solution, values: dict[str, Any], console: Console) -> None:
    """What else is proven on these rows, and what would help where it is not."""
    from dualgap.fitting.summary import rounded

    weights = f"{values['n_nonzero']} of {values['columns']} columns with a weight"
    if values["coef_error"] is not None:
        weights += f", proven within {values['coef_error']:.2g} of the optimal ones"
    if values["proven_zero"]:
        weights += f", {values['proven_zero']} proven zero"
    console.say(f"  weights           {weights}")
    if values["box"] is not None:
        sizes = ", ".join(f"{name} up to {size:.2g}" for name, size in values["box"].items())
        console.say(
            f"  the bound holds for weights of {sizes}: only rounding tells these columns from others"
        )
    if rounded(solution):
        console.say(f"  advice            {rounded(solution)}")


def _scaled_signs(terms: Any) -> dict[str, Any]:
    """Bounds and constraints of the weights times the scale of their columns."""
    found: dict[str, Any] = {}
    if terms.bounds is not None:
        found["bounds"] = (terms.bounds.low * terms.scale, terms.bounds.high * terms.scale)
    if terms.constraints is not None:
        rows = terms.constraints
        found["constraints"] = (rows.matrix / terms.scale, rows.lower, rows.upper)
    return found


def _elsewhere(solution: Solution, rows: Prepared, console: Console, values: dict[str, Any]) -> None:
    """How far from optimal are these weights here, proven afresh? Columns keep the scale of the fit."""
    import scipy.sparse as sp

    import dualgap as dg

    terms = solution.terms
    unknown = terms.offset is not None and rows.offset is None
    if solution.certificate.search is not None or terms.hard or unknown:
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
            **_scaled_signs(terms),
            offset=rows.offset,
            multiclass=solution.multiclass or "auto",
        )
    except ValueError as error:  # other classes, one class only, no minimum: there is nothing to compare with
        console.say(f"On these rows nothing can be said: {error}")
        return
    values["relative_gap_here"] = found.relative_gap
    console.say(f"On these rows, every row counting once:\n{found}")
