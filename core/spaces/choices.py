"""Choices of how spaces are prepared; it imports nothing heavy: every command's parser reads it."""

from __future__ import annotations

from typing import Literal

# whose quantile outliers are clamped at, each as the released code of Huh et al. 2024 has it: with
# its `exact` option for an array, by its default for an array, and with `exact` for any layers, of
# which several widths make a list
Clamp = Literal["exact", "average", "layers"]
EXACT: Clamp = "exact"
