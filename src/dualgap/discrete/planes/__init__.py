"""The zero_one loss: which side of a plane each row is on, proven."""
