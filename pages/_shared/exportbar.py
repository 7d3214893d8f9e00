"""A figure and its button “Download”: the figure for a paper, CSV, HTML, the settings, the link and
the command.

A figure for a paper is drawn by the browser, from a chart on the page, with the chart's own
download button. The font that its texts were laid out for is a web font: it goes into the file, or
every other program would set them wider and cut the legend. PDF is written by the server from that
drawing.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit import runtime

from core.figures import exports
from core.figures.drawing import add_rings
from core.figures.printing import ONE_COLUMN, TWO_COLUMNS, Drawn, legend_text, to_pdf, to_print
from core.figures.theme import Mode
from core.questions.asking import recipe_of
from core.questions.question import Question, StudyQuestion
from core.questions.words import to_command
from core.recipe import Recipe
from pages._shared import frame, queries, selection
from pages._shared.queries import Place

PRINTS_PLOT = "This prints the numbers behind the plot:"
_WIDTHS = {ONE_COLUMN: "85 mm, one column", TWO_COLUMNS: "175 mm, two columns"}
_FILES = {
    "HTML": ("html", "text/html"),
    "CSV": ("csv", "text/csv"),
    "Settings": ("json", "application/json"),
}
_places = cycle(range(16))  # of files that browsers may still be fetching
_GROUNDS = {False: "White", True: "Transparent"}
_CSS = """
.bar { display: flex; gap: 0.85rem; align-items: center; height: 2.5rem; }
.bar button {
  all: unset; cursor: pointer; font: inherit; font-size: 0.875rem;
  color: var(--st-text-color); white-space: nowrap;
}
.bar button:hover { color: var(--st-primary-color); }
.bar button:focus-visible {
  outline: 2px solid var(--st-primary-color); outline-offset: 3px; border-radius: 3px;
}
"""
_LINK = """<div class="bar">
<button type="button" title="Copy the address of this view">Link</button>
</div>"""
_COPY = """
export default function({ parentElement }) {
  const button = parentElement.querySelector("button");
  button.onclick = async () => {
    await navigator.clipboard.writeText(window.location.href);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Link"; }, 1500);
  };
}
"""
_FORMATS = """<div class="bar" role="toolbar" aria-label="Save the figure">
<button type="button" data-format="svg" title="Vector graphic, its font inside">SVG</button>
<button type="button" data-format="png" title="Image of 300 pixels per inch">PNG</button>
<button type="button" data-format="pdf" title="Vector graphic, its font inside">PDF</button>
</div>"""
_JS = """
const CAMERA = '.modebar-btn[data-attr="toImage"], .modebar-btn[data-title^="Download plot"]';
const NAMESPACE = "http://www.w3.org/2000/svg";
const DPI = 300;
const TYPE = "image/svg+xml;charset=utf-8";

// The chart's own button would save an image without its font
const hidden = document.createElement("style");
hidden.textContent = `${CAMERA} { display: none; }`;
document.head.append(hidden);

function shownChart(key) { return document.querySelector(`.st-key-${key} .js-plotly-plot`); }

// Presses the chart's button and takes the SVG from the link that it clicks to save it
function drawSvg(chart) {
  return new Promise((resolve) => {
    const name = crypto.randomUUID?.() ?? `${Math.random()}`;
    const take = (event) => {
      const link = event.target;
      if (link.download !== `${name}.svg`) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      document.removeEventListener("click", take, true);
      // at once: the address ends with the click
      resolve(fetch(link.href).then((file) => file.text()));
    };
    document.addEventListener("click", take, true);
    chart._context.toImageButtonOptions = { format: "svg", filename: name };
    chart.querySelector(CAMERA).click();
  });
}

const plainName = (family) => family.replace(/["']/g, "");

// The rules of the fonts that the page has loaded and the plot names
function usedFonts(text) {
  const key = (face) => `${plainName(face.family)} ${face.style}`;
  const loaded = new Set([...document.fonts].filter((one) => one.status === "loaded").map(key));
  return [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => {
    if (!(rule instanceof CSSFontFaceRule)) return false;
    const family = plainName(rule.style.getPropertyValue("font-family"));
    const style = rule.style.getPropertyValue("font-style") || "normal";
    const used = text.includes(family) && (style === "normal" || text.includes("italic"));
    return used && loaded.has(key({ family, style }));
  });
}

async function asData(url) {
  const file = await (await fetch(url)).blob();
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(file);
  });
}

async function embedded(rule) {
  const source = rule.style.getPropertyValue("src").match(/url\\(["']?([^"')]+)["']?\\)/)[1];
  const data = await asData(new URL(source, rule.parentStyleSheet.href ?? document.baseURI));
  const wanted = ["font-family", "font-style", "font-weight"];
  const kept = wanted.map((name) => `${name}: ${rule.style.getPropertyValue(name) || "normal"};`);
  return `@font-face { ${kept.join(" ")} src: url(${data}); }`;
}

