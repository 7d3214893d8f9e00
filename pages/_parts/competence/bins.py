"""Figure 2, left, of the published work: models binned by competence, aligned within their bins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from core.competence.records import ACCURACY, MEASURED
from core.figures import tables
from core.metrics import METRICS
from core.questions.competence import figures as figures
from core.questions.competence.bins import assign_bins, bin_pairs
from core.questions.competence.findings import tell_bins
from core.questions.competence.registry import select
from core.questions.competence.tasks_solved import THRESHOLD
from core.questions.models import answer as mapping
from core.study.models import trained
from pages._shared import exportbar, frame, queries
from pages._shared.among import Among
from pages._shared.queries import Place

GROUPS = {"objective": "objectives", "family": "families", "size": "sizes"}
PERMUTATIONS = 999
READING = """**How to read it.** Vision models are put into bins by how many of {tasks} tasks
they solve: a task is solved by a score of at least {threshold:.0%} of the best, if
that is beyond chance. A diamond is the mean alignment of all pairs of models within
a bin, its bar ± one standard error over models, its width the bin; small squares
are the pairs. If all strong models are alike and each weak one is weak in its own
way, diamonds rise to the right. **p** is how often random deals of the same
competences ({permutations} of them) give as steep a slope; **q** is p adjusted for
there being a test per panel. Models of one {by} may be alike in both for that
alone: so each deal hands what is common to one {by} on to another as a whole."""
SOLVED = (
    "A task counts as solved by a model that reaches this share of the best model's score, if it is"
    " beyond chance."
)


@st.fragment
def show(at: Place, models: pd.DataFrame, asked: Among) -> None:
    """Draw the bins of the vision models among these, and say what is seen."""
    with frame.part():
        draw(at, models[models["modality"] == "vision"], asked)


def draw(at: Place, models: pd.DataFrame, asked: Among) -> None:
    """Draw the bins; raises NeededError where nothing was measured."""
    chosen, names = _ask(at, models), tuple(models["model"])
    by, placed = chosen["by"], {"count": chosen["bins"], "equal": chosen["equal"]}
    solved = queries.tasks_solved(at, threshold=chosen["threshold"], tasks=chosen["tasks"])
    table = queries.compared(
        at, mapping.bin_models, names, permutations=PERMUTATIONS, **chosen, **asked.compared
    )
    skill = solved.set_index("model")["solved"].reindex(names)
    points = bin_pairs(
        asked.pairs(at, names), skill, models.set_index("model")[by], assign_bins(skill, **placed)
    )
    kinds = {"all": "all pairs", "same": f"both of one {by}", "different": f"across {GROUPS[by]}"}
    figure = figures.bins(
        tables.bin_points(points, models),
        table,
        kinds=kinds,
        label=asked.label,
        chance=asked.chance(at),
        mode=frame.mode(),
        narrow=frame.narrow(),
    )
    recipe = queries.recipe(
        at, "competence-bins", names, **chosen, **asked.compared, permutations=PERMUTATIONS, seed=0
    )
    exportbar.plot(
        figure, key="bins", table=table, recipe=recipe, command=_command(at, names, asked, chosen)
    )
    count = int(solved["tasks"].max())
    st.markdown(
        READING.format(tasks=count, threshold=chosen["threshold"], permutations=PERMUTATIONS, by=by)
    )
    turned = not METRICS[asked.metric].spec.higher_is_more_aligned
    st.markdown(f"**What is seen.** {frame.plain(tell_bins(table, kinds, turned=turned))}")
    _tell_left_out(models, skill)


def _ask(at: Place, models: pd.DataFrame) -> dict[str, Any]:
    """Draw the controls; return what `core.questions.models.answer.bin_models` is asked."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tasks = _pick_tasks(at, models)
        threshold = st.slider(
            "Solved from",
            0.5,
            1.0,
            THRESHOLD,
            0.05,
            key="threshold",
            help=SOLVED,
            format="percent",
            width=165,
            bind="query-params",
        )
        bins = int(
            st.number_input("Bins", 2, 10, 5, key="bin-count", width=95, bind="query-params")
        )
        by = st.selectbox(
            "Within and across",
            list(GROUPS),
            format_func=GROUPS.get,
            key="by-group",
            width=140,
            bind="query-params",
        )
        equal = st.toggle(
            "Bins of equal size",
            key="equal",
            help="As many models in each bin, as far as ties allow.",
            bind="query-params",
        )
    return {"bins": bins, "equal": equal, "threshold": threshold, "tasks": tasks, "by": by}


def _command(
    at: Place, names: tuple[str, ...], asked: Among, chosen: Mapping[str, Any]
) -> str | None:
    """Return the `trends` command; None where some models are left out, since it takes all that
    finished a training.
    """
    if set(names) != set(trained(queries.models(at)).query("modality == 'vision'")["model"]):
        return None
    words = [
        "--bins",
        str(chosen["bins"]),
        *(["--equal"] if chosen["equal"] else []),
        "--by",
        chosen["by"],
    ]
    words += ["--threshold", f"{chosen['threshold']:g}"] if chosen["threshold"] != THRESHOLD else []
    words += ["--task", *chosen["tasks"]] if chosen["tasks"] else []
    return asked.command(at, "trends", *words)


def _pick_tasks(at: Place, models: pd.DataFrame) -> tuple[str, ...]:
    """Choose tasks among those that were measured by probes; at first the Cave's, "()", or all
    where those were not measured.

    Raises NeededError where none was measured.
    """
    if len(models) < 2:
        how = frame.command(
            "embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224"
        )
        raise frame.NeededError(
            "Bins by tasks solved need vision models: two of them at least.", how
        )
    table = select(queries.scores(at), origin=MEASURED)
    probed = table[
        table["model"].isin(models["model"]) & (table["unit"] == ACCURACY) & table["value"].notna()
    ]
    every = tuple(dict.fromkeys(probed["task"]))
    if not every:
        how = frame.command("probe", "--dataset", at.dataset)
        raise frame.NeededError(
            "Which tasks these vision models solve has not been measured. Measure it with linear"
            " probes:",
            how,
        )
    own = queries.tasks_solved(at)
    usual = () if own["model"].isin(models["model"]).any() else every
    count = len(usual) or int(own["tasks"].max())
    return (
        tuple(
            st.multiselect(
                "Tasks",
                every,
                key="tasks",
                placeholder=f"all {count}",
                width=140,
                bind="query-params",
            )
        )
        or usual
    )


def _tell_left_out(models: pd.DataFrame, skill: pd.Series) -> None:
    missing = models[models["model"].map(skill).isna()]
    if len(missing):
        st.caption(
            "Left out, since their tasks were not all measured:"
            f" {frame.plain(', '.join(missing['title']))}."
        )
