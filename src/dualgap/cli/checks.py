"""What a command line is refused for before anything is read: unknown names, numbers that cannot be."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from dualgap.cli.console import UsageError
from dualgap.errors import DataError


def refuse_bad_options(args: argparse.Namespace) -> None:
    """Before anything is read: names that do not exist and numbers that cannot be."""
    for option, check in CHECKS.items():
        value = getattr(args, option, None)
        if value is None:
            continue
        try:
            check(value, args)
        except DataError as error:
            raise UsageError(str(error)) from None


def _loss(value: str, args: argparse.Namespace) -> None:
    from dualgap.fitting.names import loss_named

    if loss_named(value).each and getattr(args, "report", None):
        raise UsageError(f"A page is of one prediction a row; {value} makes several: leave --report out.")


def _penalty(value: str, args: argparse.Namespace) -> None:
    from dualgap.fitting.names import penalty_named

    penalty = penalty_named(value)
    given = [name for name in ("lam", "C", "budget", "cv") if getattr(args, name, None) is not None]
    if given and not penalty.takes_strength:
        raise UsageError(f"--penalty {value} takes no strength; leave --{given[0]} out.")


def _strength(name: str) -> Callable[[float, argparse.Namespace], None]:
    def check(value: float, args: argparse.Namespace) -> None:
        from dualgap.fitting.inputs import read_strength

        if not (name == "C" and value == float("inf")):  # the hard margin
            read_strength(**{"lam": None, "C": None, "budget": None, name: value}, total_weight=1.0)

    return check


def _solver(value: str, args: argparse.Namespace) -> None:
    import dualgap as dg

    known = ["auto", *dg.list_solvers()]
    if value not in known:
        raise UsageError(f"There is no solver {value!r}.{near(value, known)} Known: {', '.join(known)}.")


def _limits(value: float, args: argparse.Namespace) -> None:
    from dualgap.fitting.options import read_limits

    read_limits(args.tol, None, args.max_time, None)


def _multiclass(value: str, args: argparse.Namespace) -> None:
    from dualgap.fitting.multiclass import read_form
    from dualgap.fitting.names import loss_named, penalty_named

    penalty = penalty_named(getattr(args, "penalty", None) or "l2")
    read_form(value, loss_named(getattr(args, "loss", None) or "logistic"), penalty)


def _score(value: str, args: argparse.Namespace) -> None:
    from sklearn.metrics import get_scorer_names

    known = ["loss", "zero_one", *get_scorer_names()]
    if value not in known:
        raise UsageError(
            f"There is no score {value!r}.{near(value, known)} "
            "Known: loss, zero_one and the scorers of scikit-learn."
        )


def _format(value: str, args: argparse.Namespace) -> None:
    from dualgap.tables.sources import FORMATS

    if value not in FORMATS:
        raise UsageError(f"There is no format {value!r}. Known: {', '.join(FORMATS)}.")


def near(value: str, known: list[str]) -> str:
    """What may have been meant, as a sentence."""
    close = get_close_matches(value, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _at_least(name: str, least: int) -> Callable[[int, argparse.Namespace], None]:
    def check(value: int, args: argparse.Namespace) -> None:
        if value < least:
            raise UsageError(f"--{name} must be at least {least}, not {value}.")

    return check


def _level(value: float, args: argparse.Namespace) -> None:
    if not 0.0 < value < 1.0:
        raise UsageError(f"--intervals is a level strictly between 0 and 1, not {value:g}.")


def _method(value: str, args: argparse.Namespace) -> None:
    from dualgap.fitting.intervals import METHODS

    if value not in METHODS:
        raise UsageError(f"There is no method {value!r} for intervals. Known: {', '.join(METHODS)}.")


def _formula(value: str, args: argparse.Namespace) -> None:
    beside = [f"--{name}" for name in ("target", "drop") if getattr(args, name, None)]
    if beside:
        raise UsageError(f"--formula says target and columns; leave {' and '.join(beside)} out.")
    if "~" not in value:
        raise UsageError(f"{value!r} does not say what is predicted: --formula 'y ~ a + b'.")


def _share(value: float, args: argparse.Namespace) -> None:
    if not 0.0 < value < 1.0:
        raise UsageError(f"--hold-out is a share of the rows, strictly between 0 and 1, not {value:g}.")


CHECKS: dict[str, Callable[[Any, argparse.Namespace], None]] = {
    "loss": _loss,
    "penalty": _penalty,
    "lam": _strength("lam"),
    "C": _strength("C"),
    "budget": _strength("budget"),
    "solver": _solver,
    "tol": _limits,
    "multiclass": _multiclass,
    "score": _score,
    "format": _format,
    "cv": _at_least("cv", 2),
    "folds": _at_least("folds", 2),
    "points": _at_least("points", 1),
    "formula": _formula,
    "hold_out": _share,
    "intervals": _level,
    "intervals_by": _method,
}
