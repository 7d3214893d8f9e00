"""A click on a dot of a chart that is drawn around: Streamlit hears such clicks only where a chart
is moved or zoomed.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

_JS = """
const DRAWN_AROUND = ["lasso", "select"];

export default function({ data, setTriggerValue }) {
  let chart = null;
  const click = event => {
    const dot = event.points[0];
    if (dot && dot.customdata && DRAWN_AROUND.includes(chart._fullLayout.dragmode)) {
      setTriggerValue("clicked", dot.customdata[0]);
    }
  };
  const listen = () => {
    const shown = document.querySelector(`.st-key-chart-${data.chart} .js-plotly-plot`);
    if (!shown || !shown.on || shown === chart) return;
    chart = shown;
    chart.on("plotly_click", click);
  };
  const clock = setInterval(listen, 300);  // a chart that is drawn anew is another element
  return () => { clearInterval(clock); chart?.removeListener?.("plotly_click", click); };
}
"""
_clicks = st.components.v2.component("platoscope_clicks", js=_JS)


def hear(chart: str, take: Callable[[int], None]) -> None:
    """Call `take` with the first of a clicked dot's custom data; chart: the key of its plot."""
    key = f"clicks-{chart}"

    def taken() -> None:
        take(int(st.session_state[key]["clicked"]))

    _clicks(key=key, data={"chart": chart}, on_clicked_change=taken, height=0)
