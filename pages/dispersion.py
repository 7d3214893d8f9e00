"""Dispersion: do vision models that agree on a stimulus agree with language models on it, too?"""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.figures import tables
from core.questions.dispersion import figures as figures
from core.questions.dispersion import findings as verdicts
from core.questions.dispersion import trials
from core.questions.dispersion.residuals import SHUFFLES
from core.questions.dispersion.set_effects import PART
from core.study import consensus
from pages._parts.dispersion import why
from pages._parts.dispersion.asked import Asked, ask
from pages._shared import exportbar, frame, queries, spread
from pages._shared.queries import Place

SHARE, PARTS = 0.25, 10
READING = """**How to read it.** The stimuli are ranked by the dispersion of {who}: the {size:,}
least dispersed of {n:,} make the low set, the {size:,} most dispersed the high set.
A panel is a vision model, a dot a language model in the layer that aligns best with
it on all stimuli, the diamond the mean over them. **Intervals** (95 %) tell how far
a score would move with other stimuli of the same kind: of the low and the high set
by random three quarters of them, of the random set by {repeats} draws."""
DROP = """**How to read it.** The lowest or the highest quarter of the ranking is left out and
alignment measured anew on the rest. It is to be compared with leaving a quarter out
at random, since a metric of neighbors moves with the number of stimuli. The lone
dots on the left are all stimuli. **Intervals** (95 %) as above."""
HELD = """**How to read it.** Each dot is a stimulus: to the right, models other than this one
disagree on it; up, this model, turned onto their consensus, lies far from it. The
line is the least-squares fit. **Intervals** (95 %) of Pearson's r are Fisher's,
over stimuli. **Chance** is not 0: both axes are distances from the same consensus,
so stimuli far from its middle can be high on both. Therefore r is also taken with
this model's stimuli shuffled {shuffles} times, each time turned anew (p tells how
often it is as high then), and given the consensus's norm (the partial r)."""
DECILES = """**How to read it.** The stimuli are split into {count} parts by dispersion, and
alignment is measured within each; neighbors are sought among the part's own
stimuli. **Intervals** (95 %) by random three quarters of a part."""
COLUMNS = {
    "title_y": "model",
    "title_x": "language model",
    "set": "set",
    "size": "stimuli",
    "score": "alignment",
    "low": "95 % from",
    "high": "to",
    "p": "p",
    "reason": "what is missing, and why",
}
FITS = {
    "space": "model",
    "n": "stimuli",
    "pearson": "Pearson's r",
    "pearson_low": "95 % from",
    "pearson_high": "to",
    "shuffled": "r if shuffled",
    "shuffled_p": "p",
    "partial": "partial r",
    "partial_low": "95 % from (partial)",
    "partial_high": "to (partial)",
    "spearman": "Spearman's ρ",
}


def show(at: Place) -> None:
    """Draw figure 2 of the published work, supplement 1, the tenths, supplement 2, then what makes
    a stimulus dispersed.
    """
    frame.need_stimuli(at)
    asked = ask(at)
    st.markdown(spread.MEANING)
    with frame.part():
        need_tested(at, asked)
        for show_part in (show_effect, show_drop, show_deciles):
            with frame.part():
                show_part(at, asked)
    with frame.part():
        show_held_out(at, asked)
    with frame.part():
        why.show_predictors(at, asked.ranking, by=asked.trial.by)
    with frame.part():
        why.show_words(at, asked.ranking, by=asked.trial.by, size=asked.size)


def need_tested(at: Place, asked: Asked) -> None:
    """Raise NeededError where nothing can be aligned with language models, or not by this
    ranking.
    """
    frame.need_readers(at, "caption")
    if not asked.tested:
        raise frame.NeededError(
            "Choose models other than language models under “Consensus of”: these are aligned with"
            " language."
        )
    if asked.trial.cross_fitted and len(asked.spaces) < 3:
        raise frame.NeededError(
            "Choose at least three models, or rank by these models: the others need a consensus of"
            " their own."
        )


