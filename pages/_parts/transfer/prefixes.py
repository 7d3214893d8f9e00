"""Soft prompts: what a frozen language model reads of an image through one linear map."""

from __future__ import annotations

from functools import partial
from typing import Any

from core.competence.records import can_measure
from core.options import build
from core.questions.prefix.question import (
    PrefixBits,
    saving_plot,
    usual_language,
    usual_vision,
)
from core.study.models import codes_text, reads
from pages._shared import bar, controls, frame, queries, section
from pages._shared.controls import Look
from pages._shared.queries import Place

TRAINING = 60.0  # seconds, about, for each pair of models and seed
OFFER = "Map frozen vision tokens into a frozen language model: does it predict captions better?"
BITS = """A point is a pair of models: bits per byte of a caption after its own image (filled),
another image (×), and an image-free prefix of equal length (▎)."""
SAVED = "What the image saves over the image-free prefix, with its 95% CI."
METHODS = """A linear map turns frozen vision tokens into a soft prompt (prefix) for a frozen
language model; only the map learns, from captions of other images than those measured. The control
is a prefix of equal length that is learned without images. Intervals cover images and
trainings."""
OPTIONS = controls.options_by_name(PrefixBits)
NUMBERS = ("events", "passes", "seeds", "seed")


def pick(at: Place) -> PrefixBits:
    """Choose the models, and how maps are trained."""
    models, study = queries.models(at), queries.study(at)
    coding, seeing = models[codes_text(models)], models[reads(models, "image")]
    vision = usual_vision(study)
    language = usual_language(study, vision)
    x = controls.pick_option(OPTIONS["x"], Look.of_models(coding, usual=len(language)))
    y = controls.pick_option(OPTIONS["y"], Look.of_models(seeing, usual=len(vision)))
    with bar.more():
        numbers = {name: controls.pick_option(OPTIONS[name]) for name in NUMBERS}
        levels = ["", *queries.card(at).levels]
        names = {level: level or "the first" for level in levels}
        level = controls.pick_option(OPTIONS["level"], Look(labels=names))
        shuffled = controls.pick_option(OPTIONS["shuffled"])
    chosen = {"x": x, "y": y, "level": level, "shuffled": shuffled, **numbers}
    return build(PrefixBits, {"dataset": at.dataset, **chosen})


def offered(at: Place) -> bool:
    """Return whether the dataset has images and captions, and models of both can be run."""
    card, study, models = queries.card(at), queries.study(at), queries.models(at)
    sides = (reads(models, "image"), codes_text(models))
    runs = [
        any(can_measure(study.entry(name)) for name in models.loc[one, "model"]) for one in sides
    ]
    return bool(card.has_images and card.levels and all(runs))


def show(at: Place) -> None:
    """Draw what images save, or offer the job that measures it."""
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    with bar.controls_bar():
        question = pick(at)
    with frame.part():
        answered = section.draw(
            at,
            question,
            key="bits",
            caption=BITS,
            methods=METHODS,
            models=True,
            seconds=partial(_seconds, at, question),
            label="Train the maps",
            offer=OFFER,
        )
        if answered is None:
            return
        how: dict[str, Any] = {"caption": SAVED, "plot": saving_plot(answered.table), "lead": 0}
        section.closed("What do images save?", at, question, key="saved", models=True, **how)


def _seconds(at: Place, question: PrefixBits) -> float:
    study = queries.study(at)
    vision = question.y or usual_vision(study)
    pairs = len(vision) * len(question.x or usual_language(study, vision))
    return TRAINING * pairs * question.lessons.seeds
