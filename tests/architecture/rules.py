"""The rules of docs/architecture.md that import contracts cannot say, and who breaks each how often."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from architecture.sources import Source, sources

NOUNS = ("losses", "penalties", "kernels", "design", "problem", "proof")
TIMELESS = (*NOUNS, "linalg", "multinomial", "solvers")
CLOCKS = ("perf_counter", "monotonic", "time", "process_time")
ENDS = ("iterations", "seconds", "callback", "rule", "until", "late")  # what drive.limits.Limits can be asked
FACTORS = ("dpotrf", "spotrf", "cho_factor", "cho_solve")
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")
FOR_LOOPS = ("numpy", "numba", "llvmlite", "__future__", "typing", "collections", "math", "dataclasses")
STRANGERS = {  # folder -> those it does not import, though the layers would let it
    "estimators": ("solvers", "drive", "linalg", "compiled"),
    "losses": ("design", "problem", "proof"),
    "penalties": ("design", "problem", "proof"),
}

# What stays, and why that is right.
REASONS = {
    "fitting.names asks for Loss": "the door for a name or an object of the user's own",
    "fitting.names asks for Penalty": "the door for a name or an object of the user's own",
    "proof.balance makes a factor": "the kernel imports nothing of ours but formulas",
    "proof.moments makes a factor": "the kernel imports nothing of ours but formulas",
    "Perceptron in losses.hinge": "users know both the loss and the algorithm by this name",
    "Perceptron in solvers.textbook.perceptron": "users know both the loss and the algorithm by this name",
}

Broken = Counter[str]


# -- nobody asks for a class --------------------------------------------------------------------------


def class_questions() -> Broken:
    """isinstance and the like for a class of a noun, outside the folder of that noun."""
    homes = _homes()
    found: Broken = Counter()
    for source in sources():
        for expression in _asked(source):
            for full in _names(expression, source):
                if homes.get(full, source.folder) != source.folder:
                    found[f"{source.name} asks for {full.rpartition('.')[2]}"] += 1
    return found


def _homes() -> dict[str, str]:
    """Full name of every class of a noun, also under the names by which packages hand it on -> its folder."""
    own = {f"dualgap.{s.name}.{name}": s.folder for s in sources() if s.folder in NOUNS for name in s.classes}
    handed = ((f"dualgap.{s.name}.{name}", full) for s in sources() for name, full in s.imports.items())
    return own | {name: own[full] for name, full in handed if full in own}


def _asked(source: Source) -> Iterator[ast.expr]:
    """The classes asked for: isinstance(x, C), issubclass(x, C), type(x) is C, case C()."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass"):
                yield node.args[1]
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            if isinstance(node.left.func, ast.Name) and node.left.func.id == "type":
                yield from node.comparators
        elif isinstance(node, ast.MatchClass):
            yield node.cls


def _names(expression: ast.expr, source: Source) -> Iterator[str]:
    """The full names in A, (A, B), A | B, module.A; what the top of a module names so is looked into."""
    if isinstance(expression, ast.Tuple):
        for part in expression.elts:
            yield from _names(part, source)
    elif isinstance(expression, ast.BinOp):
        yield from _names(expression.left, source)
        yield from _names(expression.right, source)
    elif isinstance(expression, ast.Attribute):
        yield from (f"{full}.{expression.attr}" for full in _names(expression.value, source))
    elif isinstance(expression, ast.Name) and expression.id in source.imports:
        yield source.imports[expression.id]
    elif isinstance(expression, ast.Name):
        for node in source.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == expression.id:
                yield from _names(node.value, source)


# -- names and imports --------------------------------------------------------------------------------


def shared_names() -> Broken:
    """Public classes of one name in several modules."""
    where: dict[str, set[str]] = defaultdict(set)
    for source in sources():
        for name in source.classes:
            if not name.startswith("_"):
                where[name].add(source.name)
    return Counter(f"{name} in {m}" for name, modules in where.items() if len(modules) > 1 for m in modules)


