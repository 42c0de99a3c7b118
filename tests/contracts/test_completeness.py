"""Nothing is forgotten in silence: what lies in a folder is catalogued, tested, exported, documented."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dualgap
from cases import DESIGNS, LOSSES, PENALTIES
from dualgap import design, losses, penalties, solvers
from dualgap.design import Design
from dualgap.design.base import Wrapped
from dualgap.drive.registry import SOLVERS
from dualgap.losses import Loss
from dualgap.penalties import Penalty

ROOT = Path(__file__).parents[2]
MATHEMATICS = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
NEEDS_AN_EXTRA = {"dualgap.__main__"}


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """The package and all below it."""
    yield package
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if found.name not in NEEDS_AN_EXTRA:
            yield importlib.import_module(found.name)


def classes(package: ModuleType) -> Iterator[type[Any]]:
    """Every class that a module of the package defines."""
    for module in modules(package):
        for _, found in inspect.getmembers(module, inspect.isclass):
            if found.__module__ == module.__name__:
                yield found


def concrete(package: ModuleType, kind: type[Any]) -> list[type[Any]]:
    """Those with a name of their own: the abstract ones have none."""
    return [
        cls for cls in classes(package) if issubclass(cls, kind) and isinstance(vars(cls).get("name"), str)
    ]


def is_frozen(cls: Any) -> bool:
    """A dataclass that cannot be written to."""
    return dataclasses.is_dataclass(cls) and bool(getattr(cls, "__dataclass_params__").frozen)  # noqa: B009


NAMED = [*concrete(losses, Loss), *concrete(penalties, Penalty)]


def catalogue(package: ModuleType) -> dict[str, type[Any]]:
    """Losses that make several predictions for a row are in one of their own."""
    return {**package.CATALOGUE, **getattr(package, "OF_SEVERAL", {})}


@pytest.mark.parametrize("cls", NAMED, ids=lambda cls: cls.__name__)
def test_every_loss_and_penalty_is_catalogued_exported_and_documented(cls: type[Any]) -> None:
    package = losses if issubclass(cls, Loss) else penalties
    assert catalogue(package).get(cls.name) is cls, f"add a line to CATALOGUE in {package.__name__}"
    assert getattr(package, cls.__name__) is cls
    assert is_frozen(cls)
    assert inspect.getdoc(cls)
    symbol = "L" if package is losses else "h(w)"
    opening = (inspect.getdoc(inspect.getmodule(cls)) or "").splitlines()[0]
    assert cls.name in opening and f"{symbol} =" in opening, "line 1 of the file: the name and its formula"


@pytest.mark.parametrize("page", ["README.md", "docs/mathematics.md"])
def test_documents_name_only_what_exists(page: str) -> None:
    """First cells of the tables, `name` or `name(parameters)`, are catalogue names."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `([a-z_0-9]+)(?:\([^`]*\))?`", text, flags=re.MULTILINE))
    assert len(named) >= 11
    assert named <= {*catalogue(losses), *catalogue(penalties)}


def test_the_catalogues_hold_what_the_folders_hold() -> None:
    assert {cls.name for cls in concrete(losses, Loss)} == set(catalogue(losses))
    assert {cls.name for cls in concrete(penalties, Penalty)} == set(penalties.CATALOGUE)


def test_the_contracts_run_over_the_whole_catalogue() -> None:
    assert len({type(loss) for loss in LOSSES}) >= 11
    assert len({type(penalty) for penalty in PENALTIES}) >= 7


def test_every_design_is_under_contract() -> None:
    made: set[type[Any]] = set()
    for build in DESIGNS.values():
        for first in (build(np.eye(2)), build(np.eye(2)).rough()):
            one: Any = first
            while one is not None:
                made.add(type(one))
                one = getattr(one, "inner", None)
    bases = (Design, Wrapped)
    kinds = {cls for cls in classes(design) if hasattr(cls, "weighted_gram") and cls not in bases}
    assert kinds == made


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_every_solver_says_what_it_does(name: str) -> None:
    cls: Any = SOLVERS[name]
    assert cls.name == name
    assert is_frozen(cls)
    assert len(inspect.getdoc(cls) or "") > 20
    assert cls() == cls(), "a solver is its options, and has a default for each"


def test_every_solver_module_is_loaded_with_the_package() -> None:
    before = set(SOLVERS)
    for _ in modules(solvers):
        pass
    assert set(SOLVERS) == before, "a solver is missing from solvers/__init__.py"


def test_every_public_thing_has_a_docstring() -> None:
    """Methods may inherit theirs from a base class or from the protocol they fulfil."""
    everything = list(classes(dualgap))
    protocols = [cls for cls in everything if vars(cls).get("_is_protocol", False)]
    spoken = {name for cls in protocols for name, member in vars(cls).items() if inspect.getdoc(member)}
    silent = []
    for cls in everything:
        if cls.__name__.startswith("_"):
            continue
        if not inspect.getdoc(cls):
            silent.append(f"{cls.__module__}.{cls.__name__}")
        for name, member in vars(cls).items():
            function = inspect.isfunction(member) or isinstance(member, property)
            if (
                function
                and not name.startswith("_")
                and name not in spoken
                and not inspect.getdoc(getattr(cls, name))
            ):
                silent.append(f"{cls.__module__}.{cls.__name__}.{name}")
    assert not silent


def test_public_names_resolve() -> None:
    for name in dualgap.__all__:
        assert getattr(dualgap, name) is not None
        assert name in dir(dualgap)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = dualgap.nonsense


def test_formulas_that_code_cites_exist() -> None:
    known = set(re.findall(r"(?:\(|\\tag\{)(M\d+)[)}]", MATHEMATICS))
    numbers = sorted(int(label[1:]) for label in known)
    assert numbers == list(range(1, len(numbers) + 1))
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        for label in re.findall(r"\bM\d+\b(?=[,)–])", path.read_text(encoding="utf-8")):
            assert label in known, f"{path.relative_to(ROOT)} cites {label}"


def test_catalogue_names_match_their_classes() -> None:
    for catalogue in (losses.CATALOGUE, penalties.CATALOGUE):
        for name, cls in catalogue.items():
            assert cls.name == name
            assert str(cls()).startswith(name)
