"""Overview: the hypothesis in one look."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.figures import overview as figures
from core.figures import tables
from pages._shared import exportbar, frame, queries
from pages._shared.queries import Place

REALITY, K = "reality", 10
WHY = """The [Platonic Representation Hypothesis](https://arxiv.org/abs/2405.07987) says: the better models become at their
own task, the more alike they measure how things differ, whatever they were trained on, because all of them model one
reality."""
READING = """**How to read it.** Each dot is a language model; the further right, the better it predicts the captions. The
higher, the more of the {k} stimuli that it takes to be nearest to a stimulus are also nearest in a trained vision model (the mean
over them; the bar spans the least and the most aligned one). The dotted line is what unrelated models reach by chance."""
MADE = """The models here are small, trained in minutes, and this world is made: scenes, things and captions come from a
program. What holds here illustrates the hypothesis, it does not prove it."""
KNOWN = """In a made world the factors of every event are known, and can be compared with what a model holds of it: no
published study can draw this. Large marks are large models."""


def show(at: Place) -> None:
    """Draw what is in the store, the headline, and every model against one yardstick."""
    card, models = queries.card(at), queries.models(at)
    counts = models["modality"].value_counts()
    real = " and reality itself" if counts.get("world") else ""
    seen = f"seen by {counts.get('vision', 0)} vision models and read by {counts.get('language', 0)} language models{real}"
    st.markdown(f"{WHY} Here: **{frame.plain(card.title)}**, {card.size:,} image–caption pairs {seen}.")
    frame.need_stimuli(at)
    names = {modality: list(models.loc[models["modality"] == modality, "model"]) for modality in ("language", "vision", "world")}
    k = min(K, card.size - 1)
    both, either = names["language"] and names["vision"], names["language"] or names["vision"]
    if both:
        show_headline(at, models, names, k)
    if both or (either and REALITY in names["world"]):
        show_ranking(at, models, names, k)
    frame.need_models(at, "language", "vision")
    frame.tell_left_out(at, list(models["model"]), k)
    if card.source.get("kind") == "cave":
        st.markdown(f":material/toys: {MADE}")


def show_headline(at: Place, models: pd.DataFrame, names: dict[str, list[str]], k: int) -> None:
    """Draw competence against alignment with vision models and, where it is known, with reality."""
    trained = models.loc[(models["modality"] == "vision") & (models["objective"] != "untrained"), "model"]
    targets = [*trained, *(name for name in names["world"] if name == REALITY)]
    pairs = tables.trend_points(queries.alignment(at, names["language"], targets, k=k), queries.competence(at), models)
    points = tables.headline_points(pairs)
    recipe = queries.recipe(at, "headline", [*names["language"], *targets], metric="mutual_knn", k=k)
    command = frame.command("align", "--dataset", at.dataset, "--x", *names["language"], "--y", *targets, "--k", str(k))
    exportbar.plot(figures.headline(points, mode=frame.mode(), narrow=frame.narrow()), key="headline", table=points, recipe=recipe,
                   command=command)  # fmt: skip
    st.markdown(f"{READING.format(k=k)} {_seen(points)}")


def _seen(points: pd.DataFrame) -> str:
    found = tables.fits(points.rename(columns={"target": "facet", "model": "model_x"}))
    parts = [
        f"with {target}: {fit.reason or f'{fit.spearman:.2f} over {fit.n} models (p = {fit.p:.2g})'}"
        for target, fit in found.items()
    ]
    return f"**What is seen.** Spearman correlation of competence and alignment {frame.plain('; '.join(parts))}."


def show_ranking(at: Place, models: pd.DataFrame, names: dict[str, list[str]], k: int) -> None:
    """Draw every model's alignment with reality, or with the other modality where reality is unknown."""
    known = REALITY in names["world"]
    st.subheader("Who is closest to reality?" if known else "Who agrees most with vision models?", anchor=False)
    against = REALITY if known else "vision models"
    x = names["language"] + (names["vision"] if known else [])
    y = [REALITY] if known else names["vision"]
    table = queries.alignment(at, x, y, k=k)
    points = tables.ranking_points(table, models)
    recipe = queries.recipe(at, "ranking", [*x, *y], metric="mutual_knn", k=k)
    command = frame.command("align", "--dataset", at.dataset, "--x", *x, "--y", *y, "--k", str(k))
    exportbar.plot(figures.ranking(points, against=against, mode=frame.mode()), key="ranking", table=points.drop(columns="layers"),
                   recipe=recipe, command=command)  # fmt: skip
    if known:
        st.markdown(KNOWN)


frame.draw("Do neural networks converge to the same representation?", show)
