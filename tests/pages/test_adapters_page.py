"""The tab Adapters: a job is offered, and what is kept is drawn."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import torch

from core.cli import make_parser
from pages._shared import runner
from tests.pages.seen import charts, said
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

PAGE = "transfer/adapters"


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


def words(app) -> str:
    return " ".join(text.value for text in app.markdown).replace("\\", "")


def test_before_any_training_it_is_offered_and_the_kernels_are_drawn(opened, store):
    app = opened(store, PAGE)
    assert not app.exception
    assert charts(app) == ["kernels"]
    chosen = [app.selectbox(key=f"encoder_{side}").value for side in "ab"]
    assert chosen == ["vit-mae-m", "gpt-2-m"]
    assert app.selectbox(key="reference").value == "vit-clip-m"
    assert app.button(key="queue-adapt").label == "Train adapters"
    assert "The encoders' mean alignment with the reference" in words(app)
    keys = {button.key for button in app.button}
    assert "queue-after" not in keys  # the same training
    for code in app.code:
        make_parser().parse_args(shlex.split(code.value)[1:])


def test_what_was_trained_is_drawn_with_its_command(opened, store, monkeypatch):
    monkeypatch.setattr(runner, "LONGEST_WAIT", float("inf"))
    link = {"x": "vit-mae-m:2", "y": "gpt-2-m:1", "ref": "vit-clip-m:2"}
    app = opened(store, PAGE, **link, width="8", k="3", seeds="1")
    assert not app.exception
    assert "palette, light and wording are known of the Cave's" in said(app)  # it is no Cave
    assert charts(app) == ["gains", "kernels", "after", "retrieval", "worth"]
    assert "adapters bring the common space nearer to ViT M · CLIP" in words(app)
    commands = [code.value for code in app.code if code.value.startswith("platoscope")]
    named = "adapt --x vit-mae-m:2 --y gpt-2-m:1 --ref vit-clip-m:2 --width 8"
    assert any(named in command and "--seeds 1" in command for command in commands)
    old = {"encoders": ["vit-mae-m", "gpt-2-m"], "layer:gpt-2-m": "1", "reference": "vit-clip-m"}
    again = opened(store, PAGE, **old, width="8", k="3", seeds="1")
    assert charts(again) == ["gains", "kernels", "retrieval", "worth"]
