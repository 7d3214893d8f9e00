"""What a cloud of pixels and the layout of their co-occurrences show, in sentences."""

from __future__ import annotations

import pandas as pd

from core.figures.numbers import p_text
from core.questions.color.cloud.question import ColorPixels
from core.questions.color.geometry.defaults import SHIPPED
from core.questions.color.geometry.shipped import PAIRS

TEST = (
    "These are the counts of CIFAR-10's {pictures:,} test images that come with the project; for"
    " its 50,000 training images, give the folder that holds them with --images DIR."
)
OWN = "These are {pairs:,} pairs of pixels of {pictures:,} pictures."


def pixel_findings(question: ColorPixels, table: pd.DataFrame) -> list[str]:
    """Say how the layout agrees with perception, and what was counted."""
    laid = table.dropna(subset="kendall")
    first, shipped = laid.iloc[0], question.images == SHIPPED
    pairs = PAIRS if shipped else question.counting.pairs
    counted = (TEST if shipped else OWN).format(pictures=int(first["pictures"]), pairs=pairs)
    return [
        f"Colors of pixels that lie close together are ordered as perception orders them: Kendall τ"
        f" {first['kendall']:.2f}, {p_text(first['kendall_p'])}, over {len(laid)} colors of the"
        f" grid; disparity {first['disparity']:.2f}.".replace("-", "−"),
        counted,
    ]
