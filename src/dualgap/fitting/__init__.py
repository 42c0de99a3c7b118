"""From arrays and names to a Solution with its proof."""

import dualgap.solvers  # noqa: F401  each enters the registry when it is imported
