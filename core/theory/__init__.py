"""Worlds in which the hypothesis can be proved, and broken. They know no store: a seed makes
everything.
"""
