"""Logical plans: nodes, update patterns, bounds, explain."""
