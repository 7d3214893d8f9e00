"""What every tab shows before anything is opened, as a table:

    python -m tests.browser.measures STORE

words that stand open (captions and texts in figures counted, a dataset's own texts not), height at
1,280 px, cut labels, figures in the first screen, boxes in place of content, requests that failed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pandas as pd
from playwright.sync_api import Browser, sync_playwright

from tests.browser.seen import settle
from tests.browser.server import CHROMIUM, FLAGS, serve
from tests.navigation import VIEWS

QUIET = 1500  # ms without a change; parts of the sidebar look every two seconds
WORDS = """() => {
  const aside = `style, script, table, .tile, .katex-mathml, span[role=img],
    [data-testid=stIconMaterial],
    [data-testid=stDataFrame], [data-testid=stImage], [data-testid=stText],
    [data-testid=stExpanderDetails], .modebar, [role=listbox]`;
  const walk = node => {
    if (node.nodeType === 3) return node.textContent + " ";
    if (node.nodeType !== 1 || node.matches(aside)) return "";
    if (node.tagName === "text" && node.textContent.startsWith("■")) return "";  // a model's name
    if (node.tagName !== "svg" && getComputedStyle(node).display === "none") return "";
    return [...node.childNodes].map(walk).join("");
  };
  const text = walk(document.querySelector("[data-testid=stMain]"));
  return text.split(/\\s+/).filter(word => /\\p{L}/u.test(word)).length;
}"""
CUT = """() => [...document.querySelectorAll(
    "[data-testid=stMain] :is(label, button, [data-baseweb=select], [data-baseweb=tag]) *")]
  .filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0
    && getComputedStyle(one).textOverflow === "ellipsis" && one.innerText.trim())
  .map(one => one.innerText.trim())"""
FIRST = """() => [...document.querySelectorAll(
    ".js-plotly-plot, .st-key-map-frame, [data-testid=stDataFrame], [data-testid=stImage]"
    + ", [data-testid=stBidiComponentIsolated]")]
  .filter(one => {
    const box = one.getBoundingClientRect();
    return box.height > 0 && box.top + Math.min(box.height / 2, 200) < innerHeight;
  }).length"""
HEIGHT = "() => document.querySelector('[data-testid=stMain]').scrollHeight"
BOXES = "() => document.querySelectorAll('[data-testid=stMain] [data-testid=stAlert]').length"


def measure(browser: Browser, address: str, link: str) -> dict[str, object]:
    """Open a link in a window of 1,280 × 800 and return what is there once it is quiet."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    window, failed = context.new_page(), []
    window.on("requestfailed", lambda request: failed.append(request.url))
    window.goto(f"{address}{link}")
    window.wait_for_selector("h1")
    settle(window, QUIET)
    cut = window.evaluate(CUT)
    found = {
        "words": window.evaluate(WORDS),
        "height": window.evaluate(HEIGHT),
        "cut": len(cut),
        "first": window.evaluate(FIRST),
        "boxes": window.evaluate(BOXES),
        "failed": len(failed),
        "which": "; ".join(dict.fromkeys(cut)),
    }
    context.close()
    return found


def main(store: Path) -> pd.DataFrame:
    """Return a row for each tab of each page over a store."""
    rows = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(store, log=Path(folder) / "server.log") as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for view in VIEWS:
            query = f"?tab={view.tab}" if view.tab else ""
            rows[view.name] = measure(browser, address, f"/{view.path}{query}")
            print(view.name, rows[view.name], file=sys.stderr, flush=True)
        browser.close()
    return pd.DataFrame.from_dict(rows, orient="index")


if __name__ == "__main__":
    print(main(Path(sys.argv[1])).to_string())
