"""Solutions for every strength: exact where the mathematics allows it, proven everywhere."""
