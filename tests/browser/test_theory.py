"""Runs that go on while they are watched, in a real Chromium: they stop, go on, and end."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.seen import chart, click_until, rest, settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LONG_RUN = "/theory-deep-linear?preset=gradient-flow" + "".join(
    f"&strength={percent / 100}" for percent in range(1, 61)
)


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
