"""A Chromium, a dashboard over a synthetic store, and a function that opens its links cold. A test
that fails here is repeated once, which the summary tells.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from tests.browser.server import CHROMIUM, FLAGS, PATIENCE, serve
from tests.pages.levels import retell
from tests.pages.world import PaintedDataset, build

# Streamlit looks for its server below the address of a page first
SOUGHT = ("/_stcore/health", "/_stcore/host-config")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, once more if it fails, and warn of the first failure: warnings reach the summary
    of the terminal from other processes, too.
    """
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    failure = next((report for report in reports if report.failed), None)
    if failure:
        crash = getattr(failure.longrepr, "reprcrash", None)
        said = (crash.message if crash else failure.longreprtext).strip().splitlines()[0]
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(f"repeated: {item.name}: {said}", pytest.PytestWarning, stacklevel=1)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "no Chromium on this machine: install it (apt-get install chromium), or name one in"
            " PLATOSCOPE_CHROMIUM"
        )
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def log(tmp_path_factory) -> Path:
    """Return the file into which the dashboard writes what goes wrong."""
    return tmp_path_factory.mktemp("log") / "server.log"


@pytest.fixture(scope="session")
def address(tmp_path_factory, log) -> Iterator[str]:
    dataset = PaintedDataset(60)
    store = retell(
        build(tmp_path_factory.mktemp("store"), dataset), dataset, ("gpt-2-m", "llama-m")
    )
    with serve(store, log=log) as address:
        yield address


@pytest.fixture(scope="session")
def desk(browser):
    """Return the context in which each test opens its first page: what it has fetched and compiled
    of the dashboard's scripts serves the next, a third of what a page costs.
    """
    context = browser.new_context(reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture
def visit(browser, desk, address, log):
    """Return a function that opens a link cold, in a session of its own; at the end no page may
    have shown or logged an error.
    """
    errors: list[str] = []
    contexts = []

    def open_link(link: str, *, width: int = 1280, height: int = 800, theme: str = "light"):
        touched = width < 640
        alone = touched or contexts  # of two pages of a context, one lies behind the other
        context = browser.new_context(has_touch=touched, reduced_motion="reduce") if alone else desk
        context.set_default_timeout(PATIENCE)  # of what a test opens next to its page, too
        contexts.append(context)
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme)
        page.on("console", lambda message: _note(errors, message))
        page.on("response", lambda response: _refused(errors, response))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "request",
            lambda request: (
                errors.append(request.url)
                if not request.url.startswith((address, "data:", "blob:"))
                else None
            ),
        )
        page.goto(address + link)
        page.wait_for_selector("h1")
        return page

    yield open_link
    pages = [page for context in contexts for page in context.pages]
    try:
        for page in pages:
            assert page.get_by_text("unexpected error").count() == 0, log.read_text()[-4000:]
            assert page.get_by_text("Page not found").count() == 0
    finally:
        for page in pages:
            page.close()
        for context in contexts:
            if context is not desk:
                context.close()
    assert errors == []


def _refused(errors: list[str], response) -> None:
    if response.status >= 400 and not response.url.endswith(SOUGHT):
        errors.append(f"{response.status} {response.url}")


def _note(errors: list[str], message) -> None:
    if message.type == "error" and not message.location["url"].endswith(SOUGHT):
        errors.append(message.text)
