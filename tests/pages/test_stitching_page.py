"""The Stitching page over the smallest shipped models: what is kept is drawn, what is not is
offered.
"""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path

import pytest
import torch

from core.cave.world import CaveDataset
from core.cli import main
from core.embedding.runner import embed
from core.encoders.catalog import open_encoder
from core.networks import heads
from core.questions.asking import ask
from core.questions.stitching import bench
from core.questions.stitching.bench import Fitting, across_kinds
from core.questions.stitching.question import Stitch
from core.settings import CAVE_WEIGHTS
from core.store import Store
from core.study.study import Study
from tests.pages.seen import charts, said

pytestmark = pytest.mark.slow
NAMES = ("vit-multitask-xs", "vit-clip-xs")
CHOSEN = {"events": "64", "steps": "2"}
PAGE = "transfer/stitching"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store that keeps all stitches of two models."""
    root, dataset = tmp_path_factory.mktemp("stitched"), CaveDataset(size=24)
    for name in NAMES:
        spec = f"timm:vit_tiny_patch16_224@{CAVE_WEIGHTS / name}"
        embed(root, dataset, open_encoder(spec, device=torch.device("cpu")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "fit_head", partial(heads.fit_head, count=64))
        fitting = Fitting(events=64, steps=2)
        whole = Stitch(x=NAMES[1], y=NAMES[0], fitting=fitting, all_layers=True)
        ask(whole, Study(Store(root), "cave"))
    return root


def test_what_is_kept_is_drawn_with_its_commands(opened, store, capsys):
    app = opened(store, PAGE, **CHOSEN)
    assert not app.exception
    assert said(app) == ""
    assert charts(app) == ["one", "layers", "foretold"]
    assert (app.selectbox(key="x").value, app.selectbox(key="y").value) == NAMES[::-1]
    texts = " ".join(text.value for text in app.markdown).replace("\\", "")
    assert "block 1 of ViT XS · CLIP → block 1 of ViT XS · multitask" in texts
    assert "4 pairs of layers are too few" in texts
    captions = " ".join(caption.value for caption in app.caption).replace("\\", "")
    assert captions.count("no two of these models can be stitched") == 1  # of one seed, for kinds
    assert "queue-stitching-by-competence" in {button.key for button in app.button}
    lines = [code.value for code in app.code if code.value.startswith("platoscope stitch")]
    lines = [line for line in lines if " many " not in line]  # that takes minutes
    assert len(lines) == 3
    for line in dict.fromkeys(lines):
        assert main([*shlex.split(line)[1:], "--json"]) == 0
        assert '"lost"' in capsys.readouterr().out


def test_what_is_not_kept_is_offered(opened, store, monkeypatch):
    app = opened(store, PAGE, **CHOSEN, seed="1")
    assert charts(app) == []
    keys = {button.key for button in app.button}
    assert {"queue-stitch", "queue-stitch-all", "queue-stitching-by-competence"} <= keys
    words: list[list[str]] = []
    monkeypatch.setattr(
        "pages._shared.runner.queue.submit",
        lambda _, asked: words.append(list(asked)),
    )
    app.button(key="queue-stitch-all").click().run()
    assert words[0][0] == "stitch"
    assert {"--seed", "--all-layers"} <= set(words[0])


def test_a_click_chooses_both_models(opened, store, monkeypatch):
    monkeypatch.setattr(bench, "across_kinds", lambda models, _: across_kinds(models, "xs"))
    app = opened(store, PAGE, **CHOSEN, x=NAMES[0], layer_x="1")
    app.button(key="preset-CLIP → supervised").click().run()
    assert not app.exception
    assert [app.selectbox(key=side).value for side in "xy"] == list(NAMES[::-1])
    assert [app.selectbox(key=f"layer_{side}").value for side in "xy"] == [0, 0]
