"""Which loss has a form for all classes jointly that is not the softmax."""

from __future__ import annotations

from dualgap.losses.base import Loss
from dualgap.losses.hinge import Hinge


def joint_hinge(loss: Loss) -> bool:
    """Is it the hinge, whose joint form is Crammer and Singer's max_k (1[k ≠ y] + z_k − z_y)?"""
    return loss == Hinge()
