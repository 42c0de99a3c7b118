"""What is worked out when somebody asks for it, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """A field of a data class that is given its value, or a function that makes it at the first look."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._place = f"_{name}"

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> T:
        if instance is None:
            raise AttributeError(self._place)  # as of a field without a default
        kept: Any = instance.__dict__[self._place]
        if callable(kept):
            kept = instance.__dict__[self._place] = kept()
        return kept  # type: ignore[no-any-return]

    def __set__(self, instance: Any, value: T | Callable[[], T]) -> None:
        instance.__dict__[self._place] = value
