"""What a page owes to eyes, keyboards and screen readers, in a real Chromium."""

from __future__ import annotations

from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError

from tests.browser.seen import chart, rest

pytestmark = pytest.mark.browser
# the color that is seen through each opacity, on the first ground that is not clear; WCAG 2.2
CONTRASTS = """selector => {
  const parse = color => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  return [...document.querySelectorAll(selector)].filter(e => e.innerText?.trim()).map(e => {
    let opacity = 1, ground = null;
    for (let at = e; at instanceof Element; at = at.parentElement) {
      const style = getComputedStyle(at), back = parse(style.backgroundColor);
      if (!ground) opacity *= style.opacity;
      if (!ground && (back.length === 3 || back[3] === 1)) ground = back;
    }
    const ink = parse(getComputedStyle(e).color);
    const share = opacity * (ink[3] ?? 1);
    const seen = ink.slice(0, 3).map((c, i) => share * c + (1 - share) * ground[i]);
    const [low, high] = [luminance(seen), luminance(ground)].sort((a, b) => a - b);
    return [(high + 0.05) / (low + 0.05), e.innerText.slice(0, 40)];
  });
}"""
RINGED = """() => {
  let at = document.activeElement;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  for (let step = 0; step < 3 && at; step++, at = at.parentElement) {
    const { outlineStyle, outlineWidth } = getComputedStyle(at);
    if (outlineStyle === "solid" && parseFloat(outlineWidth) >= 2) return true;
  }
  return false;
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_captions_stand_out_from_their_ground(visit, theme):
    page = visit("/alignment", theme=theme)
    chart(page, "trend")
    page.locator("[data-testid=stCaptionContainer] p").first.wait_for()
    captions = "[data-testid=stCaptionContainer] p"
    clear = f"captions => ({CONTRASTS})(captions).every(([contrast]) => contrast >= 4.5)"
    with suppress(TimeoutError):  # the style may come after the text
        page.wait_for_function(clear, arg=captions, timeout=30_000)
    contrasts = page.evaluate(CONTRASTS, captions)
    assert len(contrasts) >= 4  # the groups of pages, at least
    assert [text for contrast, text in contrasts if contrast < 4.5] == []


def test_what_has_the_focus_is_ringed(visit):
    page = visit("/alignment")
    chart(page, "trend")
    rest(page)
    seen = set()
    for _ in range(45):
        page.keyboard.press("Tab")
        what, is_ringed = page.evaluate(
            f"[document.activeElement.outerHTML.slice(0, 200), ({RINGED})()]"
        )
        if not what.startswith("<body"):
            seen.add(what.split()[0])
            assert is_ringed, what
    assert {"<a", "<button", "<input"} <= seen
