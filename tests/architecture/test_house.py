"""The house keeps its rules. What breaks one today is listed in exceptions.json, and the list only shrinks:
`python tests/architecture/shrink.py` takes off it what is no longer so, and never adds."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from architecture.rules import REASONS, RULES, broken
from architecture.sources import ROOT, sources

KNOWN = json.loads((Path(__file__).parent / "exceptions.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LAYER = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|", flags=re.MULTILINE)


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_is_kept(rule: str) -> None:
    found, known = broken(rule), Counter(KNOWN.get(rule, {}))
    assert not found - known, f"{rule}: new"
    assert not known - found, f"{rule}: no longer so, run tests/architecture/shrink.py"


def test_what_may_stay_has_a_reason() -> None:
    assert set(KNOWN) <= set(RULES)
    assert all(len(reason.split()) >= 5 for reason in REASONS.values())
    assert set(REASONS) <= {what for rule in RULES.values() for what in rule()}, "a reason nobody needs"


def test_the_page_has_the_layers_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [re.findall(r"\w+", layer) for layer in contracts["contracts"][0]["layers"]]
    assert [re.findall(r"\w+", row) for row in LAYER.findall(PAGE)] == layers
    folders = {source.name.split(".")[0] for source in sources()} - {"", "__main__"}
    assert set(chain.from_iterable(layers)) == folders
