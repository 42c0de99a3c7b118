"""The one loop around every solver: what a solver is, which there are, limits, trace, and the end."""
