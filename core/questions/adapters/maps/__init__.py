"""Linear adapters that bring frozen encoders into one common space, learned from stimuli that they
all have seen.
"""
