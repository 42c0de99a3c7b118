"""Columns by a formula, "mpg ~ horsepower + C(origin)", through formulaic; kept to be made again."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Matrix
from dualgap.errors import DataError, needed
from dualgap.tables.columns import Column, Dates, Numbers, RawTable, Words, as_column, rows_in_words
from dualgap.tables.frames import from_frame, pandas
from dualgap.tables.recipe import MISSING_LEVEL, Encoded, Rule, encoded_frame
from dualgap.tables.safe_formula import as_levels, columns_in, is_call, is_plain, refuse_code

ONES = "Intercept"
DOT = re.compile(r"(?<![\w.)\]`'\"])\.(?![\w(`])")  # all columns but the target
LEVEL = re.compile(r"\[[^\]]*\]")  # which of the columns of a term a name is of
WHOLE = 2.0**53  # beyond it whole numbers are no longer told apart
LONGEST = 10_000  # signs of a formula, a choice: nobody writes more


@dataclass(frozen=True, eq=False)
class Formula:
    """What was written, taken apart: the target, the factors of each term, and whether it has a constant."""

    text: str
    target: str  # a column, or what is computed of columns
    terms: tuple[tuple[str, ...], ...]
    constant: bool

    @property
    def right(self) -> str:
        """The terms, nothing left to expand."""
        return " + ".join(["1" if self.constant else "0", *(":".join(term) for term in self.terms)])

    @property
    def computed(self) -> bool:
        """Is the target computed?"""
        return not (self.target.isidentifier() or self.target.startswith("`"))


@dataclass(frozen=True, eq=False)
class FormulaRecipe:
    """A formula with what it learnt of the columns of the fit: levels, centres, knots.

    `inputs` say how a file's columns are read. To all others the columns that the formula makes are numbers.
    """

    parts: Formula
    inputs: tuple[Rule, ...]
    transform_state: dict[str, Any]
    levels: dict[str, list[Any]]  # of the factors that are levels
    names: tuple[str, ...]
    missing: str = "refuse"
    absent: tuple[str, ...] = ()
    sparse: bool = False
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def formula(self) -> str:
        """As it was written."""
        return self.parts.text

    @property
    def constant(self) -> bool:
        """Whether a fit may have an intercept."""
        return self.parts.constant

    @property
    def target(self) -> str:
        """What is predicted."""
        return self.parts.target.strip("`")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The columns that were made, as numbers."""
        return tuple(Rule(name, "number") for name in self.names)

    @property
    def sources(self) -> tuple[str, ...]:
        """Of each column that was made the term."""
        return tuple(LEVEL.sub("", name) for name in self.names)

    @cached_property
    def spec(self) -> Any:
        """formulaic's own way to say all this."""
        formulaic = _formulaic()
        kinds = formulaic.parser.types.Factor.Kind
        factors = {factor.strip("`{}") for term in self.parts.terms for factor in term}
        state = {
            factor: (kinds.CATEGORICAL, {"categories": list(self.levels[factor])})
            for factor in factors
            if factor in self.levels
        }
        formula = formulaic.Formula(self.parts.right)
        return formulaic.ModelSpec(
            formula, transform_state=dict(self.transform_state), encoder_state=state, na_action="raise"
        )

    def as_levels(self, column: str) -> bool:
        """Are the values of this column told apart one by one, though they may be numbers?"""
        return any(as_levels(factor) == column for term in self.parts.terms for factor in term)

    def aimed(self, target: str) -> FormulaRecipe:
        """The same for another target."""
        return replace(self, parts=replace(self.parts, target=_quoted(target)))

    def target_column(self, raw: RawTable) -> Column:
        """What is predicted, of these rows."""
        return target_of(self.parts, raw)

    def encode(self, raw: RawTable, unseen: str = "refuse") -> Encoded:
        """The matrix of these rows; columns are found by name, in whatever order they stand."""
        _refuse_absent([rule.name for rule in self.inputs], raw)
        rows = np.ones(raw.n, dtype=bool)
        if self.missing == "drop":
            for rule in self.inputs:
                rows &= ~rule.column(raw).missing
        kept = raw.take(rows)
        frame = pandas().DataFrame({rule.name: rule.plain(kept, unseen) for rule in self.inputs})
        if not len(frame):
            return Encoded(np.empty((0, len(self.names))), rows)
        return Encoded(self._made(frame, raw.source, unseen), rows)

    def read(self, X: Any) -> Any:
        """What a caller of `predict` hands over: a frame as that of the fit, or columns made already."""
        return encoded_frame(self, X)

    def _made(self, frame: Any, source: str, unseen: str) -> Matrix:
        mismatch = _formulaic().errors.DataMismatchWarning
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            made = _by_formulaic(self.formula, self.spec.get_model_matrix, frame)
        strangers = [str(one.message) for one in said if issubclass(one.category, mismatch)]
        if strangers and unseen == "refuse":
            which = re.search(r"\{.*?\}", strangers[0])
            raise DataError(
                f"{source} has levels that the fit never saw in a column of {self.formula!r}: "
                f"{which[0] if which else ''}; --unseen reference treats such rows as the reference level."
            )
        made = _without_ones(made)
        if tuple(map(str, made.columns)) != self.names:
            raise DataError(f"The formula {self.formula!r} makes other columns here than it made in the fit.")
        return np.asfortranarray(made.to_numpy(dtype=np.float64))


