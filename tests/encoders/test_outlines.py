"""What is said of a model before its weights are read is what they turn out to be."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
import torch
from huggingface_hub import HfApi
from PIL import Image

from core.competence.published import published_models
from core.encoders.catalog import open_encoder, spec_of_folder
from core.encoders.outlines import Outline, outline
from core.errors import EncoderError
from core.settings import CAVE_WEIGHTS

SHIPPED = ("vit-clip-xs", "resnet-supervised-s", "gpt2-xs", "llama-xs", "bloom-xs", "roberta-s")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_checkpoint_is_outlined_as_it_is_when_it_is_opened(name):
    spec = spec_of_folder(CAVE_WEIGHTS / name)
    encoder = open_encoder(spec, device=torch.device("cpu"))
    items = ["a red disk"] if spec.startswith("hf:") else [picture()]
    widths = tuple(layer.shape[1] for layer in encoder.encode(items).layers)
    assert outline(spec) == Outline(encoder.card.parameters, widths, 0)


def picture():
    return Image.new("RGB", (224, 224))


@pytest.mark.parametrize("size", ["tiny", "giant"])
def test_a_published_vision_model_is_outlined_without_its_weights(size, monkeypatch):
    monkeypatch.setattr(HfApi, "model_info", refuse(httpx2.ConnectError("no network")))
    table = published_models()
    row = table[table["model"].str.startswith(f"timm:vit_{size}")].iloc[0]
    known = outline(row["model"])
    assert known.parameters == row["parameters"]
    assert known.widths == (row["width"],) * row["depth"]
    assert known.download is None


def refuse(error: Exception):
    def ask(*_: object, **__: object) -> None:
        raise error

    return ask


def test_a_model_of_the_hub_that_does_not_answer_is_unknown(monkeypatch):
    monkeypatch.setattr(HfApi, "model_info", refuse(httpx2.ReadTimeout("slow")))
    assert outline("hf:nobody/nothing") == Outline()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (None, "has no config.json that can be read"),
        ("[]", "names neither an architecture of timm nor a model_type of transformers"),
        ("{", "has no config.json that can be read"),
    ],
)
def test_a_folder_that_holds_no_model_is_refused(tmp_path: Path, config, said):
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    with pytest.raises(EncoderError, match=said):
        spec_of_folder(tmp_path)


@pytest.mark.parametrize(
    ("config", "weights", "said"),
    [
        ({}, None, "cannot be read"),
        ({}, b"version https://git-lfs", "copy it again"),
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
