"""What dg.certify returns: how far above the optimum some weights are at most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualgap.proof.certificate import Certificate

OPTIMAL = 1e-6  # relative gap below which weights are called optimal


@dataclass(frozen=True, eq=False)
class Assessment:
    """`objective` is at most `gap` above the best possible, whatever the best weights are.

    `best_known` is the objective of better weights that were found on the way, so the true excess lies
    between `objective − best_known` and `gap`.
    """

    objective: float
    bound: float
    best_known: float
    relative_gap: float
    coef_error: float | None
    certificate: Certificate
    words: str
    source: str
    shape: tuple[int, int]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """objective − bound."""
        return self.objective - self.bound

    @property
    def excess(self) -> float:
        """gap / bound: 0.3 says at most 30 % above the best possible. Infinite where nothing is the best."""
        if self.gap == 0.0:
            return 0.0
        return self.gap / self.bound if self.bound > 0.0 else np.inf

    @property
    def theta(self) -> NDArray[np.float64] | None:
        """The dual point that proves the bound; None where a search does."""
        theta: NDArray[np.float64] | None = self.certificate.theta
        return theta

    def __str__(self) -> str:
        rows = [
            ("objective", f"{self.objective:.8g}"),
            ("proven bound", f"{self.bound:.8g}   no weights do better than this"),
            ("excess", _excess(self)),
        ]
        if self.coef_error is not None:
            rows.append(("weights", f"within {self.coef_error:.3g} of the optimum (Euclidean distance)"))
        rows += [("note", note) for note in self.notes]
        lines = [f"{self.source}: {self.words}", f"{self.shape[0]} rows, {self.shape[1]} columns", ""]
        return "\n".join(lines + [f"  {name:<14}{text}" for name, text in rows])

    __repr__ = __str__


def _excess(found: Assessment) -> str:
    """The excess in a person's words."""
    if found.relative_gap <= OPTIMAL:
        return f"optimal: at most {found.relative_gap:.1e} (relative) above the best possible"
    if not np.isfinite(found.excess):
        return f"at most {found.gap:.4g} above the best possible"
    if found.excess > 10.0:
        return f"at most {1.0 + found.excess:.4g} times the best possible"
    return f"at most {100.0 * found.excess:.3g} % above the best possible"
