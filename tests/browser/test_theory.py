"""Runs that go on while they are watched, in a real Chromium: they stop, go on, and end."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.seen import chart, click_until, repeat_until, rest, settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LONG_RUN = "/theory-deep-linear?preset=gradient-flow" + "".join(
    f"&strength={percent / 100}" for percent in range(1, 61)
)
GO_ON = "document.querySelector('.st-key-go-on button')"
# clicks each button as it comes, since a run may be over before a test sees it, and notes how many
# were shown at once
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


def test_a_chosen_preset_stays_when_its_run_ends_and_a_control_changes(visit):
    page = visit("/theory-contrastive?events=8")
    chart(page, "training")
    page.get_by_role("radio", name="Too narrow").click()
    chart(page, "capacity")
    page.locator(".st-key-stop").wait_for(state="detached")
    page.wait_for_url("**?preset=capacity")  # a preset is a whole setup: 24 events again
    page.get_by_role("button", name="More").click()
    events = page.locator(".st-key-events input")
    expect(events).to_have_value("24")
    rest(page)
    events.fill("9")
    events.press("Enter")
    page.wait_for_url("**/theory-contrastive?*events=9*")
    rest(page)  # the run has begun
    page.locator(".st-key-stop").wait_for(state="detached")
    rest(page)
    assert "preset=capacity" in page.url
    chart(page, "capacity")
    other = visit(page.url[page.url.index("/theory-contrastive") :])
    chart(other, "capacity")
    other.get_by_role("button", name="More").click()
    expect(other.locator(".st-key-events input")).to_have_value("9")


def test_a_simulation_stops_and_goes_on(visit):
    page = visit(LONG_RUN)
    stop, go_on = (page.locator(f".st-key-{key} button") for key in ("stop", "go-on"))
    done = page.get_by_text(re.compile(r"^\d+ (of \d+ )?looks")).first
    click_until(stop, go_on)
    settle(page)  # what still ran would move
    stopped = done.inner_text()
    click_until(go_on, stop)
    expect(done).not_to_have_text(stopped)
    assert int(done.inner_text().split()[0]) > int(stopped.split()[0])


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
    page.reload()
    page.wait_for_function("window.pressed")
    # a click that comes at once may be lost
    repeat_until(page, f"!{GO_ON}?.checkVisibility()", lambda: page.evaluate(f"{GO_ON}?.click()"))
    rest(page)
    assert page.evaluate("window.most") == 1
