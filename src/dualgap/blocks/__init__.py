"""Rows that are elsewhere: files, memory maps, iterators, a cluster. One kind of storage a file."""
