"""A model file is believed in nothing: whatever is edited, `verify` objects and says which claim broke."""

from __future__ import annotations

import copy
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import dualgap as dg
from dualgap.errors import DataError, ModelFileError
from dualgap.files import store
from dualgap.files.verification import UNPROVEN, _precise, examine, rows_in_use
from dualgap.proof.check import Checked

RNG = np.random.default_rng(20)
X = RNG.normal(size=(60, 5))
NUMBERS = X @ [1.0, 0.0, -1.0, 0.05, 0.0] + 0.5 * RNG.normal(size=60) + 0.3
TWO = np.where(NUMBERS + 0.5 * RNG.normal(size=60) > 0, "yes", "no")
THREE = np.array(["ash", "elm", "oak"])[np.digitize(NUMBERS + RNG.normal(size=60), [-0.7, 0.9])]
APART = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
SEVERAL = np.column_stack([NUMBERS, X[:, 1] - 0.5 * NUMBERS])
TIED = (np.array([[1.0, 1, 1, 1, 1], [1, -1, 0, 0, 0]]), [None, 0.3], [-0.1, 0.3])
WEIGHTS = np.where(np.arange(60) % 7 == 0, 0.0, 1.0 + np.arange(60) % 3)

FITS: dict[str, tuple[NDArray[Any], dict[str, Any]]] = {
    "lasso": (NUMBERS, dict(loss="squared", penalty="l1", lam=0.2)),
    "ridge": (NUMBERS, dict(loss="squared", penalty="l2", lam=0.1, standardize=True)),
    "logistic": (TWO, dict(loss="logistic", penalty="l2", lam=0.05, sample_weight=WEIGHTS)),
    "hinge": (TWO, dict(loss="hinge", penalty="l1", lam=0.05, fit_intercept=False)),
    "quantile": (NUMBERS, dict(loss="quantile(0.3)", penalty="none")),
    "budget": (NUMBERS, dict(loss="huber(1.35)", penalty="elastic_net(0.5)", budget=0.6)),
    "factors": (NUMBERS, dict(loss="squared", penalty="l2", lam=0.1, penalty_factors=[1, 2, 0, 1, 1])),
    "multinomial": (THREE, dict(loss="logistic", lam=0.05)),
    "one_vs_rest": (THREE, dict(loss="squared_hinge", penalty="elastic_net(0.5)", lam=0.1)),
    "best subset": (NUMBERS, dict(loss="squared", penalty="l0", budget=2)),
    "best subsets": (THREE, dict(loss="squared_hinge", penalty="l0", budget=2)),
    "hard margin": (APART, dict(loss="hinge", C=np.inf)),
    "bounds": (NUMBERS, dict(loss="squared", penalty="l1", lam=0.02, bounds=(-0.2, 0.7))),
    "bounds as rows": (NUMBERS, dict(loss="absolute", penalty="lp(3)", lam=0.02, bounds=(-0.2, 0.7))),
    "constraints": (NUMBERS, dict(loss="squared", penalty="l2", lam=0.02, constraints=TIED)),
    "offset": (NUMBERS, dict(loss="huber(1.35)", penalty="l2", lam=0.02, offset=0.5 * X[:, 1])),
    "groups": (NUMBERS, dict(loss="squared", penalty="sparse_group(0.3)", lam=0.1, groups=[0, 1, 1, 0, 2])),
    "outputs": (SEVERAL, dict(loss="squared", penalty="l21", lam=0.1)),
    "outputs apart": (SEVERAL, dict(loss="squared", penalty="l1", lam=0.1)),
}

# What says nothing that could be false. Everything else must have its edits below.
NO_CLAIMS = {
    "made_by": "who wrote the file",
    "names": "what columns are called, which an array does not know; a frame and a recipe do",
    "classes.dtype": "how labels are kept: those that cannot be kept so are refused",
    "recipe": "how a file becomes X, and X is what is verified",
    "answer.status": "a sentence for people",
    "answer.solver": "who found the weights, not how good they are",
    "answer.n_iter": "how long it took",
    "answer.seconds": "how long it took",
    "answer.coef_error_reason": "why nothing is claimed",
    "answer.remark": "a sentence for people",
    "answer.trace": "how the weights were found, not how good they are",
    "certificate.solver.name": "which search is made again: its bound is what it proves then",
    "certificate.solver.options": "how the search is made again",
    "certificate.nodes": "how long is searched again",
    "certificate.box": "where there is none a file may claim less; a test of its own has one",
}

Edit = Callable[[Any], Any]


