"""What the Dispersion page is asked: whose agreement ranks the stimuli by what, how many make a
set, how alignment is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.metrics import METRICS
from core.questions.dispersion.set_effects import PART
from core.questions.dispersion.trials import Trial
from pages._shared import controls, frame, queries, spread
from pages._shared.queries import Place

RANKERS = {"own": "these models", "others": "the other models only", "language": "language models"}
RANKING = """Whose agreement ranks the stimuli. These models: the consensus of all of them. The
other models only: each model is tested on sets that it had no part in
(cross-fitted). Language models: whether what language models agree on is aligned,
too."""


@dataclass(frozen=True)
class Asked:
    """What the controls choose: spaces, those whose consensus ranks the stimuli, those tested, how
    many make a set, and how.
    """

    spaces: tuple[str, ...]
    ranking: tuple[str, ...]
    tested: tuple[str, ...]
    size: int
    trial: Trial

    @property
    def parameters(self) -> dict[str, Any]:
        """Return all parameters of the metric, those left at their defaults too."""
        return METRICS[self.trial.metric].complete(dict(self.trial.parameters))

    @property
    def label(self) -> str:
        """Return what is measured, for an axis."""
        k = self.parameters.get("k")
        return (
            "alignment with language models"
            f" ({METRICS[self.trial.metric].spec.short}{f', k = {k}' if k else ''})"
        )

    @property
    def rankers(self) -> str:
        """Return whose agreement ranks the stimuli, for a sentence."""
        if self.trial.cross_fitted:
            return "all models but the panel's own"
        return "these models" if self.ranking == self.spaces else "the language models"

    @property
    def higher_is_better(self) -> bool:
        """Return whether a higher score is more aligned."""
        return METRICS[self.trial.metric].spec.higher_is_more_aligned

    def chance(self, size: int) -> float:
        """Return the metric's chance on a set of this size, NaN where no formula tells."""
        return METRICS[self.trial.metric].chance_level(size, self.parameters)

    def options(self) -> list[str]:
        """Return what a command is told of the trial; defaults are left out."""
        others = dict(self.trial.parameters)
        k = others.pop("k", None)
        given = {
            "--by": [self.trial.by] if self.trial.by != "mean" else [],
            "--tested": list(self.trial.tested),
            "--metric": [self.trial.metric] if self.trial.metric != "cknna" else [],
            "--k": [str(k)] if k is not None else [],
            "--set": [f"{name}={value}" for name, value in others.items()],
            "--seed": [str(self.trial.seed)] if self.trial.seed else [],
        }
        words = [word for option, values in given.items() if values for word in (option, *values)]
        return [*words, *(["--cross-fitted"] if self.trial.cross_fitted else [])]


def ask(at: Place) -> Asked:
    """Draw the controls in the sidebar, and return what they choose."""
    with st.sidebar:
        spaces = spread.pick_spaces(at)
        ranker = st.selectbox(
            "Stimuli ranked by",
            list(RANKERS),
            format_func=RANKERS.get,
            key="ranker",
            help=RANKING,
            bind="query-params",
        )
        ranking = spread.of_language(at) if ranker == "language" else spaces
        if len(ranking) < 2:
            raise frame.NeededError(
                "Two language models or more rank the stimuli: embed another one, or rank by these"
                " models."
            )
        by = spread.pick_summary(at, ranking, own=ranker != "others")
        size = spread.pick_set_size(queries.card(at).size)
        metric = controls.pick_metric(default="cknna")
        parameters = controls.pick_parameters(
            metric, int(PART * size)
        )  # the parts of a set have neighbors, too
        seed = int(
            st.number_input(
                "Seed",
                0,
                2**31 - 1,
                0,
                key="seed",
                help="Of random sets and parts.",
                bind="query-params",
            )
        )
    usual = METRICS[
        metric
    ].spec.defaults  # are left out, so that the command line finds the same answers kept
    chosen = tuple((name, value) for name, value in parameters.items() if value != usual[name])
    language = set(queries.models(at).query("modality == 'language'")["model"])
    tested = tuple(
        space for space in spaces if space.rpartition(":")[0] not in language
    )  # with itself each is perfectly aligned
    trial = Trial(
        by=by,
        tested=() if tested == ranking else tested,
        cross_fitted=ranker == "others",
        metric=metric,
        parameters=chosen,
        seed=seed,
    )
    return Asked(spaces, ranking, tested, size, trial)
