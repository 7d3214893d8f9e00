"""Unpaired matching: can two models be matched image by image with no pairs given?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.questions.translation.question import (
    Matching,
    Translation,
    seconds_for,
    usual_models,
)
from core.study.models import is_reality, usual
from core.study.spaces import largest_models
from pages._shared import address, bar, controls, frame, queries, runner, section, selection
from pages._shared.address import bind, fragment
from pages._shared.controls import Look
from pages._shared.queries import Place

SIZE = 64  # images
OFFER = "Give two models the same images in unknown order: can similarities alone pair them?"
PAIRS = "Points: pairs of models. Dotted: chance."
METHODS = """Both models are given the same images in unknown orders, as kernels alone, and matched
so that the kernels agree most, by quadratic assignment from several starts. Chance is 1/n."""
SIZES = """Left: share of images matched; band: 95% of random matchings. Right: rank of the true
match, 1 is first; bars: 95% CI over sets of images."""


def show(at: Place) -> None:
    """Draw how many matches are found over alignment, then over numbers of images."""
    if len(queries.models(at)) < 2:
        frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    most = queries.size(at)
    with bar.controls_bar():
        address.label("size", "Images")
        bound = bind("size", min(SIZE, most), within=(4, most))
        size = st.number_input(
            "Images", 4, most, help=f"Images to match (default {SIZE}).", **bound
        )
        matching = _pick_matching(size)
    pairs = Translation(at.scope, sizes=(size,), matching=matching)
    seconds = partial(_seconds, at, size, matching)
    first, second = st.container(), st.container()
    if runner.waits(at, pairs, seconds):  # the first screen has a figure
        first, second = second, first
    with first, frame.part():
        section.draw(
            at,
            pairs,
            key="translation-pairs",
            caption=PAIRS,
            methods=METHODS,
            seconds=seconds,
            label="Match all pairs",
            offer=OFFER,
        )
    with second:
        show_two(at, matching)


def _pick_matching(size: int) -> Matching:
    """Choose how spaces are matched."""
    options = controls.options_by_name(Matching)
    with bar.more():
        k = controls.pick_option(options["k"], Look(most=size - 1, start=min(10, size - 1)))
        numbers = [
            controls.pick_option(options[name], Look(most=most))
            for name, most in (("starts", 100), ("draws", 20), ("seed", None))
        ]
    starts, draws, seed = numbers
    return Matching(starts, draws, k, seed)


def _seconds(at: Place, size: int, matching: Matching) -> float:
    count = len(usual_models(queries.study(at)))
    return count * (count - 1) / 2 * seconds_for(size, matching)


@fragment
def show_two(at: Place, matching: Matching) -> None:
    """Draw how well two models are matched, over the number of images."""
    st.header("Do more images help?", anchor=False)
    with frame.part():
        models = usual(queries.models(at))
        models = models[~is_reality(models)]
        if len(models) < 2:
            raise frame.NeededError(f"Needs 2 models; {len(models)} loaded.")
        largest = [*largest_models(queries.study(at)), *models["model"]]
        first, second = list(dict.fromkeys(largest))[:2]
        start = selection.pair(models, models, (first, second))
        follow = bool(selection.chosen())
        with st.container(horizontal=True, vertical_alignment="bottom"):
            a, b = (
                controls.pick_model(label, models, name, default=default, follow=follow)
                for label, name, default in zip(("Model A", "Model B"), "ab", start, strict=True)
            )
        if a == b:
            raise frame.NeededError("Choose two different models.")
        question = Translation(at.scope, (a, b), matching=matching)
        sizes = question.usual_sizes(queries.size(at))
        section.draw(
            at,
            question,
            key="translation-sizes",
            caption=SIZES,
            seconds=lambda: sum(seconds_for(n, matching) for n in sizes),
            label="Match these two",
            queue="two",
        )