def put(value: Any) -> Edit:
    return lambda _: value


def times(factor: float) -> Edit:
    return lambda old: (np.asarray(old) * factor).tolist()


def plus(amount: float) -> Edit:
    return lambda old: (np.asarray(old) + amount).tolist()


def turned(old: Any) -> Any:
    return np.roll(np.asarray(old), 1, axis=0).tolist()


def one_more(old: Any) -> Any:
    """The first entry moved."""
    found = np.array(old, dtype=float)
    found.flat[0] += 0.1
    return found.tolist()


def all_true(old: Any) -> Any:
    return np.ones_like(np.asarray(old), dtype=bool).tolist()


def flags_up(old: Any) -> list[Any]:
    """Every flag that is down, up, one at a time."""
    found = []
    for k in np.flatnonzero(~np.asarray(old).ravel()):
        flags = np.array(old)
        flags.flat[k] = True
        found.append(flags.tolist())
    return found


NUMBER_LIES: list[Edit] = [put("nan"), put("inf"), put("-inf"), put(None), put("1"), put([]), put(True)]
ARRAY_LIES: list[Edit] = [
    put([]),
    put(None),
    put([1.0]),
    lambda old: old[:-1],
    lambda old: [*old, old[-1]],
    lambda old: [old, old],
    lambda old: {"dtype": "<f8", "shape": [1], "base64": "AAAAAAAA8H8="},  # one infinity
]

CLAIMS: dict[str, list[Edit]] = {
    "format": [put("model"), put(None)],
    "version": [put(0), put(3), put("2"), put(None)],
    "objective.words": [put("mean squared loss, no penalty at all"), put(3)],
    "objective.loss.name": [
        put(name) for name in ("squared", "absolute", "hinge", "exponential", "zero_one")
    ],
    "objective.loss.parameters": [put({"delta": 1.0}), put({"q": 0.31}), put({}), put({"q": "nan"})],
    "objective.penalty.name": [put(name) for name in ("l1", "l2", "none", "linf", "l0", "elastic_net")],
    "objective.penalty.parameters": [put({"alpha": 0.51}), put({"alpha": 0.0}), put({}), put({"beta": 1.0})],
    "objective.lam": [times(1.0 + 1e-6), times(0.5), put(0.0), *NUMBER_LIES],
    "objective.budget": [times(1.0 + 1e-6), times(0.5), put(0.0), put(1), *NUMBER_LIES],
    "objective.hard_margin": [lambda old: not old, put(None)],
    "objective.fit_intercept": [lambda old: not old, put(None), put(1)],
    "objective.sample_weight": [
        one_more,
        turned,
        put([0.0] * 59 + [1.0]),
        put([1.0] * 59 + [2.0]),
        *ARRAY_LIES[2:],
    ],
    "objective.penalty_factors": [put([1.0, 1.0, 1.5, 1.0, 1.0]), put([-1.0] * 5), *ARRAY_LIES[2:]],
    "objective.scale": [put([1.0, 1.0, 1.0, 1.0, 1.01]), put([2.0] * 5), put([0.0] * 5), *ARRAY_LIES[2:]],
    "rows": [plus(1), plus(-1), put(0), put(1), *NUMBER_LIES[:4]],
    "columns": [plus(1), plus(-1), put(0), put(10), *NUMBER_LIES[:4]],
    "classes": [put({"dtype": "<U3", "values": ["a", "b"]}), put([]), put(2)],
    "classes.values": [lambda old: ["a", *old[1:]], lambda old: old[::-1], lambda old: old[:-1], put([])],
    "multiclass": [put("one_vs_rest"), put("multinomial"), put("x"), put(1)],
    "spread": [times(1.0 + 1e-6), one_more, turned, *ARRAY_LIES],
    "fingerprint": [put("sha256:0"), put("")],
    "answer.objective": [times(1.0 - 1e-9), times(1.0 + 1e-9), times(0.5), put(0.0), put(-1.0), *NUMBER_LIES],
    "answer.bound": [plus(1e-9), times(1.0 + 1e-6), times(0.5), put(0.0), put(-1.0), *NUMBER_LIES],
    "answer.relative_gap": [times(0.5), times(2.0), plus(1e-9), put(0.1), put(-1.0), *NUMBER_LIES],
    "answer.null": [times(1.0 - 1e-9), times(1.0 + 1e-9), put(0.0), put(-1.0), *NUMBER_LIES],
    "answer.tolerance": [put(0.0), put(-1.0), *NUMBER_LIES],
    "answer.converged": [put(False), put(None), put(1)],
    "answer.coef_error": [times(0.5), times(0.0), *NUMBER_LIES[:1], *NUMBER_LIES[2:3], put(-1.0), put("1")],
    "answer.coef": [one_more, turned, times(0.0), times(1.0 + 1e-3), times(-1.0), times(10.0), *ARRAY_LIES],
    "answer.intercept": [plus(0.1), plus(-0.1), one_more, *NUMBER_LIES],
    "answer.proven_zero": [all_true, put([0, 0, 0, 0, 0]), put(None), put([True])],
    "answer.parts": [lambda old: old[:-1], lambda old: [old[1], old[0], old[2]], put([]), put(None)],
    "certificate.kind": [put(name) for name in ("dual", "search", "hard_margin", "classes", "x")],
    "certificate.theta": [one_more, turned, times(0.0), times(0.5), times(2.0), times(-1.0), *ARRAY_LIES],
    "certificate.multipliers": [one_more, times(0.0), times(2.0), times(-1.0), *ARRAY_LIES],
    "certificate.violation": [put(-1.0), *NUMBER_LIES],
    "certificate.bound_multipliers": [one_more, turned, times(0.0), times(1.0 + 1e-3), *ARRAY_LIES],
    "objective.bounds": [
        put([[0, -0.1, 0.7]]),
        put([[0, -0.2, None]]),
        put([[0, 0.7, -0.2]]),
        put([[7, 0.0, 0.7]]),
        put([[0, "nan", 0.7]]),
        put([]),
        put(None),
        put(1),
    ],
    "objective.constraints": [put(None), put([]), put({})],
    "objective.constraints.count": [plus(1), plus(-1), put(0), *NUMBER_LIES],
    "objective.constraints.matrix": [one_more, turned, times(2.0), *ARRAY_LIES],
    "objective.constraints.ends": [put([[None, 0.1], [0.3, 0.3]]), put([[None, -0.1]]), put([]), put(None)],
    "objective.offset": [one_more, turned, times(0.0), times(1.0 + 1e-6), *ARRAY_LIES],
    "objective.penalty.groups": [put([0.0, 1, 1, 0, 1]), put([0.0, 1, 1, 0, 3]), turned, *ARRAY_LIES],
    "outputs": [put(["a"]), put([]), put(None), put(["a", "b", "c"])],
    "certificate.positive": [plus(1), plus(-1), put(7), *NUMBER_LIES[:4]],
}
UNCHANGED = {"checksum", "beside"}


