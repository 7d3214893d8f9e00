"""Which questions there are: by the first word of their commands, the modules that hold them.

A module is imported when one of its questions is asked, so a command does not wait for the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module

from core.questions.question import Question


@dataclass(frozen=True)
class Topic:
    """The questions whose commands begin with one word.

    about: a line of help. modules: that hold them, without `core.`. grouped: whether the commands
    have a second word.
    """

    about: str
    modules: tuple[str, ...]
    grouped: bool = True


TOPICS = {
    "adapt": Topic(
        "Do linear adapters bring frozen encoders nearer to a strong model?",
        ("questions.adapters.question",),
        grouped=False,
    ),
    "align": Topic(
        "Do better language models align more with vision models?",
        ("questions.alignment.question",),
        grouped=False,
    ),
    "benefits": Topic(
        "What follows from better models: transfer, less bias, fewer hallucinations?",
        ("questions.benefits",),
        grouped=False,
    ),
    "captions": Topic("Do longer captions align better?", ("questions.captions",)),
    "closeness": Topic(
        "How close is each model to reality, or to another center?",
        ("questions.closeness",),
        grouped=False,
    ),
    "color": Topic(
        "Is the geometry of color shared by perception, pixels and words?",
        ("questions.color.question",),
    ),
    "competence": Topic(
        "What are models competent in, and does alignment predict it?",
        ("questions.competence.question",),
    ),
    "controls": Topic(
        "Does a simpler explanation of alignment suffice?",
        ("questions.controls", "questions.simple"),
    ),
    "convergence": Topic(
        "Do models converge as they get better, and why?", ("questions.convergence.question",)
    ),
    "dispersion": Topic(
        "On which stimuli do models agree?",
        ("questions.dispersion.question", "questions.dispersion.effect"),
    ),
    "headline": Topic(
        "Do better models align more across modalities?", ("questions.headline",), grouped=False
    ),
    "metrics": Topic("Does the answer depend on the metric?", ("questions.metrics.question",)),
    "modalities": Topic(
        "Are models of different modalities aligned with each other, and with reality?",
        ("questions.modalities",),
        grouped=False,
    ),
    "models": Topic(
        "Which models are alike?",
        ("questions.models.pairs", "questions.models.question", "questions.models.balance"),
    ),
    "neurons": Topic(
        "Which single units of models have a match in others?", ("questions.neurons.question",)
    ),
    "prefix": Topic(
        "Can a language model read an image through one linear map?", ("questions.prefix.question",)
    ),
    "published": Topic(
        "How do published values compare with one's own?", ("questions.published",), grouped=False
    ),
    "reliability": Topic(
        "How reliable are repeated measurements, and how aligned can a model be with them?",
        ("questions.reliability",),
        grouped=False,
    ),
    "score": Topic(
        "How alike are the features in two files, layer by layer?",
        ("questions.score",),
        grouped=False,
    ),
    "specifications": Topic(
        "Does the headline depend on how alignment is measured?",
        ("questions.headline",),
        grouped=False,
    ),
    "stimuli": Topic("Which stimuli do models agree on?", ("questions.stimuli.question",)),
    "stitch": Topic(
        "What is lost if a layer of one network replaces one of another?",
        ("questions.stitching.question",),
        grouped=False,
    ),
    "stitching": Topic(
        "Which layers of one network can replace layers of another?",
        ("questions.stitching.question",),
    ),
    "swap": Topic(
        "Can one model's probe be used on another, without training?",
        ("questions.swapping.question",),
        grouped=False,
    ),
    "theory": Topic(
        "Why would convergence be expected, and what breaks it?",
        ("theory.contrastive.question", "theory.deep_linear.question"),
    ),
    "translate": Topic(
        "Can two models be translated into each other without paired stimuli?",
        ("questions.translation.question",),
        grouped=False,
    ),
}


@cache
def kinds_of(word: str) -> tuple[type[Question], ...]:
    """Return the questions whose commands begin with a word, also those without a command of their
    own; none for an unknown word.
    """
    topic = TOPICS.get(word)
    modules = [import_module(f"core.{name}") for name in topic.modules] if topic else []
    return tuple(
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, Question)
        and kind.__module__ == module.__name__
        and vars(kind).get("command", "").split(" ")[0] == word
    )


def find_kind(command: str) -> type[Question] | None:
    """Return the question of a command, None if there is none."""
    kinds = kinds_of(command.split(" ")[0])
    return next((kind for kind in kinds if kind.command == command), None)


def every_kind() -> tuple[type[Question], ...]:
    """Return all questions that have a command."""
    return tuple(kind for word in TOPICS for kind in kinds_of(word) if kind.listed)
