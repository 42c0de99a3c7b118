"""A Solution as a JSON document of version 2, or 3 where it has what no reader of 2 would notice."""

from __future__ import annotations

import base64
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.drive.trace import Trace
from dualgap.errors import DataError
from dualgap.files.recipes import recipe_fields
from dualgap.files.several import levels_fields
from dualgap.files.slope_rules import rule_fields
from dualgap.files.store import MADE_BY, SEVERAL, SIGNED, fingerprint, write_document
from dualgap.fitting.inputs import read_table
from dualgap.fitting.objective import Objective
from dualgap.fitting.offsets import without
from dualgap.fitting.solution import Solution
from dualgap.penalties import Penalty
from dualgap.proof.certificate import Certificate

VERSION = 2  # of the format: 1 had neither tolerance nor box
PLAIN = 1000  # entries of an array that stand in the text as numbers; longer ones as base64
LARGE = 1 << 20  # entries from which an array goes to a file of its own
RECORDS = 200  # of the trace
PLAIN_VALUES = int | float | bool | str | None


def save(solution: Solution, path: str | Path, data: tuple[Any, Any] | None = None) -> Path:
    """Write a solution; `data` = (X, y), if given, leave their fingerprint in it."""
    target = Path(path)
    large: dict[str, NDArray[Any]] = {}
    document = Writer(large).document(solution)
    if data is not None:
        document["fingerprint"] = fingerprint(matrix_of(made(solution, data[0])), data[1])
    write_document(target, document, large)
    return target


def made(solution: Solution, X: Any) -> Any:
    """X with its columns made by the recipe, where there is one, and without that of the offset."""
    X = without(X, solution.terms.offset_name)
    return X if solution.recipe is None else solution.recipe.read(X)


def matrix_of(X: Any) -> Any:
    """X as a matrix; a frame through the door that fits use."""
    return read_table(X).design.toarray() if hasattr(X, "columns") else X


class Writer:
    """Values in the form a model file has; arrays too large for the text are put into `large`."""

    def __init__(self, large: dict[str, NDArray[Any]]) -> None:
        self.large = large

    def document(self, solution: Solution) -> dict[str, Any]:
        """Everything but the checksum."""
        facts = solution.facts
        by_scans = {"weights": facts.get("weights"), "scans": float(solution.scans)} if solution.scans else {}
        return by_scans | {
            "format": "dualgap-model",
            "version": _version(solution),
            "made_by": MADE_BY,
            "objective": self.objective(solution.terms),
            "rows": int(facts["n"]),
            "columns": int(facts["p"]),
            "names": None if solution.names is None else list(solution.names),
            "classes": None if solution.classes is None else _labels(solution.classes),
            "multiclass": solution.multiclass,
            **({} if solution.outputs is None else {"outputs": list(solution.outputs)}),
            "spread": self.array(facts["spread"]),
            "recipe": None if solution.recipe is None else recipe_fields(solution.recipe),
            "fingerprint": facts.get("fingerprint"),
            "answer": self.answer(solution),
        }

    def objective(self, terms: Objective) -> dict[str, Any]:
        """What was minimised; null where a weight or factor is one everywhere."""
        by_row = {} if terms.offset is None else {"offset": self.array(terms.offset)}
        if terms.offset_name is not None:
            by_row["offset_name"] = terms.offset_name
        return by_row | {
            "words": terms.words(),
            "loss": levels_fields(terms.loss) or _named(terms.loss),
            "penalty": _named(terms.penalty) | self._groups(terms.penalty),
            "lam": terms.lam,
            "budget": terms.budget,
            "hard_margin": terms.hard,
            "fit_intercept": terms.fit_intercept,
            "sample_weight": self._unless_ones(terms.sample_weight),
            "penalty_factors": self._unless_ones(terms.factors),
            "scale": self._unless_ones(terms.scale),
            **self.signs(terms),
        }

    def _groups(self, penalty: Penalty) -> dict[str, Any]:
        """The group of each column, and prices of their own, where there are some."""
        kept = {"groups": penalty.parts, "sequence": penalty.sequence}
        return {name: self.array(np.array(v, dtype=float)) for name, v in kept.items() if v is not None}

    def signs(self, terms: Objective) -> dict[str, Any]:
        """Bounds, an entry for each column that has one, and constraints; null is no end."""
        found: dict[str, Any] = {}
        if terms.bounds is not None:
            low, high = terms.bounds.low, terms.bounds.high
            held = np.flatnonzero(~terms.bounds.open_)
            found["bounds"] = [[int(j), _end(low[j]), _end(high[j])] for j in held]
        if terms.constraints is not None:
            rows = terms.constraints
            ends = [[_end(low), _end(high)] for low, high in zip(rows.lower, rows.upper, strict=True)]
            found["constraints"] = {"count": len(rows), "matrix": self.array(rows.matrix), "ends": ends}
        return found

    def answer(self, solution: Solution) -> dict[str, Any]:
        """Weights and proof; where every class has a problem of its own, those of each."""
        found: dict[str, Any] = {
            "objective": _number(solution.objective),
            "bound": _number(solution.bound),
            "relative_gap": _number(solution.relative_gap),
            "null": _number(solution.facts["null"]),
            "tolerance": float(self._proof(solution).tolerance),
            "converged": bool(solution.converged),
            "status": solution.status,
            "solver": solution.solver,
            "n_iter": int(solution.n_iter),
            "seconds": _number(solution.seconds),
            "coef_error": None if solution.coef_error is None else _number(solution.coef_error),
            "coef_error_reason": solution.coef_error_reason,
            "trace": _trace(solution.trace),
        }
        if solution.facts.get("remark"):
            found["remark"] = solution.facts["remark"]
        if solution.parts:
            return found | {"parts": [self.answer(part) for part in solution.parts]}
        intercept = np.asarray(solution.intercept, dtype=np.float64)
        found |= {
            "coef": self.array(solution.coef),
            "intercept": self.array(intercept) if intercept.ndim else float(intercept),
            "proven_zero": self.array(solution.proven_zero),
            "certificate": self.certificate(self._proof(solution), hard=solution.terms.hard),
        }
        return found

    def _proof(self, solution: Solution) -> Certificate:
        found: Certificate | None = solution.certificate
        if found is None:
            raise DataError(
                "A model file holds a proof, and this model has none: fit it on rows that are kept."
            )
        return found

    def certificate(self, certificate: Certificate, *, hard: bool) -> dict[str, Any]:
        """The kind of proof, and its θ; of a search what it takes to make it again."""
        if certificate.search is not None:
            run = certificate.search
            return {
                "kind": "search",
                "positive": int(run.positive),
                "solver": _search(run.solver),
                "nodes": int(run.nodes),
            }
        if not isinstance(certificate.theta, np.ndarray):
            rule = rule_fields(certificate.theta, self.array)
            return {"kind": "rule", "rule": rule, "box": _box(certificate.box)}
        kind = {"multinomial": "classes", "joint": "outputs"}.get(certificate.form, "dual")
        kind = "hard_margin" if hard else kind
        found = {"kind": kind, "theta": self.array(certificate.theta), "box": _box(certificate.box)}
        if certificate.multipliers is not None:
            found["multipliers"] = self.array(certificate.multipliers)
            found["violation"] = float(certificate.violation)
        if certificate.bound_multipliers is not None:
            found["bound_multipliers"] = self.array(certificate.bound_multipliers)
        return found

    def array(self, values: Any) -> Any:
        """A list where it is short, base64 where it is not, the name of an array in the npz file beyond."""
        array = np.ascontiguousarray(values, dtype=np.bool_ if np.asarray(values).dtype == bool else "<f8")
        if array.size <= PLAIN:
            return array.tolist()
        described: dict[str, Any] = {"dtype": array.dtype.str, "shape": list(array.shape)}
        if array.size >= LARGE:
            name = f"a{len(self.large)}"
            self.large[name] = array
            return described | {"npz": name}
        return described | {"base64": base64.b64encode(array.tobytes()).decode("ascii")}

    def _unless_ones(self, values: NDArray[np.float64]) -> Any:
        return None if np.all(values == 1.0) else self.array(values)


