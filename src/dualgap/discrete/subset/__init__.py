"""Best subset: which columns, proven; with every convex loss."""
