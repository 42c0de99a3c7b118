"""What a fitted machine with a margin or a tube says of the rows it was fitted to, asked of its solution.

Arrays have an entry per row of the X that was fitted; a row of them per class beyond two. They are as exact
as `tol` makes the answer: support settles long before all digits of α do, which a smaller `tol` gives.
"""

from __future__ import annotations

from typing import Any

from dualgap.errors import DataError
from dualgap.fitting.fitted_rows import FittedRows
from dualgap.fitting.solution import Solution


def _told(name: str) -> Any:
    """A property that the solution's rows answer, when it is asked for."""

    def tell(model: Any) -> Any:
        solution: Solution = model.solution_
        try:
            return getattr(solution.rows, name)
        except DataError as error:
            raise AttributeError(str(error)) from error

    return property(tell, doc=getattr(FittedRows, name).__doc__)


class RowAttributes:
    """Of classes and numbers alike."""

    dual_coef_ = _told("dual_coef")
    support_ = _told("support")
    slack_ = _told("slack")
    kind_ = _told("kind")


class MarginAttributes(RowAttributes):
    """Of a classifier."""

    margin_ = _told("margin")
    geometric_margins_ = _told("geometric_margins")


class TubeAttributes(RowAttributes):
    """Of a regression."""

    tube_ = _told("tube")
