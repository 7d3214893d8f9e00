"""Probes: what one model's probe is worth in the space of another, without training."""

from __future__ import annotations

from functools import partial

from core.errors import NotApplicableError
from core.options import build
from core.questions.swapping.question import (
    Swap,
    factor_classes,
    factor_plot,
    seconds_for,
    swap_plot,
    usual_spaces,
)
from core.study.models import is_reality
from pages._shared import bar, controls, frame, queries, section
from pages._shared.controls import Look
from pages._shared.queries import Place

OFFER = "Train a probe on one model, use it on another: how much of its accuracy is kept?"
PAIRS = """Above-chance accuracy that the row's probe keeps in the column's space; 100%: as good as
the space's own probes."""
METHODS = """A probe learns a factor from one model's vectors and is then used on another model's.
Anchors, images that train no probe, join the two spaces: by one orthogonal map, or by describing
each image by its cosines with them. Chance: anchors paired at random. Each image is tested by
probes that never saw it."""
FACTORS = "A row is a factor, averaged over pairs. Bars: 95% CI; vertical ticks: chance."
OTHER = "The same with the other way to join the spaces, which keeps less."
OPTIONS = controls.options_by_name(Swap)


def offered(at: Place) -> bool:
    """Return whether there is a factor that a probe can tell."""
    try:
        factor_classes(queries.study(at), ())
    except NotApplicableError:
        return False
    return True


def show(at: Place) -> None:
    """Draw all pairs of models, and what is kept of each factor."""
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    with bar.controls_bar():
        models = queries.models(at)
        usual = len(usual_spaces(queries.study(at)))
        look = Look.of_models(models[~is_reality(models)], usual=usual)
        chosen = controls.pick_option(OPTIONS["models"], look)
        with bar.more():
            seed = controls.pick_option(OPTIONS["seed"])
    question = build(Swap, {"dataset": at.dataset, "models": chosen, "seed": seed})
    with frame.part():
        answered = section.draw(
            at,
            question,
            key="swapped",
            caption=PAIRS,
            methods=METHODS,
            seconds=lambda: seconds_for(question, queries.study(at)),
            label="Swap probes",
            offer=OFFER,
        )
        for key, header, caption, draw in (
            ("told", "By factor", FACTORS, factor_plot),
            ("other", "Joined the other way", OTHER, partial(swap_plot, better=False)),
        ):
            if answered:
                section.closed(header, at, question, key=key, caption=caption, plot=draw, lead=0)
