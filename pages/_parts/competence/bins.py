"""Figure 2, left, of the published work: models binned by competence, aligned within their bins."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.competence.records import ACCURACY, MEASURED
from core.figures.numbers import share_text
from core.questions.asking import findings_of
from core.questions.competence import bin_figures as figures
from core.questions.competence.answer import contending
from core.questions.competence.bins import assign_bins, bin_pairs
from core.questions.competence.findings import GROUPS, pair_kinds
from core.questions.competence.points import bin_points
from core.questions.competence.question import (
    Binning,
    Bins,
    CompetenceScores,
    Contenders,
    Grouping,
    Solving,
    TasksSolved,
)
from core.questions.models.question import ModelPairs, Roster
from core.study.models import basis_of, reads
from core.study.parts import Comparison
from pages._shared import controls, exportbar, frame, prose, queries
from pages._shared.address import bind
from pages._shared.queries import Place

OFFERED: tuple[Grouping, ...] = ("objective", "family", "size")
SOLVING = """Vision models are binned by the {basis}: solving one of {tasks} takes a score of at
least {threshold} of the best, and beyond chance."""
SCORING = "Vision models are binned by the {basis}."
READING = """A diamond is the mean alignment of all pairs of models within a bin, its
bar ± one standard error over models, its width the bin; small squares are the pairs. If
all strong models are alike and each weak one is weak in its own way, diamonds rise to
the right. **p** is how often random permutations of the same competences
({permutations} of them) give as steep a slope; **q** is p adjusted for one test per panel.
Models of one {by} may be alike in both for that reason alone, so each permutation moves
what a {by} has in common to another {by} as a whole."""


def show(at: Place, contenders: Contenders, comparison: Comparison, answer: DeltaGenerator) -> None:
    """Draw the bins of the vision models among these, and say in `answer` what is seen."""
    with frame.part():
        models = contending(queries.models(at), contenders)
        vision = models[reads(models, "image")]
        solving, binning = _pick(at, vision)
        question = Bins(at.scope, contenders, solving, binning, comparison)
        draw(at, vision, question)
        with answer:
            prose.answer(findings_of(question, queries.ask(at, question))[: prose.LEAD])


def draw(at: Place, models: pd.DataFrame, question: Bins) -> None:
    """Draw the bins of these vision models."""
    comparison, binning = question.comparison, question.binning
    table, by = queries.ask(at, question), binning.by
    solved = queries.ask(at, TasksSolved(at.scope, question.solving))
    skill = solved.set_index("model")["solved"].reindex(models["model"])
    pairs = queries.ask(at, ModelPairs(at.scope, Roster(tuple(models["model"])), comparison))
    placed = assign_bins(skill, count=binning.bins, equal=binning.equal)
    points = bin_pairs(pairs, skill, models.set_index("model")[by], placed)
    figure = figures.bins(
        bin_points(points, models),
        table,
        kinds=pair_kinds(by),
        label=comparison.label,
        chance=comparison.chance(queries.size(at)),
        mode=frame.mode(),
        narrow=frame.narrow(),
    )
    exportbar.draw(at, question, figure, key="competence-bins", table=table)
    basis = basis_of(solved)
    by_tasks = (SOLVING if _are_tasks(basis) else SCORING).format(
        basis=frame.plain(basis),
        tasks=int(solved["tasks"].max()),
        threshold=share_text(question.solving.threshold),
    )
    how = f"{by_tasks} {READING}".format(
        permutations=question.permutations,
        by=by,
    )
    prose.explain(how, findings_of(question, table)[prose.LEAD :])
    _list_unmeasured(models, skill)


def _pick(at: Place, models: pd.DataFrame) -> tuple[Solving, Binning]:
    """Draw the controls; raises NeededError where nothing was measured."""
    options = controls.options_by_name(Bins)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tasks = _pick_tasks(at, models)
        threshold = options["threshold"].default
        if tasks or _are_tasks(basis_of(queries.ask(at, TasksSolved(at.scope)))):
            threshold = st.slider(
                options["threshold"].label,
                0.5,
                1.0,
                step=0.05,
                help=controls.sentence(options["threshold"].help),
                format="percent",
                width=165,
                **bind("threshold", threshold, within=(0.5, 1.0)),
            )
        count = int(controls.pick_between(options["bins"], 2, 10, 1, width=95))
        by = controls.pick_labeled(options["by"], {name: GROUPS[name] for name in OFFERED})
        equal = controls.pick_switch(options["equal"])
    return Solving(tasks, threshold), Binning(count, equal, by)


def _are_tasks(basis: str) -> bool:
    """Return whether competence is a share of tasks solved, and no mean of scores."""
    return basis.startswith("share of ")


def _pick_tasks(at: Place, models: pd.DataFrame) -> tuple[str, ...]:
    """Choose tasks among those that were measured by probes; at first, "()", what competence is by
    default.

    Raises NeededError where nothing is known of two models' competence.
    """
    if len(models) < 2:
        how = frame.command(
            "embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224"
        )
        raise frame.NeededError("Bins by tasks solved need at least two vision models.", how)
    table = queries.ask(at, CompetenceScores(at.scope, origin=(MEASURED,)))
    probed = table[
        table["model"].isin(models["model"]) & (table["unit"] == ACCURACY) & table["value"].notna()
    ]
    every, own = tuple(dict.fromkeys(probed["task"])), queries.ask(at, TasksSolved(at.scope))
    known = own[own["model"].isin(models["model"])].dropna(subset="solved")
    if not every and len(known) < 2:
        how = frame.command("probe", "--dataset", at.dataset, "--task", "vtab")
        raise frame.NeededError(
            "How competent these vision models are is not known. Import scores below, or measure"
            " linear probes:",
            how,
        )
    if not every:
        return ()
    usual = () if len(known) else every
    count = len(usual) or int(own["tasks"].max())
    chosen = st.multiselect(
        "Tasks", every, placeholder=f"all {count}", width=140, **bind("tasks", [], every)
    )
    return tuple(chosen) or usual


def _list_unmeasured(models: pd.DataFrame, skill: pd.Series) -> None:
    missing = models[models["model"].map(skill).isna()]
    if len(missing):
        st.caption(
            "Left out, since not all of their scores are known:"
            f" {frame.plain(', '.join(missing['title']))}."
        )
