"""A processor that another library has told to be fast rather than right proves what it proves otherwise."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import dualgap as dg
from dualgap.errors import ProcessorError
from dualgap.proof.check import check
from dualgap.proof.processor import PlainArithmetic, is_plain
from proof.made import made

FLUSHED, UP, DOWN, CHOPPED = 0x8040, 0x4000, 0x2000, 0x6000  # bits of the control word, Intel's manual 10.2.3

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="this processor's control word is another",
)


@contextmanager
def told(bits: int) -> Iterator[None]:
    """The processor with these bits of its control word set, and as it was afterwards."""
    library, before = ctypes.CDLL(None), ctypes.create_string_buffer(256)
    library.fegetenv(before)
    words = (ctypes.c_uint32 * 64).from_buffer_copy(before)
    words[7] |= bits
    library.fesetenv(words)
    try:
        yield
    finally:
        library.fesetenv(before)


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