@cache
def saved(name: str) -> str:
    """The text of a fit's file."""
    y, keywords = FITS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        dg.fit(X, y, **keywords).save(path, data=(X, y))
        return path.read_text()


def fields(document: dict[str, Any]) -> dict[str, list[tuple[Any, ...]]]:
    """The names of all fields, those of every part and certificate alike, and the ways to them."""
    found: dict[str, list[tuple[Any, ...]]] = {}

    def walk(inner: dict[str, Any], said: str, way: tuple[Any, ...]) -> None:
        for key, value in inner.items():
            name = f"{said}.{key}" if said else key
            if key == "certificate":
                walk(value, "certificate", (*way, key))
            elif isinstance(value, dict) and key not in ("parameters", "options", "recipe"):
                walk(value, name, (*way, key))
            else:
                found.setdefault(name, []).append((*way, key))
            if key == "parts":
                for k, part in enumerate(value):
                    walk(part, "answer", (*way, key, k))

    walk(document, "", ())
    return found


def verdict(document: dict[str, Any], y: NDArray[Any], rows: Any = X) -> list[str]:
    """Load with a fresh checksum and verify; a refusal is an objection too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            document["checksum"] = store.checksum(document)
        except ValueError:
            return ["no JSON"]
        path.write_text(json.dumps(document))
        try:
            return examine(dg.load(path), rows, y)[0]
        except ModelFileError as error:
            return [str(error)]


def edited(document: dict[str, Any], way: tuple[Any, ...], value: Any) -> dict[str, Any]:
    found = copy.deepcopy(document)
    inner = found
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    return found


def at(document: dict[str, Any], way: tuple[Any, ...]) -> Any:
    value: Any = document
    for key in way:
        value = value[key]
    return value


def lies(name: str, old: Any) -> Iterator[Any]:
    """The field's edits that change it."""
    edits = CLAIMS[name]
    for edit in edits:
        try:
            value = edit(old)
        except (TypeError, IndexError, ValueError):
            continue  # an edit of numbers, where there is nothing
        if value != old:
            yield value
    if name == "answer.proven_zero":
        yield from flags_up(old)


