"""Two models, matched with no pairs given over more and more stimuli."""

from __future__ import annotations

import streamlit as st

from core.questions.translation.question import Matching, Translation, seconds_for
from core.study.models import is_reality, usual
from core.study.spaces import largest_models
from pages._shared import controls, frame, queries, section, selection
from pages._shared.address import fragment
from pages._shared.queries import Place

SIZES = """Both models see the same stimuli, in unknown orders. The band: what random matchings find
in 95% of all cases, exactly. Right: how high a stimulus's true partner ranks by the matching that
was found; bars are intervals over draws, which share no stimulus."""


@fragment
def show(at: Place, matching: Matching) -> None:
    """Draw how well two models are translated, over the number of stimuli."""
    st.header("Do more stimuli help?", anchor=False)
    with frame.part():
        models = usual(queries.models(at))
        models = models[~is_reality(models)]
        if len(models) < 2:
            raise frame.NeededError("A translation takes two models: embed another one.")
        largest = [*largest_models(queries.study(at)), *models["model"]]
        first, second = list(dict.fromkeys(largest))[:2]
        start = selection.pair(models, models, (first, second))
        follow = bool(selection.chosen())
        with st.container(horizontal=True, vertical_alignment="bottom"):
            a, b = (
                controls.pick_model(
                    controls.option_named(Translation, name).label,
                    models,
                    name,
                    default=default,
                    follow=follow,
                )
                for name, default in zip("ab", start, strict=True)
            )
        question = Translation(at.scope, a, b, matching=matching)
        sizes = question.usual_sizes(queries.size(at))
        takes = sum(seconds_for(n, matching) for n in sizes)
        section.draw(at, question, key="translation-sizes", methods=SIZES, seconds=takes)
