"""What `platoscope color pixels` and the cloud of the Color page ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import option, part
from core.questions.color.geometry.defaults import SHIPPED
from core.questions.color.question import PIXELS, ColorLayout, Counting, PairCounting, Precision
from core.questions.question import StudyQuestion


@dataclass(frozen=True)
class ColorPixels(StudyQuestion):
    """Do pixels that lie close together have the geometry of color?

    As figure 8 of Huh et al. 2024: pixels in CIELAB, and the layout of their co-occurrences.
    """

    command: ClassVar[str] = "color pixels"

    images: str = option(
        SHIPPED,
        label="Pictures",
        metavar="DIR",
        help="the pictures: a folder of images or of CIFAR-10's binary batches (all 50,000 training"
        " images where they are there, as published), an .npz file, a dataset, or cifar10, the"
        " counts of its 10,000 test images that come with the project",
    )
    drawn: int = option(
        2000,
        least=1,
        most=100_000,
        label="Pixels drawn",
        help="pixels of the pictures that are drawn at random",
    )
    counting: PairCounting = part(PairCounting)
    precision: Precision = part(Precision)

    @property
    def layout(self) -> ColorLayout:
        """Return the question about the layout of the grid's colors."""
        counting = Counting(**vars(self.counting), by="cells")
        source = (PIXELS + self.images,)
        return ColorLayout(self.scope, source, counting, precision=self.precision)
