"""From what the user types to losses and penalties: "quantile(0.9)" → Quantile(0.9)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import TypeVar

from dualgap import losses, penalties
from dualgap.errors import DataError
from dualgap.losses import Loss
from dualgap.penalties import Penalty

PATTERN = re.compile(r"\s*([A-Za-z_0-9]+)\s*(?:\(\s*([^()]*?)\s*\))?\s*")
T = TypeVar("T")


def loss_named(given: str | Loss) -> Loss:
    """The loss of that name, or the loss itself."""
    if isinstance(given, Loss):
        return given
    return _named(given, losses.CATALOGUE, "loss")


def penalty_named(given: str | Penalty) -> Penalty:
    """The penalty of that name, or the penalty itself."""
    if isinstance(given, Penalty):
        return given
    return _named(given, penalties.CATALOGUE, "penalty")


def _named(given: object, catalogue: Mapping[str, type[T]], kind: str) -> T:
    if not isinstance(given, str):
        raise DataError(f"{kind} must be a name or a {kind} object, not {type(given).__name__}.")
    match = PATTERN.fullmatch(given)
    name = match.group(1) if match else given
    if match is None or name not in catalogue:
        close = difflib.get_close_matches(name.lower(), catalogue, n=1, cutoff=0.5)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise DataError(f"There is no {kind} {given!r}.{hint} Known: {', '.join(catalogue)}.")
    if not match.group(2):
        return catalogue[name]()
    try:
        argument = float(match.group(2))
    except ValueError:
        raise DataError(f"{given!r}: {match.group(2)!r} is not a number.") from None
    try:
        return catalogue[name](argument)  # type: ignore[call-arg]
    except TypeError:
        raise DataError(f"The {kind} {name!r} takes no argument.") from None
