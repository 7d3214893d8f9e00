"""How wide the page is: as the browser says, never what nobody could have measured."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pages._shared.charts import width


@pytest.fixture
def seen(monkeypatch):
    """Return a function that tells what the browser said, and what it kept."""

    def see(*, told: object = None, kept: object = None, embedded: bool = False) -> int | None:
        cookies = {} if kept is None else {width.COOKIE: kept}
        context = SimpleNamespace(is_embedded=embedded, cookies=cookies)
        state = {} if told is None else {width.KEY: told}
        monkeypatch.setattr(width, "st", SimpleNamespace(context=context, session_state=state))
        return width.of_page()

    return see


def test_a_page_is_as_wide_as_it_says_or_as_the_last_one_was(seen):
    assert seen() is None
    assert seen(kept="900") == 900
    assert seen(kept="900", told=442) == 442


def test_a_page_within_another_does_not_take_the_others_width(seen):
    assert seen(kept="900", embedded=True) is None
    assert seen(told=442, embedded=True) == 442


@pytest.mark.parametrize(
    "value",
    [
        "",
        "wide",
        "-900",
        "9" * 5000,
        "0001000000",
        "99",
        "10000",
        "²",
        "900.5",
        "NaN",
        [900],
        {"a": 1},
    ],
)
def test_a_width_that_nobody_measured_is_none(seen, value):
    assert seen(kept=value) is None
    assert seen(told=value) is None
