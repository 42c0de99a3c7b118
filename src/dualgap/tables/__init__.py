"""From files of rows to a matrix of numbers, with a recipe that does the same to the next file."""
