"""Captions: does a caption that says more align better?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.figures import tables
from core.metrics import METRICS
from core.questions.captions import answer as density
from core.questions.captions import figures as figures
from core.questions.captions import findings as verdicts
from core.questions.captions.trends import level_trends
from core.stimuli.levels import offered_levels
from core.study.models import families
from pages._parts.captions import retold
from pages._shared import among, controls, exportbar, frame, queries
from pages._shared.among import Among
from pages._shared.queries import Place

WHY = """A caption cannot tell more than its words hold. If vision and language come to agree
because both describe one world, then the more a caption tells of its picture, the
more alike the two should be."""
READING = """**How to read it.** Each line is a model, thick ones are large: its alignment with
language models that read captions of ever more words, the mean over language
models. **Bars** are one standard deviation over language models. The heading tells
how much alignment changes when the words double, with the 95 % **interval** over
families of language models, and the p of Page's test that all families rank the
levels alike, adjusted for the false discovery rate over the panels drawn, one test
each. The models of a family share how they were made, so their mean counts once.
Where models lack levels, a trend is over the levels that most have. All this is
about these captions: a quirk of how those of a level were written moves every model
and is not told from a trend. {chance}{thin}"""
CHANCE = "The dotted line is chance of one pair of layers; the best of many lies a little above it."
THIN = (
    " **Thin lines** with dots are single language models in the color of their family, each the"
    " mean over the models of a panel."
)
LEVELS = """Means over stimuli; bytes in UTF-8.{told}"""
TOLD = """ Of the factors that made a picture (scene, time, weather, how many things, and each
thing's kind, color, size, direction and place) a caption tells those that its words
give away; a word that leaves some open counts in part."""
CAP = """**How to read it.** Each mark is a group of stimuli whose captions, of one level,
tell about equally much; up, language models share more of the nearest neighbors of
these stimuli with the panel's models. What captions leave out caps what can be
shared, so lines should rise to the right, also where captions are equally long.
Marks are means without an interval: small ones are of few stimuli and move by
chance."""


@dataclass(frozen=True)
class Asked:
    """The language models, those they are compared with, and how."""

    models: tuple[str, ...]
    against: tuple[str, ...]
    how: Among
    chosen: tuple[str, ...]  # both in words of the command line, none where all are asked for

    def neighbors(self, at: Place) -> dict[str, int]:
        """Return how many neighbors are compared where a part compares neighbors, whatever the
        metric is.
        """
        return {"k": self.how.parameters.get("k", min(10, queries.size(at) - 1))}


def show(at: Place) -> None:
    """Draw alignment by level, what levels are, what captions tell, and one stimulus at all
    levels.
    """
    frame.need_stimuli(at)
    frame.need_readers(at, "caption")
    for sentence in density.tell_outdated(queries.study(at)):
        st.warning(frame.plain(sentence), icon=":material/error:")
    need_levels(at)
    frame.need_readers(at, "image")
    above = st.container()
    with st.sidebar:
        asked = ask(at, above)
    st.markdown(WHY)
    with frame.part():
        show_alignment(at, asked)
    with frame.part():
        show_levels(at)
    if queries.card(at).knows_factors:
        with frame.part():
            show_told(at, asked)
    with frame.part():
        show_stimulus(at, asked)


def need_levels(at: Place) -> None:
    """Raise NeededError where no language model is embedded at two levels: with the command that
    embeds one, or writes levels.
    """
    if queries.tellings(at)["model"].value_counts().max() > 1:
        return
    card, one = queries.card(at), "Every language model is embedded at one caption level."
    levels = offered_levels(card.levels, tuple(queries.study(at).store.summaries(at.dataset)))
    if card.has_demo:
        raise frame.NeededError(
            f"{one} Build the demo again: it keeps what is there and adds the other levels of the"
            " Cave, in about a minute:",
            frame.command("demo"),
        )
    if len(levels) > 1:
        raise frame.NeededError(
            f"{one} Embed two models or more at several; here are {', '.join(levels)}, and a trend"
            " needs three:",
            frame.command(
                "embed",
                "--dataset",
                at.dataset,
                "--model",
                "hf:gpt2",
                "hf:bigscience/bloomz-560m",
                "--caption-level",
                *levels,
            ),
        )
    raise frame.NeededError(
        "This dataset has one caption level. Put its captions into fewer words, then embed language"
        " models at these levels with embed --caption-level, naming several:",
        frame.command(
            "summarize",
            "--dataset",
            at.dataset,
            "--model",
            "hf:Qwen/Qwen2.5-0.5B-Instruct",
            "--words",
            "5",
            "10",
            "20",
        ),
    )


def ask(at: Place, above: DeltaGenerator) -> Asked:
    """Draw the controls, and above the page what they lack of a link."""
    study, every = queries.study(at), queries.models(at)
    reading = every[every["model"].isin(density.default_models(study))]
    seeing = every[every["model"].isin(density.default_targets(study))]
    if reading.empty:
        raise frame.NeededError("No trained language model is embedded at two caption levels.")
    models = _pick(
        "Language models",
        reading,
        "readers",
        kind="language model at two or more caption levels",
        above=above,
    )
    against = _pick("Compared with", seeing, "against", kind="vision model", above=above)
    sides = (("--x", models, reading), ("--y", against, seeing))
    chosen = [
        word for option, names, all_ in sides if len(names) < len(all_) for word in (option, *names)
    ]
    return Asked(tuple(models), tuple(against), among.pick(at), tuple(chosen))


def _pick(
    label: str, models: pd.DataFrame, key: str, *, kind: str, above: DeltaGenerator
) -> list[str]:
    return controls.heed(
        partial(controls.pick_models, label, models, key),
        key,
        models["title"].tolist(),
        kind=kind,
        above=above,
    )


def show_alignment(at: Place, asked: Asked) -> None:
    """Draw alignment against the number of words, and say what is seen."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = st.segmented_control(
            "A panel per",
            ["objective", "model"],
            default="objective",
            required=True,
            key="panel",
            bind="query-params",
        )
        text = "Of each the mean over the models of a panel."
        each = st.toggle("A line per language model", key="each", help=text, bind="query-params")
    models, how = queries.models(at), asked.how
    rows = queries.compared(
        at, density.compare_levels, models=asked.models, against=asked.against, **how.compared
    )
    facets = panels(models, by)
    points, lines = (
        tables.level_points(rows, models, facets),
        tables.language_lines(rows, models, facets),
    )
    trends = level_trends(lines.rename(columns={"facet": "model_y"}), families(models))
    figure = figures.by_words(
        points,
        lines if each else lines.head(0),
        trends,
        mode=frame.mode(),
        narrow=frame.narrow(),
        label=how.label.replace(METRICS[how.metric].spec.title, METRICS[how.metric].spec.short),
    )
    recipe = queries.recipe(
        at,
        "alignment-by-level",
        [*asked.models, *asked.against],
        panel=by,
        lines=each,
        **how.compared,
    )
    command = how.command(
        at, "captions", *asked.chosen, "--by", "model"
    )  # whose rows are the points, whatever a panel holds
    exportbar.plot(figure, key="levels", table=points, recipe=recipe, command=command)
    st.markdown(
        READING.format(
            chance="" if math.isnan(how.chance(at)) else CHANCE, thin=THIN if each else ""
        )
    )
    turned = not METRICS[how.metric].spec.higher_is_more_aligned
    said = verdicts.tell_levels(
        trends, {name: frame.plain(name) for name in trends["model_y"]}, turned=turned
    )
    st.markdown(f"**What is seen.** {said}")