class Made(np.ndarray[Any, np.dtype[np.float64]]):
    """Columns that were made, with what made them; rows of them are columns that were made, too."""

    recipe: FormulaRecipe | None

    def __array_finalize__(self, other: Any) -> None:
        same = self.ndim == 2 and np.shape(other)[1:] == self.shape[1:]
        self.recipe = getattr(other, "recipe", None) if same else None


def from_formula(text: str, frame: Any, fit_intercept: bool) -> tuple[Any, Any, bool]:
    """X, y and whether there is a constant."""
    if not hasattr(frame, "columns"):
        raise DataError(f"Beside a formula give a data frame, not a {type(frame).__name__}.")
    parts = taken_apart(text, tuple(map(str, frame.columns)))
    frame = frame if hasattr(frame, "iloc") else frame.to_pandas()
    wanted = used_columns(parts)
    _refuse_absent(wanted, RawTable("The frame", len(frame), tuple(map(str, frame.columns))))
    _refuse_missing(frame, wanted)
    raw = from_frame(_columns_of(frame, wanted), "The frame")
    recipe, _ = learn_formula(parts, raw, np.ones(raw.n, dtype=bool), frame=frame)
    target = parts.target.strip("`")
    own = frame[target].to_numpy() if not parts.computed else None
    values = own if own is not None else recipe.target_column(raw).values  # type: ignore[union-attr]
    made = recipe.encode(raw).matrix.view(Made)
    made.recipe = recipe
    return made, values, fit_intercept and parts.constant


def taken_apart(text: str, names: tuple[str, ...]) -> Formula:
    """The parts of a formula over these columns, nothing in it but columns and known functions."""
    formulaic = _formulaic()
    left, sign, right = text.partition("~")
    left = left.strip()
    if not sign or not left:
        raise DataError(f"{text!r} does not say what is predicted: 'y ~ a + b'.")
    if len(text) > LONGEST:
        raise DataError(f"A formula of {len(text)} signs is too long; {LONGEST} are the most.")
    refuse_code(left)
    plain = left.strip("`")
    rest = [_quoted(name) for name in names if name != plain and name not in columns_in(left)]
    parsed = _by_formulaic(text, formulaic.Formula, DOT.sub(f"({' + '.join(rest) or '0'})", right.strip()))
    if not all(hasattr(term, "factors") for term in parsed):
        raise DataError(f"The formula {text!r} has several parts; one can be fitted at a time.")
    terms = []
    constant = False
    lookup = formulaic.parser.types.Factor.EvalMethod.LOOKUP
    for term in parsed:
        if str(term) == "1":
            constant = True
            continue
        terms.append(tuple(_written(f.expr, column=f.eval_method is lookup) for f in term.factors))
    found = Formula(text, left if not _is_column(left) else _quoted(plain), tuple(terms), constant)
    _refuse_unusable(found)
    return found


