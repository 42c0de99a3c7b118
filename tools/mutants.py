"""Change the trusted code in one place at a time and ask the tests to notice.

Every change is a mutant. One process imports the package and collects the tests; each mutant is a fork of it
in which the code of one function is swapped, and it is killed by the first test that fails. A mutant that no
test kills is either listed in tests/proof/equivalent_mutants.txt with a reason, or it is a hole in the tests.

    python tools/mutants.py                          the kernel against tests/proof and tests/exact
    python tools/mutants.py --list --only rounding   what would be changed there
    python tools/mutants.py tests/contracts --target 'src/dualgap/losses/*.py:conjugate|domain'
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import functools
import gc
import importlib
import io
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest

# What is changed by default: all of the kernel, and the formulas that it takes on trust. FILES or
# FILES:NAMES, a glob and a regular expression for the name of a function.
TARGETS = ("src/dualgap/proof/*.py",)
ALSO = (
    "src/dualgap/losses/*.py:fenchel.*|divergence",
    "src/dualgap/penalties/*.py:fenchel.*|price|priced|polar|norm|doubt|least|_faint|_sharp",
    "src/dualgap/penalties/*.py:within|kept|strong_convexity",
)
TESTS = ("tests/proof", "tests/exact")
EQUIVALENTS = "tests/proof/equivalent_mutants.txt"


# --- the changes --------------------------------------------------------------------------------------------

OTHER_OPERATOR: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
BOTH_MATTER = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)  # either side may be dropped
LEFT_STAYS = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)

PAIRS = "any-all max-min maximum-minimum fmax-fmin amax-amin argmax-argmin floor-ceil zeros-ones"
OTHER_NAME = {a: b for a, b in re.findall(r"(\w+)-(\w+)", PAIRS)}
OTHER_NAME |= {b: a for a, b in OTHER_NAME.items()}

# Calls replaced by one of their arguments: which ones.
EVERY, FIRST, LATER = slice(None), slice(1), slice(1, None)
REPLACED_BY = {
    **dict.fromkeys(("max", "min", "maximum", "minimum", "fmax", "fmin", "hypot"), EVERY),
    **dict.fromkeys(("add", "multiply", "logical_and", "logical_or"), EVERY),
    **dict.fromkeys(("clip", "nextafter", "ldexp", "subtract", "divide"), FIRST),
    "where": LATER,
}
# A call of one argument is replaced by it, except where that is nonsense or changes nothing.
KEPT_CALLS = set(
    """
    all any array asarray ascontiguousarray bool cast copy dict empty enumerate eye flatnonzero float float64
    fsum int isfinite isinf isinstance isnan items iter len list max min next ones print range repr reversed
    set str sum tuple type warn zeros zip
    """.split()  # noqa: SIM905
)
SYMMETRIC_CALLS = set(
    """
    add allclose array_equal cast fmax fmin gcd hypot isclose isinstance issubclass logical_and logical_or
    logical_xor max maximum min minimum multiply warn zip
    """.split()  # noqa: SIM905
)

Change = tuple[str, ast.AST]  # an operator, and what stands there instead


def changed(node: ast.AST, **fields: Any) -> Any:
    """A copy of a node with other fields."""
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def is_text(node: ast.AST) -> bool:
    """A string, which is no number to calculate with."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def of_binary(node: ast.BinOp) -> Iterator[Change]:
    """Another operator; a term or a factor dropped."""
    if is_text(node.left) or is_text(node.right):
        return
    other = OTHER_OPERATOR.get(type(node.op))
    if other:
        yield "arithmetic", changed(node, op=other())
    if isinstance(node.op, (*BOTH_MATTER, *LEFT_STAYS)):
        yield "drop", node.left
    if isinstance(node.op, BOTH_MATTER):
        yield "drop", node.right
    if isinstance(node.op, ast.Sub):
        yield "drop", ast.UnaryOp(ast.USub(), node.right)


def of_augmented(node: ast.AugAssign) -> Iterator[Change]:
    """Another operator, or a plain assignment of the new part."""
    other = OTHER_OPERATOR.get(type(node.op))
    if other:
        yield "arithmetic", changed(node, op=other())
    yield "drop", ast.Assign([node.target], node.value)


def of_comparison(node: ast.Compare) -> Iterator[Change]:
    """The edge moved, the sense turned, a link of a chain dropped."""
    for i, op in enumerate(node.ops):
        for other in OTHER_COMPARISONS[type(op)]:
            yield "comparison", changed(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
    if len(node.ops) > 1:
        yield "drop", changed(node, ops=node.ops[:-1], comparators=node.comparators[:-1])
        first, *rest = node.comparators
        yield "drop", changed(node, left=first, ops=node.ops[1:], comparators=rest)


def of_boolean(node: ast.BoolOp) -> Iterator[Change]:
    """`and` for `or`; an operand dropped."""
    yield "boolean", changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for i in range(len(node.values)):
        left = node.values[:i] + node.values[i + 1 :]
        yield "drop", left[0] if len(left) == 1 else changed(node, values=left)


def of_unary(node: ast.UnaryOp) -> Iterator[Change]:
    """No minus, no `not`, no ~."""
    if not isinstance(node.op, ast.UAdd):
        yield "unary", node.operand


def of_constant(node: ast.Constant) -> Iterator[Change]:
    """Another number, another truth."""
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int | float):
        kind = type(value)
        for other in [1] if value == 0 else [0, 2] if value == 1 else [2 * value, 0, -value]:
            yield "constant", ast.Constant(kind(other))


