"""dg.load: a model file parsed and validated. Nothing in it is ever executed."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap import discrete, losses, penalties
from dualgap.errors import DataError, ModelFileError
from dualgap.files.fields import Fields
from dualgap.files.recipes import read_recipe
from dualgap.files.store import Beside, read_document
from dualgap.fitting.class_certificate import ClassCertificate
from dualgap.fitting.hard_margin import HardMargin, HardMarginCertificate
from dualgap.fitting.objective import Objective
from dualgap.fitting.proof import Certificate
from dualgap.fitting.searched import SearchCertificate, SearchCertificates
from dualgap.fitting.solution import Solution
from dualgap.solvers.trace import Record, Trace
from dualgap.traits import Trait

VERSIONS = (1,)
LABEL = re.compile(r"[<|>][iufb][1248]|[<>]U[1-9]\d{0,4}|object")
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
        self.n, self.p = top.whole("rows", 1), top.whole("columns", 1)
        self.spread = top.array("spread", (self.p,))
        self._refuse_hollow()
        self.names = top.texts("names") if top.has("names") else None
        if self.names is not None and len(self.names) != self.p:
            raise top.refuse("names", f"{self.p} names")
        self.classes = _classes(top.part("classes")) if top.has("classes") else None
        self.terms = self._terms(top.part("objective"))
        if (self.classes is not None) != (Trait.CLASSIFICATION in self.terms.loss.traits):
            raise top.refuse("classes", "there for a classification loss, and for no other")
        self.labels = None if self.classes is None else tuple(self.classes.tolist())

    def _refuse_hollow(self) -> None:
        """A number of rows must be backed by a θ as long: a few bytes must not claim gigabytes."""
        answer = self.top.part("answer")
        parts = answer.parts("parts") if answer.has("parts") else [answer]
        for part in parts:
            proof = part.part("certificate")
            backed = proof.length("theta") == self.n if proof.has("theta") else self.n <= MOST_SEARCHED
            if not backed:
                raise self.top.refuse("rows", "the length of θ")

    def solution(self) -> Solution:
        """The whole."""
        top = self.top
        many = self.classes is not None and len(self.classes) > 2
        multiclass = top.one_of("multiclass", ("one_vs_rest", "multinomial")) if many else None
        answer = top.part("answer")
        apart = multiclass == "one_vs_rest"
        found = self._together(answer) if apart else self._answer(answer, joint=many)
        found = dataclasses.replace(found, multiclass=multiclass)
        if top.has("fingerprint"):
            found.facts["fingerprint"] = top.text("fingerprint")
        if top.has("recipe"):
            recipe = read_recipe(top.part("recipe"))
            if recipe.names != self.names:
                raise top.refuse("recipe", "one that makes the columns of the model")
            found = dataclasses.replace(found, recipe=recipe)
        return found

    def _terms(self, part: Fields) -> Objective:
        lam = part.number("lam", low=0.0) if part.has("lam") else None
        budget = part.number("budget", low=0.0) if part.has("budget") else None
        penalty = _made(part.part("penalty"), penalties.CATALOGUE)
        if penalty.takes_strength != ((lam is None) != (budget is None)) or (
            lam is not None and budget is not None
        ):
            raise part.refuse("lam", "given where budget is not, and the other way round")
        values = (
            _made(part.part("loss"), losses.CATALOGUE),
            penalty,
            lam,
            budget,
            part.flag("fit_intercept"),
            self._weights(part, "sample_weight", self.n),
            self._weights(part, "penalty_factors", self.p),
            self._weights(part, "scale", self.p),
        )
        terms = HardMargin(*values) if part.flag("hard_margin") else Objective(*values)
        if not np.all(terms.scale > 0):
            raise part.refuse("scale", "positive numbers")
        _ = terms.regulariser  # refuses factors that the penalty cannot take
        return terms

    def _weights(self, part: Fields, name: str, length: int) -> NDArray[np.float64]:
        if not part.has(name):
            return np.ones(length)
        found = part.array(name, (length,))
        if np.any(found < 0) or not found.any():
            raise part.refuse(name, "numbers that are not negative, some positive")
        return found

    def _together(self, part: Fields) -> Solution:
        """A problem per class: rows of coef and columns of θ are put together from the parts."""
        assert self.classes is not None and self.labels is not None
        fields = part.parts("parts")
        if len(fields) != len(self.classes):
            raise part.refuse("parts", f"one for each of {len(self.classes)} classes")
        parts = tuple(self._answer(one, joint=False) for one in fields)
        coef, intercept = np.array([p.coef for p in parts]), np.array([p.intercept for p in parts])
        proofs = [p.certificate for p in parts]
        if len({type(proof) for proof in proofs}) > 1:
            raise part.refuse("parts", "proofs of one kind")
        values = {name: part.number(name, finite=False) for name in ("objective", "bound")}
        certificate: Any = tuple(proofs)
        if isinstance(proofs[0], SearchCertificate):
            certificate = SearchCertificates(tuple(proofs))
        elif isinstance(proofs[0], Certificate):
            theta = np.column_stack([proof.theta for proof in proofs])
            certificate = ClassCertificate(
                theta,
                coef,
                intercept,
                values["objective"],
                values["bound"],
                self.terms,
                self.labels,
                "one_vs_rest",
            )
        zero = np.array([p.proven_zero for p in parts])
        return self._solution(part, (coef, intercept), certificate, zero, parts)

    def _answer(self, part: Fields, *, joint: bool) -> Solution:
        if joint:
            assert self.classes is not None
            shape: tuple[int, ...] = (len(self.classes), self.p)
            intercept: Any = part.array("intercept", shape[:1])
        else:
            shape, intercept = (self.p,), part.number("intercept")
        coef = part.array("coef", shape)
        certificate = self._certificate(part, (coef, intercept), joint=joint)
        return self._solution(
            part, (coef, intercept), certificate, part.array("proven_zero", shape, kind="|b1")
        )

    def _certificate(self, part: Fields, weights: tuple[Any, Any], *, joint: bool) -> Any:
        proof = part.part("certificate")
        kind = proof.one_of("kind", ("classes",) if joint else ("dual", "hard_margin", "search"))
        objective, bound = part.number("objective", finite=False), part.number("bound", finite=False)
        if kind == "search":
            return self._search(proof, weights, (objective, bound))
        if (kind == "hard_margin") != isinstance(self.terms, HardMargin):
            raise proof.refuse("kind", "hard_margin for a hard margin, and for nothing else")
        if joint:
            assert self.labels is not None
            theta = proof.array("theta", (self.n, len(self.labels)))
            return ClassCertificate(theta, *weights, objective, bound, self.terms, self.labels, "multinomial")
        made = HardMarginCertificate if kind == "hard_margin" else Certificate
        theta = proof.array("theta", (self.n,))
        return made(theta, *weights, objective, bound, self.terms, self.labels)

    def _search(
        self, proof: Fields, weights: tuple[Any, Any], values: tuple[float, float]
    ) -> SearchCertificate:
        theta = proof.array("theta", (self.n,)) if proof.has("theta") else None
        positive = proof.whole("positive")
        if self.labels is not None and positive >= len(self.labels):
            raise proof.refuse("positive", "the number of a class")
        return SearchCertificate(
            theta,
            *weights,
            *values,
            self.terms,
            self.labels,
            positive,
            _search_named(proof.part("solver")),
            proof.whole("nodes"),
            proof.number("tolerance", low=0.0),
        )

    def _solution(
        self,
        part: Fields,
        weights: tuple[Any, Any],
        certificate: Any,
        zero: NDArray[Any],
        parts: tuple[Solution, ...] = (),
    ) -> Solution:
        error = part.number("coef_error", low=0.0, finite=False) if part.has("coef_error") else None
        facts: dict[str, Any] = {"n": self.n, "p": self.p, "null": part.number("null", finite=False)}
        facts["spread"] = self.spread
        if part.has("remark"):
            facts["remark"] = part.text("remark")
        return Solution(
            coef=weights[0],
            intercept=weights[1],
            objective=part.number("objective", finite=False),
            bound=part.number("bound", finite=False),
            relative_gap=part.number("relative_gap", finite=False),
            certificate=certificate,
            converged=part.flag("converged"),
            status=part.text("status"),
            solver=part.text("solver"),
            n_iter=part.whole("n_iter"),
            seconds=part.number("seconds", low=0.0),
            trace=_trace(part),
            coef_error=error,
            coef_error_reason=part.text("coef_error_reason"),
            proven_zero=zero,
            terms=self.terms,
            names=self.names,
            classes=self.classes,
            facts=facts,
            parts=parts,
        )


def _made(part: Fields, catalogue: dict[str, Any]) -> Any:
    """A loss or a penalty of the catalogue, with the parameters that it has."""
    cls = catalogue[part.one_of("name", catalogue)]
    wanted = [field.name for field in dataclasses.fields(cls)]
    inner = part.part("parameters")
    if sorted(inner.values) != sorted(wanted):
        raise part.refuse("parameters", f"{', '.join(wanted) or 'empty'} alone")
    return cls(**{name: inner.number(name) for name in wanted})


def _search_named(part: Fields) -> Any:
    cls: Any = discrete.SEARCHES[part.one_of("name", discrete.SEARCHES)]
    wanted = {field.name: field.default for field in dataclasses.fields(cls)}
    inner = part.part("options")
    if not set(inner.values) <= set(wanted):
        raise part.refuse("options", f"among {', '.join(wanted)}")
    options: dict[str, Any] = {}
    for name in inner.values:
        if inner.has(name):
            kind = type(wanted[name])
            whole = kind is int and not isinstance(inner.values[name], float)
            options[name] = (
                inner.flag(name) if kind is bool else inner.whole(name) if whole else inner.number(name)
            )
        else:
            options[name] = None
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
        if not isinstance(row, list) or len(row) != 8:
            raise part.refuse("trace", "a list of records")
        names = ("iteration", "seconds", "objective", "best", "bound", "solver", "step", "nonzero")
        line = Fields(dict(zip(names, row, strict=True)), part.file, f"{part.place('trace')}[{k}]")
        trace.append(
            Record(
                line.whole("iteration"),
                line.number("seconds", finite=False),
                line.number("objective", finite=False),
                line.number("best", finite=False),
                line.number("bound", finite=False),
                line.text("solver"),
                line.number("step", finite=False) if line.has("step") else None,
                line.whole("nonzero") if line.has("nonzero") else None,
            )
        )
    return trace
