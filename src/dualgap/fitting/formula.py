"""dg.fit("mpg ~ horsepower + C(origin)", frame, …): columns by a formula, through formulaic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.errors import DataError, needed

ONES = "Intercept"


@dataclass(frozen=True, eq=False)
class FormulaColumns:
    """A formula with what it learnt of the columns of the fit: levels, centres, knots."""

    formula: str
    spec: Any
    names: tuple[str, ...]

    def read(self, X: Any) -> Any:
        """The columns of the formula for other rows; columns that were made already stay as they are."""
        if not hasattr(X, "columns") or tuple(map(str, X.columns)) == self.names:
            return X
        return _without_ones(_made(self.formula, self.spec.get_model_matrix, _pandas(X)))


def from_formula(formula: str, frame: Any, fit_intercept: bool) -> tuple[Any, Any, FormulaColumns, bool]:
    """X, y, the columns, and whether the formula and the keyword want an intercept."""
    formulaic = needed("formulaic", "formula", "A formula")
    if not hasattr(frame, "columns"):
        raise DataError(f"Beside a formula give a data frame, not a {type(frame).__name__}.")
    left, sign, right = formula.partition("~")
    if not sign or not left.strip():
        raise DataError(f"{formula!r} does not say what is predicted: 'y ~ a + b'.")
    frame = _pandas(frame)
    made = _made(formula, formulaic.model_matrix, right.strip(), frame)
    name = left.strip().strip("`")
    if name in frame.columns:
        y = frame[name].to_numpy()
    else:
        target = _made(formula, formulaic.model_matrix, f"{left.strip()} - 1", frame)
        if target.shape[1] != 1:
            raise DataError(
                f"{left.strip()!r} makes {target.shape[1]} columns; one can be predicted at a time."
            )
        y = np.asarray(target, dtype=np.float64)[:, 0]
    if len(made) != len(frame):
        raise DataError(f"{len(frame) - len(made)} rows have a missing value; impute or drop them.")
    X = _without_ones(made)
    columns = FormulaColumns(formula, made.model_spec, tuple(map(str, X.columns)))
    return X, y, columns, fit_intercept and ONES in made.columns


def _pandas(frame: Any) -> Any:
    return frame if hasattr(frame, "iloc") else frame.to_pandas()


def _without_ones(made: Any) -> Any:
    return made.drop(columns=ONES) if ONES in made.columns else made


def _made(formula: str, make: Any, *given: Any) -> Any:
    errors = needed("formulaic.errors", "formula", "A formula")
    try:
        return make(*given)
    except (errors.FormulaicError, SyntaxError, NameError, KeyError) as error:
        said = str(error).strip().splitlines()[0].rstrip(".")
        raise DataError(f"The formula {formula!r} cannot be used: {said}.") from None