def of_attribute(node: ast.Attribute) -> Iterator[Change]:
    """No infinity."""
    if node.attr in ("inf", "nan") and isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load):
        yield "constant", ast.Constant(0.0)


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def of_call(node: ast.Call) -> Iterator[Change]:
    """The call of another function; an argument instead of the call; two arguments swapped."""
    name, args, function = called(node), node.args, node.func
    if any(isinstance(arg, ast.Starred) for arg in args):
        return
    if name in OTHER_NAME:
        attribute = "attr" if isinstance(function, ast.Attribute) else "id"
        yield "call", changed(node, func=changed(function, **{attribute: OTHER_NAME[name]}))
    if isinstance(function, ast.Attribute) and name == "clip" and len(args) < 3:
        yield "unwrap", function.value
    elif name in REPLACED_BY and len(args) > 1:
        for arg in args[REPLACED_BY[name]]:
            yield "unwrap", arg
    elif len(args) == 1 and not node.keywords and name[:1].islower() and name not in KEPT_CALLS:
        yield "unwrap", args[0]
    if len(args) == 2 and name not in SYMMETRIC_CALLS and ast.dump(args[0]) != ast.dump(args[1]):
        yield "swap", changed(node, args=args[::-1])


def of_slice(node: ast.Slice) -> Iterator[Change]:
    """An end of a slice moved by one."""
    one = ast.Constant(1)
    for end in ("lower", "upper"):
        bound = getattr(node, end)
        if bound is not None and not isinstance(bound, ast.Constant):
            yield "slice", changed(node, **{end: ast.BinOp(bound, ast.Add(), one)})
    if node.lower is None:
        yield "slice", changed(node, lower=one)
    if node.upper is None and node.lower is not None:
        yield "slice", changed(node, upper=ast.Constant(-1))


CHANGES: dict[type[ast.AST], Callable[[Any], Iterator[Change]]] = {
    ast.BinOp: of_binary,
    ast.AugAssign: of_augmented,
    ast.Compare: of_comparison,
    ast.BoolOp: of_boolean,
    ast.UnaryOp: of_unary,
    ast.Constant: of_constant,
    ast.Attribute: of_attribute,
    ast.Call: of_call,
    ast.Slice: of_slice,
}


def of_place(parent: ast.AST, name: str, node: ast.AST) -> Iterator[Change]:
    """A condition forced, a loop never entered, a returned pair swapped."""
    if (isinstance(parent, ast.If | ast.IfExp) and name == "test") or name == "ifs":
        yield "guard", ast.Constant(True)
    if isinstance(parent, ast.If | ast.IfExp | ast.While) and name == "test":
        yield "guard", ast.Constant(False)
    if isinstance(parent, ast.For) and name == "iter":
        yield "guard", ast.Tuple([], ast.Load())
    if isinstance(parent, ast.Return) and isinstance(node, ast.Tuple) and len(node.elts) == 2:
        yield "swap", changed(node, elts=node.elts[::-1])


def removable(node: ast.stmt, bound: set[str]) -> bool:
    """Whether code without this statement still makes sense; `bound` names have a value before it."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign):
        targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
        return all(t.id in bound if isinstance(t, ast.Name) else True for t in targets)
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Break | ast.Continue)


def alone_in_if(parent: ast.AST, name: str) -> bool:
    """The only statement of an `if` without `else`: forcing the condition is the same as removing it."""
    return isinstance(parent, ast.If) and not parent.orelse and name == "body" and len(parent.body) == 1


# --- where they apply ---------------------------------------------------------------------------------------

TYPES = ("annotation", "returns", "type_params", "type")
SKIPPED_FIELDS = {*TYPES, "decorator_list", "msg", "exc", "cause", "format_spec"}


@dataclass
class Site:
    """A node in its place, which another may take."""

    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST
    function: str  # the innermost, by its name within the unit

    @contextlib.contextmanager
    def taken_by(self, other: ast.AST) -> Iterator[None]:
        """The tree with another node in this place, for a while."""
        if not hasattr(other, "lineno"):
            ast.copy_location(other, self.node)
        ast.fix_missing_locations(other)
        self._put(other)
        try:
            yield
        finally:
            self._put(self.node)

    def _put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    """What is below a node and may be changed: no types, no messages."""
    for name, value in ast.iter_fields(node):
        if name in SKIPPED_FIELDS or isinstance(node, ast.JoinedStr):
            continue
        if isinstance(value, ast.AST):
            yield name, None, value
        elif isinstance(value, list):
            yield from ((name, i, item) for i, item in enumerate(value) if isinstance(item, ast.AST))


def ignored(node: ast.AST) -> bool:
    """Docstrings, warnings, and the strictness of a zip."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return (isinstance(node, ast.keyword) and node.arg == "strict") or (
        isinstance(node, ast.Call) and called(node) in ("warn", "cast")
    )


def sites(node: ast.AST, function: str) -> Iterator[Site]:
    """All places below a node, in the order of the text."""
    for name, index, child in children(node):
        if ignored(child):
            continue
        yield Site(node, name, index, child, function)
        inner = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = f"{function}.{child.name}"
        yield from sites(child, inner)


def changes(site: Site, bound: set[str]) -> Iterator[Change]:
    """All that may stand in a place instead."""
    node = site.node
    yield from CHANGES.get(type(node), lambda _: iter(()))(node)
    yield from of_place(site.parent, site.field, node)
    if isinstance(node, ast.stmt) and removable(node, bound) and not alone_in_if(site.parent, site.field):
        yield "remove", ast.Pass()


def first_bound(function: ast.AST) -> dict[str, int]:
    """For each name the line where it first has a value."""
    lines: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            lines[node.arg] = 0
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            lines[node.id] = min(lines.get(node.id, node.lineno), node.lineno)
    return lines


# --- what a mutant is ---------------------------------------------------------------------------------------

