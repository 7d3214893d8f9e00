"""What a mouse does on a chart of images: a card with image and caption is next to the point
that it rests on, a click opens the image, Shift+click selects it.

Plotly's own card holds no images, and Streamlit hears no clicks on a chart that is drawn around.
The browser asks for an image when the mouse rests on its point, and keeps it: those of a thousand
would be ten megabytes.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages._shared import facts
from pages._shared.address import fragment, redraw_page
from pages._shared.gallery import Clicks, taker
from pages._shared.queries import Place

_CSS = """
.card { position: fixed; z-index: 1000; display: none; pointer-events: none; width: 200px;
  padding: 0.5rem; border: 1px solid var(--st-border-color); border-radius: 0.4rem;
  color: var(--st-text-color); background: var(--st-background-color);
  box-shadow: 0 2px 12px rgb(0 0 0 / 0.2); }
.card img { display: block; width: 100%; }
.card b, .card span { display: block; font-size: 0.8rem; line-height: 1.3; margin-top: 0.2rem; }
.card span { overflow-wrap: anywhere; }
"""
_HTML = '<div class="card"><img alt=""><b></b><span></span></div>'
_JS = """
const REST = 70;  // ms that the mouse rests on a point before its card is asked for
const KEPT = new Map();  // cards, by what they show

export default function({ data, parentElement, setTriggerValue }) {
  const card = parentElement.querySelector(".card");
  const name = (index) => `${data.about} ${index}`;
  const state = (card.state ??= { over: null });
  const indexOf = (event) => event.points[0]?.customdata?.[0];
  const show = () => {
    const one = state.over && KEPT.get(name(state.over.index));
    card.style.display = one ? "block" : "none";
    if (!one) return;
    const [image, head, text] = card.children;
    image.style.display = one.image ? "block" : "none";
    head.textContent = one.head;
    text.textContent = one.caption;
    if (!one.image) return place();
    image.src = one.image;
    image.decode().then(place, () => {});
  };
  const place = () => {
    if (!state.over) return;
    const { x, y } = state.over, { offsetWidth: wide, offsetHeight: high } = card;
    card.style.left = `${x + 16 + wide < innerWidth ? x + 16 : x - 16 - wide}px`;
    card.style.top = `${Math.max(4, Math.min(y - high / 2, innerHeight - high - 4))}px`;
  };
  const hover = (event) => {
    const index = indexOf(event);
    if (index === undefined) return;
    state.over = { index, x: event.event.clientX, y: event.event.clientY };
    show();
    clearTimeout(state.rest);
    if (KEPT.has(name(index))) return;
    state.rest = setTimeout(() => setTriggerValue("hovered", index), REST);
  };
  const leave = () => { state.over = null; clearTimeout(state.rest); show(); };
  const click = (event) => {
    leave();
    const index = indexOf(event);
    if (index !== undefined) setTriggerValue(event.event.shiftKey ? "added" : "opened", index);
  };
  const heard = { plotly_hover: hover, plotly_unhover: leave, plotly_click: click };
  let chart = null;
  const listen = () => {
    const shown = document.querySelector(`.st-key-chart-${data.chart} .js-plotly-plot`);
    if (!shown?.on || shown === chart) return;
    chart = shown;
    Object.entries(heard).forEach(([event, act]) => chart.on(event, act));
  };
  if (data.card) KEPT.set(name(data.card.index), data.card);
  show();
  listen();
  const clock = setInterval(listen, 300);  // a chart that is drawn again is another element
  return () => {
    clearInterval(clock);
    Object.entries(heard).forEach(([event, act]) => chart?.removeListener?.(event, act));
  };
}
"""
_points = st.components.v2.component("platoscope_points", html=_HTML, css=_CSS, js=_JS)


@fragment
def follow(
    at: Place, chart: str, *, about: str, head: Callable[[int], str], clicks: Clicks
) -> None:
    """Show cards on a chart and take its clicks; a card draws nothing else again.

    chart: the key of its plot; the first of a point's custom data is its index. about: what the
    heads depend on. head: what is said of an image.
    """
    key, pointed = f"card-{chart}", f"pointed-{chart}"

    def point(index: int) -> None:
        st.session_state[pointed] = index

    def whole(act: Callable[[int], None] | None) -> Callable[[int], None]:
        def take(index: int) -> None:
            if act:
                act(index)
            redraw_page()

        return take

    index, card = st.session_state.pop(pointed, None), None
    if index is not None:
        card = {
            "index": index,
            "image": facts.thumbnails(at, (index,))[0],
            "head": head(index),
            "caption": facts.default_captions(at)[index],
        }
    st.html(f"<style>.st-key-chart-{chart} .hoverlayer {{ display: none; }}</style>")
    _points(
        key=key,
        data={"chart": chart, "about": about, "card": card},
        on_hovered_change=taker(key, "hovered", point),
        on_opened_change=taker(key, "opened", whole(clicks.opened)),
        on_added_change=taker(key, "added", whole(clicks.added)),
        height=0,
    )
