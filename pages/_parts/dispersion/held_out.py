"""Supplement 2 of the published work: each model beside the consensus of the others."""

from __future__ import annotations

import streamlit as st

from core.questions.asking import findings_of
from core.questions.dispersion import held_out_figures as figures
from core.questions.dispersion.question import HeldOutFits, HeldOutPoints
from core.questions.dispersion.residuals import SHUFFLES
from core.questions.stimuli.question import DRAWN
from core.statistics.nulls import draw_sample
from pages._parts.dispersion.pick import Choice
from pages._shared import exportbar, frame, prose, queries, spread
from pages._shared.queries import Place

SEED = 0  # of the stimuli that are drawn
READING = """Each dot is a stimulus: to the right, the other models disagree on
it; up, this model, turned onto their consensus, lies far from it. The line is the
least-squares fit. **Intervals** (95 %) of Pearson's r are Fisher's, over stimuli.
**Chance** is not 0: both axes are distances from the same consensus, so stimuli far
from its middle can be high on both. Therefore r is also taken with this model's
stimuli shuffled {shuffles} times, each time turned anew (p says how often it is as
high then), and given the consensus's norm (the partial r)."""
COLUMNS = {
    "space": "model",
    "n": "stimuli",
    "pearson": "Pearson's r",
    "pearson_low": "95 % from",
    "pearson_high": "to",
    "published": "published r",
    "shuffled": "r if shuffled",
    "shuffled_p": "p",
    "partial": "partial r",
    "partial_low": "95 % from (partial)",
    "partial_high": "to (partial)",
    "spearman": "Spearman's ρ",
}


def show(at: Place, choice: Choice) -> None:
    """Draw the plot of all stimuli, then the correlations."""
    st.header("Is it a property of the stimulus, or of these models?", anchor=False)
    if len(choice.spaces) < 3:
        st.markdown("Choose at least three models: the others need a consensus of their own.")
        return
    points, fits = HeldOutPoints(at.scope, choice.joint), HeldOutFits(at.scope, choice.joint)
    looks = spread.described(at, choice.spaces)[["space", "title", "group"]]
    stimuli, table = queries.ask(at, points).merge(looks, on="space"), queries.ask(at, fits)
    shown = draw_sample(queries.size(at), DRAWN, seed=SEED)
    if len(shown) < queries.size(at):
        st.caption(
            f"The plot shows {len(shown):,} of {queries.size(at):,} stimuli, drawn at random with"
            f" seed {SEED}; the lines and the correlations are those of all."
        )
    dots = stimuli[stimuli.groupby("space").cumcount().isin(shown)]
    figure = figures.held_out(dots, table, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, points, figure, key="held-out", table=stimuli)
    titled = spread.titled(at, table, "space")
    prose.explain(READING.format(shuffles=SHUFFLES), findings_of(fits, titled))
    with st.expander("The correlations as a table"):
        kept = [name for name in COLUMNS if name in titled]
        st.dataframe(titled[kept].rename(columns=COLUMNS), hide_index=True)
