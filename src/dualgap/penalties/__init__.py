"""The penalties. A new one is a new file and a line in CATALOGUE."""

from __future__ import annotations

from dualgap.penalties.base import Gauge, Penalty
from dualgap.penalties.bridge import Bridge
from dualgap.penalties.elastic_net import ElasticNet
from dualgap.penalties.forms import Constrained, Penalised, Regulariser
from dualgap.penalties.fused import Fused
from dualgap.penalties.groups import GroupLasso, SparseGroup
from dualgap.penalties.l0 import L0, L0L2
from dualgap.penalties.l1 import L1
from dualgap.penalties.l2 import L2, L2Norm
from dualgap.penalties.l21 import L21, L21L2
from dualgap.penalties.lp import Linf, Lp
from dualgap.penalties.mcp import Mcp, Scad
from dualgap.penalties.none import Unpenalised
from dualgap.penalties.slope import Slope

CATALOGUE: dict[str, type[Penalty]] = {
    "none": Unpenalised,
    "l0": L0,
    "l0_l2": L0L2,
    "l1": L1,
    "l2": L2,
    "l2_norm": L2Norm,
    "elastic_net": ElasticNet,
    "linf": Linf,
    "lp": Lp,
    "bridge": Bridge,
    "group_lasso": GroupLasso,
    "sparse_group": SparseGroup,
    "slope": Slope,
    "fused": Fused,
    "l21": L21,
    "l21_l2": L21L2,
    "mcp": Mcp,
    "scad": Scad,
}

__all__ = [
    "CATALOGUE",
    "L0",
    "L0L2",
    "L1",
    "L2",
    "L21",
    "L21L2",
    "Bridge",
    "Constrained",
    "ElasticNet",
    "Fused",
    "Gauge",
    "GroupLasso",
    "L2Norm",
    "Linf",
    "Lp",
    "Mcp",
    "Penalised",
    "Penalty",
    "Regulariser",
    "Scad",
    "Slope",
    "SparseGroup",
    "Unpenalised",
]
