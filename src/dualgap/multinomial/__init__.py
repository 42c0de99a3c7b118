"""Many classes at once: the problem, its coordinates and its solvers."""

import dualgap.multinomial.hinge
import dualgap.multinomial.hinge_ascent
import dualgap.multinomial.interior
import dualgap.multinomial.lagrangian
import dualgap.multinomial.newton
import dualgap.multinomial.working_set  # noqa: F401  each enters the registry when it is imported
