"""What is free is asked once for solvers that are asked one after another."""

from __future__ import annotations

import pytest

from dualgap.drive import memory


def test_what_is_free_is_asked_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def free() -> int:
        asked.append(1)
        return 1 << 40

    monkeypatch.setattr(memory, "free_bytes", free)
    for _ in range(5):
        assert memory.too_large(10_000, 1.0) == ()
    assert len(asked) == 1
    monkeypatch.setattr(memory, "LATELY", -1.0)
    memory.too_large(10_000, 1.0)
    assert len(asked) == 2
    monkeypatch.setattr(memory, "free_bytes", lambda: 1 << 20)  # who answers otherwise is asked himself
    assert "GiB" in memory.too_large(10_000, 1.0)[0]
