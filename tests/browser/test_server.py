"""The server: any link opens on a fresh one, an error is a sentence and a file, and nested
fragments arrive whole.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.server import new_page, serve

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LAUNCHER = """
import streamlit as st
import app as own
app = st.App({script!r}, lifespan=own.work_beside, on_script_error=own.show_unexpected)
"""
BROKEN = """
import streamlit as st
st.title("The question?")
@st.fragment
def part():
    if st.button("Break the part"):
        raise LookupError("in the part")
part()
raise ValueError("a *wrong* <b>turn</b>")
"""
NESTED = """
import time
import streamlit as st
from streamlit.runtime import Runtime
@st.fragment
def inner():
    st.write("innermost")
@st.fragment
def outer():
    count = st.session_state["count"] = st.session_state.get("count", 0) + 1
    st.button("Again")
    time.sleep(1)  # the click comes meanwhile
    if count == 1:  # the server sends nothing until the fragment is drawn again
        Runtime.instance()._get_async_objs().eventloop.call_soon_threadsafe(time.sleep, 0.5)
    with st.container():
        inner()
    st.write(f"drawn {count} times")
outer()
"""


def launch(folder: Path, script: str) -> str:
    """Return the launcher of the dashboard's server for another script."""
    (folder / "script.py").write_text(script)
    launcher = folder / "launcher.py"
    launcher.write_text(LAUNCHER.format(script=str(folder / "script.py")))
    return str(launcher)


def test_a_deep_link_opens_first_on_a_fresh_server(browser, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with serve(tmp_path, log=log) as address:
        page = new_page(browser)
        page.goto(f"{address}/trends")
        expect(page.locator("h1")).to_contain_text("align")
        assert page.get_by_text("Page not found").count() == 0
        page.close()
    assert "Traceback" not in log.read_text()


def test_an_unexpected_error_is_a_sentence_and_a_file(browser, tmp_path: Path) -> None:
    log, state = tmp_path / "server.log", tmp_path / "state"
    script = launch(tmp_path, BROKEN)
    with serve(tmp_path, log=log, script=script, XDG_STATE_HOME=str(state)) as address:
        page = new_page(browser)
        page.goto(address)
        page.get_by_text("unexpected error: ValueError: a *wrong* <b>turn</b>; ").wait_for()
        page.get_by_role("button", name="Break the part").click()
        page.get_by_text("unexpected error: LookupError: in the part; please").wait_for()
        assert page.get_by_text("most recent call last").count() == 0
        assert page.get_by_test_id("stException").count() == 0
        page.close()
    lines = log.read_text().splitlines()
    lines = [line for line in lines if line.startswith("platoscope: unexpected error")]
    files = [Path(re.search("with (.*), which", line)[1]) for line in lines]
    assert len(files) == len(set(files))
    assert {file.parent for file in files} == {state / "platoscope"}
    assert "Traceback" not in log.read_text()
    assert {file.read_text().splitlines()[-1] for file in files} == {
        "ValueError: a *wrong* <b>turn</b>",
        "LookupError: in the part",
    }  # a script that a new connection runs again fails again


def test_a_fragment_within_one_that_is_drawn_again_at_once_arrives(browser, tmp_path) -> None:
    """Without `app.WholeQueue` the page stays blank."""
    with serve(tmp_path, log=tmp_path / "log", script=launch(tmp_path, NESTED)) as address:
        page = new_page(browser)
        page.goto(address)
        page.get_by_role("button", name="Again").click()
        page.get_by_text("drawn 2 times").wait_for()
        assert page.get_by_text("innermost").count() == 1
        page.close()
