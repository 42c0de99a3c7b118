"""Numbers and dates as people write them: '1,234.00 €', '12,5 %', '3.4.2024', '2024-04-03 10:15'."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Vector
from dualgap.tables.columns import Column, Dates, Numbers, Words

MONEY = r"[€$£¥₹]|EUR|USD|GBP|CHF|JPY|kr"
GAP = " \u00a0\u2009\u202f'’"  # what stands between thousands beside a comma or a point
NUMBER = re.compile(
    rf"\s*(?P<sign>[-+−]?)\s*(?P<before>{MONEY})?\s*(?P<own>[-+−]?)"
    rf"(?P<digits>[\d.,][\d.,{GAP}]*?)(?P<power>[eE][-+]?\d+)?\s*(?P<after>{MONEY}|%|‰)?\s*"
)
DIGITS = {
    ".": re.compile(rf"(\d{{1,3}}([,{GAP}]\d{{3}})+|\d+)(\.\d*)?|\.\d+"),
    ",": re.compile(rf"(\d{{1,3}}([.{GAP}]\d{{3}})+|\d+)(,\d*)?|,\d+"),
}
DATE = re.compile(
    r"\s*(?:(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})"
    r"|(?P<first>\d{1,2})(?P<sign>[-/.])(?P<second>\d{1,2})[-/.](?P<last>\d{4}))"
    r"(?:[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<seconds>\d{2}))?"
    r"[^ ]*?\s*(?P<half>[AaPp][Mm])?.*)?\s*"
)
ORDERS = {"ymd": "year, month, day", "dmy": "day, month, year", "mdy": "month, day, year"}
SAMPLE = 50  # levels looked at first: a column of words is known by a few of them
MOSTLY = 0.8  # a choice: a column with at least this share of numbers or dates holds slips, not words


def understood(words: Words) -> Column:
    """Words that are all numbers or all dates as what they are; other words as they stand."""
    if not words.levels:
        return words
    sample = words.levels[:: max(len(words.levels) // SAMPLE, 1)]
    if share(bool(DATE.fullmatch(level)) for level in sample) >= MOSTLY:
        order = order_of(words.levels)
        values, bad = moments(words, order)
        return words if bad.any() else Dates(values, words, order)
    if share(_read(level, ".") is not None or _read(level, ",") is not None for level in sample) < MOSTLY:
        return words
    decimal = _decimal(words.levels)
    if decimal is None or all(_plain(level) for level in words.levels):
        return words  # digits alone that are stored as words are meant as words
    return Numbers(numbers(words, decimal)[0], text=words, decimal=decimal)


def share(found: Iterable[bool]) -> float:
    """How many of them are true."""
    return float(np.mean(list(found)))


def numbers(words: Words, decimal: str) -> tuple[Vector, Mask]:
    """The number in each row, NaN where it is missing, and the rows in which there is none to be read."""
    read = [_read(level, decimal) for level in words.levels]
    values = np.array([np.nan if value is None else value for value in read] + [np.nan])[words.codes]
    return values, np.asarray(np.isnan(values) & (words.codes >= 0))


def numeric_levels(words: Words) -> Mask:
    """Which levels read as numbers, in one way or the other?"""
    return np.array([_read(lv, ".") is not None or _read(lv, ",") is not None for lv in words.levels], bool)


def _plain(level: str) -> bool:
    try:
        float(level)
    except ValueError:
        return False
    return True


def _read(level: str, decimal: str) -> float | None:
    """The number that is written there, with this sign before its fraction."""
    found = NUMBER.fullmatch(level)
    if found is None or (found["sign"] and found["own"]) or (found["before"] and found["after"]):
        return float(level) if _plain(level) else None
    digits = found["digits"].rstrip(GAP)
    if not DIGITS[decimal].fullmatch(digits):
        return None
    value = float(re.sub(rf"[^\d{decimal}]", "", digits).replace(",", ".") + (found["power"] or ""))
    return -value if (found["sign"] or found["own"]) in ("-", "−") else value


def _decimal(levels: tuple[str, ...]) -> str | None:
    """The sign before the fraction under which all of them are numbers in one unit; None where none is."""
    matches = [NUMBER.fullmatch(level) for level in levels]
    units = {(found["before"] or found["after"] or "") if found else "" for found in matches}
    percent = units & {"%", "‰"}
    if len(units - {""}) > 1 or (percent and "" in units):  # 0.5 beside 12 % is not of their kind
        return None
    for decimal in (".", ","):
        if decimal == "," and not (units - {""}) and not any("," in level for level in levels):
            return None  # points between all groups of three: an address of a computer, not a number
        if all(_read(level, decimal) is not None for level in levels):
            return decimal
    return None


def order_of(levels: tuple[str, ...]) -> str:
    """ "ymd", or whether the day or the month comes first."""
    found = [match for match in map(DATE.fullmatch, levels) if match and match["first"]]
    if not found:
        return "ymd"
    if any(int(match["first"]) > 12 for match in found):
        return "dmy"
    if any(int(match["second"]) > 12 for match in found):
        return "mdy"
    return "mdy" if found[0]["sign"] == "/" else "dmy"  # nothing tells: as such signs are mostly used


def doubtful(dates: Dates) -> bool:
    """Could day and month be the other way round?"""
    if dates.text is None or dates.order == "ymd":
        return False
    found = [match for match in map(DATE.fullmatch, dates.text.levels) if match and match["first"]]
    if any(match["sign"] == "." for match in found):  # nobody writes the month first with points
        return False
    return all(int(match["first"]) <= 12 and int(match["second"]) <= 12 for match in found)


def moments(words: Words, order: str) -> tuple[NDArray[np.datetime64], Mask]:
    """The second that each row names, NaT where it is missing, and the rows that name none."""
    none = np.datetime64("NaT", "s")
    read = [_moment(level, order) for level in words.levels]
    values = np.array([none if one is None else np.datetime64(one, "s") for one in read] + [none])[
        words.codes
    ]
    return values, np.asarray(np.isnat(values) & (words.codes >= 0))


def _moment(level: str, order: str) -> datetime | None:
    found = DATE.fullmatch(level)
    if found is None:
        return None
    if found["first"] is None:
        year, month, day = found["year"], found["month"], found["day"]
    else:
        year, month, day = found["last"], found["second"], found["first"]
        if order == "mdy":
            month, day = day, month
    hour = int(found["hour"] or 0)
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].lower() == "pm" else 0)
    try:
        return datetime(
            int(year), int(month), int(day), hour, int(found["minute"] or 0), int(found["seconds"] or 0)
        )
    except ValueError:
        return None
