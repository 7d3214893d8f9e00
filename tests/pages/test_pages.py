"""Every page on every kind of store: it draws, or it says in one sentence what to do next."""

from __future__ import annotations

import math
import shutil

import pytest
from streamlit.testing.v1 import AppTest

from core.encoders.encoder import ModelCard
from core.metrics import METRICS
from core.questions.words import to_command
from core.recipe import Recipe
from core.store import Embedding, write_embedding
from core.store.versions import VERSIONS
from core.study.selections import encode
from pages._parts.experiments import patience
from tests.pages import printed
from tests.pages.seen import charts, said, tiles
from tests.pages.world import NASTY, SMALL, VISION, PaintedDataset, build

PAGES = {
    "overview": "converge",
    "library": "in the store",
    "alignment": "agree more",
    "competence": "better models",
    "convergence": "come together",
    "benefits": "models buy",
    "models": "are alike",
    "metrics": "depend on the metric",
    "dispersion": "carry over",
    "captions": "says more",
    "adapters": "linear adapters",
    "experiments/stitching": "from a layer of another",
    "experiments/reading": "read another",
    "experiments/neurons": "neurons recur",
    "experiments/translation": "no pairs given",
    "stimuli": "models agree on",
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch) -> None:
    """Offer what takes long instead of computing it; other tests do."""
    monkeypatch.setattr(patience, "PATIENCE", 0.0)


def assert_calm(app: AppTest, page: str) -> None:
    assert not app.exception
    assert PAGES[page] in app.title[0].value


@pytest.mark.parametrize("page", PAGES)
def test_every_page_draws_the_demo(opened, demo, page):
    app = opened(demo, page)
    assert_calm(app, page)
    assert not said(app) or page in (
        "competence",
        "captions",
        "convergence",
        "experiments/reading",
        "experiments/neurons",
        "experiments/translation",
    )  # nothing was measured, retold or computed here, and they say how
    assert app.selectbox(key="dataset").value == "cave"


def test_overview_counts_and_draws_its_plots(opened, demo):
    app = opened(demo, "overview")
    counts = (
        "60 image–caption pairs seen by 5 vision models and read by 6 language models, beside 1"
        " untrained model. Their"
        " reality is known"
    )
    assert any(counts in text.value for text in app.markdown)
    assert charts(app) == ["headline", "ranking", "growth"]
    texts = [text.value for text in app.markdown]
    assert any("small and a program makes their world" in text for text in texts)


def test_alignment_draws_the_trend_and_the_layers_of_the_best_pair(opened, demo):
    app = opened(demo, "alignment")
    assert len(app.get("plotly_chart")) == 2
    assert app.selectbox(key="pair_x").value == "llama-m"
    assert app.selectbox(key="pair_y").value == "vit-clip-m"
    assert app.number_input(key="k").max == 59


def test_alignment_follows_its_controls(opened, demo):
    app = opened(demo, "alignment")
    app.multiselect(key="x").set_value(["gpt-2-m", "llama-m"])
    app.multiselect(key="y").set_value(["vit-mae-m"])
    app.number_input(key="k").set_value(5).run()
    assert_calm(app, "alignment")
    table = app.dataframe[0].value
    assert table["language model"].tolist() == ["GPT-2 M", "LLaMA M"]
    assert set(table["k"]) == {5}
    command = next(code.value for code in app.code if "--x" in code.value)
    assert "--x gpt-2-m llama-m --y vit-mae-m --k 5" in command


def test_reality_is_one_of_the_models_to_compare_with(opened, demo):
    app = opened(demo, "alignment")
    assert "Reality" in app.multiselect(key="y").options
    assert "Reality" in set(app.dataframe[0].value["compared with"])
    app.multiselect(key="y").set_value(["reality"]).run()
    assert set(app.dataframe[0].value["compared with"]) == {"Reality"}
    assert any("--y reality" in code.value for code in app.code)


def test_alignment_without_reality_or_bits_draws_its_reason(opened, tmp_path):
    build(
        tmp_path,
        PaintedDataset(30),
        vision=VISION[:2],
        language=[("RoBERTa", "s", 0.5)],
        reality=False,
    )
    app = opened(tmp_path, "alignment")
    assert_calm(app, "alignment")
    assert "Reality" not in app.multiselect(key="y").options