def panels(models: pd.DataFrame, by: str) -> dict[str, str]:
    """Return the panel of each model: its objective, or itself."""
    return dict(
        zip(models["model"], models["group" if by == "objective" else "title"], strict=True)
    )


def show_levels(at: Place) -> None:
    """Draw what the levels are."""
    st.subheader("How much does a caption say?", anchor=False)
    table = queries.compared(at, density.caption_levels)
    recipe = queries.recipe(at, "caption-levels", list(queries.tellings(at)["name"]))
    exportbar.plot(
        figures.levels(table, mode=frame.mode(), narrow=frame.narrow()),
        key="words",
        table=table,
        recipe=recipe,
        command=frame.command("captions", "--dataset", at.dataset, "--levels"),
    )
    st.markdown(LEVELS.format(told=TOLD if table["told"].notna().any() else ""))


def show_told(at: Place, asked: Asked) -> None:
    """Draw alignment of single stimuli against what their captions tell."""
    st.subheader("Is it what a caption tells?", anchor=False)
    k = asked.neighbors(at)
    table = queries.compared(
        at, density.compare_told, models=asked.models, against=asked.against, **k
    )
    points = tables.told_points(table, panels(queries.models(at), "objective"))
    order = queries.compared(at, density.caption_levels)["level"]
    figure = figures.told(
        points,
        [level for level in order if level in set(points["level"])],
        mode=frame.mode(),
        label=f"alignment (mutual k-NN, k = {k['k']})",
        narrow=frame.narrow(),
    )
    recipe = queries.recipe(at, "alignment-by-facts", [*asked.models, *asked.against], **k)
    command = frame.command(
        "captions", "--dataset", at.dataset, "--told", *asked.chosen, *frame.compared_words(**k)
    )
    exportbar.plot(figure, key="told", table=points, recipe=recipe, command=command)
    said = verdicts.tell_told(
        points.rename(columns={"facet": "model_y"}),
        {name: frame.plain(name) for name in points["facet"]},
    )
    st.markdown(f"{CAP}\n\n**What is seen.** {said}")


def show_stimulus(at: Place, asked: Asked) -> None:
    """Draw one stimulus at every level with its neighbors, whatever metric is chosen above."""
    rows = queries.compared(
        at,
        density.compare_levels,
        models=asked.models,
        against=asked.against,
        **asked.neighbors(at),
    )
    retold.show(at, rows)


frame.draw("Does a caption that says more align better?", show)
