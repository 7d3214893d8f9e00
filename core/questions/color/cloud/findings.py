"""What a cloud of pixels and the layout of their co-occurrences show, in sentences."""

from __future__ import annotations

import pandas as pd

from core.figures.numbers import counted, p_text
from core.questions.color.cloud.question import ColorPixels
from core.questions.color.geometry.defaults import SHIPPED
from core.questions.color.geometry.shipped import PAIRS
from core.statistics.correlations import SURE

TEST = (
    "These are the counts of CIFAR-10's {pictures:,} test images that come with the project; for"
    " its 50,000 training images, give the folder that holds them with --images DIR."
)
OWN = "These are {pairs:,} pairs of pixels of {pictures:,} pictures."


def pixel_findings(question: ColorPixels, table: pd.DataFrame) -> list[str]:
    """Say how the layout agrees with perception, and what was counted."""
    laid = table.dropna(subset=["kendall", "kendall_p"])
    shipped = question.images == SHIPPED
    pairs = PAIRS if shipped else question.counting.pairs
    pictures = int(table["pictures"].iloc[0])
    counted = (TEST if shipped else OWN).format(pictures=pictures, pairs=pairs)
    return [_agreement(laid), counted]


def _agreement(laid: pd.DataFrame) -> str:
    """Say whether the layout orders colors as perception does, where Kendall's τ and its one-sided
    p tell; laid: the colors that have both.
    """
    if laid.empty:
        return "Whether co-occurrence orders colors as perception does cannot be judged here."
    first = laid.iloc[0]
    sure = first["kendall_p"] < SURE
    says = (
        "tend to be ordered as perception orders them"
        if sure
        else "show no agreement with perception beyond chance"
    )
    return (
        f"Colors of pixels that lie close together {says}: Kendall τ {first['kendall']:.2f},"
        f" {p_text(first['kendall_p'])}, over {counted(len(laid), 'color', 'colors')} of the grid;"
        f" disparity {first['disparity']:.2f}."
    ).replace("-", "−")
