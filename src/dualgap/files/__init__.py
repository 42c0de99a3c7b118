"""Model files: data, not code. Written whole or not at all; read by a parser that trusts nothing."""
