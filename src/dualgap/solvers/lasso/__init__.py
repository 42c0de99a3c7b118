"""Smooth losses with an l1 part: one method, three engines for its quadratic models."""
