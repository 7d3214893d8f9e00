"""How wide the page is, so that plots can be drawn as wide at once."""

from __future__ import annotations

import streamlit as st

COOKIE = "platoscope-width"  # what the browser keeps for the first page of its next visit
KEY, METER = "browser-pixels", "browser-width"  # in the session: what it said, and who says it
RANGE = range(100, 10_000)  # pixels that a page may have
QUIET = 3  # seconds: most pages have begun by then
_MEASURE = """
let clicked = 0;
for (const event of ["click", "popstate"]) {
  window.addEventListener(event, () => { clicked = Date.now(); }, true);
}
export default function({ data, setStateValue }) {
  const page = document.querySelector("[data-testid=stMainBlockContainer]");
  let waiting;
  const measure = () => {
    // until a page that was asked for has begun, Streamlit takes what is said for the one before,
    // and shows neither
    if (Date.now() - clicked < 1000 * data.quiet) return wait();
    const { paddingLeft, paddingRight } = getComputedStyle(page);
    const width = Math.round(page.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight));
    if (window.top === window.self) {
      document.cookie = `${data.cookie}=${width}; path=/; max-age=31536000; SameSite=Lax`;
    }
    if (width !== data.width) setStateValue("width", width);
  };
  // not while the page is being drawn, nor while the window is being dragged
  const wait = () => { clearTimeout(waiting); waiting = setTimeout(measure, 500); };
  const watcher = new ResizeObserver(wait);
  watcher.observe(page);
  return () => { clearTimeout(waiting); watcher.disconnect(); };
}
"""
_meter = st.components.v2.component("platoscope_meter", js=_MEASURE)


@st.fragment
def watch() -> None:
    """Learn from the browser how wide the page is, without drawing it anew."""
    data = {"cookie": COOKIE, "width": of_page(), "quiet": QUIET}
    _meter(key=METER, data=data, on_width_change=_take, height=0)


def _take() -> None:
    st.session_state[KEY] = st.session_state[METER].get("width")


def of_page() -> int | None:
    """Return the pixels across what the page shows, None where the browser has not said it."""
    kept = None if st.context.is_embedded else st.context.cookies.get(COOKIE)
    text = str(st.session_state.get(KEY, kept))
    is_number = text.isascii() and text.isdigit() and len(text) <= 4
    return int(text) if is_number and int(text) in RANGE else None
