"""The buttons that save a figure for paper as an SVG, PNG or PDF file, and the one that copies the
address of a plot.

The browser draws the file from a chart on the page, with the chart's own download button. The font
that its texts were laid out for is a web font: it goes into the file, or every other program would
set them wider and cut the legend. PDF is written by the server from that drawing.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict, dataclass

import streamlit as st

from core.figures.pdf import to_pdf

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
<button type="button" title="Copy the address of this very view">Link</button>
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


@dataclass(frozen=True)
class Print:
    """A chart on the page as a file: the key of its container, the file's name without its suffix,
    what goes into the file, and its width in millimeters.
    """

    chart: str
    name: str
    title: str
    caption: str
    recipe: str
    width: int


def draw_link(*, key: str) -> None:
    """Draw the button that copies the address."""
    _link(key=f"link-{key}", width="content")


def draw_formats(one: Print, *, key: str) -> None:
    """Draw the buttons that save a chart."""
    made = f"pdf-{key}"

    def write() -> None:
        drawing = st.session_state[f"images-{key}"].drawing
        pdf = to_pdf(
            drawing, width=one.width, title=one.title, caption=one.caption, recipe=one.recipe
        )
        st.session_state[made] = b64encode(pdf).decode()

    data = {**asdict(one), "pdf": st.session_state.pop(made, "")}
    _formats(key=f"images-{key}", data=data, width="content", on_drawing_change=write)
