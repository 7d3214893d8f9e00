"""What the Dispersion page asks: whose agreement ranks the stimuli, how many make a set, how
alignment is measured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from core.questions.dispersion.effect import PART, SetEffect, Trial
from core.questions.dispersion.question import Centering, Ranking, Spaces
from core.study.models import reads
from pages._shared import address, bar, controls, frame, queries, spread
from pages._shared.address import bind
from pages._shared.queries import Place

RANKERS = {"own": "these models", "others": "the other models only", "language": "language models"}
CENTERINGS: dict[Centering, str] = {
    "features": "each feature's mean",
    "stimuli": "each stimulus's mean (published)",
    "none": "nothing subtracted",
}
RANKING = """Whose agreement ranks the stimuli. These models: the consensus of all of them. The
other models only: each model is tested on sets that it had no part in
(cross-fitted). Language models: whether what language models agree on is aligned,
too."""


@dataclass(frozen=True)
class Choice:
    """What the controls choose: the spaces, those of them that are aligned with language, and the
    question of the first plot, on which the others vary.
    """

    spaces: tuple[str, ...]
    tested: tuple[str, ...]
    effect: SetEffect

    @property
    def rankers(self) -> str:
        """Return whose agreement ranks the stimuli, for a sentence."""
        if self.effect.trial.cross_fitted:
            return "all models but the panel's own"
        own = self.effect.ranking.spaces == self.spaces
        return "these models" if own else "the language models"


def choose(at: Place) -> Choice:
    """Draw the controls, and return what they choose."""
    adopt_ranking()
    with bar.controls_bar():
        rest = bar.more()
        with rest:
            at = replace(at, scope=controls.pick_scope(at))
            spaces = spread.pick_spaces(at)
            centering = controls.pick_labeled(
                controls.option_named(Spaces, "centering"), CENTERINGS
            )
            seed = controls.pick_number(controls.option_named(SetEffect, "seed"))
        ranker = st.selectbox(
            "Stimuli ranked by",
            list(RANKERS),
            format_func=RANKERS.get,
            help=RANKING,
            **bind("ranker", "own", RANKERS),
        )
        ranked = spread.of_language(at) if ranker == "language" else spaces
        if len(ranked) < 2:
            raise frame.NeededError(
                "At least two language models are needed to rank the stimuli: embed another one, or"
                " rank by these models."
            )
        with rest:
            by = spread.pick_summary(at, ranked, own=ranker != "others")
        ranking = Ranking(ranked, centering, by)
        size = spread.pick_set_size(queries.size(at))
        # the parts of a set have neighbors, too
        measure = controls.pick_measure(int(PART * size), start="cknna")
    models = queries.models(at)
    language = set(models.loc[reads(models, "caption"), "model"])
    # with itself a language model is perfectly aligned
    tested = tuple(space for space in spaces if space.rpartition(":")[0] not in language)
    trial = Trial(
        tested=() if tested == ranked else tested, cross_fitted=ranker == "others", seed=seed
    )
    return Choice(spaces, tested, SetEffect(at.scope, ranking, trial, measure, size=size))


def adopt_ranking() -> None:
    """Take whose agreement ranks the stimuli from a question's link to its control."""
    if address.take("cross_fitted"):
        address.hand("ranker", ["others"])
    tested, ranked = address.take("tested"), address.take("spaces")
    if tested and not set(tested) & set(ranked):
        address.hand("ranker", ["language"])
        ranked = tested
    if ranked:
        address.hand("spaces", ranked)