def show_effect(at: Place, asked: Asked) -> None:
    """Draw alignment on the low, random and high set with the ratio, and say what is seen."""
    table = queries.compared(at, trials.effect, asked.ranking, size=asked.size, trial=asked.trial)
    points, chance = tables.effect_points(table, queries.models(at)), asked.chance(asked.size)
    figure = figures.effect(
        points, label=asked.label, chance=chance, mode=frame.mode(), narrow=frame.narrow()
    )
    command = spread.command(
        at, asked.ranking, "--effect", "--sets", str(asked.size), *asked.options()
    )
    _plot(at, asked, figure, points, "effect", command, size=asked.size)
    st.markdown(
        READING.format(
            who=asked.rankers, size=asked.size, n=queries.card(at).size, repeats=asked.trial.repeats
        )
    )
    _say(verdicts.tell_effect(table, _titles(at, asked), higher_is_better=asked.higher_is_better))
    with st.expander("The table behind the plot"):
        st.dataframe(
            points[list(COLUMNS)].fillna({"title_x": "mean"}).rename(columns=COLUMNS),
            hide_index=True,
        )


def show_drop(at: Place, asked: Asked) -> None:
    """Draw supplement 1."""
    st.subheader("What if the most dispersed stimuli are left out?", anchor=False)
    table = queries.compared(at, trials.drop, asked.ranking, share=SHARE, trial=asked.trial)
    points, n = tables.effect_points(table, queries.models(at)), queries.card(at).size
    figure = figures.drop(
        points, label=asked.label, chance=asked.chance(n), mode=frame.mode(), narrow=frame.narrow()
    )
    command = spread.command(at, asked.ranking, "--drop", str(SHARE), *asked.options())
    _plot(at, asked, figure, points, "drop", command, share=SHARE)
    st.markdown(DROP)
    _say(
        verdicts.tell_drop(
            table, repeats=asked.trial.repeats, higher_is_better=asked.higher_is_better
        )
    )


def show_deciles(at: Place, asked: Asked) -> None:
    """Draw alignment by tenth of dispersion; by fewer parts where a tenth holds too few stimuli for
    their neighbors.
    """
    st.subheader("Does alignment fall step by step?", anchor=False)
    n, least = (
        queries.card(at).size,
        math.ceil((asked.parameters.get("k", spread.LEAST_SET) + 2) / PART),
    )  # for intervals, too
    count = min(PARTS, n // least)
    if count < 2:
        raise frame.NeededError(
            f"Two parts of at least {least} stimuli are needed; this dataset has {n}. Choose a"
            " smaller k."
        )
    table = queries.compared(at, trials.by_part, asked.ranking, count=count, trial=asked.trial)
    points = tables.effect_points(table, queries.models(at))
    figure = figures.deciles(
        points, label=asked.label, chance=asked.chance(n // count), mode=frame.mode()
    )
    command = spread.command(at, asked.ranking, "--parts", str(count), *asked.options())
    _plot(at, asked, figure, points, "deciles", command, parts=count)
    st.markdown(DECILES.format(count=count))
    _say(verdicts.tell_parts(table, _titles(at, asked)))


def show_held_out(at: Place, asked: Asked) -> None:
    """Draw supplement 2."""
    st.subheader("Is it a property of the stimulus, or of these models?", anchor=False)
    if len(asked.spaces) < 3:
        st.markdown("Choose at least three models: the others need a consensus of their own.")
        return
    points = queries.compared(at, consensus.held_out, asked.spaces)
    fits = queries.compared(at, consensus.held_out_fits, asked.spaces)
    points = points.merge(
        spread.described(at, asked.spaces)[["space", "title", "group"]], on="space"
    )
    figure = figures.held_out(points, fits, mode=frame.mode(), narrow=frame.narrow())
    _plot(at, asked, figure, points, "held-out", spread.command(at, asked.spaces, "--held-out"))
    st.markdown(HELD.format(shuffles=SHUFFLES))
    _say(verdicts.tell_held_out(fits, _titles(at, asked)))
    with st.expander("The correlations as a table"):
        st.dataframe(
            fits.replace({"space": _titles(at, asked)})[list(FITS)].rename(columns=FITS),
            hide_index=True,
        )


def _plot(
    at: Place,
    asked: Asked,
    figure: go.Figure,
    table: pd.DataFrame,
    key: str,
    command: str,
    **choices: object,
) -> None:
    recipe = queries.recipe(
        at,
        f"dispersion-{key}",
        spread.models((*asked.spaces, *asked.ranking)),
        tested=list(asked.tested),
        ranking=list(asked.ranking),
        trial=vars(asked.trial),
        **choices,
    )
    exportbar.plot(figure, key=key, table=table, recipe=recipe, command=command)


def _titles(at: Place, asked: Asked) -> dict[str, str]:
    return {
        row["space"]: frame.plain(row["title"])
        for row in spread.described(at, asked.spaces).to_dict("records")
    }


def _say(verdict: str) -> None:
    st.markdown(f"**What is seen.** {verdict}")


frame.draw("Does agreement among models carry over to language?", show)
