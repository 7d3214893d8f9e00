"""Runs that go on while they are watched, in a real Chromium: they stop, go on, and end."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.seen import click_until, settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LONG_RUN = "/theory-deep-linear?preset=gradient-flow" + "".join(
    f"&strength={percent / 100}" for percent in range(1, 61)
)


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
