"""What the page Reading across asks of image prefixes, and the `platoscope prefix` commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import option, part, seed_option
from core.questions.question import StudyQuestion

LEAST = 16  # pictures of a training: an eighth of them validate it


@dataclass(frozen=True)
class Lessons:
    """How a prefix is trained, and on what."""

    events: int = option(
        1024,
        least=LEAST,
        most=100_000,
        label="Pictures",
        help="pictures that each training sees: new events of the Cave, or of another dataset as"
        " many of three quarters of the stimuli as there are",
    )
    passes: int = option(
        4, least=1, most=100, label="Passes", help="passes over the pictures, with other captions"
    )
    seeds: int = option(
        2, least=1, most=20, label="Trainings", help="trainings of each map; intervals cover others"
    )
    level: str = option(
        "", label="Caption level", help="caption level that is coded (the dataset's first)"
    )
    seed: int = seed_option("of the events and of all draws")


@dataclass(frozen=True)
class PrefixBits(StudyQuestion):
    """Can a language model read an image through one linear map?"""

    command: ClassVar[str] = "prefix bits"
    device: ClassVar[str] = "auto"

    x: tuple[str, ...] = option(
        (),
        label="Language models",
        metavar="M",
        help="causal language models that read the prefix (the largest of each family in the size"
        " of the vision models)",
    )
    y: tuple[str, ...] = option(
        (),
        label="Vision models",
        metavar="M",
        help="vision models that see the image (one of each of up to four objectives)",
    )
    shuffled: bool = option(
        False,
        label="Train on shuffled images",
        help="train on images that are not the captions' own: what such a map saves is chance",
    )
    lessons: Lessons = part(Lessons)


@dataclass(frozen=True)
class PrefixCaptions(StudyQuestion):
    """What does a language model write behind an image?"""

    command: ClassVar[str] = "prefix captions"
    device: ClassVar[str] = "auto"

    x: str = option("", name="x", label="Language model", metavar="M", help="the language model")
    y: str = option("", name="y", label="Vision model", metavar="M", help="the vision model")
    shuffled: bool = option(
        False, label="Train on shuffled images", help="train on images of other captions"
    )
    lessons: Lessons = part(Lessons)


@dataclass(frozen=True)
class PrefixPair(PrefixCaptions):
    """What does the image of one vision model tell one language model?

    The slow step of `PrefixBits`, kept by itself for each pair.
    """

    command: ClassVar[str] = "prefix pair"
    listed: ClassVar[bool] = False


@dataclass(frozen=True)
class WithoutImage(StudyQuestion):
    """What does a prefix without an image tell one language model?

    The slow step of `PrefixBits` that pairs of one language model share.
    """

    command: ClassVar[str] = "prefix without"
    listed: ClassVar[bool] = False
    device: ClassVar[str] = "auto"

    x: str = option("", name="x", label="Language model", metavar="M", help="the language model")
    tokens: int = option(1, least=1, most=1_024, label="Tokens", help="length of the prefix")
    lessons: Lessons = part(Lessons)