Place = tuple[str, int]  # qualified name and first line of a code object


class SwapError(Exception):
    """The running code is not what the file says."""


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def content(code: CodeType) -> tuple[Any, ...]:
    """What code does, without where it stands."""
    return (
        code.co_code,
        tuple(constant_content(c) for c in code.co_consts),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags),
    )


def constant_content(constant: Any) -> Any:
    """Constants apart by type, sign and all: 0, 0.0, -0.0 and False are four."""
    if isinstance(constant, CodeType):
        return content(constant)
    if isinstance(constant, tuple | frozenset):
        parts = [repr(constant_content(c)) for c in constant]
        return type(constant).__name__, tuple(parts if isinstance(constant, tuple) else sorted(parts))
    return type(constant).__name__, repr(constant)


class Live:
    """The functions and modules that run, by where they come from."""

    def __init__(self, paths: Iterable[str]) -> None:
        full = {os.path.realpath(path): path for path in paths}
        self.modules: dict[str, ModuleType] = {}
        for module in list(sys.modules.values()):
            path = full.get(os.path.realpath(getattr(module, "__file__", None) or ""))
            if path:
                self.modules[path] = module
        self.functions: dict[tuple[str, Place], list[FunctionType]] = defaultdict(list)
        real = functools.cache(os.path.realpath)
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                code = thing.__code__
                path = full.get(real(code.co_filename))
                if path:
                    self.functions[path, (code.co_qualname, code.co_firstlineno)].append(thing)

    def owner(self, path: str, name: str) -> Any:
        """A module, or a class inside it."""
        thing: Any = self.modules[path]
        for part in name.split(".") if name else []:
            thing = getattr(thing, part)
        return thing


def by_place(code: CodeType) -> dict[Place, list[CodeType]]:
    """All code inside a module by name and line."""
    found: dict[Place, list[CodeType]] = defaultdict(list)
    for part in codes(code):
        found[part.co_qualname, part.co_firstlineno].append(part)
    return found


@dataclass
class CodeSwap:
    """Functions get other code."""

    path: str
    old: CodeType  # each a module that holds the function alone
    new: CodeType

    def __call__(self, live: Live) -> None:
        found, new = False, by_place(self.new)
        for place, parts in by_place(self.old).items():
            for old, other in zip(parts, new.get(place, ()), strict=False):
                if place[0] != "<module>" and content(old) != content(other):
                    found |= self._swap(live.functions.get((self.path, place), []), old, other)
        if not found:
            raise SwapError(f"{self.path} was edited, or the function is not there any more")

    def _swap(self, functions: list[FunctionType], old: CodeType, new: CodeType) -> bool:
        same = [f for f in functions if content(f.__code__) == content(old)]
        if same and old.co_freevars != new.co_freevars:
            raise SwapError(f"{old.co_qualname} would take other names from outside")
        for function in same:
            function.__code__ = new
        return bool(same)


@dataclass
class DefaultSwap:
    """A function gets another default."""

    path: str
    place: Place
    which: int | str  # how far from the last positional one, or the name of a keyword
    value: CodeType

    def __call__(self, live: Live) -> None:
        functions = live.functions.get((self.path, self.place), [])
        if not functions:
            raise SwapError(f"{self.path}: no {self.place[0]}")
        for function in functions:
            value = eval(self.value, function.__globals__)
            if isinstance(self.which, str):
                function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), self.which: value}
            else:
                defaults = list(function.__defaults__ or ())
                defaults[self.which] = value
                function.__defaults__ = tuple(defaults)


@dataclass
class ConstantSwap:
    """A module or a class gets another constant, and so does whoever has imported it or depends on it."""

    path: str
    owner: str
    names: set[str]
    statement: CodeType
    later: list[tuple[set[str], set[str], CodeType]]  # what each reads, what it sets

    def __call__(self, live: Live) -> None:
        owner = live.owner(self.path, self.owner)
        scope, inner = dict(vars(live.modules[self.path])), dict(vars(owner))
        local = inner if self.owner else scope
        exec(self.statement, scope, local)
        changed_names = set(self.names)
        for reads, sets, code in self.later:
            if reads & changed_names:
                exec(code, scope, local)
                changed_names |= sets
        for name in changed_names:
            self._spread(owner, name, inner.get(name) if self.owner else vars(owner).get(name), local[name])

    def _spread(self, owner: Any, name: str, old: Any, new: Any) -> None:
        setattr(owner, name, new)
        if not self.owner:
            for module in list(sys.modules.values()):
                if getattr(module, "__dict__", {}).get(name) is old:
                    setattr(module, name, new)


@dataclass
class Mutant:
    """One change, and how to make it."""

    path: str
    line: int
    function: str
    operator: str
    before: str
    after: str
    text: str  # the line it is in
    shown: str  # the line as it becomes, where that is one line
    place: Place | None  # of the function that must run for it to matter
    swap: Callable[[Live], None]
    ordinal: int = 1

    @property
    def identity(self) -> str:
        """What it is, whatever line it is on."""
        change = f"{short(self.before)} -> {short(self.after)}"
        again = f" #{self.ordinal}" if self.ordinal > 1 else ""
        return " :: ".join([self.path, self.function, self.text, self.operator, change]) + again

    def __str__(self) -> str:
        head = f"{self.path}:{self.line} in {self.function} [{self.operator}]"
        if self.shown:
            return f"{head}\n  - {self.text}\n  + {self.shown}"
        return f"{head}\n  - {self.before}\n  + {self.after}"


def short(snippet: str, limit: int = 90) -> str:
    """A long snippet by its ends, and a sum that tells it from others."""
    if len(snippet) <= limit:
        return snippet
    return f"{snippet[: limit // 2]} …{sha256(snippet.encode()).hexdigest()[:6]}… {snippet[-limit // 3 :]}"


