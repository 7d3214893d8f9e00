"""Pictures of stimuli side by side, or texts where there are none: one component for all of them,
since a widget per picture would take the browser and the server seconds. A click opens a picture,
Shift+click adds it to a set.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

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
  button.setAttribute("aria-label", `Stimulus ${tile.index}: ${tile.caption}`);
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
    """A bar beneath a picture; name: what it says when pointed at; share: its length, 0 … 1."""

    name: str
    share: float
    color: str


@dataclass(frozen=True)
class Note:
    """What stands beneath a picture.

    head: beside the index, such as a similarity. text: up to three lines of it.
    """

    head: str = ""
    text: str = ""
    bars: tuple[Bar, ...] = ()


@dataclass(frozen=True)
class Tile:
    """A picture of a stimulus with its note; `marked` ones are framed. image: its address, "" where
    the caption stands in its place.
    """

    index: int
    image: str
    caption: str
    note: Note
    marked: bool


@dataclass(frozen=True)
class Clicks:
    """What a click on a picture calls with its index, and a Shift+click; None for nothing.

    chosen: the stimuli that were added, which are outlined.
    """

    opened: Callable[[int], None] | None
    added: Callable[[int], None] | None = None
    chosen: Collection[int] = ()


def draw(tiles: Sequence[Tile], *, key: str, width: int, clicks: Clicks) -> None:
    """Draw pictures, at least `width` pixels wide each, in as many columns as fit."""
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
    """Return the callback of a component that calls `act` with the index of an event."""

    def take() -> None:
        index = st.session_state[key][event]
        if act and index is not None:
            act(int(index))

    return take
