"""Fits by scans: rows are compressed to a small ordinary problem, whose dual point lifts back to all rows.

Squared loss takes one scan, smooth losses two or three, losses of straight pieces two or three. What a scan
finds is weighed by `proof.blocks`; these algorithms only choose the next weights and the next rule for θ.
"""
