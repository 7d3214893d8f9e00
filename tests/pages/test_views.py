"""Saved views: saved, opened, replaced, removed, brought back, and shown side by side."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import StoreWriteError
from core.store import SavedView, read_views, save_view
from pages._shared.frame import UNSEEN
from tests.pages.seen import said
from tests.pages.world import NASTY

LINK = "/alignment?dataset=cave&metric=cka"


@pytest.fixture
def store(small, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small(12), tmp_path / "store"))


def save(app: AppTest, name: str = "") -> None:
    app.text_input(key="view-name").set_value(name)
    next(button for button in app.button if button.label == "Save this view").click().run()
    assert not app.exception


def opens(app: AppTest) -> dict[str, tuple[str, dict[str, list[str]]]]:
    """Return what the links of the saved views open, by name: page and query."""
    drawn = [link.proto for link in app.sidebar.get("page_link")][1:-21]
    return {
        link.label.replace("\\", "").replace(UNSEEN, ""): (link.page, parse_qs(link.query_string))
        for link in drawn
    }


def test_a_view_without_a_name_is_called_after_what_is_chosen(opened, store):
    app = opened(store, "alignment", metric="cka")
    save(app)
    name = "Alignment: Metric: Centered kernel alignment"
    assert app.text_input(key="view-name").placeholder == name
    assert [(view.name, view.link) for view in read_views(store)] == [(name, LINK)]
    assert opens(app) == {name: ("alignment", {"dataset": ["cave"], "metric": ["cka"]})}


def test_a_view_is_saved_as_it_is_shown_now(opened, store):
    app = opened(store, "models", layout="mds", utm="foreign")
    app.number_input(key="k").set_value(5).run()
    save(app, "  five\n neighbors ")
    assert [(view.name, view.link) for view in read_views(store)] == [
        ("five neighbors", "/models?dataset=cave&k=5&layout=mds")
    ]
    assert app.text_input(key="view-name").value == ""


def test_a_name_in_use_is_said_and_can_be_replaced_and_brought_back(opened, store):
    save_view(store, before := SavedView("mine", "/models?dataset=cave"))
    app = opened(store, "alignment")
    save(app, "mine")
    assert "A view named “mine” is saved already." in said(app)
    assert read_views(store) == [before]
    app.button(key="replace-view").click().run()
    assert [view.link for view in read_views(store)] == ["/alignment?dataset=cave"]
    app.button(key="undo-view").click().run()
    assert read_views(store) == [before]
    assert not [button for button in app.button if button.key == "undo-view"]


def test_a_removed_view_is_brought_back_unless_its_name_was_taken(opened, store):
    views = [SavedView(name, LINK, f"2026-11-0{n}") for n, name in enumerate("abc", 1)]
    for view in views:
        save_view(store, view)
    app = opened(store, "theory/deep_linear")
    assert list(opens(app)) == ["c", "b", "a"]
    app.button(key="remove-b").click().run()
    assert list(opens(app)) == ["c", "a"]
    app.button(key="undo-view").click().run()
    assert list(opens(app)) == ["c", "b", "a"]
    app.button(key="remove-b").click().run()
    save_view(store, SavedView("b", "/models"))
    app.button(key="undo-view").click().run()
    assert "a view is named 'b' already; take another name, or replace it" in said(app)
    assert [view.link for view in read_views(store) if view.name == "b"] == ["/models"]


def test_odd_names_are_shown_as_they_are(opened, store):
    odd = ["\"q\" 's' `c`", "大きさ 👁", NASTY[:80].strip()]
    app = opened(store, "theory/contrastive")
    for name in odd:
        save(app, name)
    assert [view.name for view in read_views(store)] == odd[::-1]
    assert list(opens(app)) == odd[::-1]
    assert app.text_input(key="view-name").max_chars == 80


def test_a_view_of_a_page_that_is_gone_can_only_be_removed(opened, store):
    save_view(store, SavedView("old", "/gone?k=1"))
    app = opened(store, "theory/contrastive")
    assert opens(app) == {}
    assert "old (its page is gone)" in [caption.value for caption in app.caption]
    app.button(key="remove-old").click().run()
    assert read_views(store) == []


def test_a_damaged_file_and_a_read_only_store_are_said_and_the_page_goes_on(
    opened, store, monkeypatch
):
    (store / "views.json").write_text("{")
    app = opened(store, "alignment")
    assert app.get("plotly_chart")
    assert "views.json does not hold saved views; mend it" in said(app)
    save(app, "a")
    assert (store / "views.json").read_text() == "{"
    side = opened(store, "side_by_side")
    assert len(side.get("iframe")) == 2
    assert "views.json does not hold saved views; mend it" in said(side)
    (store / "views.json").unlink()

    def refuse(*_: object, **__: object) -> None:
        raise StoreWriteError("the store is read-only; choose another store with --store")

    monkeypatch.setattr("pages._shared.saved.shelf.save_view", refuse)
    save(app, "a")
    assert "the store is read-only; choose another store" in said(app)


def frames(app: AppTest) -> list[str]:
    return [one.proto.src for one in app.get("iframe")]


def test_two_views_stand_side_by_side(opened, store):
    save_view(store, SavedView("mine", LINK))
    app = opened(store, "side_by_side")
    ends = "embed=true&embed_options=light_theme"
    assert frames(app) == [f"{LINK}&{ends}", f"/?{ends}"]
    assert app.selectbox(key="left").options[:3] == ["mine", "Overview", "Alignment"]
    app.selectbox(key="right").set_value("/models").run()
    assert frames(app) == [f"{LINK}&{ends}", f"/models?{ends}"]
    assert app.query_params["right"] in ("/models", ["/models"])
    assert "left" not in app.query_params
    alone = [link.proto for link in app.main.get("page_link")]
    assert [(link.page, link.query_string) for link in alone] == [
        ("alignment", "dataset=cave&metric=cka"),
        ("models", ""),
    ]


def test_a_saved_view_is_shown_beside_what_is_open(opened, store):
    save_view(store, SavedView("mine", LINK))
    app = opened(store, "models", layout="mds")
    app.button(key="compare-mine").click().run()
    assert not app.exception
    assert [src.partition("&embed")[0] for src in frames(app)] == [
        "/models?dataset=cave&layout=mds",
        LINK,
    ]


def test_a_view_beside_one_that_is_not_saved(opened, store):
    left, right = "/alignment?k=7&where=scene%3Dcity", "/views?left=%2F"
    app = opened(store, "side_by_side", left=left, right=right)
    assert frames(app)[0].startswith(f"{left}&embed=true")
    assert "Alignment: k 7, where scene=city" in app.selectbox(key="left").options
    assert "no view named '/views?left=%2F'" in said(app)


@pytest.mark.parametrize(
    "link",
    [
        "//evil.example/",
        "http://evil.example",
        "javascript:alert(1)",
        "/gone",
        "alignment",
        "/x/../alignment",
    ],
)
def test_nothing_but_a_page_of_the_dashboard_is_framed(opened, store, link):
    app = opened(store, "side_by_side", left=link, right=link)
    assert not app.exception
    assert [src.partition("?")[0] for src in frames(app)] == ["/", "/alignment"]
