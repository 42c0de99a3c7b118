"""The certificate, and what it proves, in plain words."""

from __future__ import annotations

import math

import numpy as np

from dualgap.fitting.summary import at_ends, held, rounded
from dualgap.report.axis import spanning
from dualgap.report.chart import Chart
from dualgap.report.markup import (
    bullets,
    charts,
    count,
    duration,
    facts,
    figure,
    number,
    paragraph,
    percent,
    plural,
    safe,
    section,
)
from dualgap.report.subject import Subject

RECORDS = 300  # of the trace that are drawn
SILENT = (
    "That the model is right, or good on new rows: see the errors on rows that were held out.",
    "That a column with a weight is a cause, or one without it is not: columns stand in for each other.",
)


def certificate(about: Subject) -> str:
    """The section."""
    picked = paragraph(f"Shown for {safe(about.picked)}{_where(about)}.") if about.picked else ""
    return section(
        "certificate",
        "The certificate",
        _verdict(about),
        picked,
        charts(f"<div>{facts(_numbers(about))}</div>", _convergence(about)),
        "<h3>What it proves</h3>",
        bullets(_proves(about)),
        "<h3>What it does not</h3>",
        bullets(SILENT),
    )


def _where(about: Subject) -> str:
    terms = about.terms
    return f", λ = {number(terms.lam)}" if terms.lam else f", budget {number(terms.budget or 0.0)}"


def _verdict(about: Subject) -> str:
    solution = about.solution
    if about.objections:
        said = "; ".join(safe(one) for one in about.objections)
        return paragraph(f"<b>Not proven on the rows given.</b> Computed again, {said}.", "verdict bad")
    if solution.converged:
        return paragraph(
            f"<b>Proven.</b> {_nobody(about)} The proof is a list of numbers, one per row, that anyone can "
            "check without trusting the program that found it.",
            "verdict good",
        )
    help_ = f" {_sentence(rounded(solution))}" if rounded(solution) else ""
    return paragraph(
        f"<b>Not proven to the tolerance.</b> {safe(solution.status)} {_nobody(about)}{help_}", "verdict bad"
    )


def _sentence(words: str) -> str:
    return f"{safe(words[0].upper() + words[1:])}."


def _nobody(about: Subject) -> str:
    gap = about.solution.relative_gap
    if not math.isfinite(gap):
        return "Nothing is proven of these weights."
    whatever = "whatever" if not held(about.solution) else "of the sizes below"
    if gap == 0.0:
        return f"No weights {whatever} reach a smaller objective."
    share = number(gap, 2)
    return f"No weights {whatever} reach an objective smaller than this one by more than a share of {share}."


def _numbers(about: Subject) -> list[tuple[str, str]]:
    solution = about.solution
    paid, null = solution.price, solution.facts["null"]
    parts = f" = mean loss {number(solution.objective - paid, 6)} + penalty {number(paid, 6)}" if paid else ""
    found = [
        ("objective", f"{number(solution.objective, 10)}{parts}"),
        ("proven bound", f"{number(solution.bound, 10)}, below which no weights get"),
        ("gap", f"{number(solution.gap, 2)}, the difference"),
        ("relative gap", number(solution.relative_gap, 2)),
    ]
    if null > 0 and not solution.terms.hard:
        off = 1.0 - (solution.objective - paid) / null
        found.append(
            (
                "best constant",
                f"loss {number(null, 6)} without any column; these weights take {percent(off)} off",
            )
        )
    found += [(name, safe(said)) for name, said in at_ends(solution)]
    steps = plural(solution.n_iter, "iteration")
    how = "no solver was needed" if solution.solver == "null" else f"{safe(solution.solver)}, {steps}"
    found.append(("found by", f"{how}, {duration(solution.seconds)}"))
    if about.objections is not None:
        again = "all of it again from the rows, for this page" if not about.objections else "it does not hold"
        found.append(("checked", again))
    return found


def _proves(about: Subject) -> list[str]:
    solution = about.solution
    found = [
        f"Whatever weights somebody else finds, by whatever method, their objective on these rows is at "
        f"least {number(solution.bound, 10)}; those on this page reach {number(solution.objective, 10)}."
    ]
    if held(solution):
        found.append(_sentence(held(solution)))
    if getattr(solution.certificate, "search", None) is not None:
        found.append(
            f"The problem is not convex: the bound comes from a search that ruled out everything else, "
            f"{plural(solution.n_iter, 'node')} of it, and it can be repeated."
        )
    if solution.terms.hard:
        found.append("Every row is on its side of the margin, and no wider margin separates the classes.")
    if solution.coef_error is not None:
        found.append(
            f"The weights themselves are within {number(solution.coef_error, 2)} of the only optimal ones "
            "(Euclidean distance)."
        )
    elif solution.coef_error_reason:
        found.append(
            f"Nothing is proven of the distance to the optimal weights: {safe(solution.coef_error_reason)}."
        )
    zeros = int(solution.proven_zero.sum())
    if zeros:
        found.append(f"{plural(zeros, 'weight')} marked <b>proven zero</b>: zero in every optimal answer.")
    found.append(
        "Check it: <code>dualgap verify MODEL DATA</code>, or "
        "<code>solution.certificate.recheck(X, y)</code>, recomputes them from the rows."
    )
    return found


def _convergence(about: Subject) -> str:
    """The gap while it was being closed."""
    trace = about.solution.trace
    gaps, seconds = trace.column("gap"), trace.column("seconds")
    kept = np.isfinite(gaps) & (gaps > 0.0)
    if np.count_nonzero(kept) < 3:
        return ""
    picked = np.flatnonzero(kept)
    picked = picked[np.unique(np.linspace(0, len(picked) - 1, min(RECORDS, len(picked))).astype(int))]
    at, gaps = 1000.0 * seconds[picked], gaps[picked]
    chart = Chart(
        spanning(at, "milliseconds", room=0.02),
        spanning(gaps, "gap", log=True),
        f"The gap falls from {number(gaps[0], 2)} to {number(gaps[-1], 2)} in {count(len(trace))} records.",
    )
    chart.line(at, gaps, "s0 d0")
    return figure(
        "How the gap closed", chart.svg(), "The gap of the best weights so far, on a logarithmic scale."
    )
