"""The recipe of a table that comes in pieces: what they say of a column adds up, then rules are made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from dualgap.errors import DataError
from dualgap.tables.columns import Column, Dates, Numbers, RawTable, Words, rows_in_words
from dualgap.tables.learn import FEW_LEVELS, Wishes, date_rules, level_rule
from dualgap.tables.recipe import Recipe, Rule

MOST_WORDS = 100_000  # different words kept of a column: beyond, it is an identifier whatever comes


@dataclass
class ColumnNotes:
    """What was seen of one column."""

    rows: int = 0
    missing: int = 0
    total: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    boolean: bool = True
    days: Counter[str] = field(default_factory=Counter)
    like: Numbers | Dates | None = None  # the first piece: how a file writes its numbers and dates
    words: Counter[str] = field(default_factory=Counter)
    numbers: int = 0
    worded: str = ""  # the first piece that holds words

    def see(self, column: Column, source: str) -> None:
        """A piece of it, and where that is from."""
        gaps = column.missing
        self.rows += len(gaps)
        self.missing += int(gaps.sum())
        if isinstance(column, Dates):
            self.like = self.like or column
            days, counts = np.unique(column.values[~gaps].astype("datetime64[D]"), return_counts=True)
            self.days.update(dict(zip(days.astype(str).tolist(), counts.tolist(), strict=True)))
        elif isinstance(column, Words):
            if len(self.words) <= MOST_WORDS:
                counts = column.counts()
                self.words.update({column.levels[k]: int(counts[k]) for k in np.flatnonzero(counts)})
            self.worded = self.worded or source
        else:
            self._see_numbers(column, column.values[~gaps])

    def _see_numbers(self, column: Numbers, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        self.like = self.like or column
        if len(values):
            self.numbers += len(values)
            self.total += float(values.sum())
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
            self.boolean &= column.boolean


@dataclass
class GatheredTable:
    """All columns of a table, seen piece by piece."""

    wishes: Wishes
    weights: str | None = None
    source: str = "the rows"
    notes: dict[str, ColumnNotes] = field(default_factory=dict)
    order: tuple[str, ...] = ()

    def see(self, raw: RawTable) -> None:
        """A piece; rows without a target do not count."""
        rows = ~raw.column(self.wishes.target).missing
        self.order = self.order or raw.names
        for name in raw.names:
            column = raw.column(name)
            self.notes.setdefault(name, ColumnNotes()).see(
                column if rows.all() else column.take(rows), raw.source
            )

    def recipe(self) -> tuple[Recipe, tuple[str, ...]]:
        """The rules, and what a person should know of them."""
        wishes = self.wishes
        if wishes.missing == "median":
            raise DataError("A median needs all rows at once: --missing mean, drop or refuse.")
        left_out = [(name, "as asked") for name in wishes.drop]
        skip = {wishes.target, self.weights, *wishes.drop}
        rules, remarks = [], []
        for name in self.order:
            if name in skip:
                continue
            why = self._useless(self.notes[name])
            if why:
                left_out.append((name, why))
                continue
            made, said = self._rules(name, self.notes[name])
            rules += made
            remarks += said
        if not rules:
            reasons = "".join(f"; {name!r} {why}" for name, why in left_out[:3] if why != "as asked")
            raise DataError(f"There is no column to predict {wishes.target!r} from{reasons}.")
        remarks += [f"{name!r} is left out: {why}" for name, why in left_out if why != "as asked"]
        return (
            Recipe(tuple(rules), wishes.missing, wishes.target, False, tuple(left_out), wishes.absent),
            tuple(remarks),
        )

    def _useless(self, seen: ColumnNotes) -> str:
        present = seen.rows - seen.missing
        if not present:
            return "it is empty"
        if seen.words and not seen.numbers:
            if len(seen.words) == 1 and not seen.missing:
                return f"it is constant ({next(iter(seen.words))!r})"
            if (len(seen.words) > FEW_LEVELS and len(seen.words) > 0.5 * present) or len(
                seen.words
            ) > MOST_WORDS:
                return f"its {len(seen.words)} different words look like an identifier or free text"
            return ""
        constant = not seen.missing and seen.low == seen.high and not seen.words
        return f"it is constant ({seen.low:g})" if constant and not seen.days else ""

    def _rules(self, name: str, seen: ColumnNotes) -> tuple[list[Rule], list[str]]:
        if seen.words and (seen.numbers or seen.days):
            word = next((one for one in seen.words if not _is_number(one)), next(iter(seen.words)))
            raise DataError(
                f"Column {name!r} holds numbers in some blocks, words such as {word!r} in others, first in "
                f"{seen.worded}."
            )
        if seen.missing and self.wishes.missing == "refuse":
            raise DataError(
                f"Column {name!r} has no value in {rows_in_words(seen.missing)}; missing is refuse."
            )
        if seen.days:
            return date_rules(name, _days(seen), self.wishes)
        if seen.words:
            counts = {level: seen.words[level] for level in sorted(seen.words)}
            rule, said = level_rule(Rule(name, "levels"), counts, seen.missing, self.wishes)
            return [rule], said
        fill = None if self.wishes.missing == "drop" else seen.total / seen.numbers
        said = [f"{name!r} is true or false: 1 or 0"] if seen.boolean else []
        if seen.missing and fill is not None:
            said.append(
                f"{name!r} has no value in {rows_in_words(seen.missing)}: the mean, {fill:.6g}, stands in"
            )
        written = seen.like.decimal if isinstance(seen.like, Numbers) and seen.like.text is not None else ""
        return [Rule(name, "boolean" if seen.boolean else "number", fill, written=written)], said


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _days(seen: ColumnNotes) -> Dates:
    """The days that were seen, as often as they were, beyond MOST_WORDS rows in proportion."""
    counts = np.array(list(seen.days.values()), dtype=np.float64)
    share = min(1.0, MOST_WORDS / counts.sum())
    times = np.maximum(np.round(share * counts), 1.0).astype(np.intp)
    days = np.repeat(np.array(list(seen.days), dtype="datetime64[s]"), times)
    like = seen.like if isinstance(seen.like, Dates) else Dates(days)
    if seen.missing:
        days = np.append(days, np.datetime64("NaT", "s"))
    if like.text is None:
        return Dates(days)
    return Dates(days, Words(np.zeros(len(days), dtype=np.intp), (like.example,)), like.order)
