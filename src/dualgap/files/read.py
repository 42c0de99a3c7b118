"""dg.load: a model file parsed and validated. Nothing in it is ever executed."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dualgap.discrete  # noqa: F401  its searches enter the registry
from dualgap import losses, penalties
from dualgap.drive.registry import of_kind
from dualgap.drive.trace import Record, Trace
from dualgap.errors import DataError, ModelFileError
from dualgap.files.fields import Fields
from dualgap.files.recipes import read_recipe
from dualgap.files.several import read_levels, read_outputs
from dualgap.files.slope_rules import read_rule
from dualgap.files.store import SEVERAL, SIGNED, Beside, read_document
from dualgap.fitting.hard_margin import HardMargin, refuse_soft
from dualgap.fitting.multiclass import joined, read_form
from dualgap.fitting.objective import Objective
from dualgap.fitting.offsets import read_offset
from dualgap.fitting.searched import SearchRun
from dualgap.fitting.several import joint
from dualgap.fitting.signs import refuse_unbounded_kinds
from dualgap.fitting.solution import Solution
from dualgap.fitting.streamed import StreamedObjective
from dualgap.losses.joint import joint_hinge
from dualgap.losses.shifted import Shifted
from dualgap.penalties import Penalty
from dualgap.penalties.weight_bounds import WeightBounds
from dualgap.proof.certificate import Certificate
from dualgap.proof.constraints import Constraints
from dualgap.traits import Trait

VERSIONS = (1, 2, SIGNED, SEVERAL)  # of the format that are read
USUAL = 1e-6  # tolerance of a fit, which version 1 does not tell
LABEL = re.compile(r"[<|>][iufb][1248]|[<>]U[1-9]\d{0,4}|object")
NUMBERS = ("seconds", "objective", "best", "bound")  # of a record
RECORD = tuple(field.name for field in dataclasses.fields(Record))
MOST_SEARCHED = 1 << 24  # rows of a search, whose file need not hold anything as long


def load(path: str | Path) -> Solution:
    """The solution that `solution.save(path)` wrote; ModelFileError for a file that is anything else."""
    place = Path(path)
    return solution_of(read_document(place), place)


def solution_of(document: dict[str, Any], place: Path) -> Solution:
    """The solution that a document tells."""
    top = Fields(document, place.name)
    if top.whole("version", 1) not in VERSIONS:
        raise ModelFileError(
            f"{place.name} is a model file of version {document['version']}; this dualgap reads up to "
            f"{max(VERSIONS)}. Install a newer one."
        )
    if top.has("beside"):
        inner = top.part("beside")
        top.beside = Beside(place.parent, inner.text("file"), inner.text("sha256"))
    try:
        with np.errstate(all="ignore"):
            return Reader(top).solution()
    except ModelFileError:
        raise
    except DataError as error:
        raise ModelFileError(f"{place.name}: {error}") from None


class Reader:
    """What all parts of a file share: the shape, the objective, the classes, the names."""

    def __init__(self, top: Fields) -> None:
        self.top = top
        self.version = top.whole("version", 1)
        self.n, self.p = top.whole("rows", 1), top.whole("columns", 1)
        self.spread = top.array("spread", (self.p,))
        self.scanned = self._by_rules()
        self._refuse_hollow()
        self.names = top.optional(top.texts, "names")
        if self.names is not None and len(self.names) != self.p:
            raise top.refuse("names", f"{self.p} names")
        self.classes = _classes(top.part("classes")) if top.has("classes") else None
        self.terms = self._terms(top.part("objective"))
        if (self.classes is not None) != (Trait.CLASSIFICATION in self.terms.loss.traits):
            raise top.refuse("classes", "there for a classification loss, and for no other")
        self.labels = None if self.classes is None else tuple(self.classes.tolist())
        self.outputs = read_outputs(top, self.terms.loss)
        if (self.outputs is not None) != (self.version == SEVERAL):
            raise top.refuse("version", f"{SEVERAL} for several outputs, and for nothing else")
        if self.outputs is not None and (self.classes is not None or self.scanned or self.terms.hard):
            raise top.refuse("outputs", "null for classes, rows in blocks and hard margins")
        self.many = self.outputs is not None or len(self.labels or ()) > 2
        self.count = len(self.outputs or self.labels or ())

    def _by_rules(self) -> bool:
        """Is θ a rule, in every part?"""
        answer = self.top.part("answer")
        parts = answer.parts("parts") if answer.has("parts") else [answer]
        kinds = {one.part("certificate").values.get("kind") == "rule" for one in parts}
        if len(kinds) != 1:
            raise self.top.refuse("answer", "proofs of one kind")
        return kinds.pop()

    def _refuse_hollow(self) -> None:
        """A number of rows must be backed by a θ as long: a few bytes must not claim gigabytes."""
        answer = self.top.part("answer")
        parts = answer.parts("parts") if answer.has("parts") else [answer]
        for part in parts:
            proof = part.part("certificate")
            kind = proof.values.get("kind")
            if kind == "rule":  # which needs no number for each row, here or later
                continue
            backed = self.n <= MOST_SEARCHED if kind == "search" else proof.length("theta") == self.n
            if not backed:
                raise self.top.refuse("rows", "the length of θ")

    def solution(self) -> Solution:
        """The whole."""
        top = self.top
        classes = self.many and self.outputs is None
        multiclass = top.one_of("multiclass", ("one_vs_rest", "multinomial")) if classes else None
        if not classes and top.has("multiclass"):
            raise top.refuse("multiclass", "null, for there are no more than two classes")
        if multiclass is not None and not (multiclass == "multinomial" and joint_hinge(self.terms.loss)):
            read_form(multiclass, self.terms.loss, self.terms.penalty)
        answer = top.part("answer")
        apart = multiclass == "one_vs_rest" if self.outputs is None else not joint(self.terms)
        found = self._together(answer) if apart else self._answer(answer, joint=self.many)
        found = dataclasses.replace(found, multiclass=multiclass, outputs=self.outputs)
        if top.has("scans"):
            found = dataclasses.replace(found, scans=top.number("scans", low=0.0))
        for where, name in ((top.part("objective"), "words"), (top, "fingerprint"), (top, "weights")):
            if where.has(name):
                found.facts[name] = where.text(name)
        if top.has("recipe"):
            recipe = read_recipe(top.part("recipe"), self.names)
            if recipe.names != self.names or (self.scanned and recipe.sparse):
                raise top.refuse("recipe", "one that makes the columns of the model")
            found = dataclasses.replace(found, recipe=recipe)
        return found

    def _terms(self, part: Fields) -> Objective:
        lam, budget = (part.optional(part.number, name, low=0.0) for name in ("lam", "budget"))
        penalty = self._grouped(part.part("penalty"), _made(part.part("penalty"), penalties.CATALOGUE))
        if penalty.takes_strength != ((lam is None) != (budget is None)) or (
            lam is not None and budget is not None
        ):
            raise part.refuse("lam", "given where budget is not, and the other way round")
        values = (
            read_levels(part.part("loss")) or _made(part.part("loss"), losses.CATALOGUE),
            penalty,
            lam,
            budget,
            part.flag("fit_intercept"),
            np.ones(0) if self.scanned else self._weights(part, "sample_weight", self.n),
            self._weights(part, "penalty_factors", self.p, zeros=True),
            self._weights(part, "scale", self.p),
        )
        signed: Any = {"bounds": self._bounds(part), "constraints": self._constraints(part)}
        if any(one is not None for one in signed.values()) and (self.scanned or part.flag("hard_margin")):
            raise part.refuse("bounds", "null for a hard margin, and for rows in blocks")
        if self.scanned and (part.flag("hard_margin") or part.has("sample_weight")):
            which = "hard_margin" if part.flag("hard_margin") else "sample_weight"
            raise part.refuse(which, "false or null, for rows in blocks bring their weights")
        terms = HardMargin(*values) if part.flag("hard_margin") else Objective(*values, **signed)
        if self.scanned:
            terms = StreamedObjective(*values)
        terms = self._shifted(terms, part)
        if terms.hard:
            refuse_soft(terms.loss, terms.penalty)
        if terms.hard and lam != 1.0:
            raise part.refuse("lam", "1 for a hard margin")
        if not np.all(terms.scale > 0):
            raise part.refuse("scale", "positive numbers")
        _ = terms.regulariser  # refuses factors that the penalty cannot take
        refuse_unbounded_kinds(terms)
        signed = bool(terms.signs()) or terms.offset is not None
        if self.version != SEVERAL and signed != (self.version == SIGNED):
            none, some = "no bounds, no constraints and no offset", "bounds, constraints or an offset"
            raise ModelFileError(
                f"{part.file}: a model file of version {self.version} has {none if signed else some}."
            )
        return terms

    def _grouped(self, part: Fields, penalty: Penalty) -> Penalty:
        """With the group of each column, where it has groups."""
        if part.has("sequence"):
            if penalty.name != "slope":
                raise part.refuse("sequence", "there for slope alone")
            return dataclasses.replace(penalty, sequence=tuple(part.array("sequence", (None,)).tolist()))  # type: ignore[type-var]
        if not penalty.takes_groups:
            return penalty
        found = part.array("groups", (self.p,))
        if not np.array_equal(np.unique(found), np.arange(len(np.unique(found)))):
            raise part.refuse("groups", "the number of a group for each column, none left out")
        return penalty.grouped(found.astype(np.intp))

    def _bounds(self, part: Fields) -> WeightBounds | None:
        if not part.has("bounds"):
            return None
        low, high = np.full(self.p, -np.inf), np.full(self.p, np.inf)
        seen = set()
        for k, row in enumerate(part.items("bounds")):
            titles = ("column", "low", "high")
            one = part.line(f"bounds[{k}]", row, titles, "lists of a column and two ends")
            column = one.whole("column")
            if column >= self.p or column in seen:
                raise one.refuse("column", f"below {self.p}, and none twice")
            seen.add(column)
            low[column] = -np.inf if not one.has("low") else one.number("low")
            high[column] = np.inf if not one.has("high") else one.number("high")
        if np.any(low > high) or np.all(np.isinf(low) & np.isinf(high)):
            raise part.refuse("bounds", "ends in their order, some of them finite")
        return WeightBounds(low, high)

    def _constraints(self, part: Fields) -> Constraints | None:
        if not part.has("constraints"):
            return None
        inner = part.part("constraints")
        count = inner.whole("count", 1)
        rows = inner.items("ends")
        if len(rows) != count:
            raise inner.refuse("ends", f"{count} pairs")
        lower, upper = np.full(count, -np.inf), np.full(count, np.inf)
        for k, row in enumerate(rows):
            one = inner.line(f"ends[{k}]", row, ("low", "high"), "pairs of ends")
            lower[k] = -np.inf if not one.has("low") else one.number("low")
            upper[k] = np.inf if not one.has("high") else one.number("high")
        if np.any(lower > upper):
            raise inner.refuse("ends", "ends in their order")
        return Constraints(inner.array("matrix", (count, self.p)), lower, upper)

    def _shifted(self, terms: Objective, part: Fields) -> Objective:
        if not part.has("offset"):
            return terms
        many = self.classes is not None and len(self.classes) > 2
        convex = Trait.CONVEX in terms.loss.traits & terms.regulariser.traits
        if terms.hard or many or not convex:
            raise part.refuse("offset", "absent, for this problem has none")
        name, count = part.optional(part.text, "offset_name"), 0 if self.scanned else self.n
        given = part.array("offset", (count,))
        offset = given if self.scanned else read_offset(given, count, terms.loss, name)
        return dataclasses.replace(terms, offset=offset, offset_name=name)

    def _weights(self, part: Fields, name: str, length: int, *, zeros: bool = False) -> NDArray[np.float64]:
        """Numbers that are not negative, and ones where nothing is said; may all of them be zero?"""
        if not part.has(name):
            return np.ones(length)
        found = part.array(name, (length,))
        if np.any(found < 0) or not (zeros or found.any()):
            raise part.refuse(name, "numbers that are not negative, some positive")
        return found

    def _together(self, part: Fields) -> Solution:
        """A problem per class: rows of coef and columns of θ are put together from the parts."""
        fields = part.parts("parts")
        if len(fields) != self.count:
            what = "classes" if self.outputs is None else "outputs"
            raise part.refuse("parts", f"one for each of {self.count} {what}")
        parts = tuple(self._answer(one, joint=False, positive=k) for k, one in enumerate(fields))
        if len({proof.search is None for proof in (p.certificate for p in parts)}) > 1:
            raise part.refuse("parts", "proofs of one kind")
        form = "one_vs_rest" if self.outputs is None else "outputs"
        certificate = dataclasses.replace(
            joined([p.certificate for p in parts], self._tolerance(part, whole=True), self.terms, form),
            objective=part.number("objective", finite=False),
            bound=part.number("bound", finite=False),
        )
        return self._solution(part, certificate, np.array([p.proven_zero for p in parts]), parts)

    def _answer(self, part: Fields, *, joint: bool, positive: int = 1) -> Solution:
        if joint:
            shape: tuple[int, ...] = (self.count, self.p)
            intercept: Any = part.array("intercept", shape[:1])
        else:
            shape, intercept = (self.p,), part.number("intercept")
        if not self.terms.fit_intercept and np.any(intercept):
            raise part.refuse("intercept", "0, for the problem has none")
        coef = part.array("coef", shape)
        certificate = self._certificate(part, (coef, intercept), joint=joint, positive=positive)
        zero = part.array("proven_zero", shape, kind="|b1")
        return self._solution(part, certificate, zero, terms=self._terms_of(positive, joint=joint))

    def _certificate(
        self, part: Fields, weights: tuple[Any, Any], *, joint: bool, positive: int
    ) -> Certificate:
        proof = part.part("certificate")
        together = ("classes", "rule") if self.outputs is None else ("outputs",)
        kind = proof.one_of("kind", together if joint else ("dual", "hard_margin", "search", "rule"))
        if (kind == "hard_margin") != self.terms.hard:
            raise proof.refuse("kind", "hard_margin for a hard margin, and for nothing else")
        convex = Trait.CONVEX in self.terms.loss.traits & self.terms.regulariser.traits
        if (kind == "search") == convex:
            raise proof.refuse("kind", "search where the problem is not convex, and nowhere else")
        theta = None
        if kind == "rule":
            loss = self.terms.loss if self.terms.offset is None else Shifted(self.terms.loss)
            theta = read_rule(proof.part("rule"), loss, self.p, len(self.labels or ()) if joint else 0)
        elif kind != "search":
            theta = proof.array("theta", (self.n, self.count) if joint else (self.n,))
        return Certificate(
            theta,
            *weights,
            part.number("objective", finite=False),
            part.number("bound", finite=False),
            self._terms_of(positive, joint=joint),
            self.labels,
            ("multinomial" if self.outputs is None else "joint") if joint else "single",
            self._box(proof) if proof.has("box") and self.version > 1 else None,
            self._tolerance(part),
            self._search(proof, positive) if kind == "search" else None,
            **self._multipliers(proof),
        )

    def _terms_of(self, k: int, *, joint: bool) -> Objective:
        """What was minimised; of one of several outputs alone, its own."""
        return self.terms if joint or self.outputs is None else self.terms.alone(k)

    def _multipliers(self, proof: Fields) -> dict[str, Any]:
        """Of constraints and bounds, and of quantiles that do not cross."""
        found: dict[str, Any] = {}
        if self.terms.loss.joint:
            found["multipliers"] = proof.array("multipliers", (self.n, self.count - 1))
            found["violation"] = proof.number("violation", low=0.0)
        rows = self.terms.rows
        if rows is not None:
            found["multipliers"] = proof.array("multipliers", (len(rows),))
            found["violation"] = proof.number("violation", low=0.0)
        if self.terms.bounds is not None and proof.has("bound_multipliers"):
            found["bound_multipliers"] = proof.array("bound_multipliers", (self.p,))
        return found

    def _tolerance(self, part: Fields, *, whole: bool = False) -> float:
        """The relative gap that was asked for; version 1 says it of searches alone."""
        if self.version > 1:
            return part.number("tolerance", low=0.0)
        proof = Fields({}, part.file) if whole else part.part("certificate")
        if proof.has("tolerance"):
            return proof.number("tolerance", low=0.0)
        claimed = part.number("relative_gap", finite=False)
        return max(USUAL, claimed) if part.flag("converged") and np.isfinite(claimed) else USUAL

    def _box(self, proof: Fields) -> NDArray[np.float64]:
        """Sizes of some weights, the others held by nothing."""
        width = self.p + self.terms.fit_intercept
        box = np.full(width, np.inf)
        for k, pair in enumerate(proof.items("box")):
            titles = ("column", "size")
            one = proof.line(f"box[{k}]", pair, titles, "pairs of the number of a column and a size")
            column = one.whole("column")
            if column >= width or np.isfinite(box[column]):
                raise one.refuse("column", f"below {width}, and none twice")
            box[column] = one.number("size", low=0.0)
        if np.isinf(box).all():
            raise proof.refuse("box", "null, or the size of some weight")
        return box

    def _search(self, proof: Fields, positive: int) -> SearchRun:
        if proof.whole("positive") != positive:
            raise proof.refuse("positive", f"{positive}, the number of the class that counts as +1")
        return SearchRun(_search_named(proof.part("solver")), proof.whole("nodes"), positive)

    def _solution(
        self,
        part: Fields,
        certificate: Certificate,
        zero: NDArray[Any],
        parts: tuple[Solution, ...] = (),
        terms: Objective | None = None,
    ) -> Solution:
        facts: dict[str, Any] = {"n": self.n, "p": self.p, "null": part.number("null", finite=False)}
        facts["spread"] = self.spread
        if part.has("remark"):
            facts["remark"] = part.text("remark")
        return Solution(
            coef=certificate.coef,
            intercept=certificate.intercept,
            objective=certificate.objective,
            bound=certificate.bound,
            relative_gap=part.number("relative_gap", finite=False),
            certificate=certificate,
            converged=part.flag("converged"),
            status=part.text("status"),
            solver=part.text("solver"),
            n_iter=part.whole("n_iter"),
            seconds=part.number("seconds", low=0.0),
            trace=_trace(part),
            coef_error=part.optional(part.number, "coef_error", low=0.0, finite=False),
            coef_error_reason=part.text("coef_error_reason"),
            proven_zero=zero,
            terms=terms or self.terms,
            names=self.names,
            classes=self.classes,
            facts=facts,
            parts=parts,
        )


def _made(part: Fields, catalogue: dict[str, Any]) -> Any:
    """A loss or a penalty of the catalogue, with the parameters that it has."""
    cls = catalogue[part.one_of("name", catalogue)]
    wanted = [field.name for field in dataclasses.fields(cls) if not field.kw_only]
    inner = part.part("parameters")
    if sorted(inner.values) != sorted(wanted):
        raise part.refuse("parameters", f"{', '.join(wanted) or 'empty'} alone")
    return cls(**{name: inner.number(name) for name in wanted})


def _search_named(part: Fields) -> Any:
    known = of_kind("search")
    cls: Any = known[part.one_of("name", known)]
    wanted = {field.name: field.default for field in dataclasses.fields(cls)}
    inner = part.part("options")
    if not set(inner.values) <= set(wanted):
        raise part.refuse("options", f"among {', '.join(wanted)}")
    options: dict[str, Any] = {}
    for name, value in inner.values.items():
        kind = type(wanted[name])
        whole = kind is int and not isinstance(value, float)
        read: Any = inner.flag if kind is bool else inner.whole if whole else inner.number
        options[name] = inner.optional(read, name)
    return cls(**options)


def _classes(part: Fields) -> NDArray[Any]:
    """Labels of one type, in their order, none twice."""
    kind = part.text("dtype")
    values = part.items("values")
    kinds = {type(label) for label in values}
    if (
        not LABEL.fullmatch(kind)
        or len(values) < 2
        or len(kinds) != 1
        or not kinds <= {str, int, float, bool}
    ):
        raise part.refuse("values", "two or more texts or numbers of one type")
    try:
        found = np.array(values, dtype=kind)
        same = found.tolist() == values and len(np.unique(found)) == len(values)
    except (TypeError, ValueError, OverflowError):
        same = False
    if not same or sorted(values) != values:
        raise part.refuse("values", "different labels in their order, as the dtype says")
    return found


def _trace(part: Fields) -> Trace:
    trace = Trace()
    for k, row in enumerate(part.items("trace")):
        line = part.line(f"trace[{k}]", row, RECORD, "a list of records")
        numbers: Any = {name: line.number(name, finite=False, nan=True) for name in NUMBERS}
        step = line.optional(line.number, "step", finite=False, nan=True)
        nonzero = line.optional(line.whole, "nonzero")
        trace.append(
            Record(line.whole("iteration"), solver=line.text("solver"), step=step, nonzero=nonzero, **numbers)
        )
    return trace
