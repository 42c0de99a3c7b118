"""The data matrix: one file per kind of storage, one contract."""

from dualgap.design.base import Design
from dualgap.design.block_diagonal import BlockDiagonal
from dualgap.design.compressed import Compressed
from dualgap.design.dense import Dense
from dualgap.design.intercept import WithOnes
from dualgap.design.standardised import Standardised

__all__ = ["BlockDiagonal", "Compressed", "Dense", "Design", "Standardised", "WithOnes"]
