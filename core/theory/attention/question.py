"""What the page and `platoscope theory attention` ask of queries and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options import option, seed_option
from core.questions.question import Question


@dataclass(frozen=True)
class Attention(Question):
    """Do queries and keys of language models balance each other?"""

    command: ClassVar[str] = "theory attention"

    models: tuple[str, ...] = option(
        (),
        metavar="M",
        help=(
            "shipped models by name, or hf:FOLDER (GPT-2, LLaMA and BLOOM of size S along their"
            " training)"
        ),
    )
    captions: int = option(
        64, least=1, most=1024, help="captions of the Cave over which gradients are averaged"
    )
    seed: int = seed_option("seed of fresh weights and of chance")
