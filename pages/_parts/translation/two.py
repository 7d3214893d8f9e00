"""Two models, matched with no pairs given over more and more stimuli."""

from __future__ import annotations

import streamlit as st

from core.questions.asking import findings_of
from core.questions.translation import figures
from core.questions.translation.answer import usual_sizes
from core.questions.translation.measuring import seconds_for
from core.questions.translation.question import Matching, Translation
from core.study.models import is_reality, usual
from core.study.spaces import largest_models
from pages._parts.experiments import patience
from pages._shared import controls, exportbar, frame, prose, queries
from pages._shared.address import fragment
from pages._shared.chosen import selection
from pages._shared.queries import Place

SIZES = """Both models see the same stimuli, in unknown orders. Left, how many partners are found;
the band is what random matchings find in 95 % of all cases, exactly. Right, how high a stimulus's
true partner stands among all by the matching that was found: a matching can be near without being
right. No two draws have a stimulus in common; bars are intervals over draws."""


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
        sizes = usual_sizes(question, queries.size(at))
        table = patience.ask(at, question, lambda: sum(seconds_for(n, matching) for n in sizes))
        if table is None:
            return
        said = findings_of(question, table)
        prose.answer(said[: prose.LEAD])
        figure = figures.over_size(table, frame.mode(), narrow=frame.narrow())
        exportbar.draw(at, question, figure, key="translation-sizes", table=table)
        prose.explain(SIZES, said[prose.LEAD :])
