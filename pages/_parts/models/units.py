"""The units of two models that match, with the images that excite them; and whether better models
share more.
"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.questions.finding import sentences
from core.questions.neurons.question import AS_IS, NeuronPairs, NeuronShare
from core.questions.neurons.units import foresee
from core.study.models import is_reality, usual
from pages._shared import frame, neighbors, prose, queries, runner, section
from pages._shared.address import bind
from pages._shared.gallery import Clicks
from pages._shared.queries import Place

PAIRS = """Each point is a pair of units, one of each model, that are each other's most
correlated. Dark: the second model in a random basis. Gray: shuffled images; dotted: the best of
these."""
UNITS = """A unit is one feature of one layer. Two units match if each is the other's most
correlated over the images, beyond what the best pair reaches with shuffled images (p ≤ .05). A
random basis keeps every kernel and makes no unit special (Dravid et al. 2023)."""
TREND = """Each point is a model: the share of its units that match a unit of another model, of
the most that could. Open circles: the same in a random basis."""


def show_pair(at: Place, a: str, b: str) -> None:
    """Draw which units of two models match, and the images that excite one pair most."""
    question = NeuronPairs(at.scope, a, b)
    dims = [queries.study(at).entry(name).dims for name in (a, b)]
    seconds = foresee(dims, queries.size(at), question.mining)
    answered = section.draw(
        at,
        question,
        key="neurons-pairs",
        caption=PAIRS,
        methods=UNITS,
        seconds=seconds,
        label="Match units",
    )
    if answered is None:
        return
    pairs = answered.table[answered.table["basis"] == AS_IS].set_index("pair")
    if pairs.empty:
        return
    number = st.number_input(
        "Pair",
        1,
        len(pairs),
        help="The matched pair to show, counted from the most correlated (default 1).",
        width=140,
        **bind("pair", 1, within=(1, len(pairs))),
    )
    table = queries.ask(at, replace(question, pair=int(number)))
    row, models = pairs.loc[number], queries.models(at).set_index("model")
    st.caption(
        f"Pair {number}, r = {row['r']:.2f}: the images that excite each unit most, in standard"
        " deviations. Framed: in both rows."
    )
    for side, model in (("x", a), ("y", b)):
        about, rows = models.loc[model], table[table["model"] == model]
        layer = about["layers"][int(row[f"layer_{side}"])]
        st.markdown(
            f"**{frame.plain(about['title'])}**, {frame.plain(layer)}, unit {row[f'unit_{side}']}"
        )
        clicks = Clicks(None)
        neighbors.valued_grid(
            at, rows, "excitation", "{:+.1f}", key=f"excited-{side}", width=100, clicks=clicks
        )


def show_trend(at: Place) -> None:
    """Draw the share of units that match over competence."""
    question, models = NeuronShare(at.scope), usual(queries.models(at))
    names, study = models.loc[~is_reality(models), "model"], queries.study(at)
    seconds = foresee([study.entry(name).dims for name in names], study.size, question.mining)
    answered = runner.ask(at, question, seconds, label="Match units of all models")
    if answered is None:
        return
    prose.answer(sentences(answered.findings)[:1])
    trend = replace(question, by="competence")
    section.draw(at, trend, key="neurons-trend", caption=TREND, methods=UNITS, lead=0, models=True)
