"""Stimuli as pictures: searching, paging, opening. Captions and factors are data and are shown as
they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pandas as pd
import streamlit as st

from core.figures.theme import INK
from pages._shared import controls, frame, queries
from pages._shared.address import bind, mark, set_mark
from pages._shared.queries import Place

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
    """Return the stimulus that the address names, None for the gallery; say so where it names none
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


def grid(
    at: Place,
    indices: Sequence[int],
    *,
    key: str,
    width: int,
    marked: Collection[int] = (),
    about: Callable[[int], str] | None = None,
    opens: bool = True,
) -> None:
    """Draw thumbnails of a width in pixels in as many columns as fit; `marked` ones are framed.

    about: what is said of a stimulus beneath its picture, as HTML. opens: whether a button under
    each opens it.
    """
    texts = default_captions(at)
    with st.container(horizontal=True, gap="small", key=f"grid-{key}"):
        for index, image in zip(indices, queries.thumbnails(at, tuple(indices)), strict=True):
            kind = "both" if index in marked else "one"
            with st.container(width=width, gap=None, key=f"{kind}-{key}-{index}"):
                st.image(image, width=width, alt=texts[index])
                if about:
                    st.html(about(index))
                if not opens:
                    continue
                label = f"{index} · both" if index in marked else str(index)
                st.button(
                    label,
                    key=f"open-{key}-{index}",
                    on_click=choose,
                    args=(index,),
                    type="tertiary",
                    icon=":material/open_in_full:",
                    help="Open this stimulus",
                )


def frame_marked() -> None:
    """Frame the pictures that both models chose."""
    ember = INK[frame.mode()].ember
    st.html(
        f"<style>[class*='st-key-both-'] img {{ outline: 3px solid {ember}; outline-offset: -3px;"
        " }</style>"
    )


def default_captions(at: Place) -> list[str]:
    """Return the default caption of every stimulus."""
    captions = queries.captions(at)
    return (
        captions[captions["level"] == queries.card(at).levels[0]]
        .sort_values("index")["text"]
        .tolist()
    )


def search(at: Place, dispersion: Callable[[], pd.Series] | None) -> list[int]:
    """Draw the search field and the filters by factor and by quantile of dispersion; return the
    stimuli that pass all of them.

    dispersion: gives a value per stimulus once it is asked for, None where there is none.
    """
    captions, factors = queries.captions(at), queries.stimuli(at).drop(columns="stimulus")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input(
            "Search the captions",
            placeholder="a word or a phrase",
            width=360,
            **bind("search", ""),
        )
        with st.popover(
            "Filters",
            icon=":material/filter_list:",
            disabled=not (len(factors.columns) or dispersion),
        ):
            passed = _filter(factors)
            if dispersion:
                passed = _filter_quantile(dispersion, passed)
    if words:
        hits = captions.loc[captions["text"].str.contains(words, case=False, regex=False), "index"]
        passed &= factors.index.isin(hits.unique())
    return list(passed[passed].index)


def _filter(factors: pd.DataFrame) -> pd.Series:
    passed = pd.Series(True, index=factors.index)
    for name in factors.columns:
        values = factors[name].dropna().astype(str)
        options = sorted(values.unique(), key=lambda value: (len(value), value))
        if 1 < len(options) <= MOST_VALUES:
            picked = st.multiselect(
                frame.plain(name.replace("_", " ")), options, **bind(f"f-{name}", [], options)
            )
            passed &= factors.index.isin(values[values.isin(picked)].index) | (not picked)
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


def show(at: Place, indices: Sequence[int], *, key: str) -> None:
    """Draw stimuli in their order, a page at a time."""
    pages = -(-len(indices) // PAGE)
    top = st.container()
    number = controls.pick_page(pages, f"page-{key}")
    with top:
        st.caption(f"{len(indices):,} of {queries.card(at).size:,} stimuli")
        grid(at, indices[(number - 1) * PAGE : number * PAGE], key=key, width=150)
