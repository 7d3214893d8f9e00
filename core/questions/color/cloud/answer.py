"""The pixels of pictures in CIELAB, and the layout of their co-occurrences beside them."""

from __future__ import annotations

import pandas as pd

from core.errors import InputError
from core.progress import Progress
from core.questions.asking import ask
from core.questions.color.answer import complete_sources
from core.questions.color.cloud.drawn import pixel_cloud
from core.questions.color.cloud.findings import pixel_findings
from core.questions.color.cloud.question import ColorPixels
from core.questions.color.geometry.defaults import SHIPPED
from core.questions.color.geometry.words import LAB
from core.questions.color.sources.pixels import Pixels
from core.questions.registry import Answer, declare
from core.study.study import Study

CLOUD, LAYOUT = "pixels in CIELAB", "co-occurrence of pixels"


def complete_pixels(question: ColorPixels, study: Study) -> ColorPixels:
    """Refuse counting that these pictures, or the counts that come with the project, do not
    allow.
    """
    complete_sources(question.layout, study)
    if question.images == SHIPPED and question.drawn != ColorPixels.drawn:
        raise InputError(
            "the counts that come with the project have no pixels to draw, but all colors of their"
            " grid; leave --drawn out, or give the pictures with --images DIR"
        )
    return question


def show_pixels(question: ColorPixels, study: Study, report: Progress | None) -> pd.DataFrame:
    """Draw pixels, and lay out the colors of the grid by how often they meet; a row per color.

    The columns of `core.questions.color.answer.lay_out_colors` in three dimensions, and pictures:
    how many there are. source is CLOUD for pixels, which lie where CIELAB has them, and LAYOUT for
    the colors of the grid.
    """
    layout = ask(question.layout, study, report).assign(source=LAYOUT)
    pixels = Pixels(question.images, question.layout.counting)
    cloud = pixel_cloud(pixels, study, drawn=question.drawn, seed=question.precision.seed)
    drawn = cloud.assign(source=CLOUD, color=cloud["hex"], error=0.0, neighbors=1.0)
    drawn[["x", "y", "z"]] = drawn[LAB]
    pictures = cloud["pictures"].iloc[0]
    return pd.concat([drawn, layout.assign(pictures=pictures)], ignore_index=True)[
        [*layout, "pictures"]
    ]


declare(
    ColorPixels,
    Answer(
        show_pixels,
        version=1,
        complete=complete_pixels,
        findings=pixel_findings,
    ),
)
