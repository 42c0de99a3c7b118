"""How weights are scored on rows they have not seen: by the loss, by errors, or by a scikit-learn scorer."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer, get_scorer_names

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.fitting.decisions import row_losses, said
from dualgap.fitting.reading import Reading
from dualgap.selection.candidate import candidate


@dataclass(frozen=True, eq=False)
class Held:
    """Rows held out: as they were read, and as they were given."""

    reading: Reading
    multiclass: str
    X: Any = None
    y: Any = None

    @property
    def weights(self) -> Vector:
        """Of the rows."""
        return self.reading.terms.sample_weight

    @property
    def share(self) -> Vector:
        """Weights that add up to one."""
        return np.asarray(self.weights / self.weights.sum())

    def decisions(self, coefs: NDArray[np.float64], intercepts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Xw + b, strengths × rows, or strengths × rows × classes."""
        matrix = self.reading.table.design.matrix
        if coefs.ndim == 2:
            return self.reading.terms.shifted(np.asarray((matrix @ coefs.T).T + intercepts[:, None]))
        found = np.array([matrix @ coef.T + b for coef, b in zip(coefs, intercepts, strict=True)])
        shift = self.reading.terms.offset
        return found if shift is None else found + shift[:, None]


@dataclass(frozen=True, eq=False)
class Score:
    """One number per strength. `one` makes it from the weights, the intercept and their decisions."""

    name: str
    one: Callable[[Held, Any, Any, Any], float]
    greater_is_better: bool = False
    wants_rows: bool = False  # does it look at X and y as they were given?

    def values(self, held: Held, coefs: Any, intercepts: Any, decisions: NDArray[np.float64]) -> Vector:
        """The weighted score of each strength; `decisions` are those of its weights on the rows held out."""
        each = zip(coefs, intercepts, decisions, strict=True)
        return np.array([self.one(held, w, b, z) for w, b, z in each])


def _mean_loss(held: Held, w: Any, b: Any, z: Any) -> float:
    """The loss that is fitted; beyond two classes the sum over the classes, or the joint one."""
    reading, classes = held.reading, held.reading.classes is not None
    return float(row_losses(reading.terms.loss, reading.y, z, held.multiclass, classes) @ held.share)


def _share_of_errors(held: Held, w: Any, b: Any, z: Any) -> float:
    """The share of rows given a wrong class."""
    return float((said(z) != held.reading.y) @ held.share)


def _scored(name: str, scorer: Any, weighted: bool, held: Held, w: Any, b: Any, z: Any) -> float:
    """What a scorer of scikit-learn says: scorer(estimator, X, y), greater is better."""
    more = {"sample_weight": held.weights} if weighted else {}
    model = candidate(held.reading, held.multiclass, w, b, (held.X, z))
    value = scorer(model, held.X, held.y, **more)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError(f"The scorer {name} must return one number, not {type(value).__name__}.") from None


def read_score(score: Any, reading: Reading, *, weighted: bool) -> Score:
    """ "loss", "zero_one", the name of a scikit-learn scorer, or a callable (estimator, X, y) → number."""
    if isinstance(score, str):
        if score == "loss":
            return Score("loss", _mean_loss)
        if score == "zero_one":
            if reading.classes is None:
                raise DataError('score="zero_one" counts wrong classes; a regression has none. Use "loss".')
            return Score("zero_one", _share_of_errors)
        scorer = _named(score)
    elif callable(score):
        scorer = score
    else:
        raise DataError(f'score must be "loss", "zero_one", a scorer or its name, not {score!r}.')
    name = score if isinstance(score, str) else _name_of(score)
    if weighted and not _takes_weights(scorer):
        raise DataError(
            f"The scorer {name} takes no sample_weight, so that it would ignore the weights of the rows; "
            'use score="loss", or a scorer with a sample_weight argument.'
        )
    return Score(name, partial(_scored, name, scorer, weighted), greater_is_better=True, wants_rows=True)


def _named(name: str) -> Any:
    known = ["loss", "zero_one", *get_scorer_names()]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise DataError(f"There is no score {name!r}.{hint} Known: {', '.join(known)}.")
    return get_scorer(name)


def _name_of(scorer: Any) -> str:
    inner = getattr(scorer, "_score_func", scorer)
    return str(getattr(inner, "__name__", type(scorer).__name__))


def _takes_weights(scorer: Any) -> bool:
    """Has the function, or the metric behind a scorer, a sample_weight?"""
    inner = getattr(scorer, "_score_func", scorer)
    try:
        parameters = inspect.signature(inner).parameters
    except (TypeError, ValueError):
        return False
    return "sample_weight" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
