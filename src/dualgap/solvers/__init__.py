"""The solvers. A new one is a new file with `@solver("name")` and a line here."""

