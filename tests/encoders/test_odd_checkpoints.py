"""Checkpoints whose files say odd things are refused in a sentence."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from tiny_models import SIZE, make_language, make_vision

from core.encoders.catalog import open_encoder
from core.encoders.checkpoint import read_outlines, read_weights
from core.encoders.fields import INDEX, SINGLE
from core.encoders.language import folder
from core.errors import DeviceError, EncoderError

CPU = torch.device("cpu")
VIT = {"img_size": SIZE, "patch_size": 8, "embed_dim": 16, "depth": 2, "num_heads": 2}
VISION = {"vit": ("vit_tiny_patch16_224", VIT), "resnet": ("test_resnet", {})}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    for kind in ("gpt2", "bert"):
        make_language(root / kind, kind)
    for kind, (name, arguments) in VISION.items():
        make_vision(root / kind, name, **arguments)
    split, part = make_language(root / "split", "gpt2"), "model-00001-of-00001.safetensors"
    (split / SINGLE).rename(split / part)
    with safe_open(split / part, "pt") as file:
        names = dict.fromkeys(file.keys(), part)
    (split / INDEX).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": names}))
    return root


def spec_of(kind: str, place: Path) -> str:
    return f"timm:{VISION[kind][0]}@{place}" if kind in VISION else f"hf:{place}"


def change(made: Path, place: Path, kind: str, file: str, **fields: object) -> str:
    """Copy a checkpoint, set fields of one of its files, and return its spec."""
    shutil.copytree(made / kind, place)
    path = place / file
    content = json.loads(path.read_text()) if path.exists() else {}
    for name, value in fields.items():
        holder = content.get(name)
        content[name] = {**holder, **value} if isinstance(value, dict) and holder else value
    path.write_text(json.dumps(content))
    return spec_of(kind, place)


CONFIG = "config.json"
SHAPED = "has other shapes than config.json says of GPT2LMHeadModel: transformer.*; expected one"
ODD = [
    ("gpt2", CONFIG, {"n_embd": 32}, SHAPED),
    ("gpt2", CONFIG, {"vocab_size": 10**7}, SHAPED),
    ("gpt2", CONFIG, {"n_embd": "wide"}, "cannot be opened: "),
    ("gpt2", CONFIG, {"n_layer": 3}, "lacks weights of GPT2LMHeadModel: transformer.h.2"),
    ("gpt2", CONFIG, {"architectures": [7]}, "cannot be opened: "),
    ("gpt2", CONFIG, {"is_encoder_decoder": True}, "is an encoder-decoder; expected an encoder"),
    ("bert", "tokenizer_config.json", {"model_max_length": "long"}, "model_max_length as a number"),
    ("bert", "card.json", {"title": 7}, "must hold text for title"),
    ("vit", CONFIG, {"model_args": {"embed_dim": 10**5}}, "have .* numbers, and its weights have"),
    ("vit", CONFIG, {"model_args": {"num_heads": 0}}, "does not fit vit_tiny_patch16_224: ZeroDiv"),
    ("resnet", CONFIG, {"model_args": {"features_only": True}}, "read out: AttributeError"),
    ("vit", CONFIG, {"pretrained_cfg": {"mean": ["a"] * 3}}, "odd cannot be read out: "),
    ("vit", CONFIG, {"pretrained_cfg": {"interpolation": "best"}}, "odd cannot be read out: "),
    ("vit", CONFIG, {"pretrained_cfg": {"crop_pct": 1e-9}}, "enlarges images to .* pixels; at"),
    ("split", INDEX, {"weight_map": []}, r"weight_map must name the file of each .*; got \[\]"),
    ("split", INDEX, {"weight_map": {"x": "../x.safetensors"}}, "weight_map must name the file"),
    ("split", INDEX, {"weight_map": {"x": "gone.safetensors"}}, "lacks gone.safetensors, which"),
]


@pytest.mark.parametrize(("kind", "file", "fields", "said"), ODD)
def test_an_odd_field_is_a_sentence(made, tmp_path, kind, file, fields, said):
    with pytest.raises(EncoderError, match=said) as caught:
        open_encoder(change(made, tmp_path / "odd", kind, file, **fields), device=CPU)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("listed", [b"", b"\x80\x02K\x01Q.", b"\x80\x02]N\x86R."])
def test_weights_whose_list_is_odd_are_a_sentence(tmp_path, listed):
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        archive.writestr("x/data.pkl", listed)
        archive.writestr("x/version", b"3")
    with pytest.raises(EncoderError, match=r"x\.pt (cannot be read|holds pickled objects)"):
        read_weights(tmp_path / "x.pt")


def test_weights_of_a_byte_are_counted_in_the_type_that_they_are_held_in(tmp_path, monkeypatch):
    weights = {"a": torch.ones(100, dtype=torch.float8_e4m3fn), "b": torch.ones(9)}
    save_file(weights, tmp_path / "x.safetensors")
    tensors = read_outlines([tmp_path / "x.safetensors"])
    assert {name: (one.numel(), one.dtype) for name, one in tensors.items()} == {
        "a": (100, torch.uint8),
        "b": (9, torch.float32),
    }
    assert folder.stored_type(tensors) == torch.float32
    monkeypatch.setattr(folder, "free_on", lambda _: 150)
    placed = folder.place(200, CPU)  # 200 bytes do not fit in 85% of 150
    assert Path(placed["offload_folder"]).is_dir()


def test_what_a_checkpoint_may_leave_out_is_no_mistake(made, tmp_path):
    specs = [
        change(
            made, tmp_path / "a", "gpt2", CONFIG, architectures=["GPT2LMHeadModel"], n_inner=None
        ),
        change(made, tmp_path / "b", "gpt2", "tokenizer_config.json", model_max_length=10**30),
        change(made, tmp_path / "c", "vit", CONFIG, pretrained_cfg={"test_input_size": None}),
        change(made, tmp_path / "d", "split", INDEX, metadata={}),
    ]
    for spec in specs:
        assert open_encoder(spec, device=CPU).card.layers


def test_a_tokenizer_that_fails_over_a_text_is_a_sentence(made, tmp_path):
    single = [{"SpecialToken": {"id": "none", "type_id": 0}}]
    processor = {"post_processor": {"single": single}}
    spec = change(made, tmp_path / "odd", "gpt2", "tokenizer.json", **processor)
    with pytest.raises(EncoderError, match="the tokenizer cannot read a token of its own: Panic"):
        open_encoder(spec, device=CPU)


def test_weights_that_fit_nowhere_are_refused_with_the_sizes(made, monkeypatch):
    memory = SimpleNamespace(available=10_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    language = r"weights take [\d.]+ kB, more than the [\d.]+ kB of memory and 0 bytes on the"
    with pytest.raises(EncoderError, match=language):
        open_encoder(spec_of("gpt2", made / "gpt2"), device=CPU)
    with pytest.raises(DeviceError, match=r"the weights in .* take [\d.]+ .B of memory, but only"):
        open_encoder(spec_of("vit", made / "vit"), device=CPU)
    assert (made / "gpt2" / SINGLE).stat().st_size > 10_000
