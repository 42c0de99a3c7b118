"""How weights are scored on rows they have not seen: by the loss, by errors, or by a scikit-learn scorer."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils import _safe_indexing

from dualgap.arrays import Index, Vector
from dualgap.errors import DataError
from dualgap.fitting.reading import Reading
from dualgap.selection.candidate import candidate
from dualgap.solvers.design_lines import compressed


@dataclass(frozen=True, eq=False)
class Held:
    """Rows held out: as they were read, and as they were given."""

    reading: Reading
    weights: Vector
    multiclass: str
    X: Any
    y: Any

    def decisions(self, coefs: NDArray[np.float64], intercepts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Xw + b, strengths × rows, or strengths × rows × classes."""
        design = self.reading.table.design
        matrix = compressed(design)
        matrix = design.toarray() if matrix is None else matrix
        if coefs.ndim == 2:
            return np.asarray((matrix @ coefs.T).T + intercepts[:, None])
        return np.array([matrix @ coef.T + b for coef, b in zip(coefs, intercepts, strict=True)])


class Score(Protocol):
    """One number per strength."""

    @property
    def name(self) -> str:
        """In tables and pictures."""

    @property
    def greater_is_better(self) -> bool:
        """Is more better?"""

    @property
    def wants_rows(self) -> bool:
        """Does it look at X and y as they were given?"""

    def values(self, held: Held, coefs: NDArray[np.float64], intercepts: NDArray[np.float64]) -> Vector:
        """The weighted score of each strength."""


@dataclass(frozen=True)
class MeanLoss:
    """The loss that is fitted; beyond two classes the sum over the classes, or the joint one."""

    name = "loss"
    greater_is_better, wants_rows = False, False

    def values(self, held: Held, coefs: NDArray[np.float64], intercepts: NDArray[np.float64]) -> Vector:
        z, reading = held.decisions(coefs, intercepts), held.reading
        loss, share = reading.terms.loss, held.weights / held.weights.sum()
        if z.ndim == 2:
            return np.asarray(loss.value(reading.targets(), z) @ share)
        if held.multiclass == "multinomial":
            right = log_softmax(z, axis=2)[:, np.arange(z.shape[1]), reading.y.astype(np.intp)]
            return np.asarray(-(right @ share))
        each = [loss.value(reading.targets(k), z[:, :, k]) @ share for k in range(z.shape[2])]
        return np.asarray(np.sum(each, axis=0))


@dataclass(frozen=True)
class ErrorShare:
    """The share of rows given a wrong class."""

    name = "zero_one"
    greater_is_better, wants_rows = False, False

    def values(self, held: Held, coefs: NDArray[np.float64], intercepts: NDArray[np.float64]) -> Vector:
        z, share = held.decisions(coefs, intercepts), held.weights / held.weights.sum()
        said = (z > 0.0).astype(np.intp) if z.ndim == 2 else np.argmax(z, axis=2)
        return np.asarray((said != held.reading.y) @ share)


@dataclass(frozen=True, eq=False)
class Scorer:
    """A scorer of scikit-learn: scorer(estimator, X, y), greater is better."""

    name: str
    scorer: Callable[..., Any]
    weighted: bool
    greater_is_better, wants_rows = True, True

    def values(self, held: Held, coefs: NDArray[np.float64], intercepts: NDArray[np.float64]) -> Vector:
        more = {"sample_weight": held.weights} if self.weighted else {}
        z = held.decisions(coefs, intercepts)
        found = []
        for w, b, scores in zip(coefs, intercepts, z, strict=True):
            model = candidate(held.reading, held.multiclass, w, b, (held.X, scores))
            found.append(self._number(self.scorer(model, held.X, held.y, **more)))
        return np.array(found)

    def _number(self, value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise DataError(
                f"The scorer {self.name} must return one number, not {type(value).__name__}."
            ) from None


def read_score(score: Any, reading: Reading, *, weighted: bool) -> Score:
    """ "loss", "zero_one", the name of a scikit-learn scorer, or a callable (estimator, X, y) → number."""
    if isinstance(score, str):
        if score == "loss":
            return MeanLoss()
        if score == "zero_one":
            if reading.classes is None:
                raise DataError('score="zero_one" counts wrong classes; a regression has none. Use "loss".')
            return ErrorShare()
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
    return Scorer(name, scorer, weighted)


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


def hold(reading: Reading, rows: Index, multiclass: str, X: Any, y: Any) -> Held:
    """The rows of a fold that are scored; X and y as given are needed by scorers alone (else None)."""
    weights = reading.terms.sample_weight[rows]
    some = (None, None) if X is None else (_safe_indexing(X, rows), _safe_indexing(y, rows))
    return Held(_rows_of(reading, rows), weights, multiclass, *some)


def _rows_of(reading: Reading, rows: Index) -> Reading:
    table = replace(reading.table, design=reading.table.design.rows(rows))
    return replace(reading, table=table, y=reading.y[rows])