async function finish(text, { title, caption, recipe, width }) {
  const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const fonts = await Promise.all(usedFonts(text).map(embedded));
  const parts = { title, desc: caption, metadata: recipe, style: fonts.join("\\n") };
  const added = Object.entries(parts).map(([name, content]) => {
    const element = document.createElementNS(NAMESPACE, name);
    element.textContent = content;
    return element;
  });
  svg.prepend(...added);
  // a program that reads no embedded font shows the whole legend nevertheless
  svg.querySelectorAll(".legend [clip-path]").forEach((one) => one.removeAttribute("clip-path"));
  const [across, down] = ["width", "height"].map((side) => parseFloat(svg.getAttribute(side)));
  svg.setAttribute("viewBox", `0 0 ${across} ${down}`);
  size(svg, width, width * down / across, "mm");
  return svg;
}

function size(svg, width, height, unit) {
  svg.setAttribute("width", `${width}${unit}`);
  svg.setAttribute("height", `${height}${unit}`);
}

const asFile = (svg) => new Blob([new XMLSerializer().serializeToString(svg)], { type: TYPE });

async function painted(svg) {
  const [width, height] = ["width", "height"].map(
    (side) => Math.round(parseFloat(svg.getAttribute(side)) / 25.4 * DPI));
  size(svg, width, height, "px");
  const image = new Image();
  image.src = URL.createObjectURL(asFile(svg));
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  canvas.getContext("2d").drawImage(image, 0, 0);
  URL.revokeObjectURL(image.src);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function download(file, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

async function save(format, data, send) {
  const svg = await finish(await drawSvg(shownChart(data.chart)), data);
  if (format === "pdf") send("drawing", new XMLSerializer().serializeToString(svg));
  else download(format === "png" ? await painted(svg) : asFile(svg), `${data.name}.${format}`);
}

let saved = "";

export default function({ data, parentElement, setTriggerValue }) {
  if (data.pdf && data.pdf !== saved) {
    saved = data.pdf;
    const bytes = Uint8Array.from(atob(data.pdf), (letter) => letter.charCodeAt(0));
    download(new Blob([bytes], { type: "application/pdf" }), `${data.name}.pdf`);
  }
  for (const button of parentElement.querySelectorAll("button")) {
    button.onclick = () => {
      saved = "";
      save(button.dataset.format, data, setTriggerValue);
    };
  }
}
"""

_link = st.components.v2.component("platoscope_link", html=_LINK, css=_CSS, js=_COPY)
_formats = st.components.v2.component("platoscope_images", html=_FORMATS, css=_CSS, js=_JS)


def draw(
    at: Place,
    question: StudyQuestion,
    drawn: Drawn,
    *,
    key: str,
    table: pd.DataFrame,
    on_select: Any = "ignore",
    brush: bool = False,
) -> None:
    """Draw the figure of a question's answer with its export bar.

    drawn: such as the `draw` of a plot. on_select: called with the selection in session state under
    `key`. brush: many points may be drawn around, not only one be clicked; what is chosen is shown
    next to the plot.
    """
    figure = _plot(drawn, key=key, on_select=on_select, brush=brush)
    command = frame.question_command(question)
    _bar(figure, drawn, table, queries.recipe_of(at, question), command, PRINTS_PLOT, key=key)


def draw_models(
    at: Place, question: StudyQuestion, drawn: Drawn, *, key: str, table: pd.DataFrame
) -> None:
    """Draw a figure whose dots are models, as `draw` does: a click on one chooses it, and chosen
    ones have a ring.
    """
    chosen = selection.chosen()

    def ringed(mode: Mode, narrow: bool) -> go.Figure:
        figure = drawn(mode, narrow)
        add_rings(figure, chosen, mode)
        return figure

    draw(at, question, ringed, key=key, table=table, on_select=selection.by_click(key))


def draw_alone(
    question: Question,
    drawn: Drawn,
    *,
    key: str,
    table: pd.DataFrame,
    command_note: str = PRINTS_PLOT,
) -> None:
    """Draw the figure of a question that needs no store with its export bar.

    command_note: what the command does, if it does not print the table itself.
    """
    figure = _plot(drawn, key=key)
    _bar(figure, drawn, table, recipe_of(question), to_command(question), command_note, key=key)


def draw_table(at: Place, question: StudyQuestion, table: pd.DataFrame, *, key: str) -> None:
    """Draw what can be exported of a table that is shown by itself; key: its name, too."""
    with offer(key):
        _download("CSV", lambda: exports.to_csv(table), key, queries.recipe_of(at, question), key)
        tell_command(frame.question_command(question), "This prints the same table:")


def draw_link(*, key: str) -> None:
    """Draw the button that copies the address."""
    _link(key=f"link-{key}", width="content")


def _plot(drawn: Drawn, *, key: str, on_select: Any = "ignore", brush: bool = False) -> go.Figure:
    figure = drawn(frame.mode(), frame.narrow())
    tools = ["lasso2d", "select2d"] if brush else []
    config = {
        "displaylogo": False,
        "modeBarButtons": [["toImage", *tools, "zoom2d", "pan2d", "resetScale2d"]],
        "displayModeBar": True if brush else "hover",
        "doubleClick": "reset",
    }
    ways: Any = {"selection_mode": ("points", "box", "lasso") if brush else "points"}
    with st.container(key=f"chart-{key}"):
        st.plotly_chart(
            figure,
            theme=None,
            key=key,
            on_select=on_select,
            alt=figure.layout.meta["title"],
            config=config,
            **(ways if on_select != "ignore" else {}),
        )
    return figure


def _bar(
    figure: go.Figure,
    drawn: Drawn,
    table: pd.DataFrame,
    recipe: Recipe,
    command: str,
    note: str,
    *,
    key: str,
) -> None:
    title = figure.layout.meta["title"]
    with offer(key), st.container(key=f"export-{key}"):
        _draw_button(drawn, table, recipe, key=key)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _download("CSV", lambda: exports.to_csv(table), title, recipe, key)
            html = lambda: exports.to_html(figure, recipe, title=title)  # noqa: E731
            _download("HTML", html, title, recipe, key)
            _download("Settings", lambda: exports.to_recipe_json(recipe), title, recipe, key)
            draw_link(key=key)
        tell_command(command, note)


def offer(key: str) -> st.delta_generator.DeltaGenerator:
    """Return the button “Download” below a figure, and what it opens."""
    with st.container(horizontal=True, horizontal_alignment="right", key=f"bar-{key}"):
        return st.popover("Download", icon=":material/download:", type="tertiary")


def _download(label: str, make: Callable[[], bytes], title: str, recipe: Recipe, key: str) -> None:
    suffix, mime = _FILES[label]
    name = exports.file_name(title, recipe, suffix)
    st.download_button(
        label,
        fetchable(make, name, mime),
        name,
        mime,
        key=f"{label.lower()}-{key}",
        type="tertiary",
        on_click="ignore",
    )


def fetchable(make: Callable[[], bytes | str], name: str, mime: str) -> Callable[[], bytes]:
    """Return what a download button calls when it is clicked.

    Streamlit holds that file for no session and drops it when the next runs end, and parts of pages
    run every two seconds: a browser that had not fetched it yet would cancel the download. So the
    latest files stay.
    """

    def file() -> bytes:
        made = make()
        data = made.encode() if isinstance(made, str) else made
        if runtime.exists():
            files, place = runtime.get_instance().media_file_mgr, f"fetched-{next(_places)}"
            files.add(data, mime, place, name, is_for_static_download=True)
        return data

    return file


def tell_command(line: str, note: str = PRINTS_PLOT) -> None:
    """Draw the command that computes the same."""
    st.caption(note)
    st.code(line, language="bash", wrap_lines=True)


@st.fragment
def _draw_button(drawn: Drawn, table: pd.DataFrame, recipe: Recipe, *, key: str) -> None:
    if st.button("Figure: SVG, PDF, PNG", icon=":material/image:", key=f"figure-{key}"):
        _show_print(drawn, table, recipe, key=key)


@st.dialog("Figure for a paper", width="large")
def _show_print(drawn: Drawn, table: pd.DataFrame, recipe: Recipe, *, key: str) -> None:
    """Draw a figure as it will be printed, and the buttons that save it."""
    frame.mode()  # this run of a fragment has the hues of the dataset, too
    st.html("<style>[data-testid=stPopoverBody] { display: none }</style>")  # it lies above
    with st.container(horizontal=True):
        width = st.segmented_control(
            "Width", _WIDTHS, default=TWO_COLUMNS, format_func=_WIDTHS.get, required=True
        )
        transparent = st.segmented_control(
            "Background", _GROUNDS, default=False, format_func=_GROUNDS.get, required=True
        )
    printed = to_print(drawn, width=width, transparent=transparent)
    title, caption = printed.layout.meta["title"], legend_text(printed, table, recipe)
    chart, made = f"chart-print-{key}", f"pdf-{key}"
    with st.container(key=chart):
        config = {"displaylogo": False, "modeBarButtons": [["toImage"]], "displayModeBar": True}
        st.plotly_chart(
            printed, theme=None, key=f"print-{key}", width=printed.layout.width, config=config
        )
    text = exports.to_recipe_json(recipe).decode()

    def write() -> None:
        drawing = st.session_state[f"images-{key}"].drawing
        pdf = to_pdf(drawing, width=width, title=title, caption=caption, recipe=text)
        st.session_state[made] = b64encode(pdf).decode()

    data = {
        "chart": chart,
        "name": exports.file_name(title, recipe, "")[:-1],
        "title": title,
        "caption": caption,
        "recipe": text,
        "width": width,
        "pdf": st.session_state.pop(made, ""),
    }
    _formats(key=f"images-{key}", data=data, width="content", on_drawing_change=write)
    st.caption("Text to set below it:")
    st.code(caption, language=None, wrap_lines=True)
