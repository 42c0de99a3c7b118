"""Fits by scans: rows are compressed to a small ordinary problem, whose dual point lifts back to all rows.

moments (squared loss, one scan), smooth (curved losses, two or three), kinked (pieces of lines, two or three).
What a scan finds is weighed by `proof.blocks`; these algorithms only choose the next weights and the next rule.
"""