# --- from a file to its mutants -----------------------------------------------------------------------------


class Source:
    """A file and its mutants."""

    def __init__(self, path: str, pattern: str | None = None) -> None:
        self.path = path
        self.pattern = re.compile(pattern) if pattern else None
        self.text = Path(path).read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        self.tree = ast.parse(self.text, path)
        # Without the imports a call of np.f would compile as that of a method.
        self.head = [node for node in self.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        self.full = os.path.realpath(path)

    def mutants(self) -> list[Mutant]:
        """All that differ from the file and from one another."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # 1.0[:, None]: the tests will tell
            found = list(self._in_body(self.tree.body, ()))
        seen: Counter[str] = Counter()
        for mutant in found:
            seen[mutant.identity] += 1
            mutant.ordinal = seen[mutant.identity]
        return found

    def _in_body(self, body: list[ast.stmt], classes: tuple[ast.ClassDef, ...]) -> Iterator[Mutant]:
        names = ".".join(c.name for c in classes)
        for i, node in enumerate(body):
            if isinstance(node, ast.ClassDef):
                yield from self._in_body(node.body, (*classes, node))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if self.pattern is None or self.pattern.fullmatch(node.name):
                    name = f"{names}.{node.name}" if names else node.name
                    yield from self._in_defaults(node, name)
                    yield from self._in_function(node, name, classes)
            elif self.pattern is None and is_constant(node, classes):
                later = [n for n in body[i + 1 :] if is_constant(n, classes)]
                yield from self._in_constant(node, names, later)

    def _compiled(self, node: ast.stmt, classes: Sequence[ast.ClassDef] = ()) -> CodeType:
        for outer in reversed(classes):
            node = changed(outer, body=[node], bases=[], keywords=[], decorator_list=[])
        return compile(ast.Module([*self.head, node], []), self.full, "exec", dont_inherit=True)

    def _in_function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, classes: tuple[ast.ClassDef, ...]
    ) -> Iterator[Mutant]:
        old = self._compiled(node, classes)
        top = next(part for part in codes(old) if part.co_qualname == name)
        seen = {content(old)}
        bound = first_bound(node)
        for i, statement in enumerate(node.body):
            if ignored(statement):
                continue
            inner = statement.name if isinstance(statement, ast.FunctionDef) else ""
            below = sites(statement, f"{name}.{inner}" if inner else name)
            for site in (Site(node, "body", i, statement, name), *below):
                line = getattr(site.node, "lineno", 0)
                before = {n for n, first in bound.items() if first < line}
                for operator, other in changes(site, before):
                    with site.taken_by(other):
                        new = self._keeping_cells(node, classes, old)
                    if new is not None and content(new) not in seen:
                        seen.add(content(new))
                        place = (top.co_qualname, top.co_firstlineno)
                        yield self._mutant(site, operator, other, place, CodeSwap(self.path, old, new))

    def _keeping_cells(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, classes: tuple[ast.ClassDef, ...], old: CodeType
    ) -> CodeType | None:
        """The function compiled, what it takes from outside kept, used or not; None if it cannot be."""
        try:
            new = self._compiled(node, classes)
            now = {place: parts[0].co_freevars for place, parts in by_place(new).items()}
            with contextlib.ExitStack() as stack:
                for place, parts in by_place(old).items():
                    names = parts[0].co_freevars
                    if names and now.get(place, names) != names:
                        stack.enter_context(mentioned(names, function_at(node, place)))
                        new = self._compiled(node, classes)
            return new
        except (SyntaxError, ValueError):
            return None

    def _in_defaults(self, node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[Mutant]:
        first = first_line(node)
        args, count = node.args, len(node.args.defaults)
        every: list[tuple[str, int, int | str]] = [("defaults", i, i - count) for i in range(count)]
        given = [i for i, default in enumerate(args.kw_defaults) if default is not None]
        every += [("kw_defaults", i, args.kwonlyargs[i].arg) for i in given]
        for field_name, i, which in every:
            values: list[ast.expr] = getattr(args, field_name)
            yield from self._in_default(Site(args, field_name, i, values[i], name), (name, first), which)

    def _in_default(self, outer: Site, place: Place, which: int | str) -> Iterator[Mutant]:
        values, index = getattr(outer.parent, outer.field), outer.index
        assert index is not None
        for site in (outer, *sites(outer.node, outer.function)):
            for operator, other in changes(site, set()):
                with site.taken_by(other):
                    code = compile(ast.Expression(values[index]), self.full, "eval", dont_inherit=True)
                yield self._mutant(site, operator, other, place, DefaultSwap(self.path, place, which, code))

    def _in_constant(self, node: ast.stmt, owner: str, later: list[ast.stmt]) -> Iterator[Mutant]:
        rest = [(names_in(n, ast.Load), names_in(n, ast.Store), self._compiled(n)) for n in later]
        label = f"{owner}.{min(names_in(node, ast.Store))}" if owner else min(names_in(node, ast.Store))
        old, seen = self._compiled(node), {ast.dump(node)}
        for site in sites(node, label):
            if site.field == "targets":
                continue
            for operator, other in changes(site, set()):
                with site.taken_by(other):
                    new, dump = self._compiled(node), ast.dump(node)
                if dump not in seen:
                    seen.add(dump)
                    swap: Callable[[Live], None]
                    if any(isinstance(part, ast.Lambda) for part in ast.walk(node)):
                        swap = CodeSwap(self.path, old, new)
                    else:
                        swap = ConstantSwap(self.path, owner, names_in(node, ast.Store), new, rest)
                    yield self._mutant(site, operator, other, None, swap)

    def _mutant(
        self, site: Site, operator: str, other: ast.AST, place: Place | None, swap: Callable[[Live], None]
    ) -> Mutant:
        node: Any = site.node
        before, after = ast.unparse(site.node), ast.unparse(other)
        return Mutant(
            path=self.path,
            line=node.lineno,
            function=site.function,
            operator=operator,
            before=" ".join(before.split()),
            after=" ".join(after.split()),
            text=without_comment(self.lines[node.lineno - 1]),
            shown=self._shown(node, f"({after})" if needs_brackets(site.node, other) else after),
            place=place,
            swap=swap,
        )

    def _shown(self, node: Any, after: str) -> str:
        if node.end_lineno != node.lineno or "\n" in after:
            return ""
        line = self.lines[node.lineno - 1].encode()
        left, right = line[: node.col_offset], line[node.end_col_offset :]
        if left.endswith(b"(") and right.startswith(b")") and after.startswith("("):
            after = after[1:-1]
        return without_comment((left + after.encode() + right).decode())


def needs_brackets(old: ast.AST, new: ast.AST) -> bool:
    """Whether the new text would fall apart where the old one holds together."""
    tight = isinstance(old, ast.Call | ast.Attribute) or (
        isinstance(old, ast.BinOp) and isinstance(old.op, ast.Pow)
    )
    return tight and isinstance(new, ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp | ast.IfExp)


def function_at(node: ast.AST, place: Place) -> Any:
    """The function in the tree that has its code there; None for a lambda and the like."""
    functions = (n for n in ast.walk(node) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return next(
        (n for n in functions if (n.name, first_line(n)) == (place[0].split(".")[-1], place[1])), None
    )


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Where its code says that it begins."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


@contextlib.contextmanager
def mentioned(names: Iterable[str], function: Any) -> Iterator[None]:
    """A function with a line that is never run and uses these names."""
    if function is None:
        yield
        return
    function.body += ast.parse("if False: " + ", ".join(names)).body
    try:
        yield
    finally:
        function.body.pop()


def without_comment(line: str) -> str:
    """A line of code without its comment and its indentation."""
    return re.sub(r"\s+#\s[^'\"]*$", "", " ".join(line.split()))


def names_in(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """Names that a statement reads or sets."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def is_constant(node: ast.stmt, classes: Sequence[ast.ClassDef]) -> bool:
    """A name set once for all: of a module, or of a class where it is no field and no member of an Enum."""
    if not isinstance(node, ast.Assign if classes else ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    bases = " ".join(ast.unparse(base) for outer in classes for base in outer.bases)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [t.id for t in targets if isinstance(t, ast.Name)]
    type_like = any(re.match(r"__|_?[A-Z][a-z]", name) for name in names)
    special = type_like or re.search("Enum|Flag|NamedTuple|Protocol", bases)
    return len(names) == len(targets) and not special


def sources(targets: Iterable[str]) -> list[Source]:
    """The files of `FILES` or `FILES:NAMES`; a file may come twice with different names."""
    chosen: dict[str, list[str | None]] = {}
    for target in targets:
        glob, _, names = target.partition(":")
        for path in sorted(Path().glob(glob)):
            chosen.setdefault(path.as_posix(), []).append(names or None)
    return [
        Source(path, None if None in names else "|".join(f"(?:{n})" for n in names if n))
        for path, names in chosen.items()
    ]


# --- children -----------------------------------------------------------------------------------------------


@dataclass
class Limits:
    """What a child may take: seconds of processor time, and bytes above what the parent has."""

    seconds: float
    memory: int

    def impose(self) -> None:
        """On this process."""
        size = Path("/proc/self/statm")
        if size.exists():
            most = int(size.read_text().split()[0]) * resource.getpagesize() + self.memory
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)  # ends the process


class Child:
    """A fork that does one job and leaves its result in a file."""

    def __init__(self, job: Callable[[], Any], limits: Limits, folder: Path) -> None:
        self.patience = time.monotonic() + 20.0 * limits.seconds + 60.0  # for a child that sleeps
        self.file = folder / f"{time.monotonic_ns()}.json"
        self.late = False
        self.pid = os.fork()
        if self.pid == 0:
            self._work(job, limits)
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)  # as the child does itself, whoever comes first

    def _work(self, job: Callable[[], Any], limits: Limits) -> None:
        status = 3
        try:
            os.setpgid(0, 0)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nowhere, descriptor)
            limits.impose()
            self.file.write_text(json.dumps(job()), encoding="utf-8")
            status = 0
        except MemoryError:
            status = 4
        except BaseException:
            self.file.write_text(traceback.format_exc(), encoding="utf-8")
        finally:
            os._exit(status)

    def result(self) -> dict[str, Any] | None:
        """What came of it; None as long as it runs."""
        if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > self.patience and not self.late:
                self.late = True
                self.kill()
            return None
        self.kill()  # what it may have started
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSIGNALED(status):
            slow = self.late or os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGKILL)
            return {"status": "timeout", "by": "its time"} if slow else {"status": "killed", "by": "a crash"}
        if os.WEXITSTATUS(status) == 4:
            return {"status": "killed", "by": "its memory"}
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else f"exit status {status}"
        self.file.unlink(missing_ok=True)
        if os.WEXITSTATUS(status):
            return {"status": "error", "by": text}
        found: dict[str, Any] = json.loads(text)
        return found

    def kill(self) -> None:
        """End it, and its own children."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


class Pool:
    """A few children at a time."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.running: list[tuple[Child, Callable[[dict[str, Any]], None]]] = []

    def add(self, start: Callable[[], Child], finish: Callable[[dict[str, Any]], None]) -> None:
        """Start a child as soon as there is room."""
        self.wait(self.size - 1)
        self.running.append((start(), finish))

    def wait(self, most: int = 0) -> None:
        """Until no more than so many run."""
        while len(self.running) > most:
            for entry in list(self.running):
                result = entry[0].result()
                if result is not None:
                    self.running.remove(entry)
                    entry[1](result)
            if len(self.running) > most:
                time.sleep(0.003)

    def close(self) -> None:
        """End all that still run."""
        for child, _ in self.running:
            child.kill()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child.pid, 0)


