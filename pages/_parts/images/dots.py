"""A click on a dot of a chart of stimuli opens it, Shift+click chooses it: Streamlit hears no
clicks on a chart that is drawn around.
"""

from __future__ import annotations

import streamlit as st

from pages._shared.gallery import Clicks, taker

_JS = """
export default function({ data, setTriggerValue }) {
  let chart = null;
  const click = (event) => {
    const index = event.points[0]?.customdata?.[0];
    if (index === undefined) return;
    setTriggerValue(event.event.shiftKey ? "added" : "opened", index);
  };
  const listen = () => {
    const shown = document.querySelector(`.st-key-chart-${data.chart} .js-plotly-plot`);
    if (!shown || !shown.on || shown === chart) return;
    chart = shown;
    chart.on("plotly_click", click);
  };
  const clock = setInterval(listen, 300);  // a chart that is drawn again is another element
  return () => { clearInterval(clock); chart?.removeListener?.("plotly_click", click); };
}
"""
_dots = st.components.v2.component("platoscope_dots", js=_JS)


def hear(chart: str, clicks: Clicks) -> None:
    """Take the clicks on a chart; the first of a dot's custom data is its index.

    chart: the key of its plot.
    """
    key = f"dots-{chart}"
    _dots(
        key=key,
        data={"chart": chart},
        on_opened_change=taker(key, "opened", clicks.opened),
        on_added_change=taker(key, "added", clicks.added),
        height=0,
    )
