"""Controls, links and the Back button in a real Chromium: what was chosen is shown, by the address
alone.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.seen import chart, choose, field, rest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
BAR = """() => {
  const bar = document.querySelector(".st-key-bar");
  const { x, y, width, height } = bar.getBoundingClientRect();
  const ground = getComputedStyle(bar).backgroundColor;
  const top = document.elementFromPoint(x + width / 2, y + height - 3);
  return { opaque: ground.startsWith("rgb("), topmost: bar.contains(top) };
}"""
MORE = "Options"  # what the button of seldom used controls says
TO_END = "document.querySelector('[data-testid=stMain]').scrollTo(0, 1e6)"
TOP_OF_BAR = "document.querySelector('.st-key-bar')?.getBoundingClientRect().y"


def test_back_and_forward_pass_through_what_was_shown_and_nothing_else(visit):
    page = visit("/trends?tab=within")
    chart(page, "convergence")
    for label, text, said in (
        ("Metric", "Unbiased CKA", "metric=unbiased_cka"),
        ("Levels", "size", "by=size"),
    ):
        choose(page, label, text)
        page.wait_for_url(f"**{said}*")
    shown = [page.url]
    steps = (
        (page.go_back, "Unbiased CKA", "competence"),
        (page.go_back, "Mutual k-NN", "competence"),
        (page.go_forward, "Unbiased CKA", "competence"),
        (page.go_forward, "Unbiased CKA", "size"),
    )
    for step, metric, levels in steps:
        step()
        expect(field(page, "Metric").locator("input")).to_have_value(metric)
        expect(field(page, "Levels").locator("input")).to_have_value(levels)
        rest(page)
        shown.append(page.url)
    assert shown[0] == shown[4]
    assert "by=" not in shown[1]
    assert "metric=unbiased_cka" in shown[1]
    assert shown[1] == shown[3]
    assert shown[2].endswith("/trends?tab=within")


def test_a_dropdown_changes_the_plot_and_the_link_opens_the_same_view(visit):
    page = visit("/trends")
    chart(page, "trend")
    choose(page, "Metric", "Unbiased CKA")
    page.wait_for_url("**metric=unbiased_cka*")
    title = ".st-key-chart-trend .ytitle"
    expect(page.locator(title)).to_contain_text("unbiased CKA")
    again = visit(page.url[page.url.index("/trends") :])
    chart(again, "trend")
    expect(again.locator(title)).to_contain_text("unbiased CKA")
    expect(field(again, "Metric").locator("input")).to_have_value("Unbiased CKA")
    check_bar_stays(again)


def check_bar_stays(page) -> None:
    """Check that the controls stay in view at the end of a page, and what they open lies above it;
    on a phone they scroll away with it.
    """
    rest(page)
    page.wait_for_function(f"({TO_END}, {TOP_OF_BAR} === 0)")
    assert page.evaluate(BAR) == {"opaque": True, "topmost": True}
    page.locator(".st-key-bar").get_by_role("button", name=MORE).click()
    page.get_by_text("Competence of", exact=True).click(trial=True)  # nothing covers it
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_text("Settings", exact=True).wait_for()
    page.wait_for_function(f"({TO_END}, {TOP_OF_BAR} < -200)")


def test_a_stale_link_says_what_is_not_there_and_keeps_the_rest(visit):
    page = visit("/trends?dataset=gone&metric=ckaa&x=nobody&x=gpt-2-m&k=99999&layers=last")
    chart(page, "trend")
    for text in ("'gone'", "'ckaa'", "'nobody'", "'99999'"):
        page.get_by_test_id("stAlert").filter(has_text=text).first.wait_for()
    for chip in ("Layers: last", "Models: GPT-2 M"):
        expect(page.get_by_role("button", name=chip)).to_be_visible()