def _refuse_unusable(parts: Formula) -> None:
    for term in parts.terms:
        for factor in term:
            refuse_code(factor)
    if not parts.terms:
        raise DataError(f"The formula {parts.text!r} has no column to predict from.")


def used_columns(parts: Formula) -> list[str]:
    """The columns that a formula reads, target included."""
    found = [name for term in parts.terms for factor in term for name in columns_in(factor)]
    return list(dict.fromkeys([*found, *columns_in(parts.target)]))


def learn_formula(
    parts: Formula, raw: RawTable, rows: Mask, missing: str = "refuse", frame: Any = None
) -> tuple[FormulaRecipe, tuple[str, ...]]:
    """How the columns are read and what formulaic learns of them, by the rows that have a target.

    `frame`, where there is one, knows the order of its categories.
    """
    names = list(dict.fromkeys(n for term in parts.terms for factor in term for n in columns_in(factor)))
    _refuse_absent(names, raw)
    inputs, notes = [], []
    for name in names:
        rule, said = _input(name, raw.column(name), missing, rows)
        inputs.append(rule)
        notes += said
    used = rows.copy()
    if missing == "drop":
        for rule in inputs:
            used &= ~rule.column(raw).missing
    if not used.any():
        raise DataError(f"No row of {raw.source} is left; --missing mean keeps rows with gaps.")
    kept = raw.take(used)
    table = pandas().DataFrame({rule.name: rule.plain(kept, "refuse") for rule in inputs})
    for factor in {factor for term in parts.terms for factor in term}:
        held = as_levels(factor)
        if held in table and table[held].dtype.kind == "f" and _whole(table[held]):
            table[held] = table[held].astype(np.int64)
    for rule in inputs if frame is not None else ():
        if str(frame[rule.name].dtype) == "category":
            table[rule.name] = frame[rule.name].to_numpy()[used]
            table[rule.name] = pandas().Categorical(table[rule.name], frame[rule.name].cat.categories)
    made = _by_formulaic(parts.text, _formulaic().model_matrix, parts.right, table, context=None)
    spec = made.model_spec
    levels = {
        factor: list(state["categories"])
        for factor, (_, state) in spec.encoder_state.items()
        if "categories" in state
    }
    made = _without_ones(made)
    if not made.shape[1]:
        raise DataError(f"The formula {parts.text!r} makes no column.")
    found = FormulaRecipe(
        parts, tuple(inputs), dict(spec.transform_state), levels, tuple(map(str, made.columns)), missing
    )
    return found, (*(note for note in raw.notes if _speaks_of(note, names)), *notes)


def target_of(parts: Formula, raw: RawTable) -> Column:
    """A column, or the numbers that are computed of some."""
    if not parts.computed:
        return raw.column(parts.target.strip("`"))
    names = columns_in(parts.target)
    _refuse_absent(names, raw)
    inputs = [_input(name, raw.column(name), "drop", np.ones(raw.n, dtype=bool))[0] for name in names]
    frame = pandas().DataFrame({rule.name: _numbers_of(rule, raw) for rule in inputs})
    gaps = frame.isna().any(axis=1).to_numpy()
    found = np.full(raw.n, np.nan)
    if not gaps.all():
        with np.errstate(all="ignore"):
            make = _formulaic().model_matrix
            made = _by_formulaic(parts.text, make, f"{parts.target} - 1", frame[~gaps], context=None)
        if made.shape[1] != 1:
            raise DataError(
                f"{parts.target!r} makes {made.shape[1]} columns; one can be predicted at a time."
            )
        found[~gaps] = made.to_numpy(dtype=np.float64)[:, 0]
    return as_column(found)


def _numbers_of(rule: Rule, raw: RawTable) -> NDArray[Any]:
    column = rule.column(raw)
    if isinstance(column, Numbers):
        return column.values
    raise DataError(f"The target is computed of {rule.name!r}, which holds words.")


