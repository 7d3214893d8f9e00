"""How smoothly the convergence map moves:

    python -m tests.benchmarks.frames ADDRESS     of a dashboard over a store with a map

Prints frames per second while 300 models move at once, and of the same page at rest.
"""

from __future__ import annotations

import sys

from playwright.sync_api import sync_playwright

from tests.browser.server import CHROMIUM, FLAGS

# copies every model until there are so many, and counts the frames of a second while they move
MANY = """(count) => {
  const root = [...document.querySelectorAll("*")].map((one) => one.shadowRoot)
    .find((shadow) => shadow?.querySelector(".map"));
  const shown = root.querySelector(".map").map;
  const scene = structuredClone(shown.data.scene);
  const moving = scene.marks.map((mark) => ({ ...mark, path: [[0, 1], [0.5, 0.6], [1, 0.3]] }));
  scene.marks = Array.from({ length: count }, (_, index) => ({
    ...moving[index % moving.length], id: `copy ${index}`, angle: index, labeled: false }));
  scene.panels = [];
  shown.draw({ ...shown.data, scene });
  return new Promise((resolve) => {
    const times = [];
    const step = (now) => {
      times.push(now);
      if (now - times[0] > 2000) return resolve(times.length / ((now - times[0]) / 1000));
      shown.move((now - times[0]) % 1000 / 1000);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
}"""
REST = """() => new Promise((resolve) => {
  let first = 0, count = 0;
  const step = (now) => {
    first ||= now;
    count += 1;
    if (now - first > 2000) resolve(count / ((now - first) / 1000));
    else requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def main(address: str) -> None:
    """Open the Overview and count."""
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS)).new_page()
        page.goto(address)
        page.wait_for_selector("svg.canvas circle[data-model]")
        page.wait_for_selector("[data-test-script-state=notRunning]")
        rest, moving = page.evaluate(REST), page.evaluate(MANY, 300)
        print(f"at rest {rest:.0f}, 300 models moving {moving:.0f} frames per second")


if __name__ == "__main__":
    main(sys.argv[1])
