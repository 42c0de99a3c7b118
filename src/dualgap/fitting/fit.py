"""dg.fit: read, state the problem, solve, certify."""

from __future__ import annotations

import math
import sys
import warnings
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualgap.arrays import far, on_device
from dualgap.blocks.dataset import elsewhere
from dualgap.design.blas import libraries
from dualgap.device.arrivals import to_host
from dualgap.drive.limits import Limits
from dualgap.drive.progress import aloud
from dualgap.drive.solver import Solver
from dualgap.drive.stopping import Stop
from dualgap.drive.trace import Callback
from dualgap.errors import DataError, NotCertifiedWarning
from dualgap.fitting.groups import refuse_groups
from dualgap.fitting.multiclass import fit_many, form_of
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.offsets import refuse_offset
from dualgap.fitting.one_problem import fit_one
from dualgap.fitting.options import is_infinite, read_limits, read_solver, seeded
from dualgap.fitting.reading import asked_of, read, rows_of_formula
from dualgap.fitting.several import refuse_several, several_columns, with_crossing
from dualgap.fitting.signs import refuse_in_blocks
from dualgap.fitting.solution import Solution
from dualgap.losses import Loss
from dualgap.penalties import Penalty

if TYPE_CHECKING:
    from dualgap.discrete import DiscreteSolver


def fit(  # noqa: PLR0913
    X: Any,
    y: Any = None,
    *,
    loss: str | Loss,
    penalty: str | Penalty = "l2",
    lam: float | None = None,
    C: float | None = None,
    budget: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    offset: Any = None,
    penalty_factors: Any = None,
    standardize: bool = False,
    groups: Any = None,
    bounds: Any = None,
    constraints: Any = None,
    multiclass: str = "auto",
    crossing: bool | None = None,
    solver: str | Solver | DiscreteSolver = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    warm_start: Any = None,
    random_state: Any = None,
    callback: Callback | None = None,
    stop: Stop | None = None,
    n_threads: int = 1,
    verbose: bool = False,
    checkpoint: str | Path | None = None,
    device: Any = None,
) -> Solution:
    """Minimise mean loss + lam·penalty (or C·Σ loss + penalty, or mean loss with penalty ≤ budget).

    >>> import numpy as np, dualgap as dg
    >>> x, y = np.array([[1, 3, 3.5, 7, 9]]).T, np.array([1, 2.5, 6.5, 7, 9])
    >>> dg.fit(x, y, loss="absolute", penalty="none", fit_intercept=False).coef.round(6)
    array([1.])

    `dg.fit("mpg ~ horsepower + C(origin)", frame, loss=…)` makes the columns by a formula (by formulaic).
    The relative gap of the answer is at most `tol`; if it is not, `converged` is False and a
    NotCertifiedWarning says the gap. More than two classes: `multiclass="one_vs_rest"` for any loss,
    "multinomial" for the logistic one, where it is what "auto" means, and "crammer_singer", the joint hinge.
    Matrix products run on `n_threads` cores: one, so that the same data give the same bits, unless more are
    asked for. `verbose` says on standard error how the gap closes: the first iterate, then one whenever the
    time has doubled.

    `groups` says which columns belong together, for group_lasso and sparse_group: one label for each column,
    a list of lists of columns (by name or number; the others are on their own), or "columns": one group for
    each column of a table, so that the levels of a column of words come in together. A penalty factor then
    is one of a group.

    `bounds` of the weights are "nonnegative", "nonpositive", a pair (low, high), two arrays, or
    {column: (low, high)}, None being no end; `constraints=(A, lower, upper)` asks for lower ≤ A·coef ≤ upper.
    The intercept has neither. Where nothing meets them, InfeasibleError names the rows that conflict.

    X may be an array of torch or CuPy on a device, or `device="cuda"` brings it there: then rows are gone
    over where they are, for every smooth or piecewise linear loss with l1, l2, elastic_net or none (the rest
    is solved on the host), and the answer is NumPy's.

    y of shape (n, m) has m outputs: `coef` then is (m, p), `intercept` (m,), objective and bound are sums
    over the outputs. With penalty="l21" a column comes in for all outputs or for none. Of one target,
    loss="quantiles(0.1, 0.5, 0.9)" fits several quantiles together so that none crosses another on any row of
    the data; `crossing=True` fits each on its own.

    `offset` is added to every prediction, a number for each row or the name of a column of X, which is then
    none of the others: the loss is that of Xw + b + offset. Of counts with an exposure it is log(exposure).

    X may be a data set (dg.dataset), moments (dg.moments) or a Dask collection: then rows are scanned, and
    `checkpoint` names a file from which a fit that was cut off goes on.
    """
    frame = y if isinstance(X, str) else X
    X, y, fit_intercept = rows_of_formula(X, y, fit_intercept)
    limits = read_limits(tol, max_iter, max_time, aloud(callback) if verbose else callback, stop)
    loss = with_crossing(loss_named(loss), crossing)
    asked = asked_of(locals(), but=("lam", "C", "budget"))
    if device is not None or on_device(X):
        from dualgap.fitting.resident import fit_resident  # here: most fits never need it

        wanted = asked | {"lam": lam, "C": C, "budget": budget, "multiclass": multiclass}
        on_host = is_infinite(C) or wanted.pop("offset") is not None
        on_host = on_host or bool(wanted["loss"].each) or several_columns(y)
        with limited(n_threads):
            resident = None if on_host else fit_resident(X, y, sample_weight, device, limits, wanted)
        if resident is not None:
            return _doubted(resident, limits)
        X, y, asked["sample_weight"] = to_host(X), to_host(y), to_host(sample_weight)
        asked["offset"] = to_host(offset)
    if far(X):
        rows = elsewhere(X, y, sample_weight, offset)
        refuse_groups(penalty_named(penalty))
        refuse_in_blocks(asked.pop("bounds"), asked.pop("constraints"))
        refuse_several(loss, "rows that are read in blocks")
        del asked["sample_weight"], asked["offset"], asked["groups"]
        if rows is None:
            refuse_offset(offset, "moments")
        asked |= {"lam": lam, "C": C, "budget": budget, "multiclass": multiclass}
        if rows is not None:
            asked["checkpoint"] = checkpoint
        with limited(n_threads):
            return _doubted(_fit_elsewhere(X, rows, limits, asked), limits)
    with limited(n_threads):
        if lam is None and budget is None and is_infinite(C):
            from dualgap.fitting.hard_margin import fit_hard_margin  # here: most fits never need it

            refuse_offset(asked.pop("offset"), "a hard margin (C=inf)")
            solution = fit_hard_margin(X, y, limits, **asked)
        else:
            reading = read(X, y, lam=lam, C=C, budget=budget, **asked)
            form = form_of(reading, multiclass)
            chosen = seeded(read_solver(solver), random_state)
            if reading.several:
                solution = fit_many(reading, form, chosen, limits, warm_start)
            else:
                solution = fit_one(reading, reading.targets(), chosen, limits, warm_start)
    solution = solution.of(frame, y)
    if verbose:
        print(f"{solution.solver}: {solution!r}, {solution.seconds:.3g} s", file=sys.stderr)
    return _doubted(solution, limits)


