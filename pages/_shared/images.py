"""The buttons that save a plot as an SVG or PNG file or copy its address.

The browser draws the file from the chart as shown, with the chart's own download button. The font
that its texts were laid out for is a web font: it goes into the file, or every other program would
set them wider and cut the legend.
"""

from __future__ import annotations

import streamlit as st

from core.figures import exports
from core.recipe import Recipe

_HTML = """<div class="bar" role="toolbar" aria-label="Export the plot">
<button type="button" data-format="svg" title="Vector graphic of the plot as shown">SVG</button>
<button type="button" data-format="png" title="Image of the plot, at three times its size">PNG
</button>
<button type="button" data-format="link" title="Copy the address of this very view">Link</button>
</div>"""
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
_JS = """
const CAMERA = '.modebar-btn[data-attr="toImage"], .modebar-btn[data-title^="Download plot"]';
const NAMESPACE = "http://www.w3.org/2000/svg";
const TYPE = "image/svg+xml;charset=utf-8";

// The chart's own button would save an image without its font
const hidden = document.createElement("style");
hidden.textContent = `${CAMERA} { display: none; }`;
document.head.append(hidden);

function shownChart(key) { return document.querySelector(`.st-key-${key} .js-plotly-plot`); }

// Presses the chart's button and takes the SVG from the link that it clicks to save it
function drawSvg(chart, scale) {
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
    chart._context.toImageButtonOptions = { format: "svg", filename: name, scale };
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

async function finish(text, { title, recipe }) {
  const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const fonts = await Promise.all(usedFonts(text).map(embedded));
  const parts = { title, metadata: recipe, style: fonts.join("\\n") };
  const added = Object.entries(parts).map(([name, content]) => {
    const element = document.createElementNS(NAMESPACE, name);
    element.textContent = content;
    return element;
  });
  svg.prepend(...added);
  // a program that reads no embedded font shows the whole legend nevertheless
  svg.querySelectorAll(".legend [clip-path]").forEach((one) => one.removeAttribute("clip-path"));
  return new Blob([new XMLSerializer().serializeToString(svg)], { type: TYPE });
}

async function painted(svg) {
  const image = new Image();
  image.src = URL.createObjectURL(svg);
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
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

async function save(format, data) {
  const text = await drawSvg(shownChart(data.chart), format === "png" ? 3 : 1);
  const svg = await finish(text, data);
  download(format === "png" ? await painted(svg) : svg, `${data.name}.${format}`);
}

async function copyLink(button) {
  await navigator.clipboard.writeText(window.location.href);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Link"; }, 1500);
}

export default function({ data, parentElement }) {
  for (const button of parentElement.querySelectorAll("button")) {
    const format = button.dataset.format;
    button.onclick = () => format === "link" ? copyLink(button) : save(format, data);
  }
}
"""

_buttons = st.components.v2.component("platoscope_images", html=_HTML, css=_CSS, js=_JS)


def draw(title: str, recipe: Recipe, *, key: str) -> None:
    """Draw the buttons for the chart in the container `chart-KEY`; its files bear its title and
    recipe.
    """
    data = {
        "chart": f"chart-{key}",
        "name": exports.file_name(title, recipe, "")[:-1],
        "title": title,
        "recipe": exports.to_recipe_json(recipe).decode(),
    }
    _buttons(key=f"images-{key}", data=data, width="content")
