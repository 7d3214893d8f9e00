"""Adapters of two pairs of encoders, put one after the other, beside those of the outer two."""
