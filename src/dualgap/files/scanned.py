"""A model against rows that are elsewhere: every number that it claims is computed again by scans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.blocks.dataset import Dataset
from dualgap.errors import DataError
from dualgap.files.verification import UNPROVEN, Truth, _claims, _summed, _told, _unusable
from dualgap.fitting.offsets import counted_alike
from dualgap.fitting.solution import Solution
from dualgap.fitting.streamed import StreamTask, null_risk
from dualgap.proof.blocks import judged
from dualgap.proof.check import SHARE, Checked
from dualgap.proof.claims import distance, proven_zero
from dualgap.proof.rounding import FEW
from dualgap.streaming.asked import Targets
from dualgap.streaming.columns import weight_scan

NULL = 0.01  # share by which the objective without columns may differ: its constant is that of a sample


def examine_scanned(solution: Solution, rows: Dataset) -> tuple[list[str], dict[str, Any]]:
    """What speaks against a solution on these rows, sentence by sentence, and what holds there."""
    objections = []
    try:
        rows = counted_alike(solution.terms, rows, None)
    except DataError as error:
        return [str(error)], {}
    if solution.facts.get("words", solution.terms.words()) != solution.terms.words():
        objections.append(f"the model calls its problem otherwise than it is: {solution.terms.words()!r}")
    if rows.names is not None and solution.names is not None and rows.names != solution.names:
        objections.append("the columns are not those of the fit: their names differ")
    broken = list(_unusable(solution))
    if broken:
        return objections + broken, {}
    proof = solution.certificate
    try:
        tasks: Any = proof.terms.tasks(proof, rows, None)
        sources = solution.parts or (solution,)
        truths = [
            _truth(source, task, *point)
            for source, task, point in zip(sources, tasks, proof.points(), strict=True)
        ]
    except DataError as error:
        return [*objections, str(error)], {}
    n = rows.source.n or rows.source.reduced(weight_scan, Targets(tasks[0].targets.classes)).rows
    if solution.facts["n"] != n:
        objections.append(f"the fit saw {solution.facts['n']} rows, there are {n}")
    whole = truths[0]
    if solution.parts:
        whole = _summed(truths)
        for part, truth, label in zip(solution.parts, truths, proof.classes or (), strict=True):
            objections += [f"class {label!r} against the rest: {said}" for said in _claims(part, truth)]
    objections += _claims(solution, whole)
    if not solution.converged:
        objections.append(f"{UNPROVEN}: {solution.status}")
    values = _told(solution, whole)
    return objections, values | {"rows": n, "rows_that_count": n}


def _truth(source: Solution, task: StreamTask, w: Any, rule: Any) -> Truth:
    """What a scan says of one problem's weights and rule."""
    seen = task.weighed(w, rule)
    statement = replace(task.statement, largest=seen.tops)
    found: Checked = judged(statement, seen, w, task.tolerance)
    doubt = found.width + 8.0 * FEW * abs(found.primal)
    room = min(found.rounding, SHARE * task.tolerance * abs(found.primal)) + doubt
    null = null_risk(task)
    # no more of the gap than a half: rounding is paid for wherever a gap is computed
    forgiven = replace(found, dual=min(found.dual + 2.0 * min(room, 0.25 * found.gap), found.primal))
    error, least = distance(statement, found), distance(statement, forgiven)
    zero = proven_zero(statement, found)
    zero = (
        zero.reshape(-1, len(statement.free) // max(len(source.coef), 1))[:, : task.source.p]
        if (source.multiclass == "multinomial")
        else zero[: len(source.terms.scale)]
    )
    # an objective from moments is their rounding above the true one, and says less than it could
    sure = found.primal - doubt, found.primal + doubt + SHARE * task.tolerance * abs(found.primal)
    outside = not np.isfinite(found.primal)
    values = found.primal, sure, found.dual, room, source.facts["null"], NULL * null
    if abs(source.facts["null"] - null) > NULL * null:
        values = found.primal, sure, found.dual, room, null, NULL * null
    return Truth(*values, zero, error, least or 0.0, found.box, outside, False)