def _fit_elsewhere(X: Any, rows: Any, limits: Limits, asked: dict[str, Any]) -> Solution:
    """Moments, which hold all that is left of their rows; or rows that are scanned."""
    if rows is None:
        found: Solution = X.fitted(limits, asked)
        return found
    from dualgap.fitting.streamed import fit_streamed  # here: most fits never need it

    return fit_streamed(rows, limits, asked)


def _doubted(solution: Solution, limits: Limits) -> Solution:
    """The solution, with a warning where it is not proven."""
    if not solution.converged:
        warnings.warn(_doubt(solution, limits), NotCertifiedWarning, stacklevel=3)
    return solution


def _doubt(solution: Solution, limits: Limits) -> str:
    if math.isinf(solution.objective):
        return solution.status
    return (
        f"The relative duality gap is {solution.relative_gap:.2e}, above tol={limits.tolerance:g}: "
        f"the objective {solution.objective:.6g} is at most {solution.gap:.3g} above the best possible. "
        f"{solution.status}"
    )


def limited(n_threads: Any) -> AbstractContextManager[Any]:
    """BLAS on so many threads while it lasts: 1 gives the same bits on every machine with the same BLAS."""
    if isinstance(n_threads, bool) or not hasattr(n_threads, "__index__") or n_threads < 1:
        raise DataError(f"n_threads must be a whole number of at least 1, not {n_threads!r}.")
    known = libraries()
    if all(library.get_num_threads() == n_threads for library in known.lib_controllers):
        return nullcontext()
    limit: AbstractContextManager[Any] = known.limit(limits=int(n_threads), user_api="blas")
    return limit
