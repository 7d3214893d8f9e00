"""The Adapters page: training that moves and stops, files that come and go, and the verdict."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
import torch

from core.adaptation import train_adapters
from core.adapters import files
from core.adapters.model import Adapter, Adapters, Settings
from core.cli import make_parser
from core.recipe import Recipe
from core.store import Store
from core.study import Study
from pages._shared import experiment
from tests.pages.seen import charts, said
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

SPACES = ("vit-mae-m:2", "gpt-2-m:2")


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("adapted"), PaintedDataset(64), vision=VISION[1:4], language=LANGUAGE[2:3])


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(experiment, "MOMENT", 0.0)  # one pass per redraw
    yield
    torch.set_num_threads(before)


@pytest.fixture
def page(opened, store):
    """Return a function that opens the page with what trains in a moment."""

    def open_page(**query: str):
        small = {"encoders": ["ViT M · MAE", "GPT-2 M"], "reference": "ViT M · CLIP", "wide": "8", "k": "3"}
        return opened(store, "adapters", **{**small, **query})

    return open_page


def words(app) -> str:
    return " ".join(text.value for text in app.markdown).replace("\\", "")


def finish(app, monkeypatch):
    monkeypatch.setattr(experiment, "MOMENT", 60.0)
    return app.run()


def test_before_any_training_the_kernels_are_drawn_and_the_encoders_are_the_usual_ones(opened, store):
    app = opened(store, "adapters")
    assert not app.exception
    assert not said(app)
    assert charts(app) == ["kernels"]
    assert app.multiselect(key="encoders").value == ["vit-mae-m", "gpt-2-m"]
    assert app.selectbox(key="reference").value == "vit-clip-m"
    assert app.number_input(key="pairs").value == 40
    assert "What is seen" not in words(app)


def test_a_training_moves_is_stopped_goes_on_and_loses_nothing(page, monkeypatch):
    app = page()
    app.button(key="train").click().run()
    assert not app.exception
    training = next(iter(app.session_state["trainings"].values()))
    app.run()
    seen = len(training.course.looks)
    assert seen > 1
    assert charts(app) == ["course", "kernels"]
    app.button(key="stop").click().run()
    stopped = len(training.course.looks)
    app.run()
    assert len(training.course.looks) == stopped
    assert training.adapters is not None
    app.number_input(key="pairs").set_value(20).run()
    assert charts(app) == ["kernels"]
    app.number_input(key="pairs").set_value(40).run()
    assert charts(app) == ["course", "kernels"]
    app.button(key="go-on").click().run()
    finish(app, monkeypatch)
    assert not app.exception
    assert training.course.state == "done"
    assert "the best adapters are those of pass" in words(app)
    assert "its median place is" in words(app)
    assert [table.key for table in app.get("plotly_chart")] == ["course", "kernels"]
    for code in app.code:
        make_parser().parse_args(shlex.split(code.value)[1:])
    command = app.code[0].value
    assert "--x vit-mae-m:2 --y gpt-2-m:2 --ref vit-clip-m:2 --width 8 --k 3 --seeds 1" in command


def test_the_verdict_over_trainings_has_its_interval_and_the_baselines(page):
    app = page(measure="true", seeds="2")
    assert not app.exception
    assert charts(app) == ["kernels", "gains"]
    assert "The common space by the mean of all encoders" in words(app)
    assert "95 % interval" in words(app)
    table = app.dataframe[0].value
    assert {"adapters", "CCA", "Procrustes", "ridge", "relative", "raw", "chance"} == set(table["method"])
    assert set(table["from → to"]) == {"ViT M · MAE → GPT-2 M", "GPT-2 M → ViT M · MAE"}
    app.toggle(key="cost").set_value(True).run()
    assert not app.exception
    assert charts(app) == ["kernels", "gains", "worth"]
    assert "--pairs 40" in app.code[-1].value


def test_three_encoders_go_together(page, monkeypatch):
    app = page(encoders=["ViT M · MAE", "GPT-2 M", "Reality"])
    app.button(key="train").click().run()
    finish(app, monkeypatch)
    assert not app.exception
    assert len(app.selectbox(key="direction").options) == 6
    assert "--z reality:0" in app.code[0].value


def upload(app, data: bytes, name: str = "mine.safetensors"):
    app.file_uploader[0].set_value((name, data, "application/octet-stream"))
    return next(button for button in app.button if button.label == "Load").click().run()


def test_adapters_come_back_from_a_file_with_their_choices(page, store):
    made = train_adapters(Study(Store(store), "cave"), SPACES, settings=Settings(width=16), pairs=20, seed=3)
    app = upload(page(encoders=["ViT S · CLIP", "GPT-2 M"]), files.dump(*made))
    assert not app.exception
    assert "Loaded adapters of vit-mae-m:2, gpt-2-m:2" in " ".join(text.value for text in app.success).replace("\\", "")
    assert app.multiselect(key="encoders").value == ["vit-mae-m", "gpt-2-m"]
    assert (app.number_input(key="pairs").value, app.number_input(key="seed").value) == (20, 3)
    assert app.selectbox(key="wide").value == 16
    assert "its median place is" in words(app)
    assert next(button.label for button in app.button if button.key == "train") == "Train them anew"


def foreign(**changed: object) -> bytes:
    adapters = Adapters({name: Adapter(np.ones((9, 4), np.float32), np.zeros(4, np.float32)) for name in SPACES}, 0.07)
    told = {"models": {"vit-mae-m": "a", "gpt-2-m": "b"}, "dataset": "cave", "spaces": list(SPACES), "pairs": 20, "settings": {},
            "seed": 0, **changed}  # fmt: skip
    return files.dump(adapters, Recipe.of("adapters", **told))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"nothing of the kind", "no whole safetensors file"),
        (foreign()[:-7], "no whole safetensors file"),
        (foreign(), "trained on other data: models, "),
        (foreign(models={"gone": "a"}), "gone"),
    ],
)
def test_a_file_of_anything_else_is_answered_by_one_sentence(page, data, sentence):
    app = upload(page(), data)
    assert not app.exception
    assert sentence in said(app)
    assert charts(app) == ["kernels"]


def test_too_few_models_and_encoders_say_what_to_do(opened, page, tmp_path):
    app = opened(build(tmp_path, PaintedDataset(40), vision=VISION[:1], language=LANGUAGE[1:2], reality=False), "adapters")
    assert "embed three models" in said(app)
    assert app.code[0].value.startswith("platoscope embed --dataset cave")
    app = page()
    app.multiselect(key="encoders").set_value(["gpt-2-m"]).run()
    assert "at least two encoders" in said(app)
    app.multiselect(key="encoders").set_value(["vit-mae-m", "vit-clip-s", "vit-clip-m", "gpt-2-m", "reality"]).run()
    assert "Leave one model out" in said(app)


def test_another_metric_and_layer_are_followed(page):
    app = page()
    app.selectbox(key="metric").set_value("cka")
    app.selectbox(key="layer-gpt-2-m").set_value(3).run()
    assert not app.exception
    assert "--y gpt-2-m:3" in app.code[0].value
    assert "--metric cka" in app.code[0].value
    assert "chance is" not in words(app)
