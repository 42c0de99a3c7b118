"""dg.moments: squared loss after one look at the rows. Saved, added to those of more rows, fitted again."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.blocks.dataset import Dataset, dataset
from dualgap.blocks.source import RowSource
from dualgap.drive.limits import Limits, Status
from dualgap.drive.trace import Record, Trace
from dualgap.errors import DataError
from dualgap.fitting.inputs import Table, read_factors, read_strength
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.options import read_flag
from dualgap.fitting.solution import Solution
from dualgap.fitting.streamed import (
    StreamedObjective,
    claimed,
    read_columns,
    refuse_wide,
    shift_of,
    solver_of,
)
from dualgap.losses import Squared
from dualgap.proof.moments import MomentSums
from dualgap.streaming.asked import ScanTask, Targets
from dualgap.streaming.columns import refuse_bad
from dualgap.streaming.sampling import drawn
from dualgap.streaming.squared import (
    FoldMoments,
    PseudoRows,
    knowing,
    moments_scan,
    moved_to,
    null_of,
    scales_of,
    solved,
)
from dualgap.traits import Trait

FORMAT = 1  # of the file
PARTS = ("format", "shift", "matrix", "counts", "tops", "names")
FEW_ROWS = 20_000  # of the sample whose means the moments are taken about


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over rows from which every squared-loss fit follows, with what rounding may have done to them."""

    sums: MomentSums
    names: tuple[str, ...] | None = None
    far: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.sums.rows, len(self.sums.shift) - 1

    def __add__(self, other: Moments) -> Moments:
        """Those of the rows of both."""
        if not isinstance(other, Moments):
            return NotImplemented
        if self.shape[1] != other.shape[1] or (self.names and other.names and self.names != other.names):
            raise DataError("These moments are of different columns; take both of the same ones.")
        return replace(self, sums=self.sums.plus(moved_to(other.sums, self.sums.shift)))

    def save(self, path: str | Path) -> Path:
        """A file that `Moments.load` reads."""
        place = Path(path)
        s = self.sums
        with place.open("wb") as file:
            np.savez(
                file,
                format=FORMAT,
                shift=s.shift,
                matrix=s.matrix,
                counts=[s.roundings, s.rows],
                tops=s.tops,
                names=np.array(self.names or (), dtype=str),
            )
        return place

    @classmethod
    def load(cls, path: str | Path) -> Moments:
        """What `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                parts = {
                    name: file[name] for name in ("format", "shift", "matrix", "counts", "tops", "names")
                }
        except (OSError, ValueError, KeyError) as error:
            raise DataError(f"{path} is no file of moments: {str(error).rstrip('.')}.") from None
        p = len(parts["shift"]) - 1
        good = parts["matrix"].shape == (p + 2, p + 2) and parts["tops"].shape == (p + 1,)
        if not good or int(parts["format"]) != FORMAT or not np.isfinite(parts["matrix"]).all():
            raise DataError(f"{path} is no file of moments that this dualgap reads.")
        roundings, rows = (int(one) for one in parts["counts"])
        sums = MomentSums(parts["shift"], parts["matrix"], roundings, rows, parts["tops"])
        return cls(sums, tuple(parts["names"].tolist()) or None)

    def fitted(self, limits: Limits, asked: dict[str, Any]) -> Solution:
        """dg.fit of these moments."""
        task = MomentTask.read(self.sums, self.names, limits, **asked)
        return task.fit(task.terms)

    def __repr__(self) -> str:
        return f"Moments({self.shape[0]} rows, {self.shape[1]} columns)"


def moments(rows: Any, y: Any = None, *, target: str | None = None, weights: Any = None) -> Moments:
    """One scan of a data set: all that squared loss needs of it, for any penalty, strength or path.

    >>> import numpy as np, dualgap as dg
    >>> x, y = np.array([[1.0, 3, 3.5, 7, 9]]).T, np.array([1, 2.5, 6.5, 7, 9])
    >>> found = dg.moments(x[:3], y[:3]) + dg.moments(x[3:], y[3:])
    >>> dg.fit(found, loss="squared", penalty="none").coef.round(4)
    array([0.9342])
    """
    given = rows if isinstance(rows, Dataset) else dataset(rows, y, target=target, weights=weights)
    if given.source.shifted():
        raise DataError("Moments keep no offset: take them of a target from which it is subtracted.")
    return Moments(scanned_moments(given).whole, given.names)


def scanned_moments(rows: Dataset, folds: int = 1, watch: Any = None) -> FoldMoments:
    """The moments of every fold, by one scan and a small sample."""
    source, targets = rows.source, Targets(None, folds=folds)
    if source.sparse:
        raise DataError("Moments have a number for every two columns, and these are sparse: fit the rows.")
    refuse_wide(source.p)
    shift = shift_of(drawn(source, None, Squared(), rows=FEW_ROWS), targets)
    found: FoldMoments = source.reduced(moments_scan, targets, shift, watch=watch)
    if not found.finite:
        refuse_bad(source, None)
    return found


@dataclass(frozen=True, eq=False)
class MomentTask:
    """Moments with the objective asked of them."""

    sums: MomentSums
    whole: MomentSums  # whose sizes the errors of the sums are shares of
    names: tuple[str, ...] | None
    terms: StreamedObjective
    limits: Limits

    @classmethod
    def read(  # noqa: PLR0913
        cls,
        sums: MomentSums,
        names: tuple[str, ...] | None,
        limits: Limits,
        *,
        loss: Any,
        penalty: Any = "l2",
        lam: Any = None,
        C: Any = None,
        budget: Any = None,
        fit_intercept: Any = True,
        penalty_factors: Any = None,
        standardize: Any = False,
        multiclass: Any = "auto",
        whole: MomentSums | None = None,
    ) -> MomentTask:
        """Check everything."""
        loss, penalty = loss_named(loss), penalty_named(penalty)
        if Trait.QUADRATIC not in loss.traits:
            raise DataError(f"Moments are all that squared loss needs, not {loss}; give the rows themselves.")
        tied = read_flag("fit_intercept", fit_intercept)
        p = len(sums.shift) - 1
        table = Table(read_columns(p), names)
        factors = read_factors(penalty_factors, table)
        strength: tuple[float | None, float | None] = (None, None)
        if penalty.takes_strength:
            strength = read_strength(lam, C, budget, sums.weight)
        elif any(value is not None for value in (lam, C, budget)):
            raise DataError('penalty="none" takes no strength; leave lam, C and budget out.')
        scaled = read_flag("standardize", standardize)
        scale = scales_of(sums, tied=tied) if scaled else np.ones(p)
        terms = StreamedObjective(loss, penalty, *strength, tied, np.ones(0), factors, scale)
        if Trait.CONVEX not in terms.regulariser.traits:
            raise DataError(f"{terms.words()} is not convex: give the rows themselves, in memory.")
        return cls(sums, sums if whole is None else whole, names, terms, limits)

    def counted_from(self, source: RowSource) -> MomentTask:
        """With the offset that the rows have."""
        return replace(self, terms=self.terms.counted_from(source))

    @property
    def small(self) -> PseudoRows:
        """The same problem on as many rows as there are columns."""
        return PseudoRows.of(self.sums, centred=self.terms.fit_intercept)

    def fit(
        self, terms: StreamedObjective, small: PseudoRows | None = None, start: Vector | None = None
    ) -> Solution:
        """The answer at the strength that these terms state."""
        began = time.perf_counter()
        statement = knowing(terms.statement(), self.sums)
        asked = ScanTask(statement, Targets(), solver_of(terms, self.limits), self.limits.tolerance, terms)
        found, rule = solved(asked, self.sums, self.whole, small or self.small, start)
        null = null_of(self.sums, tied=terms.fit_intercept)
        seconds = time.perf_counter() - began
        nonzero = int(np.count_nonzero(found.w))
        record = Record(1, seconds, found.primal, found.primal, found.dual, "moments", None, nonzero)
        facts = {
            "n": self.sums.rows,
            "p": len(terms.scale),
            "null": null,
            "spread": scales_of(self.sums, tied=terms.fit_intercept),
        }
        how = {"solver": "moments", "n_iter": 1, "seconds": seconds, "trace": Trace([record])}
        answer = claimed(
            terms, self.names, found, rule, statement, self.limits.tolerance, facts | {"how": how}
        )
        if answer.converged:
            return answer
        rounding = found.rounding > 0.5 * found.gap
        return replace(answer, status=(Status.ROUNDING if rounding else Status.STALLED).value)