def strange_imports() -> Broken:
    """Imports that no layer forbids, and that are wrong all the same (STRANGERS)."""
    return Counter(
        f"{source.name} imports {module}"
        for source in sources()
        for module in source.modules
        if module.startswith("dualgap.") and module.split(".")[1] in STRANGERS.get(source.folder, ())
    )


def dependent_loops() -> Broken:
    """Sources of compiled loops that import more than loops, the layouts of their arguments, and types.

    What they import is part of the name of the cache: an estimator there would mean compiling at every edit.
    """
    loops = [source for source in sources() if "dualgap.compiled.mechanism" in source.modules]
    known = {f"dualgap.{source.name}" for source in loops} | {"dualgap.arrays"}

    def plain(module: str) -> bool:
        ours = module.startswith("dualgap.") and not module.startswith("dualgap.compiled.")
        return module in known or (not ours and module.split(".")[0] in (*FOR_LOOPS, "dualgap"))

    layouts = {f"dualgap.{s.name}" for s in sources() if all(map(plain, s.modules))}
    return Counter(
        f"{source.name} imports {module}"
        for source in loops
        for module in source.modules
        if not plain(module) and module not in layouts
    )


def factors_elsewhere() -> Broken:
    """Cholesky factors outside linalg/: there is one, with one way to raise a diagonal."""
    return Counter(
        f"{source.name} makes a factor"
        for source in sources()
        if source.folder != "linalg"
        for node in source.nodes
        if isinstance(node, ast.Attribute)
        and (node.attr in FACTORS or (node.attr == "cholesky" and ast.unparse(node.value).endswith("linalg")))
    )


# -- one loop -----------------------------------------------------------------------------------------


def readers_of_limits() -> Broken:
    """Who asks outside drive/ whether it is time to end; elsewhere limits are handed on."""
    return Counter(
        source.name
        for source in sources()
        if source.folder != "drive"
        for node in source.nodes
        if isinstance(node, ast.Attribute)
        and node.attr in ENDS
        and (node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", ""))
        == "limits"
    )


def readers_of_clocks() -> Broken:
    """What computes does not know the time."""
    return Counter(
        source.name
        for source in sources()
        if source.folder in TIMELESS
        for node in source.nodes
        if isinstance(node, ast.Attribute)
        and node.attr in CLOCKS
        and isinstance(node.value, ast.Name)
        and node.value.id == "time"
    )


# -- a constant says why ------------------------------------------------------------------------------


def silent_constants() -> Broken:
    """Numbers in capitals at the top of a module without a comment on the line or alone just above."""
    found: Broken = Counter()
    for source in sources():
        text = source.text.splitlines()
        for node in filter(_is_constant, source.tree.body):
            above = node.lineno > 1 and text[node.lineno - 2].startswith("#")
            lines = set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            found[source.name] += not (above or source.commented & lines)
    return +found


def _is_constant(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or not _is_number(node.value):
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [name for target in targets for name in re.findall(r"\w+", ast.unparse(target))]
    return all(CONSTANT.fullmatch(name) for name in names)


def _is_number(value: ast.expr | None) -> bool:
    """A number, arithmetic on numbers, or a tuple of them."""
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(_is_number, value.elts))
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def broken(rule: str) -> Broken:
    """Who breaks a rule without a reason."""
    return Counter({what: count for what, count in RULES[rule]().items() if what not in REASONS})


RULES: dict[str, Callable[[], Broken]] = {
    "nobody asks for a class": class_questions,
    "no two public classes have one name": shared_names,
    "estimators compute nothing, formulas do not know who asks": strange_imports,
    "a compiled loop depends on loops alone": dependent_loops,
    "a factor is made in linalg": factors_elsewhere,
    "one loop reads the limits": readers_of_limits,
    "what computes does not know the time": readers_of_clocks,
    "a constant says why": silent_constants,
}
