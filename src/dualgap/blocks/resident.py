"""Rows on a device: one block that stays there; blocks of the host's memory for who looks at rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dualgap.blocks.source import RowBlock, RowSource, rows_a_block
from dualgap.device.arrivals import to_host


class ResidentRows(RowSource):
    """A matrix that answers products (dualgap.device.matrix), the targets as given, weights there or None."""

    portable = False

    def __init__(self, matrix: Any, y: Any, weight: Any = None) -> None:
        self.matrix, self.y, self.weight = matrix, y, weight
        self.n, self.p = matrix.shape
        self.sparse = matrix.sparse

    @property
    def width(self) -> float:
        return float(self.matrix.stored / max(self.matrix.n, 1))

    @property
    def groups(self) -> Sequence[Any]:
        assert self.n is not None
        step = rows_a_block(int(np.ceil(self.width)))
        return [(i, min(i + step, self.n)) for i in range(0, self.n, step)]

    def weighted(self) -> bool:
        return self.weight is not None

    def reduced(self, function: Callable[..., Any], *arrays: Any, watch: Any = None) -> Any:
        self.passes += 1.0
        found = function(RowBlock(self.matrix, self.y, self.weight), *arrays)
        if watch is not None:
            watch.done(1.0)
        return found

    def read(self, group: Any) -> Iterator[RowBlock]:
        i, j = group
        weight = None if self.weight is None else to_host(self.weight[i:j])
        X = self.matrix.block(i, j)
        yield RowBlock(X if self.sparse else np.asfortranarray(X), to_host(self.y[i:j]), weight, i, "X", i)

    def labels(self) -> Iterator[Any]:
        yield to_host(self.y)