def harmless(document: dict[str, Any], field: str, way: tuple[Any, ...], value: Any) -> str:
    """Why an edit tells the same, or less: then nothing in the file is false."""
    asked, old = document["objective"], at(document, way)
    if field == "answer.converged" and "parts" in way:
        return "the classes together may be proven where one of them is not"
    if field == "objective.budget" and asked["penalty"]["name"] == "l0" and value == old * (1.0 + 1e-6):
        return "two columns and a bit are two columns"
    if field == "certificate.bound_multipliers" and value is None:
        return "nothing is told of them then"
    if field == "objective.penalty_factors" and asked["penalty"]["name"] == "none":
        return "there is no penalty to have factors"
    if field == "answer.intercept" and isinstance(old, list) and np.shape(value) == np.shape(old):
        alike = np.ptp(np.subtract(value, old)) < 1e-9
        return "a level that all classes share tells none of them apart" if alike else ""
    return ""


@pytest.mark.parametrize("name", sorted(FITS))
def test_unedited_files_verify_and_every_field_is_judged(name: str) -> None:
    document, y = json.loads(saved(name)), FITS[name][0]
    assert verdict(document, y) == []
    known = {*CLAIMS, *NO_CLAIMS, *UNCHANGED}
    assert set(fields(document)) <= known, "a field of the file that no test edits"


@pytest.mark.parametrize("name", sorted(FITS))
def test_every_edited_field_is_told(name: str) -> None:
    document, y = json.loads(saved(name)), FITS[name][0]
    passed = []
    for field, ways in fields(document).items():
        for way in ways if field in CLAIMS else ():
            old = at(document, way)
            for value in lies(field, old):
                if harmless(document, field, way, value):
                    continue
                found = verdict(edited(document, way, value), y)
                assert all(len(said) < 600 and "\n" not in said for said in found)
                if not found:
                    passed.append((way, value))
    assert passed == []


def forged(name: str, **answer: Any) -> list[str]:
    """The verdict on a file with several fields of its answer edited at once."""
    document = json.loads(saved(name))
    theta = answer.pop("theta", None)
    document["answer"] |= answer
    if theta is not None:
        document["answer"]["certificate"]["theta"] = theta
    return verdict(document, FITS[name][0])


@pytest.mark.parametrize("name", ["lasso", "logistic", "hinge", "budget", "quantile"])
def test_a_careful_forger_is_told_too(name: str) -> None:
    """Values that agree with each other, and not with the rows."""
    answer = json.loads(saved(name))["answer"]
    objective = answer["objective"]
    gap = objective - answer["bound"]
    assert gap > 1e-12
    closed = forged(name, bound=objective, relative_gap=0.0)
    assert any("θ proves the bound" in said for said in closed)
    assert any(said.startswith("the relative gap is") for said in closed)
    nothing = dict(coef=[0.0] * 5, intercept=0.0, theta=[0.0] * 60)
    assert any("θ proves the bound 0" in said for said in forged(name, **nothing, relative_gap=0.0))
    huge = forged(name, theta=[1e150] * 30 + [-1e150] * 30, bound=objective, relative_gap=0.0)
    assert any("θ" in said for said in huge)
    bold = dict(objective=0.5 * objective, bound=0.5 * objective, relative_gap=0.0)
    assert any(said.startswith("the objective is") for said in forged(name, **bold))
    loose = forged(name, theta=[0.0] * 60, bound=objective, relative_gap=0.0, tolerance=1.0)
    assert any("θ proves the bound" in said for said in loose)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (dict(null="inf"), "without any column the objective is"),
        (dict(proven_zero=[True] * 5), "not proven to be zero in every optimal answer: x0"),
        (dict(bound="-inf"), "the model says -inf"),
        (dict(bound="-inf", relative_gap="inf"), "the model says -inf"),
        (dict(objective="inf", relative_gap="inf"), "the model says inf"),
        (dict(relative_gap="nan"), "relative_gap should be a number, not 'nan'"),
        (dict(relative_gap=0.0), "objective and bound of the model are a relative"),
        (dict(converged=False), "was not proven to its tolerance"),
        (dict(tolerance=1e-30), "the model says it is proven to 1e-30"),
        (dict(coef_error=0.5), "nothing is proven of the distance to optimal weights"),
        (dict(theta=[[0.0]] * 60), "should have the shape 60, not 60 × 1"),
        (dict(theta=[5.0, -5.0] * 30), "θ proves the bound"),
    ],
)
def test_each_lie_has_its_sentence(answer: dict[str, Any], said: str) -> None:
    found = forged("lasso", **answer)
    assert any(said in one for one in found), found


