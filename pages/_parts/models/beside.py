"""Models side by side: what is known of them, which of their layers agree, what they take to be
alike, what they can do.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.competence.records import MEASURED
from core.figures.theme import count_text
from core.metrics import METRICS
from core.questions.alignment import figures as figures
from core.questions.models.map_table import NEAREST
from core.study.layers import LayerChoice
from core.study.layers import pick as pick_best
from pages._shared import controls, exportbar, frame, gallery, queries
from pages._shared.among import Among
from pages._shared.queries import Place

NEAR = 6  # stimuli drawn of each model


def pick(models: pd.DataFrame) -> str | None:
    """Choose the model that is opened; None where none is."""
    titles = models.set_index("model")["title"]
    controls.forget("opened", titles.index)
    return st.selectbox(
        "Model",
        list(titles.index),
        index=None,
        format_func=titles.get,
        key="opened",
        bind="query-params",
        placeholder="click a mark above, or choose one",
    )


def show(at: Place, models: pd.DataFrame, asked: Among, table: pd.DataFrame, first: str) -> None:
    """Draw the opened model beside its three nearest, and beside any other that is chosen; table:
    of the map.
    """
    titles = models.set_index("model")["title"]
    near = [name for name in table.set_index("model").loc[first, list(NEAREST)] if name]
    others = [*near, *(name for name in titles.index if name not in (first, *near))]
    controls.forget("beside", others)
    second = st.selectbox(
        "Compared with",
        others,
        format_func=titles.get,
        key="beside",
        bind="query-params",
        help="Its three nearest models come first.",
    )
    shown = [first, *dict.fromkeys((second, *near))]
    show_facts(at, models.set_index("model").loc[shown], asked.pairs(at, tuple(models["model"])))
    layers = show_layers(at, models, asked, first, second)
    show_neighbors(at, titles, asked, shown, layers)


def show_facts(at: Place, models: pd.DataFrame, pairs: pd.DataFrame) -> None:
    """Draw a column per model: its card, how aligned it is with the first, and its competence;
    models: in this order.
    """
    scores = {
        frozenset(pair): score
        for *pair, score in pairs[["model_x", "model_y", "score"]].itertuples(
            index=False, name=None
        )
    }
    first, facts = models.index[0], {}
    for name, row in models.iterrows():
        score = scores.get(frozenset((first, name)))
        facts[row["title"]] = {
            f"aligned with {models['title'].iloc[0]}": "" if score is None else f"{score:.3f}",
            "modality": row["modality"],
            "family": row["family"],
            "objective": row["objective"],
            "parameters": count_text(row["parameters"]),
            "training steps": count_text(row["step"]),
            "layers": str(len(row["layers"])),
        }
    table = pd.concat([pd.DataFrame(facts), _competence(at, models)]).fillna("")
    st.dataframe(
        table.rename_axis("").reset_index(),
        hide_index=True,
        height=min(35 * (len(table) + 1) + 3, 460),
    )


def _competence(at: Place, models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per task that any of the models has a value of, a column per model."""
    table = queries.scores(at)
    known = table[table["model"].isin(models.index) & table["value"].notna()]
    origin = (", " + known["origin"]).where(known["origin"] != MEASURED, "")
    said = known.assign(
        task=known["task"] + " (" + known["unit"] + origin + ")",
        said=known["value"].map("{:.3g}".format),
    )
    wide = said.pivot_table(
        index="task", columns="model", values="said", aggfunc="first", sort=False
    )
    return wide.reindex(columns=models.index).rename(columns=models["title"])


def show_layers(
    at: Place, models: pd.DataFrame, asked: Among, first: str, second: str
) -> tuple[int, int]:
    """Draw the layer × layer map of two models; return the pair of layers that agrees best."""
    about = models.set_index("model").to_dict("index")
    x, y = about[first], about[second]
    scores = queries.layer_map(at, first, second, metric=asked.metric, **asked.parameters)
    spec = METRICS[asked.metric].spec
    figure = figures.layer_grid(
        scores,
        title_x=x["title"],
        title_y=y["title"],
        layers_x=x["layers"],
        layers_y=y["layers"],
        spec=spec,
        chance=asked.chance(at),
        mode=frame.mode(),
    )
    table = (
        pd.DataFrame(scores, index=list(x["layers"]), columns=list(y["layers"]))
        .rename_axis("layer")
        .reset_index()
    )
    recipe = queries.recipe(at, "layers", [first, second], metric=asked.metric, **asked.parameters)
    command = frame.align_command(
        at, [first], [second], metric=asked.metric, layers="all", **asked.parameters
    )
    exportbar.plot(figure, key="layer-map", table=table, recipe=recipe, command=command)
    return pick_best(scores, LayerChoice(), spec=spec)


def show_neighbors(
    at: Place, titles: pd.Series, asked: Among, shown: Sequence[str], layers: tuple[int, int]
) -> None:
    """Draw the stimuli that each model takes to be nearest to one stimulus, in its best layer;
    framed where the first agrees.
    """
    size = queries.card(at).size
    index = gallery.chosen(size) or 0
    k = min(NEAR, size - 1)
    also = f"framed: near to it in {frame.plain(titles[shown[0]])}, too"
    st.caption(
        f"Nearest to stimulus {index}, most similar first; {also}. Open another one to take it"
        " instead."
    )
    best = {shown[0]: layers[0], shown[1]: layers[1]}
    for name in shown[2:]:
        scores = queries.layer_map(at, shown[0], name, metric=asked.metric, **asked.parameters)
        best[name] = pick_best(scores, LayerChoice(), spec=METRICS[asked.metric].spec)[1]
    near = {
        name: [int(one) for one in queries.neighbors(at, name, layer, k=k)[index] if one >= 0]
        for name, layer in best.items()
    }
    gallery.grid(at, [index], key="asked", width=108)
    for place, name in enumerate(shown):
        st.caption(frame.plain(titles[name]))
        marked = set(near[shown[0]]) if place else set()
        gallery.grid(at, near[name], key=f"beside-{place}", width=108, marked=marked)
    gallery.frame_marked()
