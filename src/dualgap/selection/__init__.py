"""Choosing between fits: how stable a choice of columns is."""
