"""--groups: from words on the command line, or a file of them, to the group of each column of the matrix."""

from __future__ import annotations

from pathlib import Path

from dualgap.cli.console import UsageError
from dualgap.fitting.groups import of_recipe
from dualgap.tables.formula import FormulaRecipe
from dualgap.tables.recipe import Recipe


def groups_named(which: str, recipe: Recipe | FormulaRecipe) -> list[int]:
    """'columns', labels separated by commas, or a file with a group of columns on each line."""
    if which == "columns":
        return [int(g) for g in of_recipe(recipe)]
    if Path(which).is_file():
        return _from_lines(which, recipe)
    labels = [label.strip() for label in which.split(",")]
    columns = list(dict.fromkeys(recipe.sources))
    if len(labels) == len(columns):
        labels = [labels[int(g)] for g in of_recipe(recipe)]
    elif len(labels) != len(recipe.names):
        raise UsageError(
            f"--groups {which}: neither a file nor one label for each of the {len(columns)} columns "
            f"({', '.join(columns[:6])}{', …' if len(columns) > 6 else ''})."
        )
    return _numbers(labels)


def _from_lines(file: str, recipe: Recipe | FormulaRecipe) -> list[int]:
    """A name stands for a column of the matrix, or for all that was made of a column of the table."""
    meant: dict[str, list[int]] = {}
    for j, (name, table) in enumerate(zip(recipe.names, recipe.sources, strict=True)):
        for key in {name, table}:
            meant.setdefault(key, []).append(j)
    label = [f"alone {j}" for j in range(len(recipe.names))]
    taken: dict[int, int] = {}
    for k, line in enumerate(Path(file).read_text(encoding="utf-8").splitlines(), 1):
        for name in filter(None, (part.strip() for part in line.split(","))):
            if name not in meant:
                raise UsageError(f"{file}, line {k}: there is no column {name!r}.")
            for j in meant[name]:
                if taken.setdefault(j, k) != k:
                    raise UsageError(
                        f"{file}, line {k}: {name!r} is in line {taken[j]} too; a column has one group."
                    )
                label[j] = f"line {k}"
    return _numbers(label)


def _numbers(labels: list[str]) -> list[int]:
    seen: dict[str, int] = {}
    return [seen.setdefault(label, len(seen)) for label in labels]
