"""Where a verb speaks: people read lines, machines one JSON object; trouble goes to standard error."""

from __future__ import annotations

import codecs
import json
import math
import sys
from typing import Any

from dualgap.errors import DataError

OK = 0  # done, and proven where something was to be proven
NOT_PROVEN = 1  # the fit missed its tolerance, or the model does not verify
USAGE = 2  # the command line itself; argparse's own code
BAD_INPUT = 3  # data, a model file or a keyword cannot be used
NO_ANSWER = 4  # no solver fits, the constraints cannot be met, or there is no minimum
NOT_INSTALLED = 5  # an optional package or a checkout is needed
INTERRUPTED = 130  # by Ctrl-C, as shells say it

CODES = f"""exit codes:
  {OK} done and proven             {NOT_PROVEN} not proven, or not verified   {USAGE} wrong usage
  {BAD_INPUT} unusable input              {NO_ANSWER} the problem has no answer
  {NOT_INSTALLED} something is not installed  {INTERRUPTED} interrupted"""


# what consoles without Unicode show instead of the signs that lines for people use
PLAIN = {"·": "-", "−": "-", "–": "-", "±": "+-", "…": "...", "×": "x", "≤": "<=", "≥": ">=", "→": "->"}
PLAIN |= {"λ": "lam", "θ": "theta", "σ": "sigma", "Σ": "sum", "‖": "||", "²": "^2", "₁": "_1", "₂": "_2"}


class UsageError(DataError):
    """The command line itself is wrong, whatever the files hold."""


def speak_any_encoding() -> None:
    """A console that cannot write a sign writes another for it, and never fails."""
    codecs.register_error("dualgap", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="dualgap")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(PLAIN.get(one, one.encode("unicode_escape").decode()) for one in signs), error.end


class Console:
    """Lines for people, or with `--json` everything at the end as one object."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Something that was decided or noticed on the way."""
        self.notes.append(text)
        if not self.as_json:
            print(f"· {text}")

    def say(self, text: str = "") -> None:
        """A line for people."""
        if not self.as_json:
            print(text)

    def warn(self, text: str) -> None:
        """Something a person should worry about; to standard error, also with --json."""
        print(f"dualgap: {text}", file=sys.stderr)

    def result(self, values: dict[str, Any]) -> None:
        """What a machine reads, in the end."""
        if self.as_json:
            utf = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
            print(json.dumps(plain({**values, "notes": self.notes}), ensure_ascii=not utf, indent=1))


def plain(value: Any) -> Any:
    """Arrays and NumPy numbers as JSON has them; what is not finite becomes null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
