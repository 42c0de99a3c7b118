"""The table a person reads."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.drive.limits import Status
from dualgap.fitting.intervals import Intervals, cheap_intervals
from dualgap.fitting.solution import Solution
from dualgap.traits import Trait

ROWS = 40  # weights shown in all; longer tables show the largest per standard deviation
LEAST = 5  # and at least this many for each class
NAMED = 6  # columns named in a sentence
LITTLE = 1e-6  # of the largest multiplier: what an interior point leaves where there is none
APART = 2.0**26  # spreads so many times each other: half the digits of a number
FACTORS = {"log": "mean times", "logit": "odds times"}  # what one more of a column does, by the link


def summarise(solution: Solution, level: float = 0.95) -> str:
    """Objective in words, what is proven, and the weights; with intervals where a formula gives them."""
    lines = [_title(solution), _data(solution), "", *_proof(solution), ""]
    if solution.coef.ndim == 1:
        reach = cheap_intervals(solution, solution.data, level)
        lines += _table(solution, solution.coef, float(solution.intercept), solution.proven_zero, reach)
        return "\n".join(lines + ([] if reach is None else [f"  {_told(reach)}"]))
    for k, label in enumerate(_labels(solution)):
        table = _table(solution, solution.coef[k], float(solution.intercept[k]), solution.proven_zero[k])
        lines += [f"  {label}", *table, ""]
    return "\n".join(lines).rstrip()


def _labels(solution: Solution) -> list[str]:
    """Of whom each row of the weights is."""
    if solution.outputs is not None:
        return [label if solution.terms.loss.each else f"output {label!r}" for label in solution.outputs]
    assert solution.classes is not None
    return [f"class {label!r}" for label in solution.classes.tolist()]


def held_columns(solution: Solution, box: Vector) -> str:
    """The columns whose weights a proof holds within a size, and that size, as part of a sentence."""
    names = [*(solution.names or (f"x{j}" for j in range(len(solution.terms.scale)))), "the intercept"]
    which = np.flatnonzero(np.isfinite(box))
    shown = ", ".join(names[j] for j in which[:NAMED]) + (", …" if len(which) > NAMED else "")
    column = "" if which[0] == len(names) - 1 else "column " if len(which) == 1 else "columns "
    return f"for weights of size up to {float(box[which].min()):.2g} in {column}{shown}"


def held(solution: Solution) -> str:
    """What a proof that holds in a box says, and what would lift it; nothing where it holds everywhere."""
    box = None if solution.certificate is None else solution.certificate.box
    if box is None:
        return ""
    one = np.count_nonzero(np.isfinite(box)) == 1
    differ = "it differs from a combination" if one else "these differ from combinations"
    return (
        f"proven {held_columns(solution, box)}: {differ} of other columns only by rounding; "
        f"drop {'it' if one else 'them'}"
    )


def rounded(solution: Solution) -> str:
    """What would help where rounding keeps the gap open; nothing where it does not."""
    if solution.converged or solution.status != Status.STALLED.value:
        return ""
    spread = solution.facts["spread"]
    far = "centre columns whose mean is far from zero beside their spread"
    if not spread.size or float(spread.max()) <= APART * float(spread.min()):
        return f"rounding hides the rest of the gap: {far}, and the target too"
    names = solution.names or tuple(f"x{j}" for j in range(len(spread)))
    ends = names[int(np.argmax(spread))], names[int(np.argmin(spread))]
    times = float(spread.max() / spread.min())
    return (
        f"rounding hides the rest of the gap: rescale columns, for the spread of {ends[0]} is {times:.1g} "
        f"times that of {ends[1]}; {far}"
    )


def _title(solution: Solution) -> str:
    words = solution.terms.words()
    if solution.outputs is not None:
        return f"{words}; {_together(solution)}"
    if solution.multiclass is None:
        return words
    joined = {"multinomial": "all classes jointly", "one_vs_rest": "each class against the rest, summed"}
    return f"{words}; {joined[solution.multiclass]}"


def _together(solution: Solution) -> str:
    """How several outputs belong together."""
    if solution.terms.loss.joint:
        return "jointly, so that none crosses another on any row"
    return "all outputs jointly" if solution.terms.penalty.joint else "each output alone, summed"


def _data(solution: Solution) -> str:
    facts = solution.facts
    columns = "1 column" if facts["p"] == 1 else f"{facts['p']} columns"
    text = f"{facts['n']} rows, {columns}, {solution.n_nonzero} of them with a weight"
    if solution.classes is not None and solution.multiclass is None:
        low, high = solution.classes.tolist()
        text += f"; a score above 0 means {high!r}, below 0 {low!r}"
    return text


def _proof(solution: Solution) -> list[str]:
    null = solution.facts["null"]
    which = " of the size below" if held(solution) else ""
    unseen = solution.facts.get("held_out")
    rows = [("held out", unseen)] if unseen else []
    rows += [
        ("objective", f"{solution.objective:.10g}{_parts(solution)}"),
        ("proven bound", f"{solution.bound:.10g}, which no weights{which} can beat"),
        ("relative gap", _gap(solution)),
    ]
    rows += [(name, said) for name, said in (("held", held(solution)), ("advice", rounded(solution))) if said]
    if null > 0:
        share = 100.0 * (1.0 - (solution.objective - solution.price) / null)
        where = ", on the rows of the fit" if unseen else ""
        rows.append(("best constant", f"{null:.6g}; the columns take {share:.3g} % off this loss{where}"))
    if Trait.MEANS in solution.terms.loss.traits:
        mean = solution.objective - solution.price
        gained = f", D² = {1.0 - mean / null:.4g}" if null > 0 else ""
        rows.append(("deviance", f"{2.0 * mean:.6g} a row{gained}"))
    if solution.coef_error is not None:
        rows.append(("weights", f"proven within {solution.coef_error:.2g} of the optimal ones (Euclidean)"))
    rows += at_ends(solution)
    if solution.proven_zero.any():
        count = int(solution.proven_zero.sum())
        rows.append(("zeros", f"{count} proven: zero in every optimal answer"))
    steps = f"{solution.n_iter} iteration{'s' if solution.n_iter != 1 else ''}"
    how = "no solver was needed" if solution.solver == "null" else f"{solution.solver}, {steps}"
    rows.append(("solver", f"{how}, {_duration(solution.seconds)}"))
    if not solution.converged:
        rows.append(("status", solution.status))
    elif solution.facts.get("remark"):
        rows.append(("note", solution.facts["remark"]))
    return [f"  {name:<15}{text}" for name, text in rows]


def at_ends(solution: Solution) -> list[tuple[str, str]]:
    """How many weights and constraints are at an end, and how well these are kept."""
    terms, rows = solution.terms, []
    if terms.bounds is not None:
        low, high = (np.count_nonzero(solution.coef == end) for end in (terms.bounds.low, terms.bounds.high))
        tied = [f"{n} at {side} end" for n, side in ((low, "a lower"), (high, "an upper")) if n]
        rows.append(("bounds", f"kept exactly; {', '.join(tied) or 'no weight is at an end'}"))
    proof = solution.certificate
    if terms.loss.joint and proof is not None:
        size = np.abs(proof.multipliers)
        tight = np.count_nonzero(size > LITTLE * float(size.max(initial=0.0)))
        missed = f"by at most {proof.violation:.1e}" if proof.violation else "nowhere"
        rows.append(("crossing", f"{missed}; {tight} times two quantiles hold each other apart"))
    if terms.constraints is not None and proof is not None:
        own = np.asarray(proof.multipliers)[..., : len(terms.constraints)]
        rows.append(
            (
                "constraints",
                f"{np.count_nonzero(own)} of {own.size} with a multiplier, "
                + (f"missed by at most {proof.violation:.1e}" if proof.violation else "kept exactly"),
            )
        )
    return rows


def _parts(solution: Solution) -> str:
    price = solution.price
    return f" = loss {solution.objective - price:.6g} + penalty {price:.6g}" if price else ""


def _gap(solution: Solution) -> str:
    said = "proven" if solution.converged else "NOT below the tolerance"
    return f"{solution.relative_gap:.1e}, {said}"


def _duration(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _told(reach: Intervals) -> str:
    return f"low and high: {100 * reach.level:g} % intervals, {reach.method.partition(';')[0]}"


def _table(
    solution: Solution, coef: Vector, intercept: float, zero: Mask, reach: Intervals | None = None
) -> list[str]:
    standard = coef * solution.facts["spread"]
    names = solution.names or tuple(f"x{j}" for j in range(len(coef)))
    limit = ROWS if solution.coef.ndim == 1 else max(LEAST, ROWS // len(solution.coef))
    order = np.arange(len(coef))
    if len(order) > limit:
        order = np.argsort(-np.abs(standard), kind="stable")[:limit]
    width = max([9, *(len(names[j]) for j in order)])
    ends = (
        {}
        if reach is None
        else {row.column: f"  {row.low:>12.5g}  {row.high:>12.5g}  {row.p:>8.2g}" for row in reach}
    )
    factor = FACTORS.get(solution.terms.loss.link, "") if solution.classes is None else ""
    head = f"  {factor:>13}" if factor else ""
    head += "" if reach is None else f"  {'low':>12}  {'high':>12}  {'p':>8}"
    lines = [f"  {'':<{width}}  {'weight':>13}  {'per std. dev.':>13}{head}"]
    if solution.terms.fit_intercept:
        blank = f"  {'':>13}" * (2 if factor else 1) if reach is not None else ""
        lines.append(f"  {'intercept':<{width}}  {intercept:>13.6g}{blank}{ends.get('intercept', '')}")
    for j in order:
        mark = f"  {_power(coef[j]):>13.6g}" if factor else ""
        mark += "  proven zero" if zero[j] else ends.get(names[j], "")
        lines.append(f"  {names[j]:<{width}}  {coef[j]:>13.6g}  {standard[j]:>13.6g}{mark}")
    if len(order) < len(coef):
        lines.append(f"  … the {len(order)} largest of {len(coef)}, by weight per standard deviation")
    return lines


def _power(weight: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(weight))
