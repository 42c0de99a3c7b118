"""Choosing between fits: a strength by cross-validation, and how stable a choice of columns is."""
