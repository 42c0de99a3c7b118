"""What a fit returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Vector, on_device
from dualgap.blocks.dataset import elsewhere
from dualgap.device.arrivals import like, to_host
from dualgap.drive.trace import Trace
from dualgap.errors import DataError
from dualgap.fitting.decisions import decisions, log_probabilities, said
from dualgap.fitting.fitted_rows import FittedRows, rows_of
from dualgap.fitting.inputs import read_table
from dualgap.fitting.later import Later
from dualgap.fitting.objective import Objective
from dualgap.fitting.offsets import counted_alike, of_new_rows, read_offset
from dualgap.proof.certificate import Certificate

if TYPE_CHECKING:
    from pathlib import Path

    from dualgap.fitting.effects import Effect
    from dualgap.fitting.intervals import Intervals
    from dualgap.tables.formula import FormulaRecipe
    from dualgap.tables.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights with their proof. `gap` bounds how far `objective` is above the best possible.

    For more than two classes `coef` has a row per class, `intercept` an entry per class, and objective
    and bound are the sums over the classes' own problems (or the joint values of the multinomial form);
    likewise for several `outputs`, whose predictions are a column each.
    """

    coef: NDArray[np.float64]
    intercept: Any
    objective: float
    bound: float
    relative_gap: float
    certificate: Certificate  # None after `partial_fit`: the rows are gone
    converged: bool
    status: str
    solver: str
    n_iter: int
    seconds: float
    trace: Trace
    coef_error: float | None
    coef_error_reason: str
    terms: Objective
    names: tuple[str, ...] | None
    classes: NDArray[Any] | None
    facts: dict[str, Any]
    proven_zero: Later[Mask] = Later()  # noqa: RUF009 - a descriptor, no default
    parts: tuple[Solution, ...] = ()
    outputs: tuple[str, ...] | None = None  # what the rows of `coef` predict, where y or the loss has several
    multiclass: str | None = None  # "one_vs_rest" or "multinomial" beyond two classes
    recipe: Recipe | FormulaRecipe | None = (
        None  # what was done to the columns of a file, where the data came from one
    )
    scans: float = 0.0  # passes over rows that were read in blocks, a sample being a part of one
    data: tuple[Any, Any] | None = None  # X and y as dg.fit was given them; not kept in files, nor pickled
    fitted: tuple[Vector, Vector] | None = None  # y as the loss sees it and Xw + b, where `rows` needs them

    def __getstate__(self) -> dict[str, Any]:
        _ = self.proven_zero  # what makes it holds the table
        return {**self.__dict__, "data": None}

    def of(self, X: Any, y: Any) -> Solution:
        """This, made just now, with the data as they were given."""
        self.__dict__["data"] = (X, y)
        return self

    @property
    def gap(self) -> float:
        """objective − bound."""
        return self.objective - self.bound

    @property
    def loss(self) -> str:
        """The loss that was fitted."""
        return str(self.terms.loss)

    @property
    def penalty(self) -> str:
        """The penalty that was fitted."""
        return str(self.terms.penalty)

    @cached_property
    def rows(self) -> FittedRows:
        """Slack, margins, dual coefficients and support, for the hinges and the losses with a tube."""
        return rows_of(self)

    @property
    def price(self) -> float:
        """What the penalty adds to the objective."""
        terms = self.terms
        if terms.budget is not None or not terms.lam:
            return 0.0
        if self.parts:
            return sum(part.price for part in self.parts)
        return terms.lam * terms.size(self.coef)

    @property
    def n_nonzero(self) -> int:
        """How many columns have a weight."""
        return int(np.count_nonzero(np.atleast_2d(self.coef).any(axis=0)))

    def decision_function(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """Xw + b; one column per class beyond two classes. A data set is read in blocks.

        A fit with an offset needs that of these rows, and adds it: numbers, the name of a column of X, or 0
        for one unit of exposure. A column that was named in the fit is found in X. For X on a device (torch,
        CuPy) the answer is there too, here and in `predict` and `predict_proba`; labels that are no numbers
        are NumPy's.
        """
        rows = elsewhere(X)
        if rows is not None:
            from dualgap.fitting.streamed import scores_of

            rows = counted_alike(self.terms, rows, offset)
            return scores_of(rows, self.coef, self.intercept, self.names)
        X, offset = of_new_rows(self.terms, X, offset)
        if on_device(X):
            from dualgap.device.matrix import decided

            if X.shape[1] != np.atleast_2d(self.coef).shape[1]:
                raise DataError(
                    f"X has {X.shape[1]} columns, the fit had {np.atleast_2d(self.coef).shape[1]}."
                )
            there = decided(X, self.coef, self.intercept)
            shift = read_offset(to_host(offset), len(there), self.terms.loss)
            return there if shift is None else there + like(shift, X)  # type: ignore[no-any-return]
        table = read_table(X if self.recipe is None else self.recipe.read(X))
        p = np.atleast_2d(self.coef).shape[1]
        if table.design.shape[1] != p:
            raise DataError(f"X has {table.design.shape[1]} columns, the fit had {p}.")
        if table.names is not None and self.names is not None and table.names != self.names:
            differs = next(j for j, (a, b) in enumerate(zip(table.names, self.names, strict=True)) if a != b)
            raise DataError(
                f"Column {differs} of X is {table.names[differs]!r}, "
                f"the fit had {self.names[differs]!r} there."
            )
        found = decisions(table.design, self.coef, self.intercept)
        shift = read_offset(offset, len(found), self.terms.loss)
        return found if shift is None else (found.T + shift).T

    def linear_predictor(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """z = Xw + b, another name for `decision_function`: what a loss of means has a link to."""
        return self.decision_function(X, offset)

    def predict(self, X: Any, offset: Any = None) -> NDArray[Any]:
        """The number that a regression expects, on the scale of y; the class of a classification."""
        scores = self.decision_function(X, offset)
        if self.classes is None:
            return self.terms.loss.mean(scores)
        if on_device(X):
            return like(np.asarray(self.classes[said(to_host(scores))]), X)  # type: ignore[no-any-return]
        return np.asarray(self.classes[said(scores)])

    def predict_proba(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """P(class) given each row, a column per class; for losses that speak of log-odds."""
        if self.classes is None or not hasattr(self.terms.loss, "log_odds"):
            raise DataError(f"The {self.loss} loss gives no probabilities; logistic and exponential do.")
        scores = to_host(self.decision_function(X, offset))
        return like(np.exp(log_probabilities(self.terms.loss, scores, self.multiclass)), X)  # type: ignore[no-any-return]

    def summary(self) -> str:
        """A table for people: objective, gap, what is proven, the weights.

        Without a penalty, and where the rows of the fit are at hand, 95 % intervals and p stand beside them.
        """
        from dualgap.fitting.summary import summarise

        return summarise(self)

    def intervals(
        self,
        level: float = 0.95,
        method: str = "auto",
        *,
        data: tuple[Any, Any] | None = None,
        n_boot: int = 400,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: bool = True,
    ) -> Intervals:
        """How far the weights would move with other rows of the same kind; `data` = (X, y) of the fit.

        Without a penalty `method` is "classical" (squares and likelihoods), "robust" (any smooth loss),
        "sandwich" or "rank" (quantiles: an inverted rank test, as in quantreg); "bootstrap" is for anything
        (`n_boot` resamples, `n_jobs` side by side), and "auto" chooses: classical for squares and classes,
        robust for other smooth losses, sandwich, bootstrap. p-values are given where they mean what they say.
        """
        from dualgap.fitting.intervals import Resampling, intervals

        how = Resampling(n_boot, random_state, n_jobs, progress)
        return intervals(self, data if data is not None else self.data, level, method, how)

    def effect(self, column: str | int, *, data: tuple[Any, Any] | None = None, points: int = 25) -> Effect:
        """What a column does to the prediction: its mean over the rows, the column set to value after value.

        `column` is one of the table that was handed over, words and dates too, also where a formula bends
        it; `data` = (X, y) are rows of that table, those of the fit unless given. Of classes it tells
        probabilities, where the loss has them.
        """
        from dualgap.fitting.effects import effect

        return effect(self, column, data if data is not None else self.data, points)

    def plot(self, ax: Any = None) -> Any:
        """Of several quantiles their lines, where there is one column; else each weight over them."""
        from dualgap.fitting.quantile_picture import draw

        return draw(self, ax)

    def save(self, path: str | Path, *, data: tuple[Any, Any] | None = None) -> Path:
        """Write a model file that `dg.load` reads; `data` = (X, y) leave their fingerprint in it."""
        from dualgap.files.write import save

        return save(self, path, data)

    def export(self, path: str | Path, *, table: str = "data") -> Path:
        """Write the prediction for other programs: `.onnx`, `.py` or `.sql` (of a table of that name)."""
        from dualgap.files.export import export

        return export(self, path, table)

    def __repr__(self) -> str:
        found = "proven" if self.converged else "NOT proven to tolerance"
        return (
            f"Solution({self.loss} + {self.penalty}: objective {self.objective:.6g}, "
            f"relative gap {self.relative_gap:.1e} {found}, "
            f"{self.n_nonzero} of {np.atleast_2d(self.coef).shape[1]} weights non-zero)"
        )

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.summary())}</pre>"
