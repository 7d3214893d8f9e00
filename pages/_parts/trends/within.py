"""Alignment of models on one level of competence or size, and between modalities if there are more
than two.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from core.questions.alignment.question import Alignment
from core.questions.competence.question import Binning, Bins
from core.questions.convergence.question import Levels
from core.questions.modalities import Modalities
from core.study.models import is_reality, reads, trained, usual
from core.study.parts import Comparison
from pages._parts.trends import scores
from pages._shared import bar, controls, frame, queries, section
from pages._shared.address import fragment
from pages._shared.controls import Look
from pages._shared.queries import Place

LEVELS = {
    "competence": "competence",
    "size": "size",
    "tasks": "number of tasks",
    "data": "amount of data",
}
CAPTION = """Diamonds: mean alignment of the pairs of models on a level, adjusted for objective and
family, with 95% CI over recipes. Circles: unadjusted. Dotted: chance. Dash-dotted: two seeds."""
METHODS = """The permutation test permutes levels within each objective or family, so it tests
convergence within kinds, not between them. Competence is cut into thirds within each modality. Two
seeds of one recipe never make a pair."""
RANKED = """Each point is a model: its mean alignment with all others, with 95% CI over these.
Dotted: chance."""
BINS = """Diamonds: mean alignment of all pairs of models within a bin of tasks solved, ± one
standard error over models."""
BINS_METHODS = """A task is solved by a score of at least the threshold times the best, above
chance. The test permutes competence between groups as a whole and within them. Source: Huh et al.
2024, figure 2."""
MODALITIES = """Means over trained models, with 95% CI over recipes of both sides. Ticks: shuffled
images (chance). Open diamonds: untrained networks, the baseline of architecture alone."""
MODALITIES_METHODS = """The interval takes models of both sides as samples; sizes and seeds of one
line count once. Chance is measured by shuffling, with layers chosen again. q adjusts the p of both
differences over all rows."""
BIN_LOOKS = {
    "threshold": Look(least=0.5, step=0.05),
    "bins": Look(most=10),
    "equal": Look(),
}


def show(at: Place) -> None:
    frame.need_stimuli(at)
    need_pair(at)
    first = first_level(at)
    with bar.controls_bar():
        looks = {
            "by": Look(
                labels=LEVELS,
                start=first or "competence",
                help="What rises from level to level. Default: competence, if enough models have"
                " it, else size.",
            )
        }
        more = ("models", "permutations", "seed", "layers", "as")
        question = controls.pick(Levels, at, looks, more=more, leave=("between",))
    at = replace(at, scope=question.scope)
    with frame.part():
        if first or question.by != "competence":
            section.draw(at, question, key="convergence", caption=CAPTION, methods=METHODS)
        else:
            names = tuple(usual(queries.models(at))["model"])
            every = Alignment(
                at.scope, names, names, axis="parameters", comparison=question.comparison
            )
            section.draw(at, every, key="ranking", caption=RANKED, models=True)
    show_modalities(at, question.comparison)
    show_bins(at, question.comparison)
    scores.show(at)


def need_pair(at: Place) -> None:
    """Raise NeededError if there are no two trained models."""
    models = queries.models(at)
    if models.empty:
        frame.need_readers(at, "caption", "image")
    if len(usual(models)) < 2:
        how = frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2")
        raise frame.NeededError("Alignment needs two trained models. Add another:", how)


def first_level(at: Place) -> str:
    """Return the first of competence and size that puts two models on a level, "" for neither."""
    for by in ("competence", "size"):
        if len(queries.ask(at, Levels(at.scope, by=by))):
            return by
    return ""


@fragment
def show_modalities(at: Place, comparison: Comparison) -> None:
    """Draw the alignment of every two modalities and of each with reality, if there are more than
    vision and language.
    """
    models = trained(queries.models(at))
    if models.loc[~is_reality(models), "modality"].nunique() < 3:
        return
    section.closed(
        "All modalities",
        at,
        Modalities(at.scope, (), comparison),
        key="modalities",
        caption=MODALITIES,
        methods=MODALITIES_METHODS,
    )


@fragment
def show_bins(at: Place, comparison: Comparison) -> None:
    """Offer the bins of the published figure, if two vision models have a competence."""
    models = usual(queries.models(at))
    question = Bins(at.scope, comparison=comparison)
    if not reads(models, "image").any() or queries.ask(at, question).empty:
        return
    draw = partial(_draw_bins, at, question)
    frame.fold("Bins of tasks solved", draw, key="bins", link=BIN_LOOKS)


def _draw_bins(at: Place, question: Bins) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = {
            name: controls.pick_option(one, BIN_LOOKS[name])
            for name, one in controls.options_by_name(Bins).items()
            if name in BIN_LOOKS
        }
    solving = replace(question.solving, threshold=chosen["threshold"])
    binning = Binning(chosen["bins"], chosen["equal"])
    question = replace(question, solving=solving, binning=binning)
    section.draw(at, question, key="competence-bins", caption=BINS, methods=BINS_METHODS)
