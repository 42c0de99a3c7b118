"""`dualgap fit` on files that are too large for memory: said, scanned, told."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualgap.cli.console import Console, UsageError
from dualgap.cli.options import Solving, objective_keywords
from dualgap.errors import DataError

if TYPE_CHECKING:
    from dualgap.blocks.dataset import Dataset
    from dualgap.fitting.solution import Solution
    from dualgap.selection.search import Search

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
TEXT = 3  # times the bytes of a text file that its table takes in memory while it is read
SHARE = 0.5  # of the free memory that rows may take before they are read in blocks
PICTURED = 20_000  # rows that a page shows errors of: its dots are a few thousand
LOOKED = 10_000  # targets that are looked at where no loss is named


def wanted_memory(text: str | None) -> float:
    """Bytes that rows may take: as asked, or half of what is free."""
    from dualgap.drive.memory import free_bytes

    if text is None:
        return SHARE * free_bytes()
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?)i?B?\s*", text, flags=re.IGNORECASE)
    if found is None:
        raise DataError(f"--memory is a size such as 2GB, not {text!r}.")
    return float(found[1]) * UNITS[found[2].upper()]


def streams(args: argparse.Namespace) -> bool:
    """Several files, or more than may be held."""
    files = list(args.rows)
    if len(files) > 1 or _stands_for_several(files[0]):
        return True
    size = in_memory(files[0])
    return size is not None and size > wanted_memory(args.memory)


def _stands_for_several(name: str) -> bool:
    """Is it a folder, or a pattern that the shell has left as it is?"""
    path = Path(name)
    return path.is_dir() or (not path.exists() and any(sign in name for sign in "*?["))


def in_memory(file: str) -> float | None:
    """About how many bytes the rows of a file take; None for what is no file of rows in blocks."""
    path = Path(file)
    if not path.is_file() or path.suffix.lower() not in (".parquet", ".pq", ".csv"):
        return None
    if path.suffix.lower() == ".csv":
        return TEXT * path.stat().st_size
    from dualgap.blocks.addresses import modest
    from dualgap.errors import needed

    modest()
    meta = needed("pyarrow.parquet", "scale", "A file of Parquet").ParquetFile(path).metadata
    return 8.0 * int(meta.num_rows) * int(meta.num_columns)


def opened(args: argparse.Namespace, console: Console) -> Dataset:
    """The rows, and what was decided about them."""
    import dualgap as dg

    if args.formula:
        raise DataError(
            "A formula needs all rows at once: name one file, and give it --memory enough, or fit without."
        )
    if args.target is None:
        raise DataError("Say which column is predicted: --target COLUMN.")
    if "," in args.target:
        raise UsageError(
            f"Rows read in blocks have one target, not {args.target!r}: name one, or one file with --memory "
            "enough for it."
        )
    rows = dg.dataset(
        list(args.rows),
        target=args.target,
        weights=args.weights,
        drop=args.drop,
        missing=args.missing,
        offset=args.offset,
    )
    n, p = rows.shape
    count = "rows not counted yet" if n is None else f"{n} rows"
    files = args.rows[0] if len(args.rows) == 1 else f"{len(args.rows)} files"
    console.note(f"{files}: {count}, {p} columns to predict {args.target!r} from; read in blocks")
    if args.offset is not None:
        console.note(f"every prediction is counted from {args.offset}, which is no column to predict from")
    for note in rows.notes:
        console.note(note)
    return rows


def solved(
    rows: Dataset, args: argparse.Namespace, how: Solving, console: Console
) -> tuple[Solution, Search | None]:
    """At the strength given, or at the one that cross-validation chooses."""
    import dualgap as dg
    from dualgap.fitting.names import penalty_named

    if args.groups is not None:
        raise UsageError("--groups needs all rows in memory: give one file, and --memory enough for it.")
    keywords: dict[str, Any] = objective_keywords(args) | {
        "loss": args.loss or _loss(rows, args.target, console)
    }
    solving = {name: value for name, value in how.keywords().items() if name != "solver"}
    strength = {name: getattr(args, name) for name in ("lam", "C", "budget")}
    if (
        any(value is not None for value in strength.values())
        or not penalty_named(args.penalty).takes_strength
    ):
        return dg.fit(rows, **keywords, **strength, **solving), None
    del keywords["multiclass"]
    folds = args.cv or 5
    search = dg.cross_validate(rows, cv=folds, rule=args.rule, n_lams=20, **keywords, **solving)
    asked = "" if args.cv else "no strength was given: "
    console.note(f"{asked}lam = {search.lam:.6g} by {folds}-fold cross-validation, rule {args.rule}")
    return search.solution, search


def _loss(rows: Dataset, target: str, console: Console) -> str:
    """Words or two values: a class. Else a number."""
    import numpy as np

    y = next(iter(rows.source.labels()))[:LOOKED]
    values = np.unique(y[[label is not None for label in y]] if y.dtype.kind == "O" else y)
    if y.dtype.kind not in "iuf" or len(values) <= 2:
        console.note(f"{target!r} has {len(values)} values: classes, so the loss is logistic")
        return "logistic"
    console.note(f"{target!r} holds numbers, so the loss is squared")
    return "squared"


def fit(args: argparse.Namespace, console: Console) -> int:
    """Open, fit, say, save."""
    from dualgap.cli.answer import described, ending

    refused: tuple[tuple[str, Any], ...] = (
        ("--test", args.test),
        ("--hold-out", args.hold_out),
        ("--intervals", args.intervals or args.intervals_by),
    )
    for option, given in refused:
        if given:
            raise DataError(f"{option} is for rows in memory; leave it out, or fit fewer rows.")
    rows, how = opened(args, console), Solving(args)
    solution, search = solved(rows, args, how, console)
    console.say(f"\n{solution.summary()}")
    console.say(f"  {solution.scans:.2f} scans")
    if args.out:
        solution.save(args.out)
        files = " ".join(args.rows[:3]) + (" …" if len(args.rows) > 3 else "")
        console.say(f"\nmodel written to {args.out}; check it with: dualgap verify {args.out} {files}")
    if args.report:
        page(rows, solution, search, args.report, console)
    told = described(solution) | {"scans": solution.scans, "model": args.out, "report": args.report}
    if search is not None:
        told |= {name: getattr(search, name) for name in ("lams", "mean", "se", "lam_min", "lam_1se")}
    console.result(told)
    return ending(solution)


def page(rows: Dataset, solution: Solution, search: Search | None, path: str, console: Console) -> None:
    """A page about the fit; its pictures of errors are of a sample of the rows."""
    from dualgap.cli import pages

    sample = rows.source.sample(PICTURED)
    console.note(f"errors are shown of {len(sample)} rows drawn from all; the proof is one of all rows")
    pages.write(search or solution, path, console, data=(sample.X, sample.y, sample.shift))


def predict(args: argparse.Namespace, console: Console) -> int:
    """A prediction for every row of files, block by block."""
    import sys
    from contextlib import nullcontext

    import dualgap as dg
    from dualgap.blocks.dataset import found_files
    from dualgap.blocks.tabular import encoded_blocks
    from dualgap.cli.console import OK
    from dualgap.cli.predict import as_csv, predictions
    from dualgap.files.store import written_whole

    solution = dg.load(args.model)
    if args.json and not args.out:
        raise DataError("Rows in blocks are too many for one line of JSON: name a file with --out.")
    offset = args.offset or solution.terms.offset_name
    if (solution.terms.offset is None) != (offset is None):
        raise DataError(
            "This model was fitted without an offset; leave --offset out."
            if offset is not None
            else "This model was fitted with an offset; say which column holds it: --offset COLUMN."
        )
    recipe = solution.recipe or _by_names(solution)
    made = gaps = 0
    with written_whole(Path(args.out)) if args.out else nullcontext(sys.stdout.buffer) as stream:
        for encoded, shift in encoded_blocks(found_files(args.rows), recipe, args.unseen, offset):
            columns = predictions(solution, encoded.matrix, shift, scores=args.scores, proba=args.proba)
            stream.write(as_csv(columns, encoded.rows, header=not (made or gaps)).encode())
            made, gaps = made + int(encoded.rows.sum()), gaps + int((~encoded.rows).sum())
        stream.flush()
    if gaps:
        console.warn(f"{gaps} rows have a missing value and get no prediction; the fit left such rows out.")
    if args.out:
        console.say(f"{made} predictions written to {args.out}")
    console.result({"rows": made, "out": args.out})
    return OK


def _by_names(solution: Solution) -> Any:
    from dualgap.tables.recipe import Recipe, Rule

    if solution.names is None:
        raise DataError("The model's columns have no names: it cannot find them in these files.")
    return Recipe(tuple(Rule(name, "number") for name in solution.names), "refuse", "")


def again(files: list[str], solution: Solution) -> Dataset:
    """Files under a model's own recipe."""
    from dualgap.blocks.dataset import reopened

    recipe = solution.recipe
    if recipe is None:
        raise DataError(
            "This model was fitted on blocks without names; its certificate's recheck(rows) checks it."
        )
    offset = solution.terms.offset_name
    if solution.terms.offset is not None and offset is None:
        raise DataError(
            "The offset of this model is in no column; its certificate's recheck(rows) checks it with the "
            "rows of dg.dataset(..., offset=)."
        )
    return reopened(files, recipe, solution.facts.get("weights"), offset)
