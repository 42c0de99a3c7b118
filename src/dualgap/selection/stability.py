"""dg.stability: how often each column is chosen when the rows are drawn again."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.errors import DataError, NotCertifiedWarning, needed
from dualgap.fitting.fit import fit
from dualgap.fitting.offsets import without
from dualgap.fitting.options import read_limits
from dualgap.fitting.reading import read, what_of
from dualgap.fitting.solution import Solution
from dualgap.selection.running import run

METHODS = ("bootstrap", "subsample")
TRIES = 100  # draws before it is given up that every class has a row
SOON = 1e-9  # seconds: fit takes a positive number


@dataclass(frozen=True, eq=False)
class Stability:
    """`frequencies`: the share of the resamples in which a column has a weight; `coefs`: a row for each.

    `solution` is the fit on all rows, `unproven` counts the resamples whose fit did not reach its tolerance.
    `status` says in a sentence whether all resamples that were asked for are there.
    """

    frequencies: Vector
    coefs: Matrix
    solution: Solution
    unproven: int
    method: str
    status: str = "All resamples are fitted."

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return self.solution.names or tuple(f"x{j}" for j in range(len(self.frequencies)))

    @property
    def sets(self) -> list[tuple[tuple[str, ...], float]]:
        """The sets of columns that were chosen, the most frequent first, with their shares."""
        chosen = Counter(tuple(np.flatnonzero(row)) for row in self.coefs)
        count = len(self.coefs)
        return [(tuple(self.names[j] for j in key), times / count) for key, times in chosen.most_common()]

    def _chosen(self) -> Mask:
        """The columns with a weight on all rows."""
        return np.asarray(np.atleast_2d(self.solution.coef != 0.0).any(axis=0))

    def plot(self, ax: Any = None) -> Any:
        """Bars of the selection frequencies, dark for the columns chosen on all rows; returns the axes."""
        plt = needed("matplotlib.pyplot", "plot", "A picture")
        ax = ax or plt.subplots(figsize=(6.0, 1.0 + 0.25 * len(self.frequencies)))[1]
        chosen = self._chosen()
        order = np.argsort(self.frequencies, kind="stable")
        colours = ["#1f4e79" if chosen[j] else "#b8c9da" for j in order]
        ax.barh([self.names[j] for j in order], self.frequencies[order], color=colours)
        ax.set_xlim(0.0, 1.0)
        ax.set_xlabel(f"share of {len(self.coefs)} {self.method} fits with a weight")
        ax.set_title(f"{self.solution.loss} + {self.solution.penalty}; dark: chosen on all rows", fontsize=9)
        return ax

    def __str__(self) -> str:
        lines = [f"{self.solution.terms.words()}: {len(self.coefs)} {self.method} fits"]
        width = max(len(name) for name in self.names)
        chosen = self._chosen()
        for j in np.argsort(-self.frequencies, kind="stable"):
            mark = "  chosen on all rows" if chosen[j] else ""
            lines.append(f"  {self.names[j]:<{width}}  {self.frequencies[j]:6.1%}{mark}")
        sets = self.sets
        lines.append(
            f"{len(sets)} different sets; the most frequent was chosen in {sets[0][1]:.1%} of the fits"
        )
        if self.unproven:
            lines.append(f"{self.unproven} of the fits are not proven to their tolerance")
        if not self.status.startswith("All"):
            lines.append(self.status)
        return "\n".join(lines)

    __repr__ = __str__


def stability(
    X: Any,
    y: Any,
    *,
    resamples: int = 100,
    method: str = "bootstrap",
    n_jobs: int | None = None,
    random_state: Any = None,
    **keywords: Any,
) -> Stability:
    """Fit again and again on rows drawn anew; `keywords` are those of `fit`.

    "bootstrap" draws n rows with replacement, "subsample" half of them without. Rows drawn twice weigh
    double, so that nothing is copied. `n_jobs` processes work side by side. `max_time` is for all fits
    together; when it is over, or on Ctrl-C, the resamples that are fitted are the answer, as `status` says.

    >>> import dualgap as dg
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = dg.stability(X, y, loss="squared", penalty="l1", lam=2.0, resamples=20)
    >>> bool(found.frequencies[2] == 1.0)
    True
    """
    if method not in METHODS:
        raise DataError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
    if not (isinstance(resamples, int) and resamples >= 1):
        raise DataError(f"resamples must be a whole number of at least 1, not {resamples!r}.")
    reading = read(X, y, **what_of(keywords))
    if reading.terms.offset_name is not None:  # so that no draw looks for it again
        X = without(X, reading.terms.offset_name)
        keywords = {**keywords, "offset": reading.terms.offset}
    base = reading.terms.sample_weight
    labels = None if reading.classes is None else reading.y
    rng = np.random.default_rng(random_state)
    draws = [(k, _weights(base, labels, method, rng)) for k in range(resamples)]
    # checked as fit would
    limits = read_limits(keywords.get("tol", 1e-6), None, keywords.pop("max_time", None), None).shared()
    refit = Resample(X, y, keywords, limits)
    solution = refit.fit(base, limits.part(2))
    fits, interrupted = run(refit, draws, n_jobs, what="resamples")
    coefs = np.array([coef for coef, _ in fits])
    unproven = sum(not proven for _, proven in fits)
    status = _status(len(fits), resamples, interrupted=interrupted)
    if len(fits) < resamples:
        warnings.warn(status, NotCertifiedWarning, stacklevel=2)
    return Stability((coefs != 0.0).mean(axis=0), coefs, solution, unproven, method, status)


def _status(done: int, asked: int, *, interrupted: bool) -> str:
    if done == asked:
        return Stability.status
    why = "Interrupted" if interrupted else "The time limit came first"
    return f"{why}: {done} of {asked} resamples are fitted, and the shares are of those."


@dataclass(frozen=True, eq=False)
class Resample:
    """The fit on rows drawn anew."""

    X: Any
    y: Any
    keywords: dict[str, Any]
    limits: Limits

    def __call__(self, draw: tuple[int, Vector], turns: int, /) -> tuple[Vector, bool] | None:
        """The weights, of several classes the largest of each column; None where the time is over.

        The first draw has an answer in any case, so that there is one.
        """
        number, weights = draw
        if number and self.limits.spent:
            return None
        found = self.fit(weights, self.limits.part(1 if number else 2))
        if number and self.limits.spent and not found.converged:
            return None
        coef = np.atleast_2d(found.coef)
        return coef[np.argmax(np.abs(coef), axis=0), np.arange(coef.shape[1])], found.converged

    def fit(self, weights: Vector, own: Limits) -> Solution:
        """One fit; one Ctrl-C ends all."""
        time = {} if own.seconds is None else {"max_time": max(own.seconds, SOON)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotCertifiedWarning)
            return fit(self.X, self.y, **{**self.keywords, **time, "sample_weight": weights})


def _weights(base: Vector, labels: Vector | None, method: str, rng: np.random.Generator) -> Vector:
    """Sample weights that draw rows; every class keeps a row."""
    n = len(base)
    for _ in range(TRIES):
        if method == "bootstrap":
            times = rng.multinomial(n, np.full(n, 1.0 / n)).astype(np.float64)
        else:
            times = np.zeros(n)
            times[rng.choice(n, size=max(n // 2, 1), replace=False)] = 1.0
        drawn = base * times
        if drawn.any() and (labels is None or len(np.unique(labels[drawn > 0])) == len(np.unique(labels))):
            return drawn
    raise DataError(f"No {method} draw of these rows holds every class; there are too few rows of one.")
