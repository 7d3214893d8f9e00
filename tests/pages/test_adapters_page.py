"""The Adapters page: a training, its file, and the verdict."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import torch

from core.cli import make_parser
from tests.pages.seen import charts, said
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

SPACES = ("vit-mae-m:2", "gpt-2-m:2")


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    return build(
        tmp_path_factory.mktemp("adapted"),
        PaintedDataset(64),
        vision=VISION[1:4],
        language=LANGUAGE[2:3],
    )


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def page(opened, store):
    """Return a function that opens the page with what trains in a moment."""

    def open_page(**query: str):
        small = {
            "encoders": ["vit-mae-m", "gpt-2-m"],
            "reference": "vit-clip-m",
            "width": "8",
            "k": "3",
            "seeds": "1",
            "measure": "true",
        }
        return opened(store, "transfer/adapters", **{**small, **query})

    return open_page


def words(app) -> str:
    return " ".join(text.value for text in app.markdown).replace("\\", "")


def test_before_any_training_the_kernels_are_drawn_and_the_encoders_are_the_usual_ones(
    opened, store
):
    app = opened(store, "transfer/adapters")
    assert not app.exception
    assert not said(app)
    assert charts(app) == ["kernels"]
    assert app.multiselect(key="encoders").value == ["vit-mae-m", "gpt-2-m"]
    assert app.selectbox(key="reference").value == "vit-clip-m"
    assert app.number_input(key="pairs").value == 40
    assert "Train adapters to see what they change." in words(app)
    assert "The alignment of the common space" not in words(app)


def test_a_training_is_drawn_and_what_it_gives_is_held(page):
    app = page()
    app.button(key="train").click().run()
    assert not app.exception
    assert charts(app) == ["gains", "course", "kernels"]
    assert "Kernels before and after" in [head.value for head in app.header]
    assert "the best adapters are those of pass" in words(app)
    assert "its median place is" in words(app)
    assert "This is one training; an interval takes several." in words(app)
    for code in app.code:
        make_parser().parse_args(shlex.split(code.value)[1:])
    command = app.code[1].value
    assert "--x vit-mae-m:2 --y gpt-2-m:2 --ref vit-clip-m:2 --width 8 --k 3" in command
    app.number_input(key="pairs").set_value(20).run()
    assert charts(app) == ["gains", "kernels"]
    app.number_input(key="pairs").set_value(40).run()
    assert charts(app) == ["gains", "course", "kernels"]
    assert [button.key for button in app.button if button.key == "train"] == []


@pytest.mark.slow
def test_the_verdict_over_trainings_has_its_interval_and_the_baselines(page):
    app = page(measure="true", seeds="2")
    assert not app.exception
    assert charts(app) == ["gains", "kernels"]
    assert "The common space by the mean of all encoders" in words(app)
    assert "95% interval" in words(app)
    table = app.dataframe[0].value
    assert {"adapters", "CCA", "Procrustes", "ridge", "relative", "raw", "chance"} == set(
        table["method"]
    )
    assert not table.isna().any(axis=None)
    assert not [text.value for text in app.caption if text.value.startswith("No figures of")]
    assert set(table["from → to"]) == {"ViT M · MAE → GPT-2 M", "GPT-2 M → ViT M · MAE"}
    app.toggle(key="cost").set_value(True).run()
    assert not app.exception
    assert charts(app) == ["gains", "worth", "kernels"]
    assert app.code[1].value.startswith("platoscope adapters curve --x vit-mae-m:2")


@pytest.mark.slow
def test_an_old_link_with_choices_opens_and_probes_of_no_cave_are_a_sentence(page):
    old = {"choices": "true", "widths": "4", "temperatures": "1.0", "through": "true"}
    encoders = ["vit-mae-m", "gpt-2-m", "reality"]
    app = page(encoders=encoders, **{"measure": "true", "seeds": "1", "products": "raw"}, **old)
    assert not app.exception
    assert not said(app)
    assert charts(app) == ["gains", "kernels"]
    app.toggle(key="probes").set_value(True).run()
    assert "known of the Cave's stimuli alone" in said(app)