# --- the campaign -------------------------------------------------------------------------------------------


UNREACHED = "no test runs it"
STATUSES = ("killed", "timeout", "survived", "error")


@dataclass
class Outcome:
    """What became of a mutant."""

    mutant: Mutant
    status: str  # one of STATUSES
    by: str


@dataclass
class Options:
    """How to run."""

    workers: int = 2
    time_limit: float | None = None
    memory: int = 2 << 30
    all_tests: bool = False
    listed: set[str] = field(default_factory=set)


class Campaign:
    """A plugin for pytest: after the tests are collected, it forks for each mutant and runs them there."""

    def __init__(self, mutants: list[Mutant], files: list[Source], options: Options) -> None:
        self.mutants, self.files, self.options = mutants, files, options
        self.say = Teller()
        self.outcomes: list[Outcome] = []
        self.refusal = ""
        self.failure = ""
        self.interrupted = False
        self.seconds: list[float] = []
        self.hit: set[int] | None = None  # the code that a test has run, while that is asked
        self.prepared: dict[str, set[int]] = defaultdict(set)  # the same of fixtures that tests share
        self.covered: dict[tuple[str, Place], set[int]] = defaultdict(set)
        self.kills: Counter[int] = Counter()
        self.kills_here: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        self.pool = Pool(options.workers)

    # hooks

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Examples that fail need not be made small, where conftest.py has chosen examples at all."""
        if "hypothesis" in sys.modules:
            from hypothesis import Phase, settings

            phases = (Phase.explicit, Phase.generate)
            settings.register_profile("mutants", settings(), phases=phases, report_multiple_bugs=False)
            settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the first failure."""
        if report.failed and not self.failure:
            self.failure = f"{report.nodeid}\n{report.longreprtext}"

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """What a shared fixture runs, all its tests run."""
        if self.hit is None or fixturedef.scope == "function":
            return (yield)
        before = set(self.hit)
        self.hit.clear()
        try:
            return (yield)
        finally:
            self.prepared[fixturedef.argname] |= self.hit
            self.hit |= before

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """The mutants, instead of the tests."""
        self.session, self.items = session, session.items
        if session.testsfailed or not self.items:
            self.refusal = "The tests could not be collected."
            return True
        try:
            with tempfile.TemporaryDirectory() as folder:
                self.folder = Path(folder)
                self._run()
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.pool.close()
        return True

    # steps

    def _run(self) -> None:
        try:
            for source in self.files:
                import_file(source.path)
        except Exception as problem:
            self.refusal = f"Cannot be imported: {source.path}: {problem!r}"
            return
        self.live = Live(source.path for source in self.files)
        edited = [s.path for s in self.files if Path(s.path).read_text(encoding="utf-8") != s.text]
        if edited:
            self.refusal = f"Edited while this started: {', '.join(edited)}. Start again."
            return
        gc.collect()
        gc.freeze()
        self._unchanged()
        if self.refusal:
            return
        reached = [mutant for mutant in self.mutants if self._order(mutant)]
        self.started, self.total = time.monotonic(), len(reached)
        for mutant in reached:
            self._try(mutant, self._order(mutant), self.outcomes.append)
        self.pool.wait()
        if self.options.all_tests:
            self._again()
        never = [mutant for mutant in self.mutants if not self._order(mutant)]
        self.outcomes += [Outcome(mutant, "survived", UNREACHED) for mutant in never]

    def _again(self) -> None:
        """Survivors not explained meet the other tests too: a cache shared by tests hides who uses what."""
        open_ones = [
            (i, o.mutant)
            for i, o in enumerate(self.outcomes)
            if o.status == "survived" and o.mutant.identity not in self.options.listed
        ]
        self.say(f"{len(open_ones)} survivors meet the tests that do not run their function")
        for i, mutant in open_ones:
            others = set(range(len(self.items))) - set(self._order(mutant))
            if others:
                order = sorted(others, key=self._rate(mutant))
                self._try(mutant, order, functools.partial(self.outcomes.__setitem__, i))
        self.pool.wait()

    def _unchanged(self) -> None:
        """All tests pass without a change, forwards and backwards; who runs what, and for how long."""
        self.say(f"{len(self.items)} tests, {len(self.mutants)} mutants; the tests without a change first")
        order = list(range(len(self.items)))
        results: dict[str, dict[str, Any]] = {}
        limits = Limits(36000.0, 16 << 30)
        jobs = {"forwards": lambda: self._traced(order), "backwards": lambda: self._tests(order[::-1])}
        for name, job in jobs.items():
            start = functools.partial(Child, job, limits, self.folder)
            self.pool.add(start, functools.partial(results.__setitem__, name))
        self.pool.wait()
        for name, result in results.items():
            if result["status"] != "survived":
                self.refusal = f"Tests fail without a change ({name}): {result.get('detail') or result['by']}"
                return
        self.seconds = results["backwards"]["seconds"][::-1]
        for i, keys in enumerate(results["forwards"]["covered"]):
            for path, name, line in keys:
                self.covered[path, (name, line)].add(i)
        self.say(f"They pass in {sum(self.seconds):.1f} s")

    def _traced(self, order: list[int]) -> dict[str, Any]:
        """In a child: the tests, and which functions each calls."""
        wanted: dict[int, tuple[str, str, int]] = {}
        for (path, place), functions in self.live.functions.items():
            for function in functions if "<locals>" not in place[0] else []:
                for part in codes(function.__code__):
                    wanted[id(part)] = (path, *place)
        covered: list[list[tuple[str, str, int]]] = []
        hit = self.hit = set()

        def trace(frame: FrameType, event: str, arg: object) -> None:
            if id(frame.f_code) in wanted:
                hit.add(id(frame.f_code))

        def between(item: pytest.Item) -> None:
            shared = (self.prepared[name] for name in getattr(item, "fixturenames", ()))
            covered.append(sorted({wanted[i] for i in hit.union(*shared)}))
            hit.clear()

        threading.settrace(trace)
        sys.settrace(trace)
        result = self._tests(order, between)
        sys.settrace(None)
        return {**result, "covered": covered}

    def _tests(
        self, order: list[int], between: Callable[[pytest.Item], None] = lambda item: None
    ) -> dict[str, Any]:
        """In a child: the tests up to the first that fails."""
        seconds = []
        for i, following in zip(order, [*order[1:], None], strict=True):
            begun = time.process_time()
            after = None if following is None else self.items[following]
            self.session.config.hook.pytest_runtest_protocol(item=self.items[i], nextitem=after)
            seconds.append(time.process_time() - begun)
            between(self.items[i])
            if self.session.testsfailed:
                return {"status": "killed", "by": self.items[i].nodeid, "item": i, "detail": self.failure}
        return {"status": "survived", "by": "", "seconds": seconds}

    def _try(self, mutant: Mutant, order: list[int], done: Callable[[Outcome], None]) -> None:
        """Start a child for a mutant."""

        def job() -> dict[str, Any]:
            try:
                mutant.swap(self.live)
            except SwapError as problem:
                return {"status": "error", "by": str(problem)}
            except Exception as problem:
                return {"status": "killed", "by": f"its import: {problem!r}"}
            return self._tests(order)

        def finish(result: dict[str, Any]) -> None:
            if "item" in result:
                self.kills[result["item"]] += 1
                self.kills_here[mutant.path, mutant.function][result["item"]] += 1
            done(Outcome(mutant, result["status"], result["by"]))
            self._progress()

        enough = max(10.0, 5.0 * sum(self.seconds[i] for i in order))
        limits = Limits(self.options.time_limit or enough, self.options.memory)
        self.pool.add(functools.partial(Child, job, limits, self.folder), finish)

    def _order(self, mutant: Mutant) -> list[int]:
        """The tests that run the function, the likeliest and quickest killers first."""
        every: Iterable[int] = range(len(self.items))
        if mutant.place is not None:
            every = self.covered[mutant.path, mutant.place]
        return sorted(every, key=self._rate(mutant))

    def _rate(self, mutant: Mutant) -> Callable[[int], tuple[float, int]]:
        here = self.kills_here[mutant.path, mutant.function]
        return lambda i: (-(0.1 + self.kills[i] + 10.0 * here[i]) / (self.seconds[i] + 0.005), i)

    def _progress(self) -> None:
        counts = Counter(outcome.status for outcome in self.outcomes)
        done = len(self.outcomes)
        left = (time.monotonic() - self.started) / max(done, 1) * (self.total - done)
        numbers = ", ".join(f"{counts[s]} {s}" for s in STATUSES if counts[s])
        self.say(f"\r{done}/{self.total}: {numbers}; {int(left) // 60}:{int(left) % 60:02d} left ")


