"""What pages promise of clicks, swipes and links, in a real Chromium."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.seen import CHOSEN, LONG_RUN, chart, choose, field, press, rest, tiles
from tests.browser.server import PATIENCE

pytestmark = pytest.mark.browser
TOP = "document.querySelector('[data-testid=stMain]').scrollTop"
DOT = """() => {
  const chart = document.querySelector(".st-key-chart-stimulus-map .js-plotly-plot");
  if (!chart?._fullLayout) return null;  // it is drawn anew in this moment
  const trace = chart._fullData.find(one => one.customdata && one.x.length > 5);
  const { xaxis, yaxis } = chart._fullLayout, { left, top } = chart.getBoundingClientRect();
  return { id: trace.customdata[0][0],
           x: left + xaxis._offset + xaxis.d2p(trace.x[0]),
           y: top + yaxis._offset + yaxis.d2p(trace.y[0]) };
}"""


PAIR = """() => {
  const chart = document.querySelector(".st-key-chart-trend .js-plotly-plot");
  if (!chart?._fullLayout) return null;  // it is drawn anew in this moment
  const lowest = Math.min(...chart._fullData.filter(one => one.customdata).map(one => one.y[0]));
  const trace = chart._fullData.find(one => one.customdata && one.y[0] === lowest);
  const rings = chart._fullData.filter(one => one.marker?.symbol === "circle-open");
  const { _xaxis: x, _yaxis: y } = { _xaxis: chart._fullLayout[trace.xaxis.replace("x", "xaxis")],
                                     _yaxis: chart._fullLayout[trace.yaxis.replace("y", "yaxis")] };
  const { left, top } = chart.getBoundingClientRect();
  return { pair: trace.customdata[0], card: trace.hovertext[0],
           x: left + x._offset + x.d2p(trace.x[0]), y: top + y._offset + y.d2p(trace.y[0]),
           ring: rings.some(one => one.x[0] === trace.x[0] && one.y[0] === trace.y[0]) };
}"""


@pytest.mark.parametrize("mode", ["lasso", "box", "zoom"])
def test_a_click_on_a_dot_of_the_map_opens_its_stimulus(visit, mode):
    page = visit("/stimuli?map=residuals")
    chart(page, "stimulus-map")
    titles = {"box": "Box Select", "zoom": "Pan"}
    if mode in titles:
        page.locator(f".st-key-chart-stimulus-map [data-title='{titles[mode]}']").click()
    opened = "location.search.includes('stimulus=')"
    dot = press(page, "stimulus-map", lambda: page.evaluate(DOT), until=opened)
    page.wait_for_url(f"**stimulus={dot['id']}*")
    page.get_by_role("button", name="Next").wait_for()
    expect(page.get_by_text(f"stimulus {dot['id']} of 80")).to_be_visible()


def test_an_opened_neighbor_is_in_sight(visit):
    page = visit("/stimuli?stimulus=5")
    chart(page, "agreement")
    near = tiles(page, "near-0").first
    near.wait_for()
    rest(page)  # the page begins at its top
    for _ in range(PATIENCE // 500):
        near.scroll_into_view_if_needed()
        if page.evaluate(TOP) > 200:
            break
        page.wait_for_timeout(500)
    assert page.evaluate(TOP) > 200
    tiles(page, "near-0").first.locator("button").click()
    page.wait_for_function("!location.search.includes('stimulus=5')")
    page.wait_for_function(f"{TOP} === 0")
    assert page.evaluate(TOP) == 0


def test_a_swipe_over_a_plot_moves_the_page_of_a_phone(visit):
    page = visit("/alignment", width=390, height=844)
    page.get_by_text("Controls", exact=True).wait_for()  # it knows that it is narrow
    chart(page, "trend")
    rest(page)
    page.locator(".st-key-chart-trend .js-plotly-plot").scroll_into_view_if_needed()
    page.wait_for_function("document.elementFromPoint(200, 500)?.closest('.js-plotly-plot')")
    before = page.evaluate(TOP)
    finger = page.context.new_cdp_session(page)
    for kind, y in (
        ("touchStart", 500),
        *(("touchMove", 500 - 15 * step) for step in range(1, 13)),
    ):
        points = [{"x": 200, "y": y}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(f"{TOP} > {before + 100}")
    assert page.evaluate(TOP) > before + 100


def test_a_clicked_dot_is_marked_and_its_layers_are_shown(visit):
    page = visit("/alignment")
    chart(page, "layer-map")
    dot = press(page, "trend", lambda: page.evaluate(PAIR), until=CHOSEN)
    for shown in dot["pair"]:
        page.wait_for_function(f"location.search.includes('chosen={shown}')")
    page.wait_for_function(f"({PAIR})()?.ring === true")
    rest(page)
    names = "|".join(re.escape(name) for name in re.findall("<b>(.*?)</b>", dot["card"]))
    for label in ("Language model", "Compared with"):
        shown = field(page, label).locator("input")
        expect(shown).to_have_value(re.compile(f"^({names})$"))


def test_a_link_opens_the_pair_of_layers_that_its_sender_saw(visit):
    page = visit("/alignment")
    chart(page, "layer-map")
    rest(page)
    before = field(page, "Language model").locator("input").input_value()
    choose(page, "Metric", "Unbiased CKA")
    page.wait_for_url("**metric=unbiased_cka*")
    chart(page, "layer-map")
    page.wait_for_timeout(1500)
    rest(page)
    assert field(page, "Language model").locator("input").input_value() == before
    again = visit(page.url[page.url.index("/alignment") :])
    chart(again, "layer-map")
    expect(field(again, "Language model").locator("input")).to_have_value(before)


def test_a_stale_link_says_what_is_not_there_and_keeps_the_rest(visit):
    page = visit("/alignment?dataset=gone&metric=ckaa&x=nobody&x=gpt-2-m&k=99999&layers=last")
    chart(page, "trend")
    for text in ("'gone'", "'ckaa'", "'nobody'", "'99999'"):
        page.get_by_test_id("stAlert").filter(has_text=text).first.wait_for()
    expect(field(page, "Layers").locator("input")).to_have_value("last layers")
    expect(page.locator(".st-key-x [data-tag]")).to_have_text(["GPT-2 M"])


PRESS = """clicks => {
  const button = key => document.querySelector(`.st-key-${key} button`);
  const keys = ["train", "stop", "go-on"].map(key => `.st-key-${key} button`).join();
  window.most = 0;
  setInterval(() => {
    const shown = [...document.querySelectorAll(keys)].filter(one => one.checkVisibility());
    window.most = Math.max(window.most, shown.length);
    if (clicks.length && button(clicks[0])) button(clicks.shift()).click();
    window.pressed = !clicks.length;
  }, 10);
}"""


@pytest.mark.parametrize(
    ("link", "clicks"),
    [
        (LONG_RUN, ("stop", "go-on")),
        ("/adapters?width=1024", ("train", "stop", "go-on")),  # a training that takes its time
    ],
)
def test_the_button_that_was_pressed_gives_way_to_the_next(visit, link, clicks):
    page = visit(link)
    page.add_init_script(f"({PRESS})({json.dumps(clicks)})")
    page.reload()  # it is pressed as it comes: a run may be over before a test sees its button
    page.wait_for_function("window.pressed")
    page.wait_for_timeout(2000)
    assert page.evaluate("window.most") == 1
