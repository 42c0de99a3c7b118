"""From arrays and names to a Solution with its proof."""