def import_file(path: str) -> None:
    """Import the module of a file, where no test has done so."""
    full = os.path.realpath(path)
    if any(os.path.realpath(getattr(m, "__file__", None) or "") == full for m in list(sys.modules.values())):
        return
    parts, folder = [Path(full).stem], Path(full).parent
    while (folder / "__init__.py").exists():
        parts, folder = [folder.name, *parts], folder.parent
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.import_module(".".join(parts if parts[-1] != "__init__" else parts[:-1]))


# --- the report ---------------------------------------------------------------------------------------------


def read_equivalents(path: Path) -> dict[str, str]:
    """`identity | reason` by line; a # begins a comment."""
    entries: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        identity, _, reason = line.rpartition(" | ")
        if not identity or not re.search("[A-Za-z]", reason):
            raise SystemExit(f"{path}:{number}: wants `identity | reason`")
        entries[identity.strip()] = reason.strip()
    return entries


def by_file(outcomes: Iterable[Outcome]) -> str:
    """How many mutants each file of tests has killed."""
    counts = Counter(o.by.split(":")[0] for o in outcomes if o.status == "killed")
    return "\n".join(f"{count:6d} by {name}" for name, count in counts.most_common())


def tell(title: str, outcomes: list[Outcome]) -> None:
    """A list of mutants."""
    if outcomes:
        print(f"\n{title}:")
    for outcome in outcomes:
        print(f"\n{outcome.mutant}" + (f"\n  {outcome.by}" if outcome.status == "error" else ""))