def test_weights_outside_the_budget_and_an_intercept_that_is_none() -> None:
    coef = json.loads(saved("budget"))["answer"]["coef"]
    assert "the weights are outside the budget" in forged("budget", coef=times(1.001)(coef))
    assert "answer.intercept should be 0" in forged("hinge", intercept=0.1)[0]


def test_a_row_that_does_not_count_has_no_theta() -> None:
    document = json.loads(saved("logistic"))
    document["answer"]["certificate"]["theta"][7] = 0.01
    assert "θ is not zero in rows that do not count" in verdict(document, TWO)


def test_an_error_bar_cannot_be_shortened() -> None:
    error = json.loads(saved("ridge"))["answer"]["coef_error"]
    assert any("the weights are proven within" in said for said in forged("ridge", coef_error=0.0))
    assert any("the weights are proven within" in said for said in forged("ridge", coef_error=0.6 * error))
    assert forged("ridge", coef_error=2.0 * error) == [], "a file may claim less"


def test_scales_are_those_of_the_rows() -> None:
    document = json.loads(saved("ridge"))
    document["objective"]["scale"][2] *= 1.001
    assert any("the penalty sees the standard deviation of x2" in said for said in verdict(document, NUMBERS))


def test_how_many_rows_count_is_said() -> None:
    document = json.loads(saved("logistic"))
    assert "51 of 60 rows count (weight > 0), with weights from 1 to 3" in _words(document)
    assert _words(json.loads(saved("lasso"))) == "60 rows, every one counts the same"
    one = edited(document, ("objective", "sample_weight"), [0.0] * 58 + [1.0, 2.0])
    assert "2 of 60 rows count" in _words(one) and verdict(one, TWO)


