"""What a horizontal axis measures, where values stand on it, and how it reads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.figures.marks import logarithmic
from core.figures.numbers import count_text
from core.figures.theme import plain


@dataclass(frozen=True)
class Ruler:
    """What stands on an axis. title: of the axis. short: on hover cards. log: whether it is
    logarithmic, which leaves out what is not above 0.
    """

    title: str
    short: str
    log: bool = False

    def place(self, values: pd.Series) -> pd.Series:
        if not self.log:
            return values
        above = values.where(values > 0)
        return pd.Series(np.log10(above), index=values.index)

    def unplace(self, places: pd.Series) -> pd.Series:
        return 10.0**places if self.log else places

    def text(self, value: float) -> str:
        number = count_text(value) if self.log else f"{value:.2f}"
        return f"{plain(self.short)} {number}"

    def look(self, values: pd.Series) -> dict[str, object]:
        """Return the look of an axis of these values. A logarithmic one has powers of ten at its
        ticks, and twice and five times these if the values span less than two of them.
        """
        if not self.log:
            return {}
        low, high = values.min(), values.max()
        steps = (1, 2, 5) if high < 100 * low else (1,)
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        return logarithmic([step * 10.0**power for power in powers for step in steps])