def _version(solution: Solution) -> int:
    """The least that says all there is."""
    if solution.outputs is not None:
        return SEVERAL
    return SIGNED if solution.terms.signs() or solution.terms.offset is not None else VERSION


def _number(value: float) -> float | str:
    """JSON has no infinity; words stand for what is not finite."""
    value = float(value)
    return value if np.isfinite(value) else str(value)


def _end(value: float) -> float | None:
    """A finite end."""
    return float(value) if np.isfinite(value) else None


def _box(box: Any) -> list[list[Any]] | None:
    """The coordinates that are held, each with the size up to which it is."""
    return None if box is None else [[int(j), float(box[j])] for j in np.flatnonzero(np.isfinite(box))]


def _named(thing: Any) -> dict[str, Any]:
    """A loss or a penalty by name and parameters."""
    found = {
        field.name: float(getattr(thing, field.name))
        for field in dataclasses.fields(thing)
        if not field.kw_only
    }
    return {"name": thing.name, "parameters": found}


def _search(solver: Any) -> dict[str, Any]:
    options = {field.name: getattr(solver, field.name) for field in dataclasses.fields(solver)}
    odd = [name for name, value in options.items() if not isinstance(value, PLAIN_VALUES)]
    if odd:
        raise DataError(f"A model file has no place for the option {odd[0]} of the search {solver.name}.")
    return {"name": solver.name, "options": options}


def _labels(classes: NDArray[Any]) -> dict[str, Any]:
    values = classes.tolist()
    kinds = {type(label) for label in values}
    if len(kinds) != 1 or not kinds <= {str, int, float, bool}:
        raise DataError("A model file keeps classes that are texts or numbers, all of one type.")
    return {"dtype": "object" if classes.dtype.kind == "O" else classes.dtype.str, "values": values}


def _trace(trace: Trace) -> list[list[Any]]:
    """A line per record, thinned evenly, the last one kept."""
    step = max(1, -(-len(trace) // RECORDS))
    return [[_plain(value) for value in dataclasses.astuple(one)] for one in trace[:-1:step] + trace[-1:]]


def _plain(value: Any) -> Any:
    return (
        _number(value) if isinstance(value, float) else int(value) if isinstance(value, np.integer) else value
    )
