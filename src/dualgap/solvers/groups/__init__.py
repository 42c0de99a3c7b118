"""Groups of columns under a smooth loss."""