def _input(name: str, column: Column, missing: str, rows: Mask) -> tuple[Rule, list[str]]:
    """How a column is read; days since the first where it holds dates."""
    column_here = column if rows.all() else column.take(rows)
    gaps = int(column_here.missing.sum())
    if gaps == len(column_here.missing):
        raise DataError(f"Column {name!r} is empty; the formula cannot use it.")
    notes: list[str] = []
    if isinstance(column_here, Words):
        counts = column_here.counts()
        found = [level for k, level in enumerate(column_here.levels) if counts[k]]
        if gaps and missing not in ("drop", "refuse"):
            found.append(MISSING_LEVEL)
            said = f"a level of its own, {MISSING_LEVEL!r}"
            notes.append(f"{name!r} has no value in {rows_in_words(gaps)}: {said}")
        return Rule(name, "levels", None, tuple(found[1:]), found[0]), notes
    if isinstance(column_here, Dates):
        since = str(column_here.values[~column_here.missing].min().astype("datetime64[D]"))
        written = column_here.order if column_here.text is not None else ""
        rule = Rule(name, "number", part="days", since=since, written=written)
        notes.append(f"{name!r} holds dates: the formula sees the days since {since}")
        values = column_here.part("days", since, words=False).values  # type: ignore[union-attr]
    else:
        written = "" if column_here.text is None else column_here.decimal
        rule = Rule(name, "boolean" if column_here.boolean else "number", written=written)
        values = column_here.values
    if missing in ("drop", "refuse"):
        return rule, notes
    fill = float((np.nanmean if missing == "mean" else np.nanmedian)(values))
    if gaps:
        stands = f"the {missing}, {fill:.6g}, stands in"
        notes.append(f"{name!r} has no value in {rows_in_words(gaps)}: {stands}")
    return replace(rule, fill=fill), notes


def _formulaic() -> Any:
    found = needed("formulaic", "formula", "A formula")
    needed("formulaic.parser.types", "formula", "A formula")
    needed("formulaic.errors", "formula", "A formula")
    return found


def _by_formulaic(formula: str, make: Any, *given: Any, **more: Any) -> Any:
    errors = _formulaic().errors
    try:
        return make(*given, **more)
    except (
        errors.FormulaicError,
        SyntaxError,
        NameError,
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise DataError(f"The formula {formula!r} cannot be used: {said}.") from None


def _is_column(text: str) -> bool:
    return text.isidentifier() or (text.startswith("`") and text.endswith("`") and text.count("`") == 2)


def _quoted(name: str) -> str:
    if "`" in name:
        raise DataError(f"The column {name!r} has a backtick in its name; rename it to use it in a formula.")
    return name if is_plain(name) else f"`{name}`"


def _written(factor: str, *, column: bool) -> str:
    """A factor as a formula has it: columns in quotes where need be, arithmetic in braces."""
    if column:
        return _quoted(factor)
    return factor if is_call(factor) else f"{{{factor}}}"


def _columns_of(frame: Any, names: list[str]) -> Any:
    """These columns of a frame, as far as it has them."""
    frame = frame if hasattr(frame, "iloc") else frame.to_pandas()
    return frame[[name for name in frame.columns if str(name) in names]]


def _refuse_missing(frame: Any, names: list[str]) -> None:
    for name in names:
        gaps = frame[name].isna().to_numpy() if name in frame else np.zeros(0, dtype=bool)
        if gaps.any():
            others = f" and in {gaps.sum() - 1} more" if gaps.sum() > 1 else ""
            where = f"row {int(np.argmax(gaps))}{others}"
            raise DataError(f"Column {name!r} has no value in {where}; impute or drop what is missing.")


def _refuse_absent(names: list[str], raw: RawTable) -> None:
    gone = [name for name in names if name not in raw.names]
    if gone:
        raise DataError(
            f"{raw.source} has no column {gone[0]!r}, which the formula uses; it has {raw.listed()}."
        )


def _without_ones(made: Any) -> Any:
    return made.drop(columns=ONES) if ONES in made.columns else made


def _whole(column: Any) -> bool:
    values = column.to_numpy()
    return bool(np.all(values == np.floor(values)) and np.abs(values).max(initial=0.0) < WHOLE)


def _speaks_of(note: str, names: list[str]) -> bool:
    return any(note.startswith(repr(name)) for name in names)
