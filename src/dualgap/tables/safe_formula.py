"""What a formula may say. Its terms are Python to formulaic, and a model file must not bring code along."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Iterator

from dualgap.errors import DataError

QUOTED = re.compile(r"`[^`]*`")  # a column whose name is no Python name
OF_NUMPY = frozenset(
    (
        "abs",
        "absolute",
        "arctan",
        "cbrt",
        "ceil",
        "clip",
        "cos",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "log",
        "log10",
        "log1p",
        "log2",
        "maximum",
        "minimum",
        "power",
        "round",
        "sign",
        "sin",
        "sqrt",
        "square",
        "tan",
        "tanh",
        "where",
    )
)
FUNCTIONS = frozenset(
    (
        "C",
        "I",
        "abs",
        "bs",
        "cc",
        "center",
        "cr",
        "cs",
        "exp",
        "exp2",
        "log",
        "log10",
        "log2",
        "poly",
        "scale",
        "standardize",
    )
)
COUNTED = frozenset(["bs", "cc", "cr", "cs", "poly"])  # whose numbers say how many columns there will be
CONTRASTS = frozenset(["diff", "helmert", "poly", "sas", "sum", "treatment"])
MODULES = {"np": OF_NUMPY, "contr": CONTRASTS}
HIGHEST = 100  # a choice: degrees, knots and powers beyond it are slips, or are there to exhaust a machine
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
PLAIN = (
    *(
        ast.Expression,
        ast.Load,
        ast.UnaryOp,
        ast.UAdd,
        ast.USub,
        ast.Invert,
        ast.Compare,
        ast.BoolOp,
        ast.And,
    ),
    *(ast.Or, ast.Not, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.List, ast.Tuple),
    *(ast.keyword, ast.Name, ast.BinOp, ast.BitAnd, ast.BitOr, *ARITHMETIC),
)


def refuse_code(factor: str) -> None:
    """Columns, numbers, words, arithmetic and known functions are all that a factor may be made of."""
    tree = parsed(factor)
    _refuse_bare(tree, factor)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _refuse_call(node, factor)
        elif isinstance(node, ast.Constant):
            _refuse_constant(node, factor)
        elif isinstance(node, ast.Attribute):
            _refuse_attribute(node, factor)
        elif not isinstance(node, PLAIN):
            raise _refused(factor, "it holds more than arithmetic and functions of columns")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            _refuse_power(node, factor)


def as_levels(factor: str) -> str | None:
    """The column whose values are levels here: that of C(column)."""
    tree = parsed(factor).body
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "C" and tree.args:
        inner = ast.get_source_segment(_bare(factor), tree.args[0]) or ""
        found = dict(quoted(factor)).get(inner, inner)
        return found if isinstance(tree.args[0], ast.Name) else None
    return None


def refuse_terms(factors: Iterable[str]) -> None:
    """Factors that stand for themselves: a column, a function, or arithmetic in braces; nothing to expand."""
    for factor in factors:
        refuse_code(factor)
        alone = factor.isidentifier() or QUOTED.fullmatch(factor) or is_call(factor)
        if not alone and not (factor.startswith("{") and factor.endswith("}")):
            raise _refused(factor, "it is not one factor")


def is_plain(name: str) -> bool:
    """Can a column of this name stand in a formula without quotes?"""
    return (
        name.isidentifier() and not keyword.iskeyword(name) and name not in MODULES and name not in FUNCTIONS
    )


def is_call(factor: str) -> bool:
    """Is it a function of something, and no arithmetic around it?"""
    return isinstance(parsed(factor).body, ast.Call)


def columns_in(factor: str) -> list[str]:
    """The columns that a factor reads."""
    tree, known = parsed(factor), dict(quoted(factor))
    nodes = list(ast.walk(tree))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    named = [node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
    return list(dict.fromkeys(known.get(name, name) for name in named if name not in MODULES))


def parsed(factor: str) -> ast.Expression:
    """The factor as a tree; quoted columns under names that they do not clash with."""
    try:
        return ast.parse(_bare(factor), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refused(factor, "it cannot be read") from None


def _bare(factor: str) -> str:
    if factor.startswith("{") and factor.endswith("}"):  # as formulas have arithmetic
        factor = factor[1:-1]
    for name, column in quoted(factor):
        factor = factor.replace(f"`{column}`", name)
    return factor


def quoted(factor: str) -> Iterator[tuple[str, str]]:
    """Names that stand for quoted columns, and those columns."""
    for k, column in enumerate(dict.fromkeys(QUOTED.findall(factor))):
        yield f"quoted_{k}_", column[1:-1]


def _refuse_call(node: ast.Call, factor: str) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if isinstance(node.func, ast.Attribute):  # of a module: looked at where the walk meets it
        return
    if name not in FUNCTIONS:
        raise _refused(factor, f"there is no function {name or ast.unparse(node.func)!r}; {_known()}")
    given = [*node.args[1:], *(one.value for one in node.keywords)]
    numbers = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, int)]
    if name in COUNTED and any(abs(number) > HIGHEST for number in numbers):
        raise _refused(factor, f"degrees and numbers of columns go up to {HIGHEST}")


def _refuse_bare(tree: ast.Expression, factor: str) -> None:
    """Modules are for what is in them; what a function keeps for itself is not for formulas."""
    inside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) and id(node) not in inside else ""
        if name in MODULES or name.startswith("__"):
            raise _refused(factor, f"{name!r} is neither a column nor a function")
        if isinstance(node, ast.keyword) and (node.arg is None or node.arg.startswith("_")):
            raise _refused(factor, "a function is given what it keeps for itself")


def _refuse_attribute(node: ast.Attribute, factor: str) -> None:
    module = node.value.id if isinstance(node.value, ast.Name) else ""
    if node.attr not in MODULES.get(module, ()):
        raise _refused(factor, f"there is no {ast.unparse(node)!r}; {_known()}")


def _refuse_constant(node: ast.Constant, factor: str) -> None:
    if not isinstance(node.value, int | float | str | bool | None):
        raise _refused(factor, f"{node.value!r} is neither a number nor a word")


def _refuse_power(node: ast.BinOp, factor: str) -> None:
    power = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
    known = isinstance(power, ast.Constant) and isinstance(power.value, int | float)
    of_columns = any(isinstance(one, ast.Name) for one in ast.walk(node.left))
    if not known or not of_columns or abs(power.value) > HIGHEST:  # type: ignore[attr-defined]
        raise _refused(factor, f"a power is of a column, to a number up to {HIGHEST}")


def _known() -> str:
    return f"known are {', '.join(sorted(FUNCTIONS))}, and of np {', '.join(sorted(OF_NUMPY))}"


def _refused(factor: str, why: str) -> DataError:
    return DataError(f"The formula has {factor[:80]!r}, which cannot be used: {why}.")
