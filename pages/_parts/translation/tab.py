"""Translation: can models be translated into each other with no pairs given?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.questions.translation.matching import has_transport
from core.questions.translation.question import (
    METHOD_TITLES,
    Matching,
    TranslationPairs,
    seconds_for,
    usual_models,
)
from pages._parts.translation import two
from pages._shared import bar, controls, frame, queries, section
from pages._shared.address import fragment
from pages._shared.queries import Place

LEAST = 2  # models
MATCHED = {"both": "both", **METHOD_TITLES}
MISSING = """Gromov–Wasserstein needs POT, which is not installed here: pip install
'platoscope[translation]'. Quadratic assignment does without."""
PAIRS = """Each mark is a pair of models. Both are given the same stimuli in unknown orders, as
kernels alone, and matched so that the kernels agree most; a partner is **found** if a stimulus is
matched with itself. Dotted is **chance**, 1/n."""


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
        takes = partial(_seconds, at, pairs)
        section.draw(at, pairs, key="translation-pairs", methods=PAIRS, seconds=takes)


def _seconds(at: Place, pairs: TranslationPairs) -> float:
    count = len(usual_models(queries.study(at)))
    return count * (count - 1) / 2 * seconds_for(pairs.size, pairs.matching)
