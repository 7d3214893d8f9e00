"""The map and the tree of models."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pandas as pd
import streamlit as st

from core.errors import InputError
from core.modalities import find_modality, known_first
from core.questions.finding import sentences
from core.questions.models.figures import tree
from core.questions.models.pairs import ModelPairs, cluster, distances
from core.questions.models.question import ModelMap, ModelTable
from core.study.layers import score_matrix
from core.study.models import has_unfinished, is_measured, is_reality, without_variants
from pages._shared import bar, controls, exportbar, frame, prose, queries, section, selection
from pages._shared.controls import Look
from pages._shared.queries import Place

Q = TypeVar("Q", ModelMap, ModelPairs, ModelTable)

MOST = 150  # models whose names can be read next to the tree
LAYOUTS = {"mds": "MDS", "umap": "UMAP"}
COLORS = {
    "group": "Objective",
    "family": "Family",
    "rank": "Competence",
    "parameters": "Size",
    "step": "Training step",
}
BEHIND = ("models", "unfinished", "variants", "world", "measured", "layers", "as", "seed")
LOOKS = {
    "unfinished": Look(help="Adds checkpoints and untrained models. On by default."),
    "variants": Look(help="Adds other seeds, and models that vary one setting. Off by default."),
    "world": Look(help="Adds the known factors of the scenes as a model. On by default."),
    "measured": Look(help="Adds brains and people. Off by default."),
    "seed": Look(help="Seed of UMAP (default 0). Change it to see what is stable."),
    "layout": Look(
        labels=LAYOUTS,
        help="MDS (default) keeps distances best; UMAP spreads groups out, and may misplace them.",
    ),
    "color": Look(labels=COLORS, help="What colors mean (default: objective or family)."),
}
CAPTION = """Each point is a model ({marks}); larger points have more parameters, lines
join checkpoints of one training. {read} Click points to select models."""
GLYPHS = {
    "square": "■",
    "circle": "●",
    "triangle-up": "▲",
    "star": "★",
    "diamond": "◆",
    "hexagon": "⬢",
    "pentagon": "⬟",
    "triangle-down": "▼",
    "cross": "✚",
    "hexagram": "✶",
}
READ = {"umap": "Read groups, not distances.", "mds": "Close points are aligned models."}
MAPPED = """Distance is −log(alignment), or the metric itself if it is one. Pairs without
positive alignment are drawn at the least positive alignment. The map may be rotated or mirrored;
hollow points have no value of the color."""
LEAVES = """Rows and columns are the same models in the order of the tree; a cell is the
alignment of two. Models that join close to the matrix are similar."""
CLUSTERED = """Average linkage over −log(alignment), or the metric itself if it is a distance,
with leaves in optimal order. The cophenetic correlation compares the distances in the tree with
those of the models."""


def pick(kind: type[Q], at: Place, looks: Mapping[str, Look], leave: Collection[str] = ()) -> Q:
    """Draw the controls of a question about many models; raises NeededError for fewer than two."""
    frame.need_stimuli(at)
    every = queries.models(at)
    if every.empty:
        frame.need_readers(at, "caption", "image")
    if len(every) < 2:
        how = frame.command(
            "embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224"
        )
        raise frame.NeededError("Needs 2 models; 1 loaded.", how)
    applies: dict[str, bool] = {
        "unfinished": has_unfinished(every),
        "variants": len(without_variants(every)) < len(every),
        "world": bool(is_reality(every).any()),
        "measured": bool(is_measured(every).any()),
    }
    left = {*leave, *(name for name, some in applies.items() if not some)}
    looks = {"models": Look.of_models(every), **LOOKS, **looks}
    with bar.controls_bar():
        return controls.pick(kind, at, looks, more=BEHIND, leave=left)


def show_map(at: Place) -> None:
    """Draw the map of models."""
    question = pick(ModelMap, at, {})
    at = replace(at, scope=question.scope)
    try:
        with st.spinner("Drawing the map; the first time takes up to a minute"):
            table = queries.ask(at, question)
    except InputError as error:
        raise frame.NeededError(f"No map: {error}.") from error
    named = table.assign(named=table["model"].isin(selection.chosen()))
    kinds = known_first(table["modality"])
    marks = ", ".join(f"{GLYPHS[find_modality(one).symbol]} {one}" for one in kinds)
    section.draw(
        at,
        question,
        key="model-map",
        plot=question.plot(named),
        caption=CAPTION.format(marks=marks, read=READ[question.layout]),
        methods=MAPPED,
        models=True,
    )
    _list_left_out(at, dict(table.loc[table["reason"] != "", ["model", "reason"]].to_numpy()))


def show_tree(at: Place) -> None:
    """Draw the tree of models with the matrix in its order, and say how well a tree fits."""
    question = pick(ModelPairs, at, {})
    at = replace(at, scope=question.scope)
    pairs, spec = queries.ask(at, question), question.comparison.spec
    try:
        apart = distances(pairs, spec=spec)
        if len(apart.names) > MOST:
            raise frame.NeededError(
                f"At most {MOST} names are legible; {len(apart.names)} models selected. Choose"
                " fewer models under Options."
            )
        joined = cluster(apart)
    except InputError as error:
        raise frame.NeededError(f"No tree: {error}.") from error
    prose.answer(sentences(queries.answer(at, question).findings))
    drawn = partial(
        tree,
        score_matrix(pairs, joined.order),
        joined.branches,
        queries.models(at).set_index("model").loc[joined.order, ["title", "group"]],
        label=question.comparison.label,
        aligned_high=spec.higher_is_more_aligned,
    )
    exportbar.draw(at, question, drawn, key="tree", table=pairs)
    st.caption(LEAVES)
    prose.explain(CLUSTERED)
    _list_left_out(at, apart.left_out)


def _list_left_out(at: Place, reasons: Mapping[str, str]) -> None:
    models: pd.DataFrame = queries.models(at)
    frame.list_left_out(models, reasons)