def report(outcomes: list[Outcome], entries: dict[str, str], stale: list[str]) -> int:
    """Say what was found; the exit status."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in sorted(outcomes, key=lambda o: (o.mutant.path, o.mutant.line)):
        groups[outcome.status].append(outcome)
    new = [o for o in groups["survived"] if o.mutant.identity not in entries]
    wrong = [o for o in groups["killed"] + groups["timeout"] if o.mutant.identity in entries]
    tell("Out of time", groups["timeout"])
    tell("Survived", [o for o in new if o.by != UNREACHED])
    tell("Could not be made", groups["error"])
    for (path, name), count in Counter((o.mutant.path, o.mutant.function) for o in new if o.by).items():
        print(f"\nNo test runs {name} in {path}: {count} survived")
    for outcome in wrong:
        print(f"\nListed as equivalent, but killed by {outcome.by}:\n{outcome.mutant.identity}")
    for identity in stale:
        print(f"\nListed, but there is no such mutant any more:\n{identity}")
    print(f"\n{by_file(outcomes)}")
    counts = ", ".join(f"{len(groups[s])} {s}" for s in STATUSES if groups[s])
    listed = len(groups["survived"]) - len(new)
    print(f"{len(outcomes)} mutants: {counts or 'none'}" + (f" ({listed} of them listed)" if listed else ""))
    if groups["error"]:
        return 2
    return int(bool(new or wrong or stale))


def stale_entries(entries: Iterable[str], mutants: Iterable[Mutant], files: Iterable[Source]) -> list[str]:
    """Entries that match no mutant, of the files looked at or of files that are gone."""
    known, looked_at = {m.identity for m in mutants}, {s.path for s in files}
    paths = {identity: identity.split(" :: ")[0] for identity in entries}
    gone = {path for path in paths.values() if path in looked_at or not Path(path).exists()}
    return [identity for identity, path in paths.items() if identity not in known and path in gone]


class Teller:
    """Lines for whoever waits: progress on one line of a terminal, now and then elsewhere."""

    def __init__(self) -> None:
        self.stream = os.fdopen(os.dup(2), "w")
        self.last = 0.0

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if not text.startswith("\r"):
            print(text, file=self.stream, flush=True)
        elif now - self.last > (0.2 if self.stream.isatty() else 15.0):
            self.last = now
            end = "" if self.stream.isatty() else "\n"
            print(text if not end else text.strip(), end=end, file=self.stream, flush=True)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("tests", nargs="*", help=f"tests to kill with (default: {' '.join(TESTS)})")
    add = parser.add_argument
    add("--target", action="append", metavar="FILES[:NAMES]", help="change these instead of the kernel")
    add("--also", action="append", default=[], metavar="FILES[:NAMES]", help="change these too")
    add("--only", action="append", metavar="TEXT", help="those with this in their file or function")
    add("--list", action="store_true", help="print the mutants and run nothing")
    add("--sample", type=int, metavar="N", help="a random few")
    add("--seed", type=int, default=0, help="of the sample")
    add("-n", "--workers", type=int, default=2, metavar="N", help="children at a time")
    add("--time-limit", type=float, metavar="S", help="processor time of each (default: 5 × its tests, ≥ 10)")
    add("--memory", type=float, default=2.0, metavar="GIB", help="memory of each")
    add(
        "--all-tests", action="store_true", help="survivors meet the tests that do not run their function too"
    )
    add("--skip-listed", action="store_true", help="leave out those listed as equivalent")
    add("--equivalents", type=Path, default=Path(EQUIVALENTS), metavar="FILE", help="that list")
    add("--survivors-out", type=Path, metavar="FILE", help="write the other survivors in its form")
    return parser.parse_intermixed_args(given)


def chosen(mutants: list[Mutant], options: argparse.Namespace, entries: dict[str, str]) -> list[Mutant]:
    """Those asked for."""
    if options.only:
        mutants = [m for m in mutants if any(t in m.path or t in m.function for t in options.only)]
    if options.skip_listed:
        mutants = [m for m in mutants if m.identity not in entries]
    if options.sample is not None and options.sample < len(mutants):
        picked = set(random.Random(options.seed).sample(range(len(mutants)), options.sample))
        mutants = [m for i, m in enumerate(mutants) if i in picked]
    return mutants


PYTEST = (
    "-q",
    "-s",
    "--tb=native",
    "--assert=plain",
    "-pno:cacheprovider",
    "-pno:xdist",
    "-pno:faulthandler",
)


def campaign(
    mutants: list[Mutant], files: list[Source], options: argparse.Namespace, listed: set[str]
) -> Campaign:
    """Run the tests on the mutants."""
    memory = int(options.memory * 2**30)
    how = Options(options.workers, options.time_limit, memory, options.all_tests, listed)
    plugin, heard = Campaign(mutants, files, how), io.StringIO()
    with contextlib.redirect_stdout(heard):
        status = pytest.main([*PYTEST, *(options.tests or filter(os.path.exists, TESTS))], plugins=[plugin])
    if plugin.refusal or status != pytest.ExitCode.OK:
        raise SystemExit(f"{plugin.refusal}\n{heard.getvalue()}".strip())
    return plugin


def main(given: Sequence[str] | None = None) -> int:
    """List or run; 1 if a mutant survives unexplained, 2 if something went wrong."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = arguments(given)
    files = sources([*(options.target or TARGETS), *([] if options.target else ALSO), *options.also])
    every = [mutant for source in files for mutant in source.mutants()]
    entries = read_equivalents(options.equivalents)
    mutants = chosen(every, options, entries)
    if not mutants:
        print("There is nothing to change.", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(mutant.identity for mutant in mutants))
        return 0
    try:
        asked = {mutant.path for mutant in mutants}
        done = campaign(mutants, [s for s in files if s.path in asked], options, set(entries))
    except SystemExit as refusal:
        print(refusal, file=sys.stderr)
        return 2
    survivors = [o.mutant.identity for o in done.outcomes if o.status == "survived"]
    if options.survivors_out:
        new = [f"{identity} | ?\n" for identity in survivors if identity not in entries]
        options.survivors_out.write_text("".join(new), encoding="utf-8")
    status = report(done.outcomes, entries, stale_entries(entries, every, files))
    if done.interrupted:
        print("Interrupted: these are not all.")
    return 2 if done.interrupted else status


if __name__ == "__main__":
    sys.exit(main())
