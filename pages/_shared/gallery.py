"""Stimuli as images, or as texts if there are none: search, pages, and the opened one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass

import pandas as pd
import streamlit as st

from pages._shared import address, controls, facts, frame
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
_CSS = """
.tiles { display: grid; gap: 0.6rem 0.5rem; align-items: start; }
.tile { margin: 0; min-width: 0; }
.tile button { all: unset; display: block; width: 100%; border-radius: 0.3rem; }
.tile button:enabled { cursor: pointer; }
.tile button:enabled:hover > * { opacity: 0.8; }
.tile button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
.tile img { display: block; width: 100%; border-radius: 0.3rem; }
.tile .words { font-size: 0.85rem; line-height: 1.3; height: 6.5em; border-radius: 0.3rem;
  border: 0.5rem solid var(--st-secondary-background-color); overflow: hidden;
  background: var(--st-secondary-background-color); overflow-wrap: anywhere;
  display: -webkit-box; -webkit-line-clamp: 5; -webkit-box-orient: vertical; }
.tile.marked button > * { outline: 3px solid var(--st-primary-color); outline-offset: -3px; }
.tile.chosen button > * { box-shadow: 0 0 0 3px var(--st-text-color); }
.head { font-size: 0.8rem; line-height: 1.4; white-space: nowrap; overflow: hidden; }
.note { font-size: 0.78rem; line-height: 1.25; overflow: hidden; overflow-wrap: anywhere;
  display: -webkit-box; -webkit-line-clamp: 3; -webkit-box-orient: vertical; }
.bars { margin-top: 0.3rem; }
.bars > div { background: var(--st-border-color); margin: 2px 0; }
.bars > div > div { height: 6px; }
"""
_JS = """
function element(name, className, text = "") {
  const one = document.createElement(name);
  one.className = className;
  one.textContent = text;
  return one;
}

function bars(shares) {
  const all = element("div", "bars");
  for (const { name, share, color } of shares) {
    const bar = element("div", ""), filled = element("div", "");
    bar.title = name;
    filled.style.width = `${100 * share}%`;
    filled.style.background = color;
    bar.append(filled);
    all.append(bar);
  }
  return all;
}

function picture(tile) {
  if (!tile.image) return element("div", "words", tile.caption);
  const image = new Image();
  image.src = tile.image;
  image.alt = tile.caption;
  return image;
}

function figure(tile, data, act) {
  const one = element("figure", "tile"), button = element("button", "");
  one.classList.toggle("marked", tile.marked);
  one.classList.toggle("chosen", data.chosen.includes(tile.index));
  one.dataset.index = tile.index;
  button.title = tile.caption;
  button.disabled = !data.opens;
  button.setAttribute("aria-label", `Open ${tile.index}: ${tile.caption}`);
  button.onclick = (event) => act(event.shiftKey && data.adds ? "added" : "opened", tile.index);
  button.append(picture(tile));
  const head = [tile.index, tile.note.head].filter(String).join(" · ");
  one.append(button, element("div", "head", head));
  const repeated = !tile.image && tile.note.text === tile.caption;
  if (tile.note.text && !repeated) one.append(element("div", "note", tile.note.text));
  if (tile.note.bars.length) one.append(bars(tile.note.bars));
  return one;
}

