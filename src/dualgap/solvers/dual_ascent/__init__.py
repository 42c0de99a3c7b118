"""Dual coordinate ascent: the method, and its compiled sweeps."""
