"""The table a person reads."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.fitting.solution import Solution

ROWS = 40  # longer tables show the largest weights


def summarise(solution: Solution) -> str:
    """Objective in words, what is proven, and the weights."""
    facts = solution.facts
    lines = [
        f"{solution.terms.words()}",
        f"{facts['n']} rows, {facts['p']} columns; {solution.n_nonzero} weights non-zero"
        + (f", {int(solution.proven_zero.sum())} proven zero" if solution.proven_zero.any() else ""),
        "",
        *_proof(solution),
        "",
    ]
    if solution.coef.ndim == 1:
        lines += _table(solution, solution.coef, float(solution.intercept))
    else:
        assert solution.classes is not None
        for k, label in enumerate(solution.classes.tolist()):
            lines += [
                f"class {label!r}",
                *_table(solution, solution.coef[k], float(solution.intercept[k])),
                "",
            ]
    return "\n".join(lines).rstrip()


def _proof(solution: Solution) -> list[str]:
    null = solution.facts["null"]
    rows = [
        ("objective", f"{solution.objective:.10g}"),
        ("proven bound", f"{solution.bound:.10g}   no weights do better than this"),
        ("relative gap", f"{solution.relative_gap:.1e}"),
    ]
    if null > 0:
        rows.append(("best constant", f"{null:.6g}   the loss without any column"))
    if solution.coef_error is not None:
        rows.append(
            ("weights", f"within {solution.coef_error:.2g} of the optimum (Euclidean distance), proven")
        )
    rows.append(("solver", f"{solution.solver}, {solution.n_iter} iterations, {solution.seconds:.3g} s"))
    if not solution.converged:
        rows.append(("status", solution.status))
    return [f"  {name:<14}{text}" for name, text in rows]


def _table(solution: Solution, coef: Vector, intercept: float) -> list[str]:
    spread = solution.facts["spread"]
    names = solution.names or tuple(f"x{j}" for j in range(len(coef)))
    order = np.arange(len(coef))
    note = ""
    if len(order) > ROWS:
        order = np.argsort(-np.abs(coef * spread), kind="stable")[:ROWS]
        note = f"  … the {ROWS} largest of {len(coef)}"
    width = max([9, *(len(names[j]) for j in order)])
    lines = [f"  {'':<{width}}  {'weight':>14}  {'per std. dev.':>14}"]
    if solution.terms.fit_intercept:
        lines.append(f"  {'intercept':<{width}}  {intercept:>14.6g}")
    for j in order:
        proven = "  zero, proven" if solution.proven_zero[j] else ""
        lines.append(f"  {names[j]:<{width}}  {coef[j]:>14.6g}  {coef[j] * spread[j]:>14.6g}{proven}")
    return lines + ([note] if note else [])
