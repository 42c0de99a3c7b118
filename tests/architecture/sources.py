"""The sources of the package as syntax trees; nothing is imported."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dualgap"


@dataclass(frozen=True)
class Source:
    """A module: its dotted name below dualgap, its text and its tree."""

    path: Path
    name: str
    text: str

    @property
    def folder(self) -> str:
        """The room it is in: losses, drive, …; a module beside the folders is a room of its own."""
        return self.name.partition(".")[0]

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> dict[str, str]:
        """What each imported name stands for, dotted in full, wherever in the module it is imported."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
            elif isinstance(node, ast.Import):
                found |= {one.asname or one.name.partition(".")[0]: one.name for one in node.names}
        return found

    @cached_property
    def modules(self) -> set[str]:
        """The modules it imports from, dotted in full; those for type checkers alone are left out."""
        typing = {id(node) for block in self._for_types() for node in ast.walk(block)}
        found: set[str] = set()
        for node in self.nodes:
            if id(node) in typing:
                continue
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {_module(node.module, one.name) for one in node.names}
            elif isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
        return found

    def _for_types(self) -> Iterator[ast.If]:
        for node in self.nodes:
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                yield node

    @cached_property
    def classes(self) -> list[str]:
        """Classes at the top of the module."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]

    @cached_property
    def commented(self) -> set[int]:
        """The lines that have a comment, alone or behind code."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return {token.start[0] for token in tokens if token.type == tokenize.COMMENT}


def _module(module: str, name: str) -> str:
    """`from a.b import c` imports the module a.b.c where there is one, a.b otherwise."""
    inner = f"{module}.{name}"
    path = PACKAGE.parent / Path(*inner.split("."))
    return inner if path.is_dir() or path.with_suffix(".py").is_file() else module


@cache
def sources() -> tuple[Source, ...]:
    """Every module of the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Source(path, name, path.read_text(encoding="utf-8")))
    return tuple(found)
