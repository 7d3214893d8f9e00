"""Browsing stimuli: what is searched, brushed or of low and high dispersion can be taken away and
studied.
"""

from __future__ import annotations

import json
import shutil
from base64 import b64decode

import numpy as np
import pytest

from core.study.selections import decode, encode
from tests.pages.seen import charts, said, shown, tiles
from tests.pages.world import NASTY


def captions(app) -> list[str]:
    return [caption.value for caption in app.caption]


def studied(app) -> list[list[int]]:
    """Return the sets that the links to Alignment carry."""
    links = [link.proto for link in app.main.get("page_link")]
    assert {link.page for link in links} == {"trends"}
    return [
        decode(link.query_string.split("stimuli=")[1].split("&")[0], 60).tolist() for link in links
    ]


def test_a_quantile_of_dispersion_filters_the_gallery(opened, three):
    app = opened(three, "images/explore")
    app.slider(key="quantile").set_value((0, 25)).run()
    low = studied(app)[0]
    assert len(low) == 15
    app.slider(key="quantile").set_value((75, 100)).run()
    assert len(studied(app)[0]) == 15
    assert not set(low) & set(studied(app)[0])


def test_a_map_of_many_stimuli_is_a_sample_and_says_so(opened, three, tmp_path, monkeypatch):
    store = shutil.copytree(three, tmp_path / "store")
    for kept in store.rglob("answer-*"):
        kept.unlink()
    monkeypatch.setattr(
        "core.questions.stimuli.question.draw_sample",
        lambda n, *_, **__: np.arange(20) * n // 20,
    )
    app = opened(store, "images/explore")
    assert not app.exception
    (said_so,) = [text for text in captions(app) if "A random sample" in text]
    assert said_so.endswith("A random sample of 20 of 60.")
    (dots,) = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    assert len(dots["customdata"]) == 20
    assert len(studied(app)[0]) == 60


def test_low_and_high_stand_side_by_side_from_their_ends(opened, three):
    app = opened(three, "images/explore", view="ends")  # as older links have it
    assert not app.exception
    low, high = shown(app, "low"), shown(app, "high")
    assert len(low) == len(high) == 12
    sets = studied(app)
    assert [len(each) for each in sets] == [15, 15]
    assert set(low) < set(sets[0])
    app.selectbox(key="by").set_value("pc1")
    app.number_input(key="size").set_value(30).run()
    assert [len(each) for each in studied(app)] == [30, 30]
    bars = [
        bar["name"]
        for key in ("low", "high")
        for tile in tiles(app, key)
        for bar in tile["note"]["bars"]
    ]
    assert sum("residual " in name for name in bars) >= 24


def test_the_gallery_begins_with_the_most_disputed(opened, three):
    best = shown(opened(three, "images/extremes"), "high")
    assert shown(opened(three, "images/explore"), "all")[: len(best)] == best
    by = opened(three, "images/explore", by="pc1")
    assert shown(by, "all")[:1] == shown(opened(three, "images/extremes", by="pc1"), "high")[:1]


def test_an_opened_image_names_the_model_farthest_from_the_consensus(opened, three):
    first = tiles(opened(three, "images/extremes"), "high")[0]
    name = max(first["note"]["bars"], key=lambda bar: bar["share"])["name"].split(": residual")[0]
    app = opened(three, "images/extremes", stimulus=str(first["index"]))
    told = " ".join(one.value.replace("\\", "") for one in app.markdown)
    assert f"{name} is farthest from the consensus" in told


@pytest.mark.parametrize("kind", ["pca", "umap"])
def test_the_map_lays_out_all_and_grays_what_a_search_leaves_out(opened, three, kind):
    app = opened(three, "images/explore", map=kind, search="event 5")
    assert not app.exception
    assert charts(app) == ["stimulus-map"]
    assert app.selectbox(key="map").value == kind
    gray, dots = traces(app)
    assert (count(gray), count(dots)) == (49, 11)
    assert "customdata" not in gray
    assert sorted(shown(app, "all")) == [5, *range(50, 60)]
    assert "draw around points" in " ".join(captions(app))


def traces(app) -> list[dict]:
    return json.loads(app.get("plotly_chart")[0].proto.spec)["data"]


def count(trace: dict) -> int:
    x = trace["x"]
    return len(x) if isinstance(x, list) else len(b64decode(x["bdata"])) // 8


def test_a_link_opens_what_was_brushed_and_it_can_be_left(opened, three):
    app = opened(three, "images/explore", brushed=encode([3, 7, 9], 60))
    assert sorted(shown(app, "all")) == [3, 7, 9]
    assert traces(app)[0]["selectedpoints"] == [3, 7, 9]
    assert studied(app) == [[3, 7, 9]]
    app.button(key="drop-brushed").click().run()
    assert len(shown(app, "all")) == 20
    assert "brushed" not in app.query_params


def test_the_opened_image_shows_captions_neighbors_in_two_models_and_residuals(opened, three):
    app = opened(three, "images/extremes")
    app.query_params["stimulus"] = "1"
    app.run()
    assert not app.exception
    assert charts(app) == ["agreement", "residuals"]
    assert len(shown(app, "a")) == len(shown(app, "b")) == 10
    marked = [{one["index"] for one in tiles(app, key) if one["marked"]} for key in ("a", "b")]
    assert marked[0] == marked[1] == set(shown(app, "a")) & set(shown(app, "b"))
    assert sum(NASTY in text.value for text in app.text) == 4
    levels = [text for text in captions(app) if "word" in text]
    assert levels == [f"{words}\\-word caption" for words in (5, 10, 20, 40)]


def test_an_opened_stimulus_leads_to_its_neighbors_and_back_to_all(opened, three):
    app = opened(
        three, "images/explore", stimulus="59", trail="17.99.x.3"
    )  # as older links have it
    assert said(app) == ""

    def press(name: str) -> None:
        next(button for button in app.button if button.label == name).click().run()

    press("Previous")
    assert app.query_params["stimulus"] == "58"
    assert "trail" not in app.query_params
    press("Next")
    press("Next")
    assert app.query_params["stimulus"] == "0"  # after the last one
    press("Back")
    assert "stimulus" not in app.query_params
    assert charts(app) == ["stimulus-map"]


def test_the_gallery_searches_filters_and_opens(opened, demo):
    app = opened(demo, "images/explore", view="gallery")  # an older link
    assert "60 of 60 images, most disputed first" in captions(app)
    app.text_input(key="search").set_value("EVENT 5").run()
    assert "11 of 60 images, most disputed first" in captions(app)  # 5 and 50 … 59
    assert "thing color" in [field.label for field in app.multiselect]
    app.multiselect(key="f-scene").set_value(["beach"]).run()
    assert "5 of 60 images, most disputed first" in captions(app)  # 5, 50, 53, 56, 59
    app.text_input(key="search").set_value("no such words").run()
    assert "No image matches" in said(app)
    app.text_input(key="search").set_value("").run()
    app.query_params["stimulus"] = "5"
    app.run()
    assert charts(app) == ["agreement", "residuals"]
