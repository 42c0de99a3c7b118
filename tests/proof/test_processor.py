"""A processor that another library has told to be fast rather than right proves what it proves otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualgap as dg
from dualgap.errors import ProcessorError
from dualgap.proof.check import check
from dualgap.proof.processor import PlainArithmetic, is_plain
from odd_processor import CHOPPED, DOWN, FLUSHED, UP, tellable, told
from proof.made import made

pytestmark = tellable


@pytest.mark.parametrize("bits", [FLUSHED, UP, DOWN, CHOPPED])
def test_an_odd_processor_is_noticed_mended_and_left_as_it_was(bits: int) -> None:
    third = 1.0 / 3.0
    with told(bits):
        odd = (third * 2.0**-1021, third + 2.0**-60, -third - 2.0**-60, is_plain())
        with PlainArithmetic():
            assert is_plain()
        assert odd == (third * 2.0**-1021, third + 2.0**-60, -third - 2.0**-60, is_plain())
    assert is_plain() and not odd[-1]


@pytest.mark.parametrize("bits", [FLUSHED, UP, DOWN, CHOPPED])
@pytest.mark.parametrize("loss", ["squared", "absolute", "logistic"])
def test_a_bound_is_the_same_on_an_odd_processor(bits: int, loss: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(7, 3)) * 2.0**-530  # whose products underflow
    y = np.where(X[:, 0] > 0, 1.0, -1.0) if loss == "logistic" else X @ [1.0, -1.0, 0.5]
    one = made(X, y, loss, "l2", lam=2.0**-1060)
    w, theta = rng.normal(size=one.width), rng.normal(size=7) * 2.0**-531
    plain = check(one.problem, w, theta)
    with told(bits):
        odd = check(one.problem, w, theta)
    assert (odd.primal, odd.dual, odd.rounding) == (plain.primal, plain.dual, plain.rounding)


@pytest.mark.parametrize("bits", [FLUSHED, UP])
def test_a_certificate_is_rechecked_on_an_odd_processor(bits: int) -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 4))
    found = dg.fit(X, X[:, 0] + rng.normal(size=40), loss="squared", penalty="l1", lam=0.1)
    plain = found.certificate.recheck(X, X[:, 0])
    with told(bits):
        odd = found.certificate.recheck(X, X[:, 0])
    assert (odd.objective, odd.bound) == (plain.objective, plain.bound)


def test_what_cannot_be_told_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "elsewhere")
    with told(FLUSHED), pytest.raises(ProcessorError, match="another process"), PlainArithmetic():
        pass


CONSTANTS = """
import ctypes, importlib, json, pkgutil, struct, sys

if sys.argv[1] == "odd":
    library, before = ctypes.CDLL(None), ctypes.create_string_buffer(256)
    library.fegetenv(before)
    words = (ctypes.c_uint32 * 64).from_buffer_copy(before)
    words[7] |= 0x8040
    library.fesetenv(words)
import dualgap

found = {}
for module in pkgutil.walk_packages(dualgap.__path__, "dualgap."):
    try:
        own = vars(importlib.import_module(module.name))
    except ImportError:  # what it needs is an extra
        continue
    for name, value in own.items():
        numbers = value if isinstance(value, tuple) else (value,)
        if name.isupper() and all(type(number) is float for number in numbers):
            found[f"{module.name}.{name}"] = [struct.pack("<d", number).hex() for number in numbers]
print(json.dumps(found))
"""


def test_constants_are_the_same_where_the_processor_was_told_before_the_import(tmp_path: Path) -> None:
    """2⁻¹⁰⁷⁴ worked out there is 0: what underflow may lose would be charged as nothing, later too."""
    found = []
    for how in ("odd", "plain"):  # the second reads what the first has compiled
        done = subprocess.run(
            [sys.executable, "-c", CONSTANTS, how],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
            env=dict(os.environ, PYTHONPYCACHEPREFIX=str(tmp_path), PYTHONDONTWRITEBYTECODE=""),
        )
        found.append(json.loads(done.stdout))
    assert len(found[0]) > 500
    assert found[0] == found[1]
    assert found[0]["dualgap.proof.rounding.LEAST"] == ["0100000000000000"]
