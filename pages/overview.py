"""Overview: the hypothesis in one look."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.encoders.encoder import REALITY
from core.figures import tables
from core.modalities import Item, find_modality
from core.questions.alignment.points import trend_points
from core.questions.overview import figures as figures
from core.questions.overview.trends import OVERALL, trends
from core.study.models import is_reality, reads, trained
from pages._shared import exportbar, frame, queries
from pages._shared.queries import Place

K = 10
WHY = """The [Platonic Representation Hypothesis](https://arxiv.org/abs/2405.07987) says: the better
models become at their own task, the more alike they measure how things differ, whatever they
were trained on, because all of them model one reality."""
READING = """**How to read it.** Each dot is a trained language model; the further right, the
better it predicts the captions. The higher, the more of the {k} stimuli that it
takes to be nearest to a stimulus are also nearest in a trained vision model (the
mean over them; the bar spans the least and the most aligned one). The dotted line
is what one pair of layers of unrelated models reaches by chance; the best pair of
many, which is shown, lies a little above it."""
MADE = """The models here are small, trained in minutes, and this world is made: scenes, things and
captions come from a program. What holds here illustrates the hypothesis, it does not prove it."""
KNOWN = """In a made world the factors of every event are known, and can be compared with what
a model holds of it: no published study can draw this. Large marks are large models."""
GROWTH = """**How to read it.** Each line joins models that differ in one thing: copies along
one training, sizes of one recipe, or the number of tasks they were taught. Better
models should be higher; where a line falls, the hypothesis does not hold for it."""


def show(at: Place) -> None:
    """Draw what is in the store, the headline, every model against one yardstick, and what brings
    them closer.
    """
    card, every = queries.card(at), queries.models(at)
    models = every[~every["copy"]]
    st.markdown(
        f"{WHY} Here: **{frame.plain(card.title)}**, {card.size:,} image–caption pairs"
        f" {_seen_by(models)}."
    )
    frame.need_stimuli(at)
    k = min(K, card.size - 1)
    language, vision = _names(models, "caption"), _names(models, "image")
    both, either = language and vision, language or vision
    if both:
        show_headline(at, models, k)
    if both or (either and _knows_reality(models)):
        show_ranking(at, models, k)
        show_growth(at, every, k)
    frame.need_readers(at, "caption", "image")
    frame.tell_left_out(at, list(every["model"]), k)
    if both:
        show_findings(at, k)
    if card.has_demo:
        st.markdown(f":material/toys: {MADE}")


def _seen_by(models: pd.DataFrame) -> str:
    """Return how many models of each modality there are, and whether reality is known."""
    known = ", and their reality is known" if is_reality(models).any() else ""
    counts = _others(models)["modality"].value_counts()
    others = "".join(
        f", beside {count} {find_modality(str(name)).plural}" for name, count in counts.items()
    )
    seeing, reading = reads(models, "image").sum(), reads(models, "caption").sum()
    return f"seen by {seeing} vision models and read by {reading} language models{others}{known}"


def _names(models: pd.DataFrame, item: Item) -> list[str]:
    return list(models.loc[reads(models, item), "model"])


def _others(models: pd.DataFrame) -> pd.DataFrame:
    """Return the models that read neither images nor captions."""
    seeing, reading = reads(models, "image"), reads(models, "caption")
    return models[~(seeing | reading | is_reality(models))]


def show_headline(at: Place, models: pd.DataFrame, k: int) -> None:
    """Draw competence against alignment with vision models and, where it is known, with reality."""
    finished = trained(models)
    reading = _names(finished, "caption")
    targets = [*_names(finished, "image"), *([REALITY] if _knows_reality(models) else [])]
    if not (reading and targets):
        return
    pairs = trend_points(
        queries.alignment(at, reading, targets, k=k), queries.competence(at), models
    )
    points = tables.headline_points(pairs)
    found = trends(pairs, queries.competence(at), models)
    recipe = queries.recipe(at, "headline", [*reading, *targets], metric="mutual_knn", k=k)
    command = frame.command(
        "align", "--dataset", at.dataset, "--x", *reading, "--y", *targets, "--k", str(k)
    )
    exportbar.plot(
        figures.headline(points, mode=frame.mode(), narrow=frame.narrow()),
        key="headline",
        table=points,
        recipe=recipe,
        command=command,
    )
    st.markdown(f"{READING.format(k=k)} {_seen(found)}")


def _seen(found: pd.DataFrame) -> str:
    parts = []
    for row in found[found["group"].isin((OVERALL, REALITY))].to_dict("records"):
        numbers = f"{row['value']:.2f} over {row['models']} models (p = {row['p']:.2g})"
        parts.append(f"with {row['group']}: {row['reason'] or numbers}")
    if not parts:
        return ""
    numbers = frame.plain("; ".join(parts))
    caution = "Sizes of one family are not independent, so these p-values are too small."
    return (
        "**What is seen.** Spearman correlation of trained models' competence and alignment"
        f" {numbers}. {caution}"
    )


def show_ranking(at: Place, models: pd.DataFrame, k: int) -> None:
    """Draw every model's alignment with reality, or with the other modality where reality is
    unknown.
    """
    against, known = _yardstick(models), _knows_reality(models)
    language, vision = _names(models, "caption"), _names(models, "image")
    st.subheader(
        "Who is closest to reality?" if known else "Who agrees most with vision models?",
        anchor=False,
    )
    x = [*language, *vision, *_others(models)["model"]] if known else language
    y = [REALITY] if known else vision
    table = queries.alignment(at, x, y, k=k)
    points = tables.ranking_points(table, models)
    recipe = queries.recipe(at, "ranking", [*x, *y], metric="mutual_knn", k=k)
    command = frame.command("align", "--dataset", at.dataset, "--x", *x, "--y", *y, "--k", str(k))
    exportbar.plot(
        figures.ranking(points, against=against, mode=frame.mode()),
        key="ranking",
        table=points.drop(columns="layers"),
        recipe=recipe,
        command=command,
    )
    if known:
        st.markdown(KNOWN)


def show_growth(at: Place, models: pd.DataFrame, k: int) -> None:
    """Draw alignment with the same yardstick along training, size, tasks taught and tasks solved,
    where there are any.
    """
    against = _yardstick(models)
    known = _knows_reality(models)
    compared = ~is_reality(models) if known else reads(models, "caption")
    x = list(models.loc[compared, "model"])
    y = [REALITY] if known else _names(trained(models), "image")
    points = tables.growth_points(
        tables.ranking_points(queries.alignment(at, x, y, k=k), models), queries.tasks_solved(at)
    )
    if points.empty:
        return
    st.subheader("What brings models closer?", anchor=False)
    recipe = queries.recipe(at, "growth", [*x, *y], metric="mutual_knn", k=k)
    command = frame.command("align", "--dataset", at.dataset, "--x", *x, "--y", *y, "--k", str(k))
    exportbar.plot(
        figures.growth(points, against=against, mode=frame.mode(), narrow=frame.narrow()),
        key="growth",
        table=points.drop(columns="layers"),
        recipe=recipe,
        command=command,
    )
    st.markdown(GROWTH)


def _yardstick(models: pd.DataFrame) -> str:
    return REALITY if _knows_reality(models) else "vision models"


def _knows_reality(models: pd.DataFrame) -> bool:
    return REALITY in set(models["model"])


def show_findings(at: Place, k: int) -> None:
    """Show all figures of the study's answer, those that speak against the hypothesis among
    them.
    """
    with st.expander("The figures"):
        st.dataframe(queries.findings(at, k=k), hide_index=True)
        st.caption("The same from the command line:")
        st.code(
            frame.command("findings", "--dataset", at.dataset, "--k", str(k)),
            language="bash",
            wrap_lines=True,
        )


frame.draw("Do neural networks converge to the same representation?", show)