def _words(document: dict[str, Any]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        document["checksum"] = store.checksum(document)
        path.write_text(json.dumps(document))
        return rows_in_use(dg.load(path).terms)


def test_other_rows_and_other_columns() -> None:
    document = json.loads(saved("lasso"))
    assert any("60 rows and 5 columns" in said for said in verdict(document, NUMBERS[:50], X[:50]))
    found = verdict(document, NUMBERS + 1e-9)
    assert any("fingerprint differs" in said for said in found)
    frame = pd.DataFrame(X, columns=list("abcde"))
    solution = dg.fit(frame, NUMBERS, loss="squared", penalty="l1", lam=0.2)
    assert examine(solution, frame, NUMBERS)[0] == []
    other = frame.rename(columns={"a": "b", "b": "a"})
    assert any("their names differ" in said for said in examine(solution, other, NUMBERS)[0])


def test_a_bound_that_holds_in_a_box_says_so_and_cannot_leave_it() -> None:
    first, second, noise = np.random.default_rng(1).normal(size=(3, 60))
    rows = np.c_[first, first + 2.0**-50 * second, noise]
    y = second + 0.3 * noise
    solution = dg.fit(rows, y, loss="squared", penalty="none")
    assert solution.certificate.box is not None
    assert "for weights of size up to" in solution.summary() and "drop it" in solution.summary()
    objections, values = examine(solution, rows, y)
    assert objections == [] and list(values["box"]) == ["x1"]
    with tempfile.TemporaryDirectory() as folder:
        path = solution.save(Path(folder) / "model.json")
        told = replace(solution, data=None).summary()  # files keep no rows
        assert dg.load(path).summary() == told
        document = json.loads(path.read_text())
    assert verdict(document, y, rows) == []
    box = document["answer"]["certificate"]["box"]
    wider = [[1, 2.0 * box[0][1]]]
    for lie, said in ((None, "the model says nothing of it"), (wider, "the bound holds only")):
        document["answer"]["certificate"]["box"] = lie
        assert any(said in one for one in verdict(document, y, rows))
    for odd in ([], [[9, 1.0]], [[1, "inf"]], [[1, 1.0], [1, 2.0]], [1], "x"):
        document["answer"]["certificate"]["box"] = odd
        assert any("box" in one for one in verdict(document, y, rows))


@pytest.mark.parametrize("name", sorted(FITS))
def test_files_of_version_1_verify(name: str) -> None:
    """They do not tell the tolerance, nor a box; a search tells its own. What came later needs its number."""
    document = json.loads(saved(name))
    if document["version"] > 2:
        assert verdict(document | {"version": 1}, FITS[name][0])
        return
    document["version"] = 1
    answer = document["answer"]
    for part in [answer, *answer.get("parts", [])]:
        tolerance = part.pop("tolerance")
        proof = part.get("certificate", {})
        proof.pop("box", None)
        if proof.get("kind") == "search":
            proof["tolerance"] = tolerance
    assert verdict(document, FITS[name][0]) == []


def test_what_is_verified_is_what_recheck_says() -> None:
    for name in FITS:
        y, keywords = FITS[name]
        solution = dg.fit(X, y, **keywords)
        again, (_, values) = solution.certificate.recheck(X, y), examine(solution, X, y)
        assert np.isclose(values["objective"], again.objective, rtol=1e-12)
        assert again.bound <= values["bound"] * (1.0 + 1e-12) <= again.bound + 1e-6 * abs(again.objective)


def test_rows_that_cannot_be_read_raise_as_elsewhere() -> None:
    solution = dg.fit(X, NUMBERS, loss="squared", penalty="l1", lam=0.2)
    objections, values = examine(solution, X, np.where(NUMBERS > 0, "a", "b"))
    assert values == {} and len(objections) == 1
    with pytest.raises(DataError):
        solution.certificate.recheck(X[:3], NUMBERS[:3])


@dataclass(frozen=True, eq=False)
class Blurred:
    """A task with a gap of one half, of which rounding hides what it is told to."""

    problem: Any
    tolerance: float
    least: float

    def judged(self, w: Any, theta: Any) -> Checked:
        zero = np.zeros_like(w)
        hidden = max(self.least, 0.1 * self.tolerance)
        return Checked(w=w, theta=theta, primal=1.0, dual=0.5, rounding=hidden, correlation=zero, reach=zero)


def test_rounding_is_no_excuse() -> None:
    """Digits are spent until it hides next to nothing; where none are left, no tolerance makes up for it."""
    solution = dg.fit(X, NUMBERS, loss="squared", penalty="l1", lam=0.2)
    (task,), (point,) = solution.terms.tasks(solution.certificate, X, NUMBERS), solution.certificate.points()
    problem = task.problem  # type: ignore[attr-defined]
    for least, most in ((0.0, 1e-11), (0.2, 1e-6)):
        blurred = Blurred(problem, 1.0, least)
        _, room, _ = _precise(blurred, blurred.judged(*point), point, 1.0)
        assert room <= most


def test_a_tolerance_is_met_or_not() -> None:
    found = json.loads(saved("ridge"))["answer"]["relative_gap"]
    assert any("the model says it is proven to" in said for said in forged("ridge", tolerance=0.6 * found))


@pytest.mark.parametrize("kind", ["far", "far targets", "scales", "wide", "sparse", "equal columns"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
def test_honest_fits_verify_on_hard_data_too(kind: str, tolerance: float) -> None:
    rng = np.random.default_rng(8)
    wide = np.c_[X, rng.normal(size=(60, 60))]
    tables: dict[str, Any] = {
        "far": X + 2.0**24,
        "scales": X * 10.0 ** np.array([-5, 5, 0, 3, -3]),
        "wide": wide,
        "sparse": sp.csc_array(np.where(rng.random(X.shape) < 0.4, X, 0.0)),
        "equal columns": np.c_[X, X[:, 0]],
    }
    rows, targets = tables.get(kind, X), NUMBERS + (2.0**30 if kind == "far targets" else 0.0)
    asked: list[tuple[Any, dict[str, Any]]] = [
        (targets, dict(loss="squared", penalty="l1", lam=0.1)),
        (targets, dict(loss="absolute", penalty="l2", lam=0.05)),
        (targets, dict(loss="huber", penalty="l2", budget=0.5)),
        (TWO, dict(loss="logistic", penalty="l1", lam=0.01, sample_weight=WEIGHTS)),
        (THREE, dict(loss="logistic", penalty="l2", lam=0.05)),
        (THREE, dict(loss="hinge", penalty="elastic_net(0.5)", lam=0.05)),
    ]
    turned_round = rows.tocsr() if kind == "sparse" else np.asfortranarray(rows)  # sums in another order
    for y, keywords in asked:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dg.errors.NotCertifiedWarning)
            solution = dg.fit(rows, y, tol=tolerance, **keywords)
        for table in (rows, turned_round):
            found = examine(solution, table, y)[0]
            assert [said for said in found if not said.startswith(UNPROVEN)] == [], keywords