def test_a_dataset_with_fewer_stimuli_pulls_k_down(opened, tmp_path):
    for size, name in ((40, "cave"), (5, "few")):
        build(tmp_path, PaintedDataset(size, name=name, title=name.title()), **SMALL)
    app = opened(tmp_path, "alignment")
    app.number_input(key="k").set_value(30).run()
    app.selectbox(key="dataset").set_value("few").run()
    assert_calm(app, "alignment")
    assert app.number_input(key="k").value <= 4


def test_metrics_draws_its_five_plots_of_finished_models(opened, demo):
    app = opened(demo, "metrics")
    assert charts(app) == ["agreement", "trends", "over-k", "over-n", "calibrated"]
    assert any(
        "55 pairs of 11 trained models" in text.value for text in app.markdown
    )  # 12 without the untrained one
    assert (app.selectbox(key="a").value, app.selectbox(key="b").value) == ("llama-m", "vit-clip-m")
    commands = [code.value.partition(" --store")[0] for code in app.code]
    pair = "--a llama-m --layer-a 2 --b vit-clip-m --layer-b 2"
    assert commands == [
        "platoscope metrics agreement --size 60",
        "platoscope metrics neighborhoods",
        f"platoscope metrics sweep {pair}",
        f"platoscope metrics sample-size {pair}",
        f"platoscope metrics calibrated {pair}",
        "platoscope published --about metrics",
    ]
    assert len(app.latex) == len(METRICS)


def test_metrics_follows_its_controls(opened, demo):
    app = opened(demo, "metrics")
    app.selectbox(key="a").set_value("gpt-2-m")
    app.selectbox(key="layer_a").set_value(3)
    app.selectbox(key="layer_b").set_value(1)
    app.number_input(key="k").set_value(59).run()
    assert_calm(app, "metrics")
    assert not said(app)
    command = next(code.value for code in app.code if "calibrated" in code.value)
    assert "--a gpt-2-m --layer-a 3 --b vit-clip-m --layer-b 1 --k 59" in command


def test_metrics_draws_every_parameter_and_every_trend_where_they_are_wanted(opened, demo):
    chosen = {"matrix_metric": "mutual_knn", "trends_metric": "cka", "as": "paper"}
    app = opened(
        demo, "metrics", every_parameter="true", by_metric="true", clamp="average", **chosen
    )
    assert_calm(app, "metrics")
    assert not said(app)
    assert {"matrix", "by-metric"} < {*charts(app)}
    commands = [code.value.partition(" --store")[0] for code in app.code]
    assert "platoscope metrics matrix --clamp average --metric mutual_knn" in commands
    assert "platoscope metrics trends --clamp average --metric cka --as paper" in commands


@pytest.mark.parametrize(("page", "plots"), [("alignment", 2), ("metrics", 5)])
def test_every_printed_command_gives_the_table_that_the_page_asked_for(
    opened, demo, monkeypatch, capsys, page, plots
):
    record = printed.record(monkeypatch)
    app = opened(demo, page)
    commands = [code.value for code in app.code]
    assert len(record.drawn) == plots
    for question, _ in record.drawn.values():
        assert any(code.startswith(to_command(question)) for code in commands)
        printed.assert_same(printed.run(question, demo, capsys), record.asked[question])


def test_metrics_needs_two_models_of_any_kind(opened, tmp_path):
    one = build(tmp_path / "one", PaintedDataset(20), vision=VISION[:1], language=(), reality=False)
    assert "No language model is embedded" in said(opened(one, "metrics"))
    two = build(tmp_path / "two", PaintedDataset(20), vision=VISION[:2], language=(), reality=False)
    app = opened(two, "metrics", every_parameter="true")  # SVCCA of rank 10 would need 21 stimuli
    assert_calm(app, "metrics")
    assert charts(app) == ["agreement", "matrix", "over-k", "over-n", "calibrated"]


def test_the_gallery_searches_filters_and_opens(opened, demo):
    app = opened(demo, "stimuli", view="gallery")
    assert "60 of 60 stimuli" in [caption.value for caption in app.caption]
    app.text_input(key="search").set_value("EVENT 5").run()
    assert "11 of 60 stimuli" in [caption.value for caption in app.caption]  # 5 and 50 … 59
    assert "thing color" in [field.label for field in app.multiselect]
    app.multiselect(key="f-scene").set_value(["beach"]).run()
    assert "5 of 60 stimuli" in [caption.value for caption in app.caption]  # 5, 50, 53, 56, 59
    app.text_input(key="search").set_value("no such words").run()
    assert "No stimulus matches" in said(app)
    app.text_input(key="search").set_value("").run()
    app.query_params["stimulus"] = "5"
    app.run()
    assert charts(app) == ["agreement", "residuals"]


