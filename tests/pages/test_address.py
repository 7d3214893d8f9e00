"""What a person changes outlives a redraw that is cut short; Back is Back at any time."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import quoted


def page() -> None:
    import streamlit as st

    from pages._shared import address

    address.begin("page")
    st.number_input("k", 1, 2**31 - 1, **address.bind("k", 10, within=(1, 2**31 - 1)))
    st.toggle("All", **address.bind("all", False))
    st.button("Open", key="open", on_click=address.set_mark, args=("stimulus", "5"))
    st.text(address.mark("stimulus"))
    if st.session_state.get("cut"):
        st.stop()
    st.text_input("Search", **address.bind("search", ""))
    for sentence in address.stale():
        st.warning(sentence)
    address.write()


@pytest.fixture
def first() -> AppTest:
    """Return a page whose first redraw is cut short."""
    app = AppTest.from_function(page, default_timeout=180)
    app.query_params["search"] = ["cat"]
    app.query_params["k"] = ["10"]  # what is shown anyway
    app.session_state["cut"] = True
    app.run()
    app.session_state["cut"] = False
    return app


def shown(app: AppTest) -> tuple[int, bool, str]:
    return app.number_input(key="k").value, app.toggle(key="all").value, app.text[0].value


def written(app: AppTest) -> dict[str, list[str]]:
    texts = {key: app.query_params[key] for key in app.query_params}
    return {key: [one] if isinstance(one, str) else one for key, one in texts.items()}


def test_a_control_changed_before_the_first_redraw_has_ended_is_kept(first):
    first.number_input(key="k").set_value(7).run()
    assert shown(first) == (7, False, "")
    assert first.text_input(key="search").value == "cat"
    assert written(first) == {"k": ["7"], "search": ["cat"]}


def test_a_click_before_the_first_redraw_has_ended_is_kept(first):
    first.button(key="open").click().run()
    assert shown(first) == (10, False, "5")
    assert written(first) == {"search": ["cat"], "stimulus": ["5"]}


def test_a_first_redraw_that_is_only_begun_again_writes_nothing(first):
    first.run()
    assert written(first) == {"k": ["10"], "search": ["cat"]}


def test_back_holds_while_a_redraw_is_under_way(first):
    first.run()
    first.session_state["cut"] = True
    first.toggle(key="all").set_value(True).run()
    first.session_state["cut"] = False
    first.query_params.clear()
    first.query_params["k"] = ["3"]
    first.run()
    assert shown(first) == (3, False, "")
    assert first.text_input(key="search").value == ""


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("all", "yes", "all is true or false, not 'yes'"),
        ("k", "0", "k is 1 to 2,147,483,647, not '0'"),
        ("k", "nan", "k is 1 to 2,147,483,647, not 'nan'"),
    ],
)
def test_what_a_link_cannot_say_is_said(key, text, sentence):
    app = AppTest.from_function(page, default_timeout=180)
    app.query_params[key] = text
    app.run()
    assert [warning.value for warning in app.warning] == [sentence]
    assert shown(app) == (10, False, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{2**31}",
        "9" * 5_000,
        "inf",
        "1.5",
        "１２",
    ],
)
def test_a_link_with_a_number_that_cannot_be_shows_the_usual_one_and_says_so(text):
    app = AppTest.from_function(page, default_timeout=180)
    app.query_params["k"] = [text]
    app.run()
    assert not app.exception
    assert shown(app)[0] == 10
    assert [one.value for one in app.warning] == [f"k is 1 to 2,147,483,647, not {quoted(text)}"]
