"""Problems that are not convex: best subset, the zero_one loss, powers below one; each with what is proven.

A new search is a new file with `@search("name")` and a line here.
"""

from dualgap.discrete.base import Answer, Finding, Search, is_convex
from dualgap.discrete.branch_and_bound import BranchAndBound
from dualgap.discrete.pursue import pursue
from dualgap.discrete.registry import SEARCHES, choose, verdicts

__all__ = [
    "SEARCHES",
    "Answer",
    "BranchAndBound",
    "Finding",
    "Search",
    "choose",
    "is_convex",
    "pursue",
    "verdicts",
]
