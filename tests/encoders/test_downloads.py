"""How much of a model's weights is still to be fetched, and why that is unknown."""

from __future__ import annotations

import json

import pytest
from huggingface_hub import HfApi, constants
from huggingface_hub.hf_api import ModelInfo

from core.encoders import downloads
from core.encoders.downloads import Download, files_left, repository_of, weights_of
from core.encoders.fields import INDEX
from core.errors import OfflineError


@pytest.fixture(autouse=True)
def unreachable(monkeypatch):
    """Turn to a hub that is not there."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")


def test_why_nothing_is_known_of_a_model_is_told(monkeypatch):
    download = weights_of("hf:nobody/nothing")
    assert "the hub (http://127.0.0.1:1) cannot be reached or" in download.why
    assert download.is_hub_down
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(OfflineError, match="HF_HUB_OFFLINE is set"):
        weights_of("hf:nobody/nothing")
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
    monkeypatch.setattr(downloads, "cached", lambda _, name: here.get(name))
    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: info)
    patterns = ("model*.safetensors",)
    assert left(patterns) == Download(42)
    here[parts[0]] = tmp_path
    assert left(patterns) == Download(12)
    monkeypatch.setattr(HfApi, "model_info", refuse)
    assert left(patterns).size is None
    here[parts[1]] = tmp_path
    assert left(patterns) == Download(0)
