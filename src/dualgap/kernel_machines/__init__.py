"""Any convex loss with a kernel and the squared norm of its space, each answer with its duality gap."""
