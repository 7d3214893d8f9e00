"""Charts that are turned together by a drag, and in which a color is marked in all panels once it
is pointed at in one.

While a drag lasts, the browser moves the marks; when it ends, the angles go to the sliders, and the
charts are drawn anew.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages._shared.address import bind

TURN, TILT = 30, 30  # degrees at first
_JS = """
const CHART = ".js-plotly-plot";

function charts(keys) {
  return keys
    .map(key => document.querySelector(`.st-key-chart-${key} ${CHART}`))
    .filter(chart => chart && chart._fullLayout);
}

function chartOf(event, keys) {
  return charts(keys).find(chart => chart.contains(event.target));
}

// as core.questions.color.turning.project
function project([, up, right, away], turn, tilt) {
  const around = turn * Math.PI / 180, over = tilt * Math.PI / 180;
  const depth = away * Math.cos(around) - right * Math.sin(around);
  const across = right * Math.cos(around) + away * Math.sin(around);
  return [across, up * Math.cos(over) + depth * Math.sin(over)];
}

function draw(chart, turn, tilt) {
  for (const drawn of chart.querySelectorAll(".scatterlayer .trace")) {
    const points = drawn.__data__, trace = points[0].trace;
    if (!trace.customdata) continue;
    const axis = id => chart._fullLayout[id.replace(/^[xy]/, "$&axis")];
    const right = axis(trace.xaxis), up = axis(trace.yaxis);
    const place = named => {
      const [x, y] = project(named, turn, tilt);
      return [right.l2p(x), up.l2p(y)];
    };
    for (const mark of drawn.querySelectorAll(".points path"))
      mark.setAttribute("transform", `translate(${place(trace.customdata[mark.__data__.i])})`);
    for (const word of drawn.querySelectorAll(".textpoint")) {
      if (!word.firstChild) continue;  // Plotly's rest of a point without words
      const [x, y] = place(trace.customdata[word.__data__.i]);
      const across = x - right.l2p(word.__data__.x), down = y - up.l2p(word.__data__.y);
      word.firstChild.setAttribute("transform", `translate(${across},${down})`);
    }
    const step = i => (i && trace.customdata[i - 1] ? "L" : "M");
    const steps = trace.customdata.map((named, i) => named ? step(i) + place(named) : "");
    for (const line of drawn.querySelectorAll("path.js-line"))
      line.setAttribute("d", steps.join(""));
  }
}

function mark(keys, color) {
  for (const chart of charts(keys))
    for (const drawn of chart.querySelectorAll(".scatterlayer .trace"))
      for (const one of drawn.querySelectorAll(".points path, .textpoint")) {
        const named = (drawn.__data__[0].trace.customdata || [])[one.__data__.i];
        one.style.opacity = !color || !named || named[0] === color ? "" : 0.12;
      }
}

let dragged = null;

function drag(chart, keys) {
  dragged = chart;
  mark(keys, null);
  document.body.style.userSelect = chart ? "none" : "";
  for (const each of charts(keys))
    each.querySelector(".hoverlayer").style.visibility = chart ? "hidden" : "";
}

function listen(chart, keys) {
  if (chart.hasTurning) return;
  chart.hasTurning = true;
  chart.style.touchAction = "pan-y";  // a finger that moves up or down scrolls the page
  chart.on("plotly_hover", ({ points }) => {
    mark(keys, !dragged && points[0].customdata ? points[0].customdata[0] : null);
  });
  chart.on("plotly_unhover", () => mark(keys, null));
  chart.on("plotly_afterplot", () => {
    for (const word of chart.querySelectorAll(".textpoint text[transform]"))
      word.removeAttribute("transform");
  });
}

export default function({ data, setTriggerValue }) {
  const heard = new AbortController(), keys = data.charts;
  let began = null, angles = null;
  for (const chart of charts(keys)) listen(chart, keys);
  const on = (name, act) => document.addEventListener(name, act, { signal: heard.signal });
  on("pointerover", event => {
    const chart = chartOf(event, keys);
    if (chart) listen(chart, keys);
  });
  on("pointerdown", event => {
    const turns = !data.flat && event.button === 0 && !event.target.closest(".modebar, .legend");
    const chart = turns && chartOf(event, keys);
    if (chart) { began = event; drag(chart, keys); }
  });
  on("pointermove", event => {
    if (!began) return;
    const turn = Math.round(data.turn - (event.clientX - began.clientX) / 2);
    const tilt = Math.round(data.tilt + (event.clientY - began.clientY) / 2);
    angles = [((turn + 540) % 360 + 360) % 360 - 180, Math.max(-90, Math.min(90, tilt))];
    for (const chart of charts(keys)) draw(chart, ...angles);
  });
  for (const end of ["pointerup", "pointercancel"]) on(end, () => {
    if (!began) return;
    if (angles) setTriggerValue("turned", angles);
    began = angles = null;
    drag(null, keys);
  });
  return () => heard.abort();
}
"""
_script = st.components.v2.component("platoscope_turning", js=_JS)


def link(charts: Sequence[str], *, turn: int, tilt: int, flat: bool) -> None:
    """Link the charts of these keys; flat ones have nothing to turn. To be called after them."""
    data = {"charts": list(charts), "turn": turn, "tilt": tilt, "flat": flat}
    _script(key="turning", data=data, on_turned_change=_take, height=0)


def pick() -> tuple[int, int]:
    """Choose from where all panels are seen: how far they are turned around L*, and tilted toward
    the eye, in degrees.
    """
    around, over = bind("turn", TURN, within=(-180, 180)), bind("tilt", TILT, within=(-90, 90))
    turn = st.slider("Turn", -180, 180, format="%d°", **around)
    tilt = st.slider("Tilt", -90, 90, format="%d°", help="At 90° hues lie on a circle.", **over)
    return turn, tilt


def _take() -> None:
    """Take the angles of a drag to the sliders."""
    st.session_state["turn"], st.session_state["tilt"] = st.session_state["turning"]["turned"]
