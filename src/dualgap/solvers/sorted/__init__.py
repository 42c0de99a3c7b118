"""Sorted prices under a smooth loss."""
