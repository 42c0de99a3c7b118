"""Whatever stands in a model file, loading it gives a solution that predicts, or a ModelFileError."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap as dg
from dualgap.errors import ModelFileError
from dualgap.files import store
from dualgap.files.verification import examine
from saved_models import FITS, X, solved

ODD: list[Any] = [None, True, False, 0, -1, 1, 2**31, 2**70, 1e308, -0.5, "", "inf", "nan", "x" * 50, [], {}]
ODD += [[[]], [None], ["a"], [1, [2]], {"dtype": "<f8", "shape": [1], "base64": "AAAAAAAA8D8="}]
DOCUMENTS: dict[str, bytes] = {}


def document(name: str) -> bytes:
    """The bytes of a saved solution."""
    if name not in DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            DOCUMENTS[name] = solved(name)[0].save(Path(folder) / "model.json").read_bytes()
    return DOCUMENTS[name]


def places(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value of a document."""
    found = [before] if before else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*before, key))
    return found


def load_or_refuse(content: bytes, y: Any = None) -> None:
    """Nothing but a ModelFileError may come out, and what loads must predict, and be judged on its rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_bytes(content)
        try:
            solution = dg.load(path)
        except ModelFileError as error:
            assert len(str(error)) < 1000 and "\n" not in str(error)
            return
    if np.atleast_2d(solution.coef).shape[1] == X.shape[1]:
        with np.errstate(all="ignore"):
            assert len(solution.predict(X)) == len(X)
            solution.summary()
        if y is not None:
            objections, _ = examine(solution, X, y)
            assert all(len(said) < 1000 for said in objections)


@settings(max_examples=250)
@given(st.sampled_from(sorted(FITS)), st.data())
def test_changed_values_behind_a_right_checksum(name: str, data: st.DataObject) -> None:
    found = json.loads(document(name))
    for _ in range(data.draw(st.integers(1, 3))):
        ways = places(found)
        inner, way = found, data.draw(st.sampled_from(ways))
        for key in way[:-1]:
            inner = inner[key]
        kind = data.draw(st.sampled_from(["replace", "remove", "double"]))
        if kind == "replace":
            inner[way[-1]] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
        elif kind == "remove":
            del inner[way[-1]]
        elif isinstance(inner, list):
            inner.append(inner[way[-1]])
        else:
            inner[f"{way[-1]}_"] = inner[way[-1]]
    if isinstance(found, dict):
        found["checksum"] = store.checksum(found)
    load_or_refuse(json.dumps(found).encode(), FITS[name][0])


@settings(max_examples=60)
@given(st.sampled_from(sorted(FITS)), st.data())
def test_changed_bytes(name: str, data: st.DataObject) -> None:
    content = bytearray(document(name))
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    load_or_refuse(bytes(content))
    load_or_refuse(bytes(content[:cut]))


@settings(max_examples=30)
@given(st.binary(max_size=200))
def test_any_bytes(content: bytes) -> None:
    load_or_refuse(content)
