"""Loops compiled by numba. Solvers import these modules when they run, so that `import dualgap` does not."""
