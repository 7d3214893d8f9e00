"""The theory page needs no store: it runs by itself and says what was seen."""

from __future__ import annotations

import pytest

from core.theory.deep_linear import runs, setup
from tests.pages.seen import charts, said

SMALL = {"inputs": "3", "labels": "3", "rank": "2", "a": "3", "b": "2, 3", "c": "2", "d": "4"}
ALWAYS = ["symmetry", "moved"]


@pytest.fixture(autouse=True)
def _shorter(monkeypatch) -> None:
    """Train for a moment, and break the theorem in two ways."""
    monkeypatch.setattr(runs, "COUNTS", (0, 50))
    monkeypatch.setattr(runs, "SYMMETRY_STEPS", 50)
    monkeypatch.setattr(setup, "WAYS", ("saddle", "two-saddles"))


@pytest.fixture
def on_nothing(opened, tmp_path):
    """Return a function that opens the theory page over an empty store."""

    def open_page(**query: str):
        app = opened(tmp_path / "nothing", "theory", **query)
        assert not app.exception
        return app

    return open_page


def seen(app) -> str:
    return " ".join(each.value for each in app.markdown).replace("\\", "")


def test_the_claim_is_one_figure_before_its_symmetry_and_what_breaks_it(on_nothing):
    app = on_nothing(**SMALL)
    assert charts(app) == ["layers", "run-sgd", "over-layers", *ALWAYS]
    assert "without noise" not in said(app)
    assert list(app.dataframe[0].value["title"]) == ["Saddle", "Two saddles"]
    assert "--rows pairs" in app.code[0].value
    assert "--a 3 --b 2 3 --c 2 --d 4" in app.code[0].value
    app.slider(key="lambda").set_value(0.5).run()
    assert "= 0.50" in app.get("plotly_chart")[3].proto.spec
    assert not app.exception


def test_a_link_to_a_breaker_opens_its_row(on_nothing):
    app = on_nothing(preset="saddle", **SMALL)
    assert charts(app) == ["layers", "run-sgd", "over-layers", *ALWAYS, "broken-saddle"]
    assert app.code[-1].value.startswith("platoscope theory deep-linear --preset saddle")
    assert "At strength 1, the two networks are" in seen(app)


def test_steps_of_sgd_are_chosen_if_it_trains_the_networks(on_nothing):
    app = on_nothing(step="0.01", batch="4", **SMALL)
    assert app.code[0].value.endswith("--step 0.01 --batch 4")
    assert "a number, 0.0001 to 1; got '7'" in said(on_nothing(step="7", **SMALL))


def test_contrastive_learners_end_at_the_pmi_kernel(on_nothing):
    app = on_nothing(tab="co-occurrence", events="10")
    assert charts(app) == ["kernels", "kernel"]
    assert "R² = 1.0000" in seen(app)
    assert said(app) == ""
    assert app.code[0].value == "platoscope theory contrastive --events 10"
