"""Model files edited with the checksum renewed: `dualgap verify` must not call a false claim verified."""

from __future__ import annotations

import contextlib
import copy
import csv
import hashlib
import io
import json
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import dualgap as dg
from dualgap.cli.main import main
from exact.arithmetic import as_rational, rational, real
from exact.draws import Array, Case, Rng, labels, penalty_named, sample_weights
from exact.judge import (
    Question,
    Verdict,
    judge_bound,
    judge_distance,
    judge_objective,
    judge_relative,
    judge_zeros,
)
from exact.trial import Trial, attempt

EDITS = 4
# Of the objective, or 1e-4 of the null one: an edit within what the kernel charges for rounding (SLACK) is
# not to be told from the same weights, summed in another order.
UNSEEN = 2.0**-43
Document = dict[str, Any]


def checksum(document: Document) -> str:
    """The checksum that a model file claims of itself: SHA-256 of the rest, keys sorted."""
    rest = {name: value for name, value in document.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def write(path: Path, document: Document) -> None:
    """The document with a checksum that fits it."""
    path.write_text(json.dumps({**document, "checksum": checksum(document)}))


def write_rows(path: Path, X: Array, y: Any) -> None:
    """A CSV file of the same floats, the target last."""
    with path.open("w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow([*(f"x{j}" for j in range(X.shape[1])), "y"])
        for row, target in zip(X.tolist(), np.asarray(y).tolist(), strict=True):
            out.writerow([*map(repr, row), target if isinstance(target, str) else repr(target)])


def verified(model: Path, rows: Path) -> bool:
    """What `dualgap verify` answers."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        code = main(["verify", str(model), str(rows), "--target", "y", "--json"])
    answer = [line for line in said.getvalue().splitlines() if line.strip()]
    try:
        told = json.loads(said.getvalue())
    except ValueError:
        told = json.loads(answer[-1]) if code == 0 and answer else {}
    return code == 0 and bool(told.get("verified", code == 0))


def draw(rng: Rng) -> Case:
    """Tame rows: here it is the files that are nasty."""
    n, p = int(rng.integers(4, 11)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, p)).round(3)
    y = X @ rng.normal(size=p) + rng.normal(size=n)
    loss = str(
        rng.choice(["squared", "squared", "absolute", "huber(1.35)", "hinge", "logistic", "squared_hinge"])
    )
    classes = loss in ("hinge", "logistic", "squared_hinge")
    targets = labels(rng, y, 3 if classes and rng.random() < 0.15 else 2) if classes else y.round(3)
    if classes and targets.dtype.kind == "f":
        targets = targets.astype(int)
    keywords: dict[str, Any] = {
        "loss": loss,
        "penalty": penalty_named(rng, str(rng.choice(["l1", "l2", "elastic_net", "none"]))),
    }
    if keywords["penalty"] != "none":
        name = str(rng.choice(["lam", "lam", "C", "budget"]))
        keywords[name] = float(10.0 ** rng.uniform(-2, 0.5))
        if rng.random() < 0.2:
            keywords["standardize"] = True
        if rng.random() < 0.2:
            keywords["penalty_factors"] = rng.choice([0.5, 1.0, 2.0], size=p)
    elif loss == "logistic":
        keywords["loss"] = "squared_hinge"
    if rng.random() < 0.2:
        keywords["fit_intercept"] = False
    weights = sample_weights(rng, n)
    if weights is not None and not classes:
        keywords["sample_weight"] = weights
    return Case(X, targets, keywords, "file")


def run(rng: Rng) -> Trial:
    """One model, its file as it is and edited."""
    case = draw(rng)
    trial = Trial(kind="file", asked=(case.X, case.y, case.asked()))
    solution = attempt(
        trial, lambda: dg.fit(case.X, case.y, **case.asked()), lambda: Question(case.X, case.y, case.keywords)
    )
    if solution is None:
        return trial
    with tempfile.TemporaryDirectory() as folder:
        model, rows = Path(folder) / "model.json", Path(folder) / "rows.csv"
        solution.save(model, data=(case.X, case.y))
        write_rows(rows, case.X, case.y)
        honest = json.loads(model.read_text())
        truth = Truth(case, honest)
        trial.state = "file verified" if _ask(trial, model, rows) else "file not verified"
        truth.judge(trial.verdict, "file", honest, trial.state == "file verified")
        for _ in range(EDITS):
            edited = copy.deepcopy(honest)
            what = edit(edited, rng)
            if what is None or edited == honest:
                continue
            write(model, edited)
            found = _ask(trial, model, rows)
            truth.judge(trial.verdict, f"edited {what}", edited, found)
    return trial


def _ask(trial: Trial, model: Path, rows: Path) -> bool:
    return bool(attempt(trial, lambda: verified(model, rows)))


# -- what a file says ---------------------------------------------------------------------------------------


class Truth:
    """What is true on the rows of a case."""

    def __init__(self, case: Case, honest: Document) -> None:
        self.case, self.honest = case, honest

    def judge(self, verdict: Verdict, name: str, document: Document, passed: bool) -> None:
        """A file that is verified must hold true claims only."""
        if not passed:
            verdict.claim(name, True, "")
            return
        inner = Verdict()
        try:
            self._claims(inner, document)
        except (KeyError, TypeError, ValueError, IndexError, AssertionError) as error:
            inner.claim("readable", False, f"verified, and it cannot be read: {error!r}")
        false = [one for one in inner.false if not one[2] <= UNSEEN]
        words = "verified, but " + "; ".join(f"{part}: {text}" for part, text, _ in false[:3])
        verdict.claim(name, not false, words, false[0][2] if false else math.nan)

    def _claims(self, verdict: Verdict, document: Document) -> None:
        question = self._question(document)
        answer = document["answer"]
        parts = answer.get("parts") or [answer]
        coef = [part["coef"] for part in parts] if answer.get("parts") else answer["coef"]
        intercept = [part["intercept"] for part in parts] if answer.get("parts") else answer["intercept"]
        points = question.points(np.array(coef, dtype=float), np.array(intercept, dtype=float))
        theta = None if answer.get("parts") else np.array(answer["certificate"]["theta"])
        best = question.best(points, theta)
        objective, bound = number(answer["objective"]), number(answer["bound"])
        box = document.get("box") or answer["certificate"].get("box") if not answer.get("parts") else None
        judge_objective(verdict, "model", question, objective, points)
        judge_bound(verdict, "model", question, bound, best, box, points)
        if math.isfinite(objective) and math.isfinite(bound):
            judge_relative(verdict, "model", question, (objective, bound), number(answer["relative_gap"]))
        else:
            words = f"relative gap {answer['relative_gap']} of {objective!r} and {bound!r}"
            verdict.claim("relative gap", number(answer["relative_gap"]) == math.inf, words)
        flags = [part["proven_zero"] for part in parts] if answer.get("parts") else answer["proven_zero"]
        judge_zeros(verdict, question, flags, points, best, box)
        judge_distance(verdict, "model", question, _error(answer), points, best)
        _judge_null(verdict, question, number(answer["null"]))
        shape = (document["rows"], document["columns"])
        verdict.claim("shape", shape == self.case.X.shape, f"it speaks of {shape} rows and columns")
        if document.get("fingerprint") is not None:
            same = document["fingerprint"] == self.honest.get("fingerprint")
            verdict.claim("fingerprint", same, "the fingerprint is not that of the rows")
        if answer.get("parts"):
            self._sums(verdict, answer)

    def _sums(self, verdict: Verdict, answer: Document) -> None:
        """Each class's own claims."""
        for part in answer["parts"]:
            words = f"a part says bound {part['bound']!r} and objective {part['objective']!r}"
            verdict.claim("part order", number(part["bound"]) <= number(part["objective"]), words)

    def _question(self, document: Document) -> Question:
        """What the file says was minimised, on the rows."""
        said = document["objective"]
        keywords: dict[str, Any] = {
            "loss": _name(said["loss"]),
            "penalty": _name(said["penalty"]),
            "fit_intercept": said["fit_intercept"],
            "sample_weight": said["sample_weight"],
            "penalty_factors": said["penalty_factors"],
        }
        for strength in ("C", "lam", "budget"):
            if said.get(strength) is not None:
                keywords[strength] = said[strength]
                break
        if document.get("multiclass") == "one_vs_rest":
            keywords["multiclass"] = "one_vs_rest"
        order = self._order(document)
        targets = self.case.y
        if document["classes"] is not None:
            known = document["classes"]["values"]
            if any(label not in known for label in np.asarray(targets).tolist()):
                raise ValueError("classes that are not those of the rows")
        return Question(self.case.X[:, order], targets, keywords, said["scale"])

    def _order(self, document: Document) -> list[int]:
        names = document.get("names")
        p = self.case.X.shape[1]
        if names is None:
            return list(range(p))
        return [[f"x{j}" for j in range(p)].index(name) for name in names]


def _error(answer: Document) -> float | None:
    return None if answer["coef_error"] is None else number(answer["coef_error"])


def _judge_null(verdict: Verdict, question: Question, null: float) -> None:
    """The objective at w = 0, which is no proof, is right to six digits."""
    true = question.null
    if not isinstance(true, Fraction):
        true = as_rational(true) if real.isfinite(true) else Fraction(0)
    room = abs(true) / 10**6 + Fraction(1, 10**12)
    close = math.isfinite(null) and abs(rational(null) - true) <= room
    verdict.claim("null", close, f"null is {null!r}, and should be {float(true)!r}")


def number(value: Any) -> float:
    """Numbers of a file; what is not finite stands there as a word."""
    return float(value)


def _name(part: Document) -> str:
    values = list(part["parameters"].values())
    return str(part["name"]) + (f"({values[0]!r})" if values else "")


# -- edits --------------------------------------------------------------------------------------------------


def edit(document: Document, rng: Rng) -> str | None:
    """Change one thing; what was changed."""
    answer, objective = document["answer"], document["objective"]
    parts = answer.get("parts")
    place = parts[int(rng.integers(len(parts)))] if parts else answer
    name = str(rng.choice(list(EDITORS)))
    return name if EDITORS[name](document, answer, place, objective, rng) is not False else None


def _moved(value: float, rng: Rng) -> float:
    """Another number: an ulp, a little or a lot away."""
    how = int(rng.integers(5))
    sign = float(rng.choice([-1.0, 1.0]))
    if how == 0:
        return float(np.nextafter(value, sign * math.inf))
    if how in (1, 2):
        share = 10.0 ** rng.uniform(-14, -8) if how == 1 else 10.0 ** rng.uniform(-8, 0)
        return float(value + sign * (abs(value) or 1.0) * share)
    return float(rng.choice([0.0, 1.0, -1.0, value * 2, value / 2, 1e9]))


def _value(field: str) -> Any:
    def change(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
        target = answer if rng.random() < 0.7 else place
        words = ["inf", "-inf", "nan"]
        target[field] = str(rng.choice(words)) if rng.random() < 0.15 else _moved(number(target[field]), rng)
        return None

    return change


def _bound_and_gap(
    document: Document, answer: Document, place: Document, objective: Document, rng: Rng
) -> Any:
    """A bound that is too high, with a gap that agrees."""
    if answer is not place:
        return False
    value, bound = number(answer["objective"]), number(answer["bound"])
    answer["bound"] = (
        bound + (value - bound) * float(rng.uniform(0.5, 1.5)) + abs(value) * 10.0 ** rng.uniform(-16, -1)
    )
    answer["relative_gap"] = max(value - answer["bound"], 0.0) / (abs(value) or 1.0)
    return None


def _all_zero(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    """w = 0, θ = 0 and a small gap."""
    if answer is not place or not isinstance(answer["coef"][0], float):
        return False
    answer["coef"] = [0.0] * len(answer["coef"])
    answer["certificate"]["theta"] = [0.0] * len(answer["certificate"]["theta"])
    answer["objective"], answer["bound"] = answer["null"], 0.0
    answer["relative_gap"] = 1e-9
    return None


def _array(field: str) -> Any:
    def change(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
        holder = place["certificate"] if field == "theta" else place
        values = np.array(holder[field], dtype=float)
        if not values.size:
            return False
        how = rng.random()
        if how < 0.3:
            values = values * (1.0 + 10.0 ** rng.uniform(-12, 1))
        elif how < 0.5:
            values = np.zeros_like(values)
        else:
            k = int(rng.integers(values.size))
            values.flat[k] = _moved(float(values.flat[k]), rng)
        holder[field] = values.tolist()
        return None

    return change


def _intercept(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    if isinstance(place["intercept"], list):
        return False
    place["intercept"] = _moved(place["intercept"], rng)
    return None


def _flags(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    flags = np.array(place["proven_zero"], dtype=bool)
    if rng.random() < 0.4:
        flags[:] = True
    else:
        k = int(rng.integers(flags.size))
        flags.flat[k] = not flags.flat[k]
    place["proven_zero"] = flags.tolist()
    return None


def _error_bar(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    if answer["coef_error"] is None:
        answer["coef_error"] = 0.0
        return None
    answer["coef_error"] = number(answer["coef_error"]) * float(rng.choice([0.0, 0.5, 0.1, 2.0]))
    return None


def _strength(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    names = [name for name in ("lam", "budget", "C") if objective.get(name) is not None]
    if not names:
        return False
    objective[names[0]] = abs(_moved(objective[names[0]], rng))
    return None


def _rows_and_columns(field: str) -> Any:
    def change(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
        size = document["rows"] if field == "sample_weight" else document["columns"]
        values = np.ones(size) if objective[field] is None else np.array(objective[field], dtype=float)
        k = int(rng.integers(size))
        values[k] = float(rng.choice([0.0, values[k] * 2.0, values[k] * (1.0 + 1e-9), values[k] + 1.0]))
        if field == "sample_weight" and rng.random() < 0.3:
            keep = values[k]
            values[:] = 0.0
            values[k] = keep or 1.0
        objective[field] = values.tolist()
        return None

    return change


def _parameter(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    names = [name for name in ("loss", "penalty") if objective[name]["parameters"]]
    if not names:
        swap = {
            "squared": "absolute",
            "absolute": "squared",
            "hinge": "squared_hinge",
            "squared_hinge": "hinge",
        }
        if objective["loss"]["name"] not in swap:
            return False
        objective["loss"]["name"] = swap[objective["loss"]["name"]]
        return None
    chosen = objective[str(rng.choice(names))]["parameters"]
    for key in chosen:
        chosen[key] = abs(chosen[key] * (1.0 + float(rng.choice([1e-9, 1e-3, 0.5])))) or 0.5
    return None


def _flag(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    objective["fit_intercept"] = not objective["fit_intercept"]


def _labels(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    if document["classes"] is None or len(document["classes"]["values"]) != 2:
        return False
    values = document["classes"]["values"]
    if all(isinstance(value, int) for value in values):
        document["classes"]["values"] = (
            [values[0], values[1] + 1] if rng.random() < 0.5 else [values[0] - 1, values[0]]
        )
        return None
    return False


def _fingerprint(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    document["fingerprint"] = "sha256:" + "0" * 64


def _converged(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    place["converged"] = not place["converged"]


def _count(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    document[str(rng.choice(["rows", "columns"]))] += int(rng.choice([-1, 1]))


def _box(document: Document, answer: Document, place: Document, objective: Document, rng: Rng) -> Any:
    if answer is not place or answer["certificate"].get("box") is None:
        return False
    answer["certificate"]["box"] = None
    return None


EDITORS: dict[str, Any] = {
    "objective": _value("objective"),
    "bound": _value("bound"),
    "relative_gap": _value("relative_gap"),
    "null": _value("null"),
    "bound and gap": _bound_and_gap,
    "everything zero": _all_zero,
    "coef": _array("coef"),
    "theta": _array("theta"),
    "intercept": _intercept,
    "proven_zero": _flags,
    "coef_error": _error_bar,
    "strength": _strength,
    "sample_weight": _rows_and_columns("sample_weight"),
    "penalty_factors": _rows_and_columns("penalty_factors"),
    "scale": _rows_and_columns("scale"),
    "parameters": _parameter,
    "fit_intercept": _flag,
    "classes": _labels,
    "fingerprint": _fingerprint,
    "converged": _converged,
    "rows": _count,
    "box": _box,
}
