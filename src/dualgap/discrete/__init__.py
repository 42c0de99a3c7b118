"""Problems that are not convex: best subset, the zero_one loss, powers below one; each with what is proven.

A new search is a new file with `@search("name")` and a line here.
"""

from dualgap.discrete.arrangement import Arrangement
from dualgap.discrete.base import Answer, Finding, Search
from dualgap.discrete.branch_and_bound import BranchAndBound
from dualgap.discrete.heuristics import GreedyBackward, GreedyForward, HardThresholding
from dualgap.discrete.hitting_set import HittingSet
from dualgap.discrete.local_descent import LocalDescent
from dualgap.discrete.local_planes import LocalPlanes
from dualgap.discrete.pursue import pursue
from dualgap.discrete.registry import SEARCHES, choose, verdicts
from dualgap.discrete.reweighted import ReweightedL1
from dualgap.discrete.subset_path import subset_path
from dualgap.discrete.subset_planes import SubsetPlanes

__all__ = [
    "SEARCHES",
    "Answer",
    "Arrangement",
    "BranchAndBound",
    "Finding",
    "GreedyBackward",
    "GreedyForward",
    "HardThresholding",
    "HittingSet",
    "LocalDescent",
    "LocalPlanes",
    "ReweightedL1",
    "Search",
    "SubsetPlanes",
    "choose",
    "pursue",
    "subset_path",
    "verdicts",
]