export default function({ data, parentElement, setTriggerValue }) {
  const grid = parentElement.querySelector(".tiles");
  const drawn = JSON.stringify(data);
  if (grid.drawn === drawn) return;
  grid.drawn = drawn;
  grid.style.gridTemplateColumns = `repeat(auto-fill, minmax(min(100%, ${data.width}px), 1fr))`;
  grid.replaceChildren(...data.tiles.map((tile) => figure(tile, data, setTriggerValue)));
}
"""
_tiles = st.components.v2.component(
    "platoscope_tiles", html='<div class="tiles"></div>', css=_CSS, js=_JS
)


@dataclass(frozen=True)
class Bar:
    """A bar below an image. name: its tooltip. share: its length, 0 … 1."""

    name: str
    share: float
    color: str


@dataclass(frozen=True)
class Note:
    """The text below an image. head: next to the index. text: up to three lines."""

    head: str = ""
    text: str = ""
    bars: tuple[Bar, ...] = ()


@dataclass(frozen=True)
class Tile:
    """A stimulus with its note; `marked` ones are framed. image: address, or "" for its caption."""

    index: int
    image: str
    caption: str
    note: Note
    marked: bool


@dataclass(frozen=True)
class Clicks:
    """Callbacks of a click and a Shift+click on an image, given its index. chosen: outlined
    stimuli.
    """

    opened: Callable[[int], None] | None
    added: Callable[[int], None] | None = None
    chosen: Collection[int] = ()


def chosen(size: int) -> int | None:
    """Return the stimulus in the address, if any; warn if this dataset does not have it."""
    text = mark("stimulus")
    if text.isdecimal() and len(text) < 10 and int(text) < size:
        return int(text)
    if text:
        st.warning(
            f"The link opens number {frame.plain(text[:40])}; this dataset has numbers 0 to"
            f" {size - 1:,}."
        )
    return None


def show_top(opened: int) -> None:
    """Scroll to the top once, when another stimulus is opened or another job queued."""
    _top(key="page-top", data={"opened": opened}, height=0)


def choose(index: int | None) -> None:
    """Open a stimulus, or close it."""
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
    """Draw thumbnails of at least `width` pixels, with a note each; `marked` ones are framed."""
    texts, pictures = facts.default_captions(at), facts.thumbnails(at, tuple(indices))
    shown = [
        Tile(index, image, texts[index], note(index), index in marked)
        for index, image in zip(indices, pictures, strict=True)
    ]
    draw_tiles(shown, key=key, width=width, clicks=clicks)


def draw_one(at: Place, index: int, *, width: int) -> None:
    """Draw the image of a stimulus, or its caption if the dataset has no images."""
    (picture,), caption = facts.thumbnails(at, (index,)), facts.default_captions(at)[index]
    if picture:
        st.image(picture, width=width, alt=caption)
    else:
        st.text(caption)


def search(at: Place, dispersion: Callable[[], pd.Series] | None) -> list[int]:
    """Draw search and filters by factor and quantile of dispersion; return passing stimuli.

    dispersion: computes a value per stimulus; None if there is none.
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
        address.label(f"f-{name}", name.replace("_", " ").capitalize())
        picked = st.multiselect(label, options, **bind(f"f-{name}", [], options))
        if picked:
            values = factors[name].dropna().astype(str)
            passed &= factors.index.isin(values[values.isin(picked)].index)
    return passed


def _filter_quantile(dispersion: Callable[[], pd.Series], passed: pd.Series) -> pd.Series:
    text = "0 to 25 are the quarter of the stimuli that models agree on most."
    low, high = st.slider(
        "Disagreement, quantiles in %",
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
    """Draw stimuli in their order, page by page."""
    top = st.container()
    number = controls.pick_page(-(-len(indices) // PAGE), f"page-{key}")
    with top:
        shown = indices[(number - 1) * PAGE : number * PAGE]
        grid(at, shown, key=key, width=width, clicks=clicks)


def draw_tiles(tiles: Sequence[Tile], *, key: str, width: int, clicks: Clicks) -> None:
    """Draw tiles of at least `width` pixels."""
    key = f"tiles-{key}"
    data = {
        "tiles": [asdict(tile) for tile in tiles],
        "chosen": [tile.index for tile in tiles if tile.index in clicks.chosen],
        "width": width,
        "opens": clicks.opened is not None,
        "adds": clicks.added is not None,
    }
    _tiles(
        key=key,
        data=data,
        on_opened_change=taker(key, "opened", clicks.opened),
        on_added_change=taker(key, "added", clicks.added),
    )


def taker(key: str, event: str, act: Callable[[int], None] | None) -> Callable[[], None]:
    """Return a callback that calls `act` with the index of a component's event."""

    def take() -> None:
        index = st.session_state[key][event]
        if act and index is not None:
            act(int(index))

    return take
