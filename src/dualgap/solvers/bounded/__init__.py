"""Smooth losses with weights in a box: a working set, a quadratic model on it, an active set of its ends."""
