"""Rows that are elsewhere: files, memory maps, iterators, the workers of a cluster. One kind of storage a file."""
