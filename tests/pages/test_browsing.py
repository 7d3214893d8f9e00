"""Browsing stimuli: what is searched, brushed or of low and high dispersion can be taken away and
studied.
"""

from __future__ import annotations

import pytest

from core.study.selections import decode, encode
from tests.pages.seen import charts, said
from tests.pages.world import LANGUAGE, NASTY, VISION, PaintedDataset, build

ENDS = "ends"


def captions(app) -> list[str]:
    return [caption.value for caption in app.caption]


def shown(app, key: str) -> list[int]:
    prefix = f"open-{key}-"
    return [
        int(button.key.removeprefix(prefix))
        for button in app.button
        if (button.key or "").startswith(prefix)
    ]


def studied(app) -> list[list[int]]:
    """Return the sets that the links to the Alignment page carry."""
    links = [link.proto for link in app.main.get("page_link")]
    assert all(link.page == "align" for link in links)
    return [
        decode(link.query_string.split("stimuli=")[1].split("&")[0], 60).tolist() for link in links
    ]


def test_what_is_found_goes_to_the_alignment_page(opened, three):
    app = opened(three, "stimuli", search="event 5")
    assert studied(app) == [[5, *range(50, 60)]]
    assert [button.label for button in app.get("download_button")] == ["CSV of ids and captions"]


def test_a_quantile_of_dispersion_filters_the_gallery(opened, three):
    app = opened(three, "stimuli")
    app.slider(key="quantile").set_value((0, 25)).run()
    low = studied(app)[0]
    assert len(low) == 15
    app.slider(key="quantile").set_value((75, 100)).run()
    assert len(studied(app)[0]) == 15
    assert not set(low) & set(studied(app)[0])


def test_low_and_high_stand_side_by_side_from_their_ends(opened, three):
    app = opened(three, "stimuli", view=ENDS)
    assert not app.exception
    low, high = shown(app, "low"), shown(app, "high")
    assert len(low) == len(high) == 12
    sets = studied(app)
    assert [len(each) for each in sets] == [15, 15]
    assert set(low) < set(sets[0])
    app.selectbox(key="by").set_value("vit-clip-m:2")
    app.slider(key="size").set_value(30).run()
    assert [len(each) for each in studied(app)] == [30, 30]
    html = " ".join(each.value for each in app.get("html"))
    assert html.count("residual ") >= 24


def test_nasty_captions_are_shown_as_they_are_in_the_galleries_too(opened, three):
    app = opened(three, "stimuli", view=ENDS, size="30", **{"page-ends": "1"})
    seen = []
    for number in (1, 2, 3):
        app.get("pagination")[0].set_value(number).run()
        seen += [each.value for each in app.get("html") if "onerror" in each.value]
    assert len(seen) == 1
    assert "<img" not in seen[0]
    assert "&lt;img src=x onerror=alert(1)&gt;" in seen[0]


@pytest.mark.parametrize("kind", ["residuals", "pca", "umap"])
def test_the_map_lays_out_what_passes_the_search(opened, three, kind, monkeypatch):
    monkeypatch.setattr(
        "core.questions.stimuli.answer.neighbor_plane", lambda joint, *, seed: joint[:, :2] + seed
    )  # UMAP takes seconds
    app = opened(three, "stimuli", view="map", map=kind, search="event 5")
    assert not app.exception
    assert charts(app) == ["stimulus-map"]
    assert app.segmented_control(key="map").value == kind
    assert "draw around dots" in " ".join(text.value for text in app.markdown)


def test_a_link_opens_what_was_brushed_and_it_can_be_left(opened, three):
    app = opened(three, "stimuli", view="map")
    app.query_params["brushed"] = encode([3, 7, 9], 60)
    app.run()
    assert shown(app, "brushed") == [3, 7, 9]
    assert studied(app) == [[3, 7, 9]]
    next(button for button in app.button if button.label == "Choose none").click().run()
    assert not shown(app, "brushed")


def test_a_damaged_set_in_the_link_chooses_nothing(opened, three):
    app = opened(three, "stimuli", view="map", brushed="60.xyz")
    assert not app.exception
    assert "cannot be read: this text for a set of stimuli is damaged" in said(app)
    assert not studied(app)


@pytest.mark.parametrize("given", ["60", "-1", "abc"])
def test_a_link_to_a_stimulus_that_is_not_there_says_so_over_the_gallery(opened, three, given):
    app = opened(three, "stimuli", stimulus=given)
    assert not app.exception
    assert f"The link opens stimulus {given}; here they are counted from 0 to 59." in said(app)
    assert len(shown(app, "all")) == 20


def test_the_opened_stimulus_shows_residuals_and_neighbors_of_every_space(opened, three):
    app = opened(three, "stimuli")
    app.query_params["stimulus"] = "1"
    app.run()
    assert not app.exception
    assert charts(app) == ["residuals", "agreement"]
    spaces = app.multiselect(key="spaces").value
    assert [len(shown(app, f"near-{place}")) for place in range(len(spaces) + 1)] == [6] * (
        len(spaces) + 1
    )
    assert "In the consensus" in captions(app)
    assert sum(NASTY in text.value for text in app.text) == 4


@pytest.mark.parametrize("view", ["gallery", "map", ENDS])
def test_two_models_and_three_stimuli_have_a_look(opened, tmp_path, view):
    build(tmp_path, PaintedDataset(3), vision=VISION[:1], language=LANGUAGE[:1], reality=False)
    app = opened(tmp_path, "stimuli", view=view)
    assert not app.exception
    assert "Sets of low and high dispersion need" in said(app) if view == ENDS else True
    app.query_params["stimulus"] = "2"
    app.run()
    assert not app.exception
    assert "residuals" in charts(app)


@pytest.mark.parametrize("view", ["gallery", "map", ENDS])
def test_one_model_leaves_the_gallery_and_says_what_else_needs(opened, tmp_path, view):
    build(tmp_path, PaintedDataset(6), vision=VISION[:1], language=(), reality=False)
    app = opened(tmp_path, "stimuli", view=view)
    assert not app.exception
    if view == "gallery":
        assert len(shown(app, "all")) == 6
    else:
        assert "at least two models" in said(app)
