"""The wider catalogue beside its peers: a module a family, each with `cells()`, and a line in FAMILIES.

A family states its problems in plain NumPy (`Task.objective` judges everybody), how `dg.fit` is asked, and a
ladder of settings for each peer. The runner, the clock and the rules are those of `benchmarks.race`.
"""

from __future__ import annotations

FAMILIES = ("counts", "groups", "joint_hinge", "outputs", "bounds", "neighbours")
