"""The convergence map as a component: a scene that the browser moves and makes clickable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import streamlit as st

from core.figures.theme import INK, Mode
from core.questions.closeness import Scene

HTML = """<div class="map">
<div class="top"><div class="keys" role="group" aria-label="Metric"></div>
<div class="time"><button class="play">▶ Training</button>
<input class="share" type="range" min="0" max="100" value="100" aria-label="share of the training">
<span class="when"></span></div></div>
<svg class="canvas" viewBox="-340 -318 680 636" role="group" aria-label="Convergence map"></svg>
<div class="legend"></div>
</div>"""
CSS = """
.map { display: grid; grid-template-columns: minmax(0, 1fr) 200px; gap: 4px 20px;
  color: var(--st-text-color); font: 14px/1.4 var(--st-font); }
.top { grid-column: 1 / -1; display: flex; flex-wrap: wrap; justify-content: space-between;
  gap: 8px 24px; }
.keys, .time { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; color: var(--soft); }
svg { overflow: visible; }
.canvas { display: block; width: 100%; height: auto; max-height: 600px; }
.legend { display: flex; flex-direction: column; gap: 6px; align-self: start; padding-top: 28px;
  font-size: 13px; }
.legend div { display: flex; gap: 8px; align-items: center; }
text { fill: var(--st-text-color); font-size: 15px; }
text.soft { fill: var(--soft); }
.sector { font-weight: 700; letter-spacing: .08em; }
.ring { fill: none; stroke: var(--line); }
.rim { stroke: var(--rim); stroke-dasharray: 2 4; }
.star { fill: var(--st-text-color); }
.full { fill: var(--soft); }
.hollow { fill: none; stroke: var(--soft); stroke-width: 1.4; }
.level { fill: none; stroke: var(--soft); stroke-dasharray: 6 3; }
.trail { fill: none; stroke-width: 1.6; opacity: .45; stroke-linecap: round; }
.chord { fill: none; stroke: var(--st-text-color); opacity: .5; }
.names, .card { pointer-events: none; }
.names text, .canvas .soft { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.card .title { font-weight: 600; }
.card text { stroke: none !important; }
.card rect { fill: var(--paper); stroke: var(--line); }
.dot { cursor: pointer; stroke: var(--paper); stroke-width: 1.4; outline: none; }
.dot.dim { opacity: .16 !important; }
.dot[aria-pressed=true] { stroke: var(--st-text-color); stroke-width: 2.4; }
.dot:focus-visible { stroke: var(--ember); stroke-width: 3; }
button { font: inherit; font-size: 13px; border: 1px solid var(--line); border-radius: 6px;
  padding: 3px 10px; background: none; color: var(--st-text-color); cursor: pointer; }
button[aria-pressed=true] { border-color: var(--st-text-color); font-weight: 600; }
:is(button, input):focus-visible { outline: 2px solid var(--ember); outline-offset: 2px; }
input { width: 150px; accent-color: var(--ember); }
.when { min-width: 7.5em; font-size: 13px; }
@media (max-width: 640px) { .map { grid-template-columns: minmax(0, 1fr); }
  .legend { flex-flow: row wrap; gap: 4px 16px; padding: 0; }
  .canvas text { font-size: 20px; } }
"""
PLACED = """<style>
.st-key-map {{ {colors} }}
.st-key-map-center {{ width: 16.5rem; }}
.st-key-marks [data-testid=stPageLink] a {{ padding-left: 0; }}
.st-key-map-center [data-testid=stWidgetLabel] {{ display: none; }}
@media (min-width: 1200px) {{
  .st-key-map-frame {{ position: relative; }}
  [data-testid=stLayoutWrapper]:has(> .st-key-map-center) {{
    position: absolute; top: -.35rem; left: 17.5rem; z-index: 80; width: auto;
  }}
}}
</style>"""  # next to the metrics, if there is room
JS = Path(__file__).with_name("map.js").read_text(encoding="utf-8")
_map = st.components.v2.component("platoscope_map", html=HTML, css=CSS, js=JS)


def draw(
    scene: Scene,
    metrics: Sequence[tuple[str, str]],
    metric: str,
    selected: Sequence[str],
    *,
    mode: Mode,
    pick: Callable[[str], None],
    change: Callable[[str], None],
) -> None:
    """Draw the map.

    metrics: id and title of those that a key changes to, the first by 1; metric: the one shown.
    pick: takes the model that was clicked; change: takes the id of another metric.
    """
    ink = INK[mode]
    look = {"paper": ink.paper, "soft": ink.soft, "line": ink.grid, "rim": ink.chance}
    colors = (look | {"ember": ink.ember}).items()
    st.html(PLACED.format(colors=" ".join(f"--{name}: {color};" for name, color in colors)))
    offered = [{"id": one, "title": title, "shown": one == metric} for one, title in metrics]
    _map(
        key="map",
        data={"scene": asdict(scene), "metrics": offered, "selected": list(selected)},
        on_picked_change=lambda: _take("picked", pick),
        on_metric_change=lambda: _take("metric", change),
    )


def _take(event: str, act: Callable[[str], None]) -> None:
    name = st.session_state["map"][event]
    if name is not None:
        act(str(name))
