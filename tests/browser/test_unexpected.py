"""What nobody foresaw is a sentence on the page and in the log, and a file with the traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.browser.server import new_page, serve

SCRIPT = """
import streamlit as st
st.title("The question?")
@st.fragment
def part():
    if st.button("Break the part"):
        raise LookupError("in the part")
part()
raise ValueError("a *wrong* <b>turn</b>")
"""


@pytest.mark.slow
def test_an_unexpected_error_is_a_sentence_and_a_file(browser, tmp_path: Path) -> None:
    script, log, state = tmp_path / "broken.py", tmp_path / "server.log", tmp_path / "state"
    script.write_text(SCRIPT)
    with serve(tmp_path, log=log, script=str(script), XDG_STATE_HOME=str(state)) as address:
        page = new_page(browser)
        page.goto(address)
        page.get_by_text("this was not expected: ValueError: a *wrong* <b>turn</b>; ").wait_for()
        page.get_by_role("button", name="Break the part").click()
        page.get_by_text("this was not expected: LookupError: in the part; please").wait_for()
        assert page.get_by_text("most recent call last").count() == 0
        assert page.get_by_test_id("stException").count() == 0
        page.close()
    lines = log.read_text().splitlines()
    lines = [line for line in lines if line.startswith("platoscope: this was not expected")]
    files = [Path(re.search("with (.*), which", line)[1]) for line in lines]
    assert len(files) == len(set(files))
    assert {file.parent for file in files} == {state / "platoscope"}
    assert "Traceback" not in log.read_text()
    assert {file.read_text().splitlines()[-1] for file in files} == {
        "ValueError: a *wrong* <b>turn</b>",
        "LookupError: in the part",
    }  # a script that a new connection runs again fails again
