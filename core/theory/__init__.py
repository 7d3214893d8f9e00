"""Simulations in which convergence can be proved, and broken. They need no store."""
