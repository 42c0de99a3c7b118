"""Many classes at once: the problem, its coordinates and its solvers."""
