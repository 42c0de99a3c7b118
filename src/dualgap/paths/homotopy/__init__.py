"""Exact paths: the engine that follows λ from event to event, and what it leaves."""
