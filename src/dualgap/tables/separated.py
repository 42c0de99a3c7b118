"""CSV and its relatives: separator, decimal sign, encoding and header are looked at, not asked for."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

from dualgap.errors import DataError
from dualgap.tables.columns import RawTable, numbered
from dualgap.tables.frames import from_frame, pandas

SAMPLE = 1 << 16  # characters looked at
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


def read_separated(content: bytes, source: str, absent: tuple[str, ...] = ()) -> RawTable:
    """The rows of a text file; `absent` are further words that mean a missing value."""
    text, notes = _decoded(content, source)
    sample = text[:SAMPLE]
    first = next((line for line in sample.splitlines() if line.strip()), "")
    if not first:
        raise DataError(f"{source} is empty; a table needs a header and rows.")
    separator = _separator(first)
    cells = next(csv.reader([first], delimiter=separator))
    headless = all(NUMBER.fullmatch(cell) for cell in cells)
    comma = separator != "," and _decimal_comma(sample, separator)
    if separator != ",":
        notes += (f"columns are separated by {SEPARATORS[separator]}",)
    if comma:
        notes += ("numbers are written with a decimal comma",)
    notes += tuple(_twice(cells) if not headless else ())
    if headless:
        notes += (f"there is no header, so the columns are called x0 to x{len(cells) - 1}",)
    keywords: dict[str, Any] = dict(sep=separator, decimal="," if comma else ".", low_memory=False)
    keywords |= dict(header=None if headless else 0, na_values=list(absent) or None, skipinitialspace=True)
    frame = _parsed(text, source, keywords)
    if headless:
        frame.columns = list(numbered(frame.shape[1]))
    if not len(frame):
        raise DataError(f"{source} has a header but no rows.")
    frame.columns = [" ".join(str(name).split()) for name in frame.columns]
    return from_frame(frame, source, notes)


def _twice(cells: list[str]) -> list[str]:
    """Names that stand there more than once: the later ones get a number."""
    names = [" ".join(cell.split()) for cell in cells]
    repeated = {name: names.count(name) for name in names if name and names.count(name) > 1}
    return [
        f"{count} columns are called {name!r}: from the second on {name + '.1'!r}, …"
        for name, count in repeated.items()
    ]


def _decoded(content: bytes, source: str) -> tuple[str, tuple[str, ...]]:
    if b"\x00" in content[:SAMPLE] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(
            f"{source} is not text; the formats read are CSV, Parquet, Feather, libsvm, npy, npz."
        )
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16"), ("the text is UTF-16",)
    try:
        return content.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace"), ("the text is not UTF-8; read as Windows-1252",)


def _separator(line: str) -> str:
    """The sign that occurs most often outside quotes; a comma where none does."""
    bare = re.sub(r'"(?:[^"]|"")*"', "", line)
    return max(SEPARATORS, key=lambda sign: (bare.count(sign), sign == ","))


def _decimal_comma(sample: str, separator: str) -> bool:
    lines = sample.splitlines()[1:101]
    cells = [cell.strip() for line in lines for cell in line.split(separator)]
    return any(DECIMAL_COMMA.fullmatch(cell) for cell in cells)


def _parsed(text: str, source: str, keywords: dict[str, Any]) -> Any:
    module = pandas()
    try:
        return module.read_csv(io.StringIO(text), **keywords)
    except (module.errors.ParserError, module.errors.EmptyDataError, ValueError) as error:
        said = str(error).replace("Error tokenizing data. C error: ", "").strip()
        raise DataError(f"{source} cannot be read as a table: {said.rstrip('.')}.") from None
