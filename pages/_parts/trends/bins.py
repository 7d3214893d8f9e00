"""Figure 2, left, of the published work: models binned by competence, aligned within their bins."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.competence.records import ACCURACY, MEASURED
from core.figures.numbers import share_text
from core.questions.competence.question import (
    GROUPS,
    Binning,
    Bins,
    CompetenceScores,
    Contenders,
    Grouping,
    TasksSolved,
    contending,
)
from core.questions.competence.scores import Solving
from core.study.models import basis_of, reads
from core.study.parts import Comparison
from pages._shared import controls, frame, queries, section
from pages._shared.address import bind
from pages._shared.queries import Place

OFFERED: tuple[Grouping, ...] = ("objective", "family", "size")
METHODS = """A diamond is the mean alignment of all pairs of models within a bin of competence, its
bar ± one standard error over models, its width the bin. **p** exchanges competence: each
permutation moves what the models of a group have in common to another group as a whole. Competence:
{basis}, solved from {threshold} of the best score, beyond chance."""


def show(at: Place, contenders: Contenders, comparison: Comparison) -> None:
    """Draw the bins of the vision models among these."""
    with frame.part():
        models = contending(queries.models(at), contenders)
        vision = models[reads(models, "image")]
        solving, binning = _pick(at, vision)
        question = Bins(at.scope, contenders, solving, binning, comparison)
        solved = queries.ask(at, TasksSolved(at.scope, solving))
        threshold = share_text(solving.threshold)
        methods = METHODS.format(basis=frame.plain(basis_of(solved)), threshold=threshold)
        section.draw(at, question, key="competence-bins", methods=methods)
        skill = solved.set_index("model")["solved"].reindex(vision["model"])
        _list_unmeasured(vision, skill)


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
                help=controls.tip_of(options["threshold"]),
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
