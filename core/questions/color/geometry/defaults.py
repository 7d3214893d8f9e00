"""The usual choices of the color analyses, in a module that costs a parser of commands nothing."""

from __future__ import annotations

SURVEYS = ("xkcd", "uw")  # which tell the colors that words mean
RADIUS, PAIRS, GRID = 4.0, 300_000, 8  # of pairs of pixels
GRIDS = (2, 16)  # fewest and most steps: of 16³ colors a table of all pairs takes 134 MB
SMOOTHING = 1.0  # added to each count
SHIPPED = "cifar10"  # the counts that come with the project
SLOT = "<col>"
SENTENCES = ("The color <col>.", "This color is <col>.", "The color of this thing is <col>.")
STARTS = 1000  # of a layout
K, PERMUTATIONS, DRAWS = 3, 1000, 1000  # of an agreement
