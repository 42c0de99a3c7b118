"""Problems that are not convex: best subset, the zero_one loss, powers below one; each with what is proven.

A new search is a new file with `@solver("name", kind="search")` and a line here.
"""

from dualgap.discrete.base import DiscreteSolver, Finding
from dualgap.discrete.concave.folded_descent import FoldedDescent
from dualgap.discrete.concave.local_descent import LocalDescent
from dualgap.discrete.concave.local_linear import LocalLinear
from dualgap.discrete.concave.reweighted import ReweightedL1
from dualgap.discrete.planes.arrangement import Arrangement, HittingSet
from dualgap.discrete.planes.column_branching import SubsetPlanes
from dualgap.discrete.planes.plane_search import LocalPlanes
from dualgap.discrete.pursuit import choose, pursued
from dualgap.discrete.subset.branch_and_bound import BranchAndBound
from dualgap.discrete.subset.heuristics import GreedyBackward, GreedyForward, HardThresholding
from dualgap.discrete.subset.path import subset_path

__all__ = [
    "Arrangement",
    "BranchAndBound",
    "DiscreteSolver",
    "Finding",
    "FoldedDescent",
    "GreedyBackward",
    "GreedyForward",
    "HardThresholding",
    "HittingSet",
    "LocalDescent",
    "LocalLinear",
    "LocalPlanes",
    "ReweightedL1",
    "SubsetPlanes",
    "choose",
    "pursued",
    "subset_path",
]
