"""The units of two models that recur, and the stimuli that excite them, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.errors import MetricError
from core.questions.neurons.question import AS_IS, NeuronPairs
from core.questions.neurons.units import ALL_LAYERS, Mining, check_layers, foresee
from core.study.models import is_reality, usual
from core.study.spaces import largest_models
from pages._shared import controls, facts, frame, gallery, queries, runner, section, selection
from pages._shared.address import bind, fragment
from pages._shared.gallery import Clicks, Note
from pages._shared.queries import Place

LAYERS = {
    ALL_LAYERS: "all layers",
    "last": "last layers",
    "0.5": "middle layers",
    "0": "first layers",
}
PAIRS = """Each point is a pair of units, one of each model, that are each other's most correlated.
Dotted: what the best of all pairs reaches with shuffled stimuli. The dark line is the same with the
second model in a **random basis**, which keeps every kernel and makes no unit special (Dravid et
al. 2023)."""
SHOWN = 8  # stimuli of each unit
WIDTH = 100  # all of them in a row where the page is wide


def pick_layers() -> str:
    """Choose where units are looked for, in the words of `core.study.layers.read_choice`."""
    one = controls.option_named(Mining, "layers")
    chosen = st.selectbox(
        one.label,
        list(LAYERS),
        format_func=lambda each: LAYERS.get(each, each),
        accept_new_options=True,
        help=controls.sentence(one.help),
        **bind(one.name, one.default),
    )
    try:
        check_layers(chosen, of_two=False)
    except MetricError as error:
        st.warning(frame.plain(error))
        return ALL_LAYERS
    return str(chosen)


def pick_mining(layers: str) -> Mining:
    """Choose permutations, rotations and the seed."""
    null, rotations, seed = (
        controls.pick_number(controls.option_named(Mining, name), most)
        for name, most in (("null", 999), ("rotations", 20), ("seed", None))
    )
    return Mining(layers, null, rotations, seed)


@fragment
def show(at: Place, mining: Mining) -> None:
    """Draw which units of two models recur, and what excites those of one pair."""
    st.header("Which units of two models recur?", anchor=False)
    with frame.part():
        models = usual(queries.models(at))
        models = models[~is_reality(models)]
        if len(models) < 2:
            raise frame.NeededError("Units recur in two models: embed another one.")
        a, b = _pick_models(at, models)
        if a == b:
            st.info("Choose two different models.", icon=":material/lightbulb:")
            return
        question = NeuronPairs(at.scope, a, b, mining)
        answered = runner.ask(at, question, lambda: _seconds(at, a, b, mining))
        if answered:
            _show_pairs(at, question, answered.table, models.set_index("model"))


def _pick_models(at: Place, models: pd.DataFrame) -> tuple[str, str]:
    """Choose two models; at first those that were chosen anywhere, else the two largest vision
    models of two objectives.
    """
    largest = [*largest_models(queries.study(at)), *models["model"]]
    first, second = list(dict.fromkeys(largest))[:2]
    start = selection.pair(models, models, (first, second))
    follow = bool(selection.chosen())
    with st.container(horizontal=True, vertical_alignment="bottom"):
        a, b = (
            controls.pick_model(
                controls.option_named(NeuronPairs, name).label,
                models,
                name,
                default=default,
                follow=follow,
            )
            for name, default in zip("ab", start, strict=True)
        )
    return a, b


def _seconds(at: Place, a: str, b: str, mining: Mining) -> float:
    study = queries.study(at)
    return foresee([study.entry(name).dims for name in (a, b)], study.size, mining)


def _show_pairs(
    at: Place, question: NeuronPairs, table: pd.DataFrame, models: pd.DataFrame
) -> None:
    mined = table[table["basis"] == AS_IS].set_index("pair")
    section.draw(at, question, key="neurons-pairs", methods=PAIRS, lead=2)
    if len(mined):
        number = int(
            st.number_input(
                "Pair",
                1,
                len(mined),
                help="Counted from the most correlated.",
                **bind("pair", 1, within=(1, len(mined))),
            )
        )
        _show_stimuli(at, question, number, mined.iloc[number - 1], models)


def _show_stimuli(
    at: Place, question: NeuronPairs, number: int, row: pd.Series, models: pd.DataFrame
) -> None:
    """Draw the stimuli that excite both units of a pair, one row of pictures per model."""
    table = queries.ask(at, replace(question, pair=number, count=SHOWN))
    st.caption(
        f"Pair {number}: correlation {row['r']:.2f}. Most exciting first; the number is by how many"
        " standard deviations, framed is what excites both most."
    )
    captions = facts.default_captions(at)
    for side, model in (("x", question.a), ("y", question.b)):
        about = models.loc[model]
        layer = about["layers"][int(row[f"layer_{side}"])]
        st.markdown(
            f"**{frame.plain(about['title'])}**, {frame.plain(layer)}, unit {row[f'unit_{side}']}"
        )
        rows = table[table["model"] == model]
        _draw_row(at, rows, captions, key=f"excited-{side}")


def _draw_row(at: Place, rows: pd.DataFrame, captions: Sequence[str], *, key: str) -> None:
    excitation = rows.set_index("index")["excitation"]
    gallery.grid(
        at,
        rows["index"].tolist(),
        key=key,
        width=WIDTH,
        marked=set(rows.loc[rows["shared"], "index"]),
        note=lambda index: Note(f"{excitation[index]:+.1f}".replace("-", "−"), captions[index]),
        clicks=Clicks(None),
    )