def test_a_link_opens_a_stimulus_with_its_neighbors_marked(opened, demo):
    app = opened(demo, "stimuli")
    app.query_params["stimulus"] = "7"
    app.run()
    assert_calm(app, "stimuli")
    assert app.selectbox(key="a").value == "llama-m"
    a, b = ([tile["index"] for tile in tiles(app, key) if tile["marked"]] for key in ("a", "b"))
    assert set(a) == set(b)
    assert any(f"**{len(a)} of 10**" in text.value for text in app.markdown)


@pytest.mark.parametrize("given", ["60", "-1", "x", "9999999999", "9" * 5_000])
def test_a_link_to_no_stimulus_opens_the_gallery(opened, demo, given):
    app = opened(demo, "stimuli")
    app.query_params["stimulus"] = given
    app.run()
    assert_calm(app, "stimuli")
    assert "60 of 60 stimuli" in [caption.value for caption in app.caption]


def test_captions_are_shown_as_they_are(opened, demo):
    app = opened(demo, "stimuli")
    app.query_params["stimulus"] = "1"
    app.run()
    assert sum(NASTY in text.value for text in app.text) == 4
    assert not any("onerror" in text.value for text in (*app.markdown, *app.caption))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("exists", [True, False])
def test_an_empty_store_names_the_demo(opened, tmp_path, page, exists):
    app = opened(tmp_path if exists else tmp_path / "nothing", page)
    assert_calm(app, page)
    assert "is empty" in said(app)
    assert app.code[0].value.startswith("platoscope demo --store ")
    forms = [link.proto.query_string for link in app.main.get("page_link")]
    assert forms == ([] if page == "library" else ["add=dataset"])


@pytest.mark.parametrize("page", PAGES)
def test_a_dataset_without_models_says_how_to_embed(opened, tmp_path, page):
    app = opened(build(tmp_path, PaintedDataset(10), vision=(), language=(), reality=False), page)
    assert_calm(app, page)
    missing = {
        "dispersion": "at least two models",
        "library": "No model is embedded over this dataset yet",
    }.get(page, "No language model is embedded")
    assert page == "stimuli" or missing in said(app)


def test_overview_counts_stimuli_that_no_model_has_seen(opened, tmp_path):
    empty = build(tmp_path, PaintedDataset(10), vision=(), language=(), reality=False)
    texts = [text.value for text in opened(empty, "overview").markdown]
    assert any("10 image–caption pairs." in text for text in texts)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_tiny_stores_have_a_look(opened, small, page, size):
    app = opened(small(size), page)
    assert_calm(app, page)
    if page not in ("stimuli", "library", "benefits"):
        assert ("too few to compare neighbors" in said(app)) == (size < 3)
    app.query_params["stimulus"] = "0"
    app.run()
    assert_calm(app, page)


@pytest.mark.parametrize("page", PAGES)
def test_damaged_files_are_left_out_and_named(opened, small, tmp_path, page):
    shutil.copytree(small(40), tmp_path, dirs_exist_ok=True)
    whole = tmp_path / "embeddings" / "cave" / "vit-mae-m.duckdb"
    whole.write_bytes(whole.read_bytes()[:3000])
    (tmp_path / "datasets" / "other.duckdb").write_text("not a database")
    app = opened(tmp_path, page)
    assert_calm(app, page)
    assert "2 files left out" in [expander.label for expander in app.expander]
    assert any("vit-mae-m.duckdb" in text.value for text in app.text)


@pytest.mark.parametrize("page", PAGES)
def test_a_store_of_damaged_files_alone_says_so(opened, tmp_path, page):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "cave.duckdb").write_text("not a database")
    app = opened(tmp_path, page)
    assert_calm(app, page)
    assert "can be read" in said(app)


def test_a_model_that_holds_one_vector_only_is_left_out_with_its_reason(opened, small, tmp_path):
    dataset = PaintedDataset(40)
    shutil.copytree(small(40), tmp_path, dirs_exist_ok=True)
    card = ModelCard("vit-flat", "ViT flat", "vision", "import:x", "ViT", "MAE", None, "w", ("0",))
    flat = dataset.world * 0 + 1
    write_embedding(
        tmp_path,
        Embedding(
            dataset=dataset.card,
            card=card,
            level=None,
            layers=[flat],
            bits=None,
            bytes=None,
            recipe=Recipe.of("embedding", version=VERSIONS["embedding"], model="flat"),
            device="cpu",
            seconds=math.pi,
        ),
    )
    app = opened(tmp_path, "alignment")
    assert_calm(app, "alignment")
    assert any(
        "vit" in caption.value and "no layer with neighbors" in caption.value
        for caption in app.caption
    )


