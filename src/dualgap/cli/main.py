"""The command line: find the verb, run it, turn what goes wrong into one sentence and an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from dualgap import __version__
from dualgap.cli import console
from dualgap.cli.checks import refuse_bad_options
from dualgap.cli.outputs import refuse_bad_outputs
from dualgap.errors import (
    DataError,
    InfeasibleError,
    MissingPackageError,
    NoSolverError,
    NotCertifiedWarning,
    TemporaryCacheWarning,
    UnboundedError,
)

VERBS = {
    "fit": "fit a model to a file of rows, with its proof",
    "path": "solutions for every strength",
    "cv": "choose the strength on rows held out",
    "predict": "predictions of a model for the rows of a file",
    "verify": "does this model still deserve its gap on this file?",
    "export": "a model for other programs: ONNX, Python, SQL",
    "explain": "which solver would run, and why each other would not",
    "figures": "draw the figures of the lectures",
    "effect": "what a column does to the predictions of a model",
    "compare": "models side by side on the rows of a file",
    "explore": "a page on which strength, loss, penalty and ball are moved by hand",
    "report": "a page about a model, to send to a colleague",
    "bench": "run the benchmarks of a checkout",
    "warm": "compile now what would be compiled on first use",
    "datasets": "data sets that can be named instead of a file",
}
CODES: tuple[tuple[type[BaseException], int], ...] = (
    (console.UsageError, console.USAGE),
    (DataError, console.BAD_INPUT),
    (NoSolverError, console.NO_ANSWER),
    (InfeasibleError, console.NO_ANSWER),
    (UnboundedError, console.NO_ANSWER),
    (MissingPackageError, console.NOT_INSTALLED),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; the exit code is returned."""
    console.speak_any_encoding()
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser()
    if not given:
        parser.print_help()
        return console.USAGE
    verb = given[0]
    if verb not in VERBS:
        parser.parse_args(given)  # prints the help or the version, or refuses the verb
        return console.USAGE
    module = importlib.import_module(f"dualgap.cli.{verb}")
    inner = argparse.ArgumentParser(
        prog=f"dualgap {verb}",
        description=module.__doc__,
        epilog=console.CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.arguments(inner)
    inner.add_argument("--json", action="store_true", help="one JSON object on standard output, for machines")
    return _guarded(module.run, inner.parse_args(given[1:]))


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {about}" for verb, about in VERBS.items()]
    parser = argparse.ArgumentParser(
        prog="dualgap",
        usage="dualgap VERB … | dualgap VERB --help",
        description="Regularised linear models, every answer with its duality gap.\n\nverbs:\n"
        + "\n".join(lines),
        epilog=console.CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("verb", choices=VERBS, metavar="VERB", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"dualgap {__version__}")
    return parser


def _guarded(run: Any, args: argparse.Namespace) -> int:
    where = console.Console(as_json=args.json)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", NotCertifiedWarning)
            warnings.simplefilter("always", TemporaryCacheWarning)
            warnings.showwarning = lambda message, *rest, **more: where.warn(str(message))
            refuse_bad_outputs(args)
            refuse_bad_options(args)
            return int(run(args, where))
    except KeyboardInterrupt as told:
        where.warn(str(told) or "interrupted.")
        return console.INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough, as in `dualgap predict … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return console.OK
    except tuple(kind for kind, _ in CODES) as error:
        where.warn(str(error))
        return next(code for kind, code in CODES if isinstance(error, kind))
