"""Choices of how spaces are prepared; it imports nothing heavy: every command's parser reads it."""

from __future__ import annotations

from typing import Literal

# whose quantile outliers are clamped at, each as the released code of Huh et al. 2024 has it: with
# its `exact` option, by its default for an array, and for a list of layers
Clamp = Literal["exact", "average", "layers"]
EXACT: Clamp = "exact"
