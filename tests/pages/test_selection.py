"""Models that were chosen once are chosen on every page."""

from __future__ import annotations

import json

import pytest

from pages._shared import facts
from tests.navigation import PAGES

CHOSEN = ["gpt-2-m", "vit-mae-m"]


def ringed(app) -> dict[str, int]:
    """Return how many dots have a ring, by chart that has any."""
    specs = {chart.key: json.loads(chart.proto.spec)["data"] for chart in app.get("plotly_chart")}
    counts = {
        key: sum(
            len(trace["x"])
            for trace in traces
            if trace.get("marker", {}).get("symbol") == "circle-open"
            and trace["marker"]["line"]["width"] == 2  # a thin one is chance
        )
        for key, traces in specs.items()
    }
    return {key: count for key, count in counts.items() if count}


@pytest.mark.parametrize(
    ("page", "charts"),
    [
        ("trends/across", {"trend", "downstream"}),
        ("models/map", {"model-map"}),
        pytest.param("robustness/k", {"trends"}, marks=pytest.mark.slow),
    ],
)
def test_a_chosen_model_has_a_ring_on_every_plot_of_models(opened, demo, page, charts):
    app = opened(demo, page, chosen=CHOSEN)
    assert not app.exception
    assert set(ringed(app)) == charts


def test_links_to_other_pages_take_the_choice_along(opened, demo):
    app = opened(demo, "data/jobs", chosen=CHOSEN, stimulus="3")
    drawn = [link.proto for link in app.sidebar.get("page_link")]
    links = [link.query_string for link in drawn]
    assert len(links) == len(PAGES)
    assert set(links) == {"chosen=gpt-2-m&chosen=vit-mae-m&stimulus=3"}


def test_a_page_that_does_not_apply_has_no_link(opened, demo, monkeypatch):
    monkeypatch.setattr(facts, "has_implications", lambda _: False)
    app = opened(demo, "data/jobs")
    labels = [link.proto.label for link in app.sidebar.get("page_link")]
    assert len(labels) == len(PAGES) - 1
    assert "Implications" not in labels


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "keys"),
    [
        ("robustness/n", ("a", "b")),
        ("models/compare", ("a", "b")),
    ],
)
def test_pages_of_a_pair_start_from_the_last_two_and_follow_another_choice(
    opened, demo, page, keys
):
    app = opened(demo, page, chosen=["vit-clip-m", *CHOSEN])
    assert [app.selectbox(key=key).value for key in keys] == CHOSEN
    app.selectbox(key=keys[0]).set_value("gpt-2-s").run()
    assert [app.selectbox(key=key).value for key in keys] == ["gpt-2-s", CHOSEN[1]]
    app.multiselect(key="chosen").set_value(["llama-m", "vit-clip-m"]).run()
    assert [app.selectbox(key=key).value for key in keys] == ["llama-m", "vit-clip-m"]


def test_the_panel_names_the_chosen_and_clears_them(opened, demo):
    app = opened(demo, "trends/across", chosen=CHOSEN)
    app.button(key="clear-chosen").click().run()
    assert app.multiselect(key="chosen").value == []
    assert "chosen" not in app.query_params
    assert ringed(app) == {}
    assert not [button for button in app.button if button.key == "clear-chosen"]
