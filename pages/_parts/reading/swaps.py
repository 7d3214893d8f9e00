"""What probes are worth in spaces of other models, without training."""

from __future__ import annotations

import streamlit as st

from core.options import build
from core.questions.asking import findings_of
from core.questions.swapping import figures
from core.questions.swapping.answer import seconds_for, usual_spaces
from core.questions.swapping.findings import MEAN
from core.questions.swapping.question import Swap
from core.study.models import is_reality
from core.study.spaces import describe_spaces
from pages._shared import address, controls, exportbar, frame, prose, queries, runner
from pages._shared.queries import Place

READING = """A probe learns to tell a factor from one model's vectors and is then used on another
model's, with nothing trained in between. The two spaces are joined by **anchors**, stimuli that
both models have seen: either each stimulus is described by its cosines with the anchors of its own
space, or one space is turned onto the other by the orthogonal map that fits the anchors best. Cells
say how much is kept of what a space's own probes tell beyond **chance**, which is measured with
anchors paired at random. Each stimulus is tested by probes that never saw it. Below, the same by
**factor**, as shares of right answers: rings are a space's own probes, gray strokes chance."""
OPTIONS = controls.options_by_name(Swap)


def pick(at: Place, *, seed: int) -> Swap:
    """Choose the models whose probes are swapped."""
    models = queries.models(at)
    usual = len(usual_spaces(queries.study(at)))
    chosen = controls.pick_models(OPTIONS["models"], models[~is_reality(models)], usual=usual)
    return build(Swap, {"dataset": at.dataset, "models": chosen, "seed": seed})


@address.fragment
def show(at: Place, question: Swap) -> None:
    """Draw all pairs of models, and what is told of each factor."""
    st.header("Can a probe be used on another model?", anchor=False)
    with frame.part():
        answered = runner.ask(at, question, lambda: seconds_for(question, queries.study(at)))
        if answered is None:
            return
        table = answered.table
        said = findings_of(question, table)
        prose.answer(said[: prose.LEAD])
        mode, narrow = frame.mode(), frame.narrow()
        spaces = table.loc[table["probe"] != MEAN, "probe"].unique()
        about = describe_spaces(spaces.tolist(), queries.models(at))
        titles = dict(zip(about["space"], about["title"], strict=True))
        figure = figures.matrices(table, titles, mode, narrow=narrow)
        exportbar.draw(at, question, figure, key="swapped", table=table)
        figure = figures.factors(table, mode, narrow=narrow)
        exportbar.draw(at, question, figure, key="told", table=table)
        prose.explain(READING, said[prose.LEAD :])
