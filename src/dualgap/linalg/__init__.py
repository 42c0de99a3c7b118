"""Linear algebra that SciPy does not have, each piece once."""
