"""What is closed is computed once it is opened; a link to a control in it opens it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.measured import measure
from tests.pages.seen import charts
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("measured")
    return measure(build(root, PaintedDataset(40), vision=VISION[:5], language=LANGUAGE[1:5]))


@pytest.fixture
def folded(opened, monkeypatch):
    """Open pages with what is closed as a visitor does."""

    def open_page(*args, **query):
        monkeypatch.setattr("pages._shared.frame.FOLDED", True)
        return opened(*args, **query)

    return open_page


def test_a_closed_part_draws_once_it_is_opened(folded, measured) -> None:
    app = folded(measured, "trends/within")
    first = charts(app)
    assert "competence-bins" not in first
    app.session_state["fold-bins"] = True
    app.run()
    assert set(charts(app)) == {*first, "competence-bins"}


def test_a_link_to_a_control_of_a_closed_part_opens_it(folded, measured) -> None:
    app = folded(measured, "trends/within", bins="3")
    assert "competence-bins" in charts(app)
    assert app.number_input(key="bins").value == 3
    assert not app.warning
