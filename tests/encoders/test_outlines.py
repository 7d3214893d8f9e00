"""What is said of a model before its weights are read is what they turn out to be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from huggingface_hub import HfApi, constants
from huggingface_hub.hf_api import ModelInfo
from PIL import Image

from core.competence.scores import published_models
from core.encoders import outlines
from core.encoders.catalog import open_encoder, spec_of_folder
from core.encoders.fields import INDEX
from core.encoders.outlines import Download, Outline, files_left, outline, repository_of
from core.errors import EncoderError, OfflineError
from core.settings import CAVE_WEIGHTS

SHIPPED = ("vit-clip-xs", "resnet-multitask-s", "gpt2-xs", "llama-xs", "bloom-xs", "roberta-s")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_checkpoint_is_outlined_as_it_is_when_it_is_opened(name):
    spec = spec_of_folder(CAVE_WEIGHTS / name)
    encoder = open_encoder(spec, device=torch.device("cpu"))
    items = ["a red disk"] if spec.startswith("hf:") else [picture()]
    widths = tuple(layer.shape[1] for layer in encoder.encode(items).layers)
    assert outline(spec) == Outline(encoder.card.parameters, widths)


def picture():
    return Image.new("RGB", (224, 224))


@pytest.fixture(autouse=True)
def unreachable(monkeypatch):
    """Turn to a hub that is not there."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")


@pytest.mark.parametrize("size", ["tiny", "giant"])
def test_a_published_vision_model_is_outlined_without_its_weights(size):
    table = published_models()
    row = table[table["model"].str.startswith(f"timm:vit_{size}")].iloc[0]
    sketch = outline(row["model"])
    assert sketch.parameters == row["parameters"]
    assert sketch.widths == (row["width"],) * row["depth"]
    assert sketch.download.size is None
    assert "the hub (http://127.0.0.1:1) cannot be reached or" in sketch.download.why


def test_why_nothing_is_known_of_a_model_is_told(monkeypatch):
    download = outline("hf:nobody/nothing").download
    assert "the hub (http://127.0.0.1:1) cannot be reached or" in download.why
    assert download.is_hub_down
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(OfflineError, match="HF_HUB_OFFLINE is set"):
        outline("hf:nobody/nothing")
    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: ModelInfo(id="a/b", siblings=[]))
    why = "The hub lists no model.safetensors or pytorch_model.bin of a/b."
    assert left(("model.safetensors", "pytorch_model.bin")) == Download(None, why)


def left(patterns: tuple[str, ...]) -> Download:
    return files_left(repository_of("a/b"), patterns)


def refuse(*_: object, **__: object) -> None:
    raise ConnectionError("broken")


def test_of_weights_in_parts_those_that_are_here_need_no_download(tmp_path, monkeypatch):
    index, *parts = [INDEX, "model-1.safetensors", "model-2.safetensors"]
    sizes = {"model-1.safetensors": 30, "model-2.safetensors": 12, "pytorch_model.bin": 42}
    files = [{"rfilename": name, "size": size} for name, size in sizes.items()]
    info = ModelInfo(id="a/b", siblings=files)
    here = {index: tmp_path / index}
    here[index].write_text(json.dumps({"weight_map": {"x": parts[0], "y": parts[1]}}))
    monkeypatch.setattr(outlines, "cached", lambda _, name: here.get(name))
    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: info)
    patterns = ("model*.safetensors",)
    assert left(patterns) == Download(42)
    here[parts[0]] = tmp_path
    assert left(patterns) == Download(12)
    monkeypatch.setattr(HfApi, "model_info", refuse)
    assert left(patterns).size is None
    here[parts[1]] = tmp_path
    assert left(patterns) == Download(0)


@pytest.mark.parametrize(
    ("config", "weights", "said"),
    [
        ({}, None, "there is no file .*model.safetensors; check its path"),
        ({}, b"version https://git-lfs", "copy or fetch it again"),
        ({"model_args": {"depth": "deep"}}, "shipped", "check its config.json"),
    ],
)
def test_a_broken_checkpoint_of_timm_is_a_sentence(tmp_path: Path, config, weights, said):
    architecture = {"architecture": "vit_tiny_patch16_224"}
    (tmp_path / "config.json").write_text(json.dumps(architecture | config))
    if weights:
        shipped = (CAVE_WEIGHTS / "vit-clip-xs" / "model.safetensors").read_bytes()
        data = shipped if weights == "shipped" else weights
        (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(EncoderError, match=said):
        outline(f"timm:vit_tiny_patch16_224@{tmp_path}")
