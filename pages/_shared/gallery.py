"""Stimuli as pictures, or as texts where there are none: searching, paging, opening. Captions and
factors are data and are shown as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pandas as pd
import streamlit as st

from pages._shared import controls, facts, frame, tiles
from pages._shared.address import bind, mark, set_mark
from pages._shared.queries import Place
from pages._shared.tiles import Clicks, Note

PAGE = 20
MOST_VALUES = 24  # of a factor that can be picked from a list
_TOP = """
export default function({ data, parentElement }) {
  if (parentElement.opened === data.opened) return;
  parentElement.opened = data.opened;
  document.querySelector("[data-testid=stMain]").scrollTo({ top: 0 });
}
"""
_top = st.components.v2.component("platoscope_top", js=_TOP)


def chosen(size: int) -> int | None:
    """Return the stimulus that the address names, None for none; say so where it names none
    of this dataset.
    """
    text = mark("stimulus")
    if text.isdecimal() and len(text) < 10 and int(text) < size:
        return int(text)
    if text:
        st.warning(
            f"The link opens stimulus {frame.plain(text[:40])}; here they are counted from 0 to"
            f" {size - 1:,}."
        )
    return None


def show_top(opened: int) -> None:
    """Bring the head of the page into view when another stimulus was opened."""
    _top(key="page-top", data={"opened": opened}, height=0)


def choose(index: int | None) -> None:
    """Open a stimulus, or go back to the gallery."""
    set_mark("stimulus", "" if index is None else str(index))


OPENS = Clicks(choose)


def grid(
    at: Place,
    indices: Sequence[int],
    *,
    key: str,
    width: int,
    marked: Collection[int] = (),
    note: Callable[[int], Note] = lambda _: Note(),
    clicks: Clicks = OPENS,
) -> None:
    """Draw thumbnails, at least `width` pixels wide each, in as many columns as fit; `marked` ones
    are framed.

    note: what stands beneath a picture. clicks: what a click does.
    """
    texts, pictures = facts.default_captions(at), facts.thumbnails(at, tuple(indices))
    shown = [
        tiles.Tile(index, image, texts[index], note(index), index in marked)
        for index, image in zip(indices, pictures, strict=True)
    ]
    tiles.draw(shown, key=key, width=width, clicks=clicks)


def draw_one(at: Place, index: int, *, width: int) -> None:
    """Draw the picture of a stimulus, its caption in a dataset of texts alone."""
    (picture,), caption = facts.thumbnails(at, (index,)), facts.default_captions(at)[index]
    if picture:
        st.image(picture, width=width, alt=caption)
    else:
        st.text(caption)


def search(at: Place, dispersion: Callable[[], pd.Series] | None) -> list[int]:
    """Draw the search field and the filters by factor and by quantile of dispersion; return the
    stimuli that pass all of them.

    dispersion: gives a value per stimulus once it is asked for, None where there is none.
    """
    captions, factors = facts.captions(at), facts.stimuli(at).drop(columns="stimulus")
    named = facts.stimuli(at)["stimulus"]
    words = st.text_input(
        f"Search the {'captions' if len(captions) else 'names'}",
        placeholder="a word or a phrase",
        **bind("search", ""),
    )
    disabled = not (len(factors.columns) or dispersion)
    with st.popover("Filters", icon=":material/filter_list:", disabled=disabled):
        passed = _filter(at, factors)
        if dispersion:
            passed = _filter_quantile(dispersion, passed)
    if words:
        hits = captions.loc[captions["text"].str.contains(words, case=False, regex=False), "index"]
        passed &= factors.index.isin(hits.unique()) | (
            named.str.contains(words, case=False, regex=False) & (not len(captions))
        )
    return list(passed[passed].index)


def _filter(at: Place, factors: pd.DataFrame) -> pd.Series:
    passed = pd.Series(True, index=factors.index)
    for name, options in facts.factor_values(at).items():
        if not 1 < len(options) <= MOST_VALUES:
            continue
        label = frame.plain(name.replace("_", " "))
        picked = st.multiselect(label, options, **bind(f"f-{name}", [], options))
        if picked:
            values = factors[name].dropna().astype(str)
            passed &= factors.index.isin(values[values.isin(picked)].index)
    return passed


def _filter_quantile(dispersion: Callable[[], pd.Series], passed: pd.Series) -> pd.Series:
    text = "0 to 25 are the quarter of the stimuli that models agree on most."
    low, high = st.slider(
        "Dispersion, quantiles in %",
        0,
        100,
        step=5,
        help=text,
        **bind("quantile", (0, 100), within=(0, 100)),
    )
    if (low, high) == (0, 100):
        return passed
    return passed & (100 * dispersion().rank(pct=True)).between(low, high, inclusive="right")


def show(at: Place, indices: Sequence[int], *, key: str, width: int, clicks: Clicks) -> None:
    """Draw stimuli in their order, a page at a time."""
    top = st.container()
    number = controls.pick_page(-(-len(indices) // PAGE), f"page-{key}")
    with top:
        shown = indices[(number - 1) * PAGE : number * PAGE]
        grid(at, shown, key=key, width=width, clicks=clicks)
