"""The problem, its certificate, and the coordinates it is solved in."""
