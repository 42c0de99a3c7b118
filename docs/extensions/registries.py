"""`{catalogue} NAME`: a table written from a registry of the package, so that it cannot be out of date."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from docutils import nodes
from sources import depends_on_sources
from sphinx.util.docutils import SphinxDirective

Row = tuple[str, ...]


def said(thing: Any) -> str:
    """The first paragraph of the docstring, on one line of a table."""
    first = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
    return first.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def options(cls: type) -> str:
    """The keywords with their defaults."""
    found = []
    for one in dataclasses.fields(cls):
        default = one.default if one.default is not dataclasses.MISSING else None
        if one.default_factory is not dataclasses.MISSING:
            default = one.default_factory()
        found.append(one.name if default is None else f"{one.name}={default!r}")
    return ", ".join(f"`{text}`" for text in found)


def typed(module: str, name: str, cls: type) -> str:
    """As a user types it, with the parameters that it takes, and the object of that name."""
    fields = ", ".join(one.name for one in dataclasses.fields(cls))
    return f"`{name}({fields})`<br>`dg.{module}.{cls.__name__}`".replace("()", "")


def losses() -> list[Row]:
    """Every loss."""
    from dualgap.losses import CATALOGUE
    from dualgap.traits import Trait

    rows: list[Row] = [("name, object", "for", "what it is")]
    for name, cls in CATALOGUE.items():
        fields = [
            1.0 if one.default is dataclasses.MISSING else one.default for one in dataclasses.fields(cls)
        ]
        kind = cls(*[0.5 if value is None else value for value in fields]).traits
        purpose = "classes" if Trait.CLASSIFICATION in kind else "numbers"
        convex = "" if Trait.CONVEX in kind else "; not convex"
        rows.append((typed("losses", name, cls), purpose + convex, said(cls)))
    return rows


def penalties() -> list[Row]:
    """Every penalty."""
    from dualgap.penalties import CATALOGUE

    rows: list[Row] = [("name, object", "what it is")]
    return rows + [(typed("penalties", name, cls), said(cls)) for name, cls in CATALOGUE.items()]


def runners(module: str, registry: Mapping[str, type], manual: Collection[str]) -> list[Row]:
    """Solvers or searches: their names, options, and whether "auto" takes them."""
    rows: list[Row] = [("name, object", "options", "auto", "what it does")]
    for name, cls in registry.items():
        both = f"`{name}`<br>`dg.{module}.{cls.__name__}`"
        rows.append((both, options(cls), "" if name in manual else "✓", said(cls)))
    return rows


def solvers() -> list[Row]:
    """Every solver of convex problems."""
    import dualgap.solvers  # noqa: F401
    from dualgap.drive.registry import MANUAL, of_kind

    return runners("solvers", of_kind("convex"), MANUAL)


def searches() -> list[Row]:
    """Every search for problems that are not convex."""
    import dualgap.discrete  # noqa: F401
    from dualgap.drive.registry import MANUAL, of_kind

    return runners("discrete", of_kind("search"), MANUAL)


def kernels() -> list[Row]:
    """Every kernel with a name."""
    from dualgap.kernels import CATALOGUE

    rows: list[Row] = [("name", "object", "what it is")]
    return rows + [(f"`{name}`", f"`{cls.__name__}`", said(cls)) for name, cls in CATALOGUE.items()]


def rules_of(module: Any, base: type) -> list[Row]:
    """The subclasses of a base that a module defines."""
    rows: list[Row] = [("object", "options", "what it is")]
    for name, cls in vars(module).items():
        if inspect.isclass(cls) and issubclass(cls, base) and cls is not base and not name.startswith("_"):
            rows.append((f"`{name}`", options(cls), said(cls)))
    return rows


def steps() -> list[Row]:
    """Every rule for the length of a step."""
    from dualgap.solvers.textbook import steps as module

    return rules_of(module, module.Step)


def stopping() -> list[Row]:
    """Every rule for when to stop."""
    from dualgap.drive import stopping as module

    return rules_of(module, module.Stop)


def datasets() -> list[Row]:
    """Data sets that can be named instead of a file."""
    from dualgap.tables.sources import SHIPPED

    rows: list[Row] = [("name", "rows", "columns", "target", "about")]
    return rows + [
        (f"`{one.name}`", str(one.rows), str(one.columns), f"`{one.target}`", one.about)
        for one in SHIPPED.values()
    ]


def verbs() -> list[Row]:
    """The verbs of the command line."""
    from dualgap.cli.main import VERBS

    rows: list[Row] = [("verb", "what it does")]
    return rows + [(f"`dualgap {verb}`", about) for verb, about in VERBS.items()]


TABLES: dict[str, Callable[[], list[Row]]] = {
    function.__name__: function
    for function in (losses, penalties, solvers, searches, kernels, steps, stopping, datasets, verbs)
}


class Catalogue(SphinxDirective):
    """The table of a registry."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A Markdown table, parsed where the directive stands."""
        depends_on_sources(self.env)
        head, *rows = TABLES[self.arguments[0]]()
        lines = [head, tuple("---" for _ in head), *rows]
        return self.parse_text_to_nodes("\n".join("| " + " | ".join(row) + " |" for row in lines))


def setup(app: Any) -> dict[str, Any]:
    """Enter the directive."""
    app.add_directive("catalogue", Catalogue)
    return {"parallel_read_safe": True}
