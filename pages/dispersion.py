"""Dispersion: do vision models that agree on a stimulus agree with language models on it, too?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core import consensus, trials
from core.analyses import dispersion_verdicts as verdicts
from core.analyses.chance import known_chance
from core.figures import dispersion as figures
from core.figures import tables
from core.figures.metrics import SHORT
from core.metrics import METRICS
from core.trials import Trial
from pages._shared import controls, exportbar, frame, queries, spread, why
from pages._shared.queries import Place

RANKERS = {"own": "these models", "others": "the other models only", "language": "language models"}
RANKING = """Whose agreement ranks the stimuli. These models: the consensus of all of them. The other models only: each model is
tested on sets that it had no part in (cross-fitted). Language models: whether what language models agree on is aligned, too."""
SHARE, PARTS = 0.25, 10
READING = """**How to read it.** The stimuli on which the models lie closest to their consensus make the low set, those on which
they lie farthest the high set, {size:,} of {n:,} each. A dot is a language model in the layer that aligns best on all stimuli, the
diamond the mean over them. **Intervals** (95 %) are those of other stimuli from the same world: of the low and the high set by
random halves, of the random set by {repeats} draws."""
DROP = """**How to read it.** A quarter of the stimuli is left out and alignment measured anew on the others. It is to be compared
with leaving a quarter out at random, since a metric of neighbors moves with the number of stimuli. **Intervals** (95 %) as
above."""
HELD = """**How to read it.** Each dot is a stimulus: to the right, models other than this one disagree on it; up, this model,
turned onto their consensus, lies far from it. The line is the least-squares fit. **Intervals** (95 %) of Pearson's r are Fisher's,
over stimuli."""
DECILES = """**How to read it.** The stimuli are split into {count} parts by dispersion, and alignment is measured within each;
neighbors are sought among the part's own stimuli. **Intervals** (95 %) by random halves of a part."""
COLUMNS = {
    "title_y": "model", "title_x": "language model", "set": "set", "size": "stimuli", "score": "alignment", "low": "95 % from",
    "high": "to", "p": "p", "reason": "what is missing, and why",
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """What the controls choose: the spaces tested, those whose consensus ranks the stimuli, how many make a set, and how."""

    spaces: tuple[str, ...]
    ranking: tuple[str, ...]
    size: int
    trial: Trial

    @property
    def parameters(self) -> dict[str, Any]:
        """Return all parameters of the metric, those left at their defaults too."""
        return METRICS[self.trial.metric].complete(dict(self.trial.parameters))


def show(at: Place) -> None:
    """Draw figure 2 of the published work, its two supplements, the tenths, then what makes a stimulus dispersed."""
    frame.need_stimuli(at)
    frame.need_models(at, "language")
    asked = ask(at)
    for show_part in (show_effect, show_drop, show_held_out, show_deciles):
        with frame.part():
            show_part(at, asked)
    with frame.part():
        why.show(at, asked.ranking, by=asked.trial.by, size=asked.size)


def ask(at: Place) -> Asked:
    """Draw the controls."""
    with st.sidebar:
        spaces = spread.pick_spaces(at)
        ranker = st.selectbox("Stimuli ranked by", list(RANKERS), format_func=RANKERS.get, key="ranker", help=RANKING,
                              bind="query-params")  # fmt: skip
        ranking = spread.of_language(at) if ranker == "language" else spaces
        by = spread.pick_summary(at, ranking, own=ranker != "others")
        size = spread.pick_set_size(queries.card(at).size)
        metric = controls.pick_metric(default="cknna")
        parameters = controls.pick_parameters(metric, size)
        seed = int(st.number_input("Seed", 0, 2**31 - 1, 0, key="seed", help="Of random sets and halves.", bind="query-params"))
    usual = METRICS[metric].spec.defaults  # are left out, so that the command line finds the same answers kept
    chosen = tuple((name, value) for name, value in parameters.items() if value != usual[name])
    trial = Trial(by=by, tested=spaces if ranker == "language" else (), cross_fitted=ranker == "others", metric=metric,
                  parameters=chosen, seed=seed)  # fmt: skip
    return Asked(spaces, ranking, size, trial)


def show_effect(at: Place, asked: Asked) -> None:
    """Draw alignment on the low, random and high set with the ratio, and say what is seen."""
    table = queries.compared(at, trials.effect, asked.ranking, size=asked.size, trial=asked.trial)
    points, chance = tables.effect_points(table, queries.models(at)), _chance(asked, asked.size)
    figure = figures.effect(points, label=_label(asked), chance=chance, mode=frame.mode(), narrow=frame.narrow())
    command = spread.command(at, asked.spaces, "--sets", str(asked.size), "--effect") if asked.trial == Trial() else None
    _plot(at, asked, figure, points, "effect", command, size=asked.size)
    st.markdown(READING.format(size=asked.size, n=queries.card(at).size, repeats=asked.trial.repeats))
    _say(verdicts.tell_effect(table, _titles(at, asked)))
    with st.expander("The table behind the plot"):
        st.dataframe(points[list(COLUMNS)].rename(columns=COLUMNS), hide_index=True)


def show_drop(at: Place, asked: Asked) -> None:
    """Draw supplement 1."""
    st.subheader("What if the most dispersed stimuli are left out?", anchor=False)
    table = queries.compared(at, trials.drop, asked.ranking, share=SHARE, trial=asked.trial)
    points, n = tables.effect_points(table, queries.models(at)), queries.card(at).size
    figure = figures.drop(points, label=_label(asked), chance=_chance(asked, n), mode=frame.mode(), narrow=frame.narrow())
    _plot(at, asked, figure, points, "drop", share=SHARE)
    st.markdown(DROP)
    _say(verdicts.tell_drop(table))


def show_held_out(at: Place, asked: Asked) -> None:
    """Draw supplement 2; with two models each is compared with the other alone."""
    st.subheader("Is it a property of the stimulus, or of these models?", anchor=False)
    if len(asked.spaces) < 3:
        st.markdown("Choose at least three models: the others need a consensus of their own.")
        return
    points = queries.compared(at, consensus.held_out, asked.spaces)
    fits = queries.compared(at, consensus.held_out_fits, asked.spaces)
    points = points.merge(spread.described(at, asked.spaces)[["space", "title", "group"]], on="space")
    figure = figures.held_out(points, fits, mode=frame.mode(), narrow=frame.narrow())
    _plot(at, asked, figure, points, "held-out")
    st.markdown(HELD)
    _say(verdicts.tell_held_out(fits, _titles(at, asked)))


def show_deciles(at: Place, asked: Asked) -> None:
    """Draw alignment by tenth of dispersion; by fewer parts where a tenth holds too few stimuli for their neighbors."""
    st.subheader("Does alignment fall step by step?", anchor=False)
    n, least = queries.card(at).size, asked.parameters.get("k", spread.LEAST_SET) + 2
    count = min(PARTS, n // least)
    if count < 2:
        raise frame.NeededError(f"Two parts of at least {least} stimuli are needed; this dataset has {n}. Choose a smaller k.")
    table = queries.compared(at, trials.by_part, asked.ranking, count=count, trial=asked.trial)
    points = tables.effect_points(table, queries.models(at))
    figure = figures.deciles(points, label=_label(asked), chance=_chance(asked, n // count), mode=frame.mode())
    _plot(at, asked, figure, points, "deciles", parts=count)
    st.markdown(DECILES.format(count=count))


def _plot(
    at: Place, asked: Asked, figure: go.Figure, table: pd.DataFrame, key: str, command: str | None = None, **choices: object
) -> None:
    recipe = queries.recipe(at, f"dispersion-{key}", spread.models((*asked.spaces, *asked.ranking)), tested=list(asked.spaces),
                            ranking=list(asked.ranking), trial=vars(asked.trial), **choices)  # fmt: skip
    exportbar.plot(figure, key=key, table=table, recipe=recipe, command=command)


def _label(asked: Asked) -> str:
    k = asked.parameters.get("k")
    return f"alignment with language models ({SHORT[asked.trial.metric]}{f', k = {k}' if k else ''})"


def _chance(asked: Asked, size: int) -> float:
    return known_chance(asked.trial.metric, n=size, **asked.parameters)


def _titles(at: Place, asked: Asked) -> dict[str, str]:
    return {row["space"]: frame.plain(row["title"]) for row in spread.described(at, asked.spaces).to_dict("records")}


def _say(verdict: str) -> None:
    st.markdown(f"**What is seen.** {verdict}")


frame.draw("Does agreement among models carry over to language?", show)
