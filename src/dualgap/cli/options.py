"""Options that several verbs share. No default is hidden: what is chosen is said."""

from __future__ import annotations

import argparse
import csv
import time
from typing import Any

from dualgap.errors import DataError

SOON = 1e-9  # seconds: a limit is a positive number
DATA = (
    "CSV, Parquet, Feather, Arrow, libsvm, npy or npz; - for standard input; or a name of `dualgap datasets`"
)


def add_rows(parser: argparse.ArgumentParser, *, many: bool = False) -> None:
    """The file (or files, which are read in blocks), and how to read it."""
    more: dict[str, Any] = {"nargs": "+"} if many else {}
    parser.add_argument("rows", metavar="DATA", help=DATA, **more)
    if many:
        parser.add_argument(
            "--memory", metavar="SIZE", help="rows beyond this are read in blocks, as are several files (2GB)"
        )
    add_format(parser)


def add_format(parser: argparse.ArgumentParser) -> None:
    """What kind of file it is."""
    parser.add_argument("--format", metavar="F", help="csv, parquet, feather, libsvm, npy or npz, if unclear")


def add_target(parser: argparse.ArgumentParser) -> None:
    """Of a model that does not name its own."""
    said = "the target, for a model that was not fitted on a file"
    parser.add_argument("--target", metavar="COL", help=said)


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Which columns, and what to do with gaps."""
    group = parser.add_argument_group("columns")
    group.add_argument("--target", metavar="COL", help="the column to predict, or several: a,b,c")
    group.add_argument(
        "--formula",
        metavar="F",
        help='target and columns in one: "price ~ area + C(district) + log(age)" (needs the extra formula)',
    )
    group.add_argument("--weights", metavar="COL", help="a column of row weights")
    group.add_argument(
        "--offset",
        metavar="COL",
        help='a column that is added to every prediction; "log(COL)" for counts with a column of exposures',
    )
    group.add_argument("--drop", metavar="COL", action="append", default=[], help="do not use this column")
    group.add_argument(
        "--missing",
        choices=("mean", "median", "drop", "refuse"),
        default="mean",
        help="missing numbers: the column's mean or median stands in, the row is left out, or it is refused; "
        "missing words are a level of their own (default: mean)",
    )
    group.add_argument("--na", metavar="WORD", action="append", default=[], help="this word means missing")


def add_test(parser: argparse.ArgumentParser) -> None:
    """Rows to judge by that the weights never see."""
    unseen = parser.add_mutually_exclusive_group()
    unseen.add_argument("--test", metavar="FILE", help="rows that the fit does not see, to measure errors on")
    unseen.add_argument(
        "--hold-out",
        type=float,
        metavar="SHARE",
        help="hold out this share of the rows, to measure errors on",
    )


def add_objective(parser: argparse.ArgumentParser) -> None:
    """What is minimised."""
    group = parser.add_argument_group("objective")
    group.add_argument(
        "--loss",
        help='squared, absolute, "quantile(0.9)", huber, hinge, logistic, … (default: by the target)',
    )
    group.add_argument(
        "--penalty", default="l2", help='none, l1, l2, "elastic_net(0.5)", linf, l0, … (default: l2)'
    )
    group.add_argument(
        "--groups",
        metavar="WHICH",
        help="columns that belong together, for group_lasso and sparse_group: 'columns' (the levels of each "
        "column), labels such as a,a,b (one for each column), or a file with the columns of a group on each "
        "line, names separated by commas",
    )
    group.add_argument("--no-intercept", action="store_true", help="no constant term")
    group.add_argument(
        "--no-standardise",
        action="store_true",
        help="penalise the weights as they are, not per standard deviation of their column",
    )
    signs = group.add_mutually_exclusive_group()
    signs.add_argument("--nonnegative", action="store_true", help="no weight below zero (not the constant)")
    signs.add_argument(
        "--bounds", metavar="FILE", help="ends of weights: a CSV of column,low,high; an empty end is none"
    )
    group.add_argument(
        "--multiclass", default="auto", help="auto, one_vs_rest, multinomial or crammer_singer"
    )


def add_strength(parser: argparse.ArgumentParser) -> None:
    """How strongly: one of these, or by cross-validation."""
    group = parser.add_argument_group("strength (one of these; without any, cross-validation)")
    one = group.add_mutually_exclusive_group()
    one.add_argument("--lam", type=float, help="mean loss + lam · penalty")
    one.add_argument("--C", type=float, help="C · summed loss + penalty")
    one.add_argument("--budget", type=float, help="mean loss with penalty at most this")
    one.add_argument("--cv", type=int, nargs="?", const=5, metavar="K", help="choose by K folds (default: 5)")
    group.add_argument(
        "--rule", choices=("min", "1se"), default="min", help="which of cross-validation's choices"
    )


def add_solving(parser: argparse.ArgumentParser) -> None:
    """How to solve."""
    group = parser.add_argument_group("solving")
    group.add_argument("--solver", default="auto", help="a name that `dualgap explain` lists (default: auto)")
    group.add_argument(
        "--tol", type=float, default=1e-6, help="relative duality gap to reach (default: 1e-6)"
    )
    group.add_argument(
        "--max-time", type=float, metavar="S", help="seconds for all solving; then what there is"
    )


def objective_keywords(args: argparse.Namespace) -> dict[str, Any]:
    """The keywords of dg.fit, dg.path and dg.cross_validate that say what is minimised."""
    return {
        "penalty": args.penalty,
        "fit_intercept": not args.no_intercept,
        "standardize": not args.no_standardise,
        "multiclass": args.multiclass,
        **({"bounds": bounds_of(args)} if args.nonnegative or args.bounds else {}),
    }


def bounds_of(args: argparse.Namespace) -> Any:
    """What --nonnegative or --bounds say, columns by name."""
    if args.nonnegative:
        return "nonnegative"
    with open(args.bounds, newline="", encoding="utf-8") as file:
        rows = [
            [cell.strip() for cell in row] for row in csv.reader(file) if any(cell.strip() for cell in row)
        ]
    if rows and rows[0] == ["column", "low", "high"]:
        rows = rows[1:]
    found: dict[str, tuple[float | None, float | None]] = {}
    for row in rows:
        try:
            name, low, high = row
            ends = tuple(float(end) if end else None for end in (low, high))
        except ValueError:
            raise DataError(f"{args.bounds}: a line is column,low,high, not {','.join(row)!r}.") from None
        if name in found:
            raise DataError(f"{args.bounds}: the column {name!r} has two lines.")
        found[name] = ends[0], ends[1]
    if not found:
        raise DataError(f"{args.bounds} holds no line column,low,high.")
    return found


class Solving:
    """How to solve, all that is solved after one another in the time that was given."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.solver, self.tol, self.seconds = args.solver, args.tol, args.max_time
        self.began = time.perf_counter()

    def keywords(self) -> dict[str, Any]:
        """The keywords of dg.fit, dg.path and dg.cross_validate; of the time what is left now."""
        left = self.seconds
        if left is not None and left > 0.0:  # another number is refused where it arrives
            left = max(left - (time.perf_counter() - self.began), SOON)
        return {"solver": self.solver, "tol": self.tol, "max_time": left}
