"""Several outputs fitted jointly: the problem, its coordinates and its solvers."""

import dualgap.outputs.descent
import dualgap.outputs.rising  # noqa: F401  each enters the registry when it is imported
