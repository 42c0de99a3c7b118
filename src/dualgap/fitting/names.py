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

# What other libraries call them; only ever a hint.
ELSEWHERE = {
    ("loss", "l2"): "squared",
    ("loss", "mse"): "squared",
    ("loss", "ols"): "squared",
    ("loss", "least_squares"): "squared",
    ("loss", "l1"): "absolute",
    ("loss", "mae"): "absolute",
    ("loss", "lad"): "absolute",
    ("loss", "pinball"): "quantile",
    ("loss", "log"): "logistic",
    ("loss", "log_loss"): "logistic",
    ("loss", "softmax"): "logistic",
    ("loss", "multinomial"): "logistic",
    ("loss", "cross_entropy"): "logistic",
    ("loss", "svm"): "hinge",
    ("loss", "svr"): "epsilon_insensitive",
    ("loss", "adaboost"): "exponential",
    ("penalty", "lasso"): "l1",
    ("penalty", "ridge"): "l2",
    ("penalty", "enet"): "elastic_net",
    ("penalty", "max"): "linf",
    ("penalty", "best_subset"): "l0",
}


def loss_named(given: str | Loss) -> Loss:
    """The loss of that name, or the loss itself."""
    if isinstance(given, Loss):
        return given
    if isinstance(given, str) and given in losses.CATALOGUE:
        return losses.CATALOGUE[given]()
    several = _several(given)
    return _named(given, losses.CATALOGUE, "loss") if several is None else several


def _several(given: object) -> Loss | None:
    """ "quantiles(0.1, 0.5, 0.9)" and the like: as many numbers as there are predictions."""
    match = PATTERN.fullmatch(given) if isinstance(given, str) else None
    kind = losses.OF_SEVERAL.get(match.group(1)) if match else None
    if match is None or kind is None:
        return None
    if not match.group(2):
        return kind()
    try:
        levels = tuple(float(word) for word in match.group(2).split(","))
    except ValueError:
        raise DataError(f"{given!r}: {match.group(2)!r} is not a list of numbers.") from None
    return kind(levels)


def penalty_named(given: str | Penalty) -> Penalty:
    """The penalty of that name, or the penalty itself."""
    if isinstance(given, Penalty):
        return given
    if isinstance(given, str) and given in penalties.CATALOGUE:
        return penalties.CATALOGUE[given]()
    return _named(given, penalties.CATALOGUE, "penalty")


def _named(given: object, catalogue: Mapping[str, type[T]], kind: str) -> T:
    if not isinstance(given, str):
        raise DataError(f"{kind} must be a name or a {kind} object, not {type(given).__name__}.")
    match = PATTERN.fullmatch(given)
    name = match.group(1) if match else given
    if match is None or name not in catalogue:
        known = [*catalogue, *(losses.OF_SEVERAL if kind == "loss" else ())]
        nearest = ELSEWHERE.get((kind, name.lower()))
        if nearest is None:
            close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
            nearest = close[0] if close else None
        hint = f" Did you mean {nearest!r}?" if nearest else ""
        raise DataError(f"There is no {kind} {given!r}.{hint} Known: {', '.join(known)}.")
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
