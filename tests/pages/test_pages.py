"""Every page on every kind of store: it draws, or it says in one sentence what to do next. Over a
store of one's own, `test_hostile` opens each.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.metrics import METRICS
from pages._shared import frame, queries, runner
from tests.navigation import PAGES, VIEWS, Page
from tests.pages.seen import charts, said
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

WITHOUT_FIGURE = {
    "images/extremes",
    "models/table",
    "transfer/stitching",
    "transfer/prefixes",
    "transfer/probes",
    "data/models",
    "data/datasets",
    "data/results",
    "data/jobs",
}
# of what is not there yet
SPEAKS = {
    "transfer/adapters",
    "trends/training",
    "transfer/stitching",
    "transfer/prefixes",
    "transfer/probes",
    "transfer/unpaired",
    "data/jobs",
}
OVER_DATASET = [page for page in VIEWS if page.over_store and page.name != "data/jobs"]
each_page = pytest.mark.parametrize("page", OVER_DATASET, ids=lambda page: page.name)
each_first = pytest.mark.parametrize(
    "page", [page for page in PAGES if page.over_store], ids=lambda page: page.name
)


def assert_calm(app: AppTest) -> None:
    assert not app.exception
    assert len(app.title) == 1


@pytest.mark.parametrize("page", VIEWS, ids=lambda page: page.name)
def test_every_page_draws_the_demo(opened, demo, monkeypatch, page: Page):
    monkeypatch.setattr(runner, "LONGEST_WAIT", 10.0)
    # what is foreseen is measured: else it depends on the machine whether a page offers or draws
    monkeypatch.setattr("pages._parts.transfer.probes.seconds_for", lambda *_: 60.0)
    monkeypatch.setattr("pages._parts.models.units.foresee", lambda *_: 0.0)
    app = opened(demo, page.name, **page.example)
    assert_calm(app)
    assert bool(charts(app)) == (page.name not in WITHOUT_FIGURE)
    assert not said(app) or page.name in SPEAKS
    assert not any(one.proto.expanded for one in app.expander if one.label.startswith("Methods"))
    assert not page.over_store or app.selectbox(key="dataset").value == "cave"


@each_first
def test_an_empty_store_names_the_demo(opened, tmp_path, page: Page):
    app = opened(tmp_path, page.name)
    assert_calm(app)
    assert "is empty" in said(app)
    assert app.code[0].value.startswith("platoscope demo --store ")
    forms = [link.proto.query_string for link in app.main.get("page_link")]
    assert forms == ([] if page.path == "data" else ["add=dataset"])


def test_a_store_that_is_not_there_is_empty(opened, tmp_path):
    assert "is empty" in said(opened(tmp_path / "nothing", "trends"))


@pytest.fixture(scope="module")
def unseen(tmp_path_factory) -> Path:
    """Return a store of stimuli that no model has seen."""
    root = tmp_path_factory.mktemp("unseen")
    return build(root, PaintedDataset(10), vision=(), language=(), reality=False)


@pytest.mark.slow
@each_page
def test_a_dataset_without_models_says_how_to_embed(opened, unseen, page: Page):
    app = opened(unseen, page.name)
    assert_calm(app)
    missing = {
        "overview": "at least two models",
        "images/extremes": "Needs 3 models",
        "images/language": "Needs 3 models",
        "robustness/metrics": "Needs 3 models",
        "robustness/controls": "Needs 3 models",
        "data/models": "No model is embedded over this dataset yet",
        "data/datasets": "",
        "data/results": "",
        "images/explore": "",
    }.get(page.name, "No language model is embedded")
    assert missing in said(app)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory) -> Path:
    """Return a store of which a model and a dataset cannot be read; two models are left."""
    root = tmp_path_factory.mktemp("damaged")
    build(root, PaintedDataset(12), vision=VISION[1:3], language=LANGUAGE[:1], reality=False)
    whole = root / "embeddings" / "cave" / "vit-mae-m.duckdb"
    whole.write_bytes(whole.read_bytes()[:3000])
    (root / "datasets" / "other.duckdb").write_text("not a database")
    return root


@each_first
def test_damaged_files_are_left_out_and_named(opened, damaged, page: Page):
    app = opened(damaged, page.name)
    assert_calm(app)
    assert "2 files left out" in [expander.label for expander in app.expander]
    assert any("vit-mae-m.duckdb" in text.value for text in app.text)


def test_a_store_of_damaged_files_alone_says_so(opened, tmp_path):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "cave.duckdb").write_text("not a database")
    app = opened(tmp_path, "trends/across")
    assert_calm(app)
    assert "can be read" in said(app)


@pytest.mark.parametrize("size", [2, 3])
def test_neighbors_need_three_stimuli(monkeypatch, size):
    monkeypatch.setattr(queries, "size", lambda _: size)
    with (
        pytest.raises(frame.NeededError, match="too few to compare") if size < 3 else nullcontext()
    ):
        frame.need_stimuli(None)


@pytest.mark.slow
@each_page
@pytest.mark.parametrize("size", [1, 5])
def test_tiny_stores_have_a_look(opened, small, page: Page, size):
    app = opened(small(size), page.name)
    assert_calm(app)
    if page.path not in ("images", "data", "implications", "color"):
        assert ("too few to compare neighbors" in said(app)) == (size < 3)
    if page.path == "images":
        app.query_params["stimulus"] = "0"
        assert_calm(app.run())


def test_overview_counts_and_draws_its_plots(opened, demo):
    app = opened(demo, "overview")
    captions = [text.value for text in app.caption]
    counts = "60 image–caption pairs, 6 language and 5 vision models"
    assert any(counts in text for text in captions)
    assert any("Synthetic images" in text for text in captions)
    assert len(app.header) == 2  # the specification curve and the tests


@pytest.mark.parametrize(
    ("tab", "figures", "commands"),
    [
        ("metrics", ["agreement"], ["metrics agreement", "specifications"]),
        ("k", ["trends", "over-k"], ["metrics trends --over k", "metrics pair --a llama-m"]),
        ("n", ["over-n"], ["metrics pair --a llama-m --b vit-clip-m --over stimuli"]),
    ],
)
def test_robustness_draws_agreement_and_curves(opened, demo, tab, figures, commands, monkeypatch):
    never = lambda _: False  # noqa: E731 - whether other tests have kept the trends or not
    monkeypatch.setattr("pages._parts.robustness.metrics._is_tested", never)
    app = opened(demo, f"robustness/{tab}")
    assert charts(app)[: len(figures)] == figures
    drawn = [code.value for code in app.code]
    for command, code in zip(commands, drawn, strict=False):
        assert code.startswith(f"platoscope {command}")
    assert len(app.latex) == (len(METRICS) if tab == "metrics" else 0)


@pytest.mark.slow
def test_robustness_follows_its_controls(opened, demo):
    app = opened(demo, "robustness/n")
    app.selectbox(key="a").set_value("gpt-2-m")
    app.number_input(key="k").set_value(59).run()
    assert_calm(app)
    assert not said(app)
    command = next(code.value for code in app.code if "metrics pair" in code.value)
    assert "--a gpt-2-m --b vit-clip-m --over stimuli --k 59" in command
