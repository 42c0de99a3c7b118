"""The house keeps its rules; who has to break one gives the reason in `rules.REASONS`."""

from __future__ import annotations

import re
import tomllib
from itertools import chain

import pytest

from architecture.rules import REASONS, RULES, broken
from architecture.sources import ROOT, sources

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LAYER = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|", flags=re.MULTILINE)


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_is_kept(rule: str) -> None:
    assert not broken(rule)


def test_what_may_stay_has_a_reason() -> None:
    assert all(len(reason.split()) >= 5 for reason in REASONS.values())
    assert set(REASONS) <= {what for rule in RULES.values() for what in rule()}, "a reason nobody needs"


def test_the_page_has_the_layers_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [re.findall(r"\w+", layer) for layer in contracts["contracts"][0]["layers"]]
    assert [re.findall(r"\w+", row) for row in LAYER.findall(PAGE)] == layers
    folders = {source.name.split(".")[0] for source in sources()} - {"", "__main__"}
    assert set(chain.from_iterable(layers)) == folders
