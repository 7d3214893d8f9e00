"""Figure 2, left, of the published work: models binned by competence, aligned within their bins."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core import mapping
from core.analyses.competence import THRESHOLD
from core.analyses.competence_verdicts import tell_bins
from core.analyses.convergence import trained
from core.analyses.convergence_bins import assign_bins, bin_pairs
from core.figures import competence as figures
from core.figures import tables
from core.metrics import METRICS
from pages._shared import exportbar, frame, queries
from pages._shared.among import Among
from pages._shared.queries import Place

GROUPS = {"objective": "objectives", "family": "families", "size": "sizes"}
PERMUTATIONS = 999
READING = """**How to read it.** Vision models are put into bins by how many of {tasks} tasks they solve: a task is solved by a
score of at least {threshold:.0%} of the best, if that is beyond chance. A diamond is the mean alignment of all pairs of models
within a bin, its bar ± one standard error over models, its width the bin; small squares are the pairs. If all strong models are
alike and each weak one is weak in its own way, diamonds rise to the right. **p** is how often random deals of the same competences
({permutations} of them) give as steep a slope. Models of one {by} may agree for that alone, hence the panels beside."""
SOLVED = "A task counts as solved by a model that reaches this share of the best model's score, if it is beyond chance."


@st.fragment
def show(at: Place, models: pd.DataFrame, asked: Among) -> None:
    """Draw the bins of the vision models among these, and say what is seen."""
    with frame.part():
        draw(at, models[models["modality"] == "vision"], asked)


def draw(at: Place, models: pd.DataFrame, asked: Among) -> None:
    """Draw the controls and the bins; raises NeededError where nothing was measured."""
    _need_measured(at, models)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        threshold = st.slider("Solved from", 0.5, 1.0, THRESHOLD, 0.05, key="threshold", help=SOLVED, format="percent", width=220,
                              bind="query-params")  # fmt: skip
        count = int(st.number_input("Bins", 2, 10, 5, key="bin-count", width=110, bind="query-params"))
        by = st.selectbox("Within and across", list(GROUPS), format_func=GROUPS.get, key="by-group", width=170, bind="query-params")
        equal = st.toggle("Bins of equal size", key="equal", help="As many models in each bin, as far as ties allow.",
                          bind="query-params")  # fmt: skip
    names, choices = tuple(models["model"]), {"bins": count, "equal": equal, "threshold": threshold, "by": by}
    table = queries.compared(at, mapping.bin_models, names, permutations=PERMUTATIONS, **choices, **asked.compared)
    solved = queries.tasks_solved(at, threshold=threshold)
    skill = solved.set_index("model")["solved"].reindex(names)
    points = bin_pairs(asked.pairs(at, names), skill, models.set_index("model")[by], assign_bins(skill, count=count, equal=equal))
    kinds = {"all": "all pairs", "same": f"both of one {by}", "different": f"across {GROUPS[by]}"}
    figure = figures.bins(tables.bin_points(points, models), table, kinds=kinds, label=asked.label, chance=asked.chance(at),
                          mode=frame.mode(), narrow=frame.narrow())  # fmt: skip
    recipe = queries.recipe(at, "competence-bins", names, **choices, **asked.compared, permutations=PERMUTATIONS, seed=0)
    whole = threshold == THRESHOLD and set(names) == set(trained(queries.models(at)).query("modality == 'vision'")["model"])
    words = ["--bins", str(count), *(["--equal"] if equal else []), "--by", by]
    exportbar.plot(figure, key="bins", table=table, recipe=recipe, command=asked.command(at, "trends", *words) if whole else None)
    st.markdown(READING.format(tasks=int(solved["tasks"].max()), threshold=threshold, permutations=PERMUTATIONS, by=by))
    turned = not METRICS[asked.metric].spec.higher_is_more_aligned
    st.markdown(f"**What is seen.** {frame.plain(tell_bins(table, kinds, turned=turned))}")
    _tell_left_out(models, skill)


def _need_measured(at: Place, models: pd.DataFrame) -> None:
    known = queries.tasks_solved(at).dropna(subset="solved")
    if len(models) < 2:
        how = frame.command("embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224")
        raise frame.NeededError("Bins by tasks solved need vision models: two of them at least.", how)
    if not known["model"].isin(models["model"]).any():
        how = frame.command("probe", "--dataset", at.dataset)
        raise frame.NeededError("Which tasks these vision models solve has not been measured. Measure it with linear probes:", how)


def _tell_left_out(models: pd.DataFrame, skill: pd.Series) -> None:
    missing = models[models["model"].map(skill).isna()]
    if len(missing):
        st.caption(f"Left out, since their tasks were not all measured: {frame.plain(', '.join(missing['title']))}.")