def test_a_language_model_without_neighbors_and_without_bits_is_left_out_once(
    opened, small, tmp_path
):
    dataset = PaintedDataset(40)
    shutil.copytree(small(40), tmp_path, dirs_exist_ok=True)
    card = ModelCard(
        "gpt-flat", "GPT flat", "language", "import:x", "imported", "unknown", None, "w", ("0",)
    )
    write_embedding(
        tmp_path,
        Embedding(
            dataset=dataset.card,
            card=card,
            level=None,
            layers=[dataset.world * 0 + 1],
            bits=None,
            bytes=None,
            recipe=Recipe.of("embedding", version=VERSIONS["embedding"], model="flat"),
            device="cpu",
            seconds=math.pi,
        ),
    )
    app = opened(tmp_path, "alignment")
    assert_calm(app, "alignment")
    assert [
        "no layer with neighbors" in caption.value
        for caption in app.caption
        if "gpt" in caption.value
    ] == [True]


def test_models_appear_while_another_process_embeds(opened, small, tmp_path):
    shutil.copytree(small(40), tmp_path, dirs_exist_ok=True)
    app = opened(tmp_path, "alignment")
    assert len(app.multiselect(key="y").options) == 7  # three of either modality and reality
    build(tmp_path, PaintedDataset(40), vision=VISION[:1], language=())
    app.run()
    assert_calm(app, "alignment")
    assert "ViT S · MAE" in app.multiselect(key="y").options


def test_alignment_by_any_metric_on_a_part_of_the_stimuli_calibrated(opened, demo, tmp_path):
    store = tmp_path / "store"
    shutil.copytree(demo, store)
    app = opened(store, "alignment")
    app.selectbox(key="metric").set_value("cka")
    app.selectbox(key="null").set_value(100)
    app.multiselect(key="where").set_value(["scene=forest"]).run()
    assert_calm(app, "alignment")
    assert charts(app) == ["trend", "layer-map"]
    command = app.get("code")[0].value
    assert "--metric cka" in command
    assert "--null 100" in command
    assert "--where scene=forest" in command
    assert "--k" not in command
    table = app.dataframe[0].value
    assert table["p"].between(1 / 101, 1).all()
    assert (table["stimuli"] == 20).all()


def test_alignment_on_a_set_of_stimuli_from_a_link_which_can_be_left(opened, demo):
    app = opened(demo, "alignment", stimuli=encode(range(25), 60))
    assert_calm(app, "alignment")
    assert (app.dataframe[0].value["stimuli"] == 25).all()
    assert f"--stimuli {encode(range(25), 60)}" in app.get("code")[0].value
    assert app.button(key="drop-stimuli").label == "25 of 60 stimuli"
    app.button(key="drop-stimuli").click().run()
    assert (app.dataframe[0].value["stimuli"] == 60).all()


def test_a_set_from_a_damaged_link_is_answered_in_a_sentence(opened, demo):
    app = opened(demo, "alignment", stimuli="60.xyz")
    assert not app.exception
    assert "damaged or cut short" in said(app)


def test_a_metric_s_own_parameters_are_controls(opened, demo):
    app = opened(demo, "alignment")
    app.selectbox(key="metric").set_value("cknna").run()
    app.selectbox(key="set:variant").set_value("released").run()
    assert_calm(app, "alignment")
    assert "--set variant=released" in app.get("code")[0].value


def test_layers_that_are_not_there_are_told_in_a_sentence(opened, demo):
    app = opened(demo, "alignment", layers="9:0")
    assert not app.exception
    assert "there is no layer 9, only 0 … 3" in said(app)
    assert not said(opened(demo, "alignment", layers="-1:-1"))


def test_words_that_choose_no_layers_are_answered_and_the_best_are_shown(opened, demo):
    app = opened(demo, "alignment", layers="first")
    assert_calm(app, "alignment")
    assert "layers are chosen by best, last" in said(app)
    assert charts(app) == ["trend", "layer-map"]
