"""The trusted kernel: what a problem is, what its values are with every rounding paid for, and what that
proves.

It imports formulas (losses, penalties) and nothing else. Solvers, paths, searches, files and `verify` hand it
points; only what it says of them is ever printed, stored or returned. A wrong solver may make an answer poor,
never a proof false.
"""
