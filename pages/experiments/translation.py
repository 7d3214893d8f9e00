"""Translation: can models be translated into each other with no pairs given?"""

from __future__ import annotations

import streamlit as st

from core.questions.asking import findings_of
from core.questions.translation import figures
from core.questions.translation.answer import usual_models
from core.questions.translation.matching import has_transport
from core.questions.translation.measuring import seconds_for
from core.questions.translation.question import (
    METHOD_TITLES,
    Matching,
    TranslationPairs,
)
from core.study.spaces import find_spaces
from pages._parts.experiments import patience
from pages._parts.translation import two
from pages._shared import bar, controls, exportbar, frame, prose, queries
from pages._shared.address import fragment
from pages._shared.queries import Place

LEAST = 2  # models
MATCHED = {"both": "both", **METHOD_TITLES}
MISSING = """Gromov–Wasserstein needs POT, which is not installed here: pip install
'platoscope[translation]'. Quadratic assignment does without."""
PAIRS = """Each mark is a pair of models. Both are given the same stimuli in unknown orders, as
kernels alone, and matched so that the kernels agree most; a partner is **found** where a stimulus
is matched with itself. Dotted is **chance**, 1/n: a random matching finds one partner on average,
however many stimuli there are. Alignment is mutual k-NN over the very same stimuli."""


def show(at: Place) -> None:
    """Draw whether translation works, over alignment, then over numbers of stimuli."""
    if len(queries.models(at)) < LEAST:
        frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    with bar.controls_bar():
        size = _pick_size(at)
        matching = _pick_matching(size)
    if not has_transport():
        st.caption(frame.plain(MISSING))
    patience.follow()
    show_alignment(at, size, matching)
    two.show(at, matching)


def _pick_size(at: Place) -> int:
    """Choose how many stimuli are matched."""
    most = queries.size(at)
    one = controls.option_named(TranslationPairs, "size")
    return controls.pick_number(one, most, usual=min(int(one.default), most))


def _pick_matching(size: int) -> Matching:
    """Choose how spaces are matched."""
    options = controls.options_by_name(Matching)
    usual = "both" if has_transport() else "qap"
    method = controls.pick_choice(options["method"], list(MATCHED), labels=MATCHED, usual=usual)
    with bar.more():
        k = controls.pick_number(options["k"], size - 1, usual=min(10, size - 1))
        numbers = [
            controls.pick_number(options[name], most)
            for name, most in (("starts", 100), ("draws", 20), ("seed", None))
        ]
    starts, draws, seed = numbers
    return Matching(method, starts, draws, k, seed)  # type: ignore[arg-type]


@fragment
def show_alignment(at: Place, size: int, matching: Matching) -> None:
    """Draw how many partners are found over alignment, for pairs of models."""
    st.header("Are more aligned models easier to translate?", anchor=False)
    with frame.part():
        pairs = TranslationPairs(at.scope, size=size, matching=matching)
        table = patience.ask(
            at, pairs, lambda: _seconds(at, pairs), what="Matching pairs of models"
        )
        if table is None:
            return
        titles = _titles(at)
        said = findings_of(pairs, table.replace({"space_x": titles, "space_y": titles}))
        prose.answer(said[: prose.LEAD])
        figure = figures.over_alignment(table, titles, frame.mode(), narrow=frame.narrow())
        exportbar.draw(at, pairs, figure, key="translation-pairs", table=table)
        prose.explain(PAIRS, said[prose.LEAD :])


def _seconds(at: Place, pairs: TranslationPairs) -> float:
    count = len(usual_models(queries.study(at)))
    return count * (count - 1) / 2 * seconds_for(pairs.size, pairs.matching)


def _titles(at: Place) -> dict[str, str]:
    """Return what the spaces of the usual pairs are called."""
    study, titles = queries.study(at), queries.models(at).set_index("model")["title"]
    return {str(one): titles[one.model] for one in find_spaces(study, usual_models(study))}


frame.draw("Can models be translated into each other with no pairs given?", show)
