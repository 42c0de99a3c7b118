"""dg.path: solutions for every strength, exact where the mathematics allows it, proven everywhere."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np

from dualgap.arrays import Vector, on_device
from dualgap.blocks.dataset import elsewhere
from dualgap.device.arrivals import to_host
from dualgap.drive.limits import Limits
from dualgap.drive.solver import Solver
from dualgap.errors import DataError, NoSolverError, NotCertifiedWarning
from dualgap.fitting.groups import refuse_groups
from dualgap.fitting.multiclass import form_of
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.offsets import refuse_offset
from dualgap.fitting.options import read_inside, read_limits, read_rising, read_solver, seeded
from dualgap.fitting.reading import Reading, asked_of, read, rows_of_formula
from dualgap.fitting.several import refuse_several, several_columns
from dualgap.fitting.signs import refuse_in_blocks
from dualgap.losses import Loss
from dualgap.paths.curve_choice import PathRequest, curve_for
from dualgap.paths.family import family_of
from dualgap.paths.many_classes import ManyClassesPath, common_grid
from dualgap.paths.path import Path
from dualgap.paths.searched import SearchedPath
from dualgap.penalties import Penalty

FORMS = ("penalised", "constrained")


def path(  # noqa: PLR0913
    X: Any,
    y: Any = None,
    *,
    loss: str | Loss,
    penalty: str | Penalty | None = None,
    over: str = "strength",
    form: str = "penalised",
    exact: bool | str = "auto",
    lams: Any = None,
    n_lams: int = 100,
    lam_min_ratio: float | None = None,
    everywhere: float | None = None,
    sizes: Any = None,
    lam: float | None = None,
    C: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    offset: Any = None,
    penalty_factors: Any = None,
    standardize: bool = False,
    groups: Any = None,
    bounds: Any = None,
    constraints: Any = None,
    multiclass: str = "auto",
    solver: str | Solver = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    random_state: Any = None,
    device: Any = None,
) -> Path:
    """Solutions of mean loss + λ·penalty for every λ.

    >>> import dualgap as dg
    >>> from sklearn.datasets import load_diabetes
    >>> path = dg.path(*load_diabetes(return_X_y=True), loss="squared", penalty="l1")
    >>> path.exact, int(path.n_nonzero[0]), int(path.n_nonzero[-1])
    (True, 0, 10)

    A piecewise linear or quadratic loss with l1, l2 or elastic_net is followed exactly (`exact="auto"`; True
    insists, False refuses); every other pair on a grid of `n_lams` strengths, or on the `lams` given, from
    the one at which all weights are zero down to `lam_min_ratio` times that. `everywhere=1e-3` chooses the
    points so that for every λ in the range the nearest one is proven within that relative gap.
    `form="constrained"` has `gaps` prove the constrained problem at every point instead of the penalised
    one; both are to be had anywhere, by `path.solution(lam=…)` and `path.solution(budget=…)`. More than two
    classes, and several outputs, are followed on a grid (`multiclass` and y as in dg.fit).

    With l0 or l0_l2 the path is that of the best subsets of `sizes` columns (K for 0 … K, or a list; up to 20
    where nothing is said), each with its proven bound.

    `over="quantile"` follows the weights of loss="quantile" over all quantiles at once, without a penalty or
    with l1 of one strength, `lam` or `C`: `path.quantiles` are the breakpoints, between which nothing
    changes, and `path.coef(quantile=0.3)` answers anywhere.

    X on a device, or `device="cuda"`, as in dg.fit: every strength of a grid is then fitted there.

    `max_time` is for the whole path: when it is over, the path ends at the λ it has come to, and
    `path.stopped` and `path.status` say so. `max_iter` is for each solve.
    """
    X, y, fit_intercept = rows_of_formula(X, y, fit_intercept)
    _read_form(form)
    limits = read_limits(tol, max_iter, max_time, None).shared()
    what = asked_of(locals(), but=("penalty", "lam", "C"))
    if device is not None or on_device(X):
        wanted = _wanted(exact, lams, n_lams, lam_min_ratio, everywhere, solver, limits)
        asked = {name: value for name, value in what.items() if name != "offset"}
        served = over == "strength" and offset is None
        served = served and not loss_named(loss).each and not several_columns(y)
        there: Path | None = _there(X, y, device, penalty, wanted, asked) if served else None
        if there is not None:
            return there
        X, y, sample_weight = to_host(X), to_host(y), to_host(sample_weight)
        what["sample_weight"], what["offset"] = sample_weight, to_host(offset)
    if over == "quantile":
        from dualgap.paths.quantiles import quantiles_of  # here: most paths never need it

        _refuse_strengths(exact, lams, everywhere)
        price = "none" if lam is None and C is None else "l1"
        found: Path = quantiles_of(read(X, y, penalty=penalty or price, lam=lam, C=C, **what), limits)
        found.take_time(dataclasses.replace(limits, until=None))
        return found
    _refuse_over(over, lam, C)
    penalty = _priced(penalty)
    rows = elsewhere(X, y, sample_weight, offset)
    if rows is not None or hasattr(X, "fitted"):
        from dualgap.paths.streamed import streamed_path  # here: most paths never need it

        refuse_groups(penalty)
        refuse_in_blocks(what.pop("bounds"), what.pop("constraints"))
        refuse_several(loss, "rows that are read in blocks")
        del what["sample_weight"], what["offset"], what["groups"]
        refuse_offset(offset if rows is None else None, "moments")
        wanted = _wanted(exact, lams, n_lams, lam_min_ratio, everywhere, solver, limits)
        streamed: Any = streamed_path(X, rows, wanted, {**what, "penalty": penalty})
        return streamed  # type: ignore[no-any-return]
    reading = read(X, y, penalty=penalty, lam=1.0, **what)
    chosen = seeded(read_solver(solver), random_state)
    if penalty.takes_sizes:
        from dualgap.paths.subsets import subsets_of  # here: most paths never need it

        _refuse_strengths(exact, lams, everywhere)
        return subsets_of(reading, sizes, chosen, dataclasses.replace(limits, until=None))
    if sizes is not None:
        raise DataError(f"sizes= is for the penalties l0 and l0_l2; {penalty} has strengths: lams=.")
    request = _wanted(exact, lams, n_lams, lam_min_ratio, everywhere, chosen, limits)
    if reading.several or penalty.slope_at_zero is not None:
        found = _for_many(reading, form_of(reading, multiclass), request)
    else:
        found = path_of(reading, request, form)
    found.take_time(dataclasses.replace(limits, until=None))
    said = [found.status] if found.stopped else []
    if not found.exact:
        said += _unproven(found, max(limits.tolerance, everywhere or 0.0))
    if said:
        warnings.warn(" ".join(said), NotCertifiedWarning, stacklevel=2)
    return found


def _read_form(form: str) -> None:
    if form not in FORMS:
        raise DataError(f"form must be 'penalised' or 'constrained', not {form!r}.")


def _priced(penalty: Any) -> Penalty:
    named = penalty_named(penalty or "l1")
    if not named.takes_strength:
        raise DataError('penalty="none" has no strength, hence no path; use dg.fit.')
    return named


def _there(X: Any, y: Any, device: Any, penalty: Any, wanted: PathRequest, what: dict[str, Any]) -> Any:
    """The path of rows on a device, where a grid is what is wanted and the device can serve it."""
    from dualgap.paths.resident import resident_path  # here: most paths never need it

    named, own = _priced(penalty), {**what}
    weight = own.pop("sample_weight")
    if wanted.exact is True or wanted.everywhere is not None or named.takes_sizes:
        return None
    return resident_path(X, y, weight, device, wanted, {**own, "penalty": named})


def _wanted(
    exact: Any, lams: Any, n_lams: Any, ratio: Any, everywhere: Any, solver: Any, limits: Limits
) -> PathRequest:
    return PathRequest(
        read_exact(exact),
        read_lams(lams),
        read_count(n_lams),
        read_share("lam_min_ratio", ratio),
        read_share("everywhere", everywhere),
        read_solver(solver),
        limits,
    )


def path_of(reading: Reading, request: PathRequest, form: str = "penalised") -> Path:
    """The path of data that have been read; `request.lams` as users see them.

    Folds that share a grid call this with the same `lams`: the answer's coefs, intercepts and gaps are at
    those, exact where they can be, else each started from the one before.
    """
    shared = family_of(reading, reading.targets())
    if request.lams is not None:
        request = dataclasses.replace(request, lams=request.lams / shared.unit)
    return Path(shared, curve_for(shared, request), form, request.solver, request.limits)


def _for_many(reading: Reading, form: str, request: PathRequest) -> ManyClassesPath:
    if request.exact:
        what = "a penalty that is not convex"
        if reading.several:
            what = "several outputs" if reading.outputs else "more than two classes"
        raise NoSolverError(f"exact=True: with {what} a path follows a grid of λ.")
    grid = request.lams
    if grid is None:
        grid = common_grid(reading, request.count, request.ratio)
    kind = ManyClassesPath if reading.several else SearchedPath
    return kind(reading, form, grid, request.solver, request.limits)


def _refuse_strengths(exact: Any, lams: Any, everywhere: Any) -> None:
    if lams is not None or everywhere is not None or exact is True:
        raise DataError(
            "With l0 or l0_l2 a path goes over the number of columns: give sizes=K, not lams=, "
            "everywhere= or exact=; path.solution(lam=...) answers for one strength."
        )


def _refuse_over(over: Any, lam: Any, C: Any) -> None:
    if over != "strength":
        raise DataError(f"over must be 'strength' or 'quantile', not {over!r}.")
    if lam is not None or C is not None:
        raise DataError('A path goes over all strengths: lam= and C= are for over="quantile"; give lams=.')


def _unproven(found: Path, tolerance: float) -> list[str]:
    worst = float(np.max(found.gaps))
    if worst <= tolerance:
        return []
    k = int(np.argmax(found.gaps))
    return [
        f"The relative duality gap is {worst:.2e} at lam={found.lams[k]:.4g}, above tol={tolerance:g}: "
        f"{np.count_nonzero(~(found.gaps <= tolerance))} of {len(found)} points are not proven to it."
    ]


def read_exact(exact: Any) -> bool | None:
    """True, False, or None for "auto"."""
    if isinstance(exact, bool | np.bool_):
        return bool(exact)
    if exact == "auto":
        return None
    raise DataError(f"exact must be True, False or 'auto', not {exact!r}.")


def read_lams(lams: Any) -> Vector | None:
    """Strengths given by the user, falling."""
    return None if lams is None else read_rising("lams", lams, zero=False)[::-1]


def read_count(n_lams: Any) -> int:
    """How many strengths, checked."""
    if isinstance(n_lams, int | np.integer) and not isinstance(n_lams, bool) and n_lams >= 1:
        return int(n_lams)
    raise DataError(f"n_lams must be a whole number of at least 1, not {n_lams!r}.")


def read_share(name: str, value: Any) -> float | None:
    """A number between 0 and 1, where one was given."""
    return None if value is None else read_inside(name, value)
