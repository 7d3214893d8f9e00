"""Checkpoints whose files say odd things are refused in a sentence before a model is built; none
takes memory that its weights do not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import psutil
import pytest
import torch
from safetensors.torch import save_file

from core.encoders.building import bounding
from core.encoders.catalog import open_encoder
from core.encoders.checkpoint import read_weights
from core.encoders.downloads import INDEX, SINGLE
from core.encoders.language import placement
from core.encoders.outlines import outline
from core.errors import DeviceError, EncoderError
from core.files import userfile
from core.settings import CHECKOUT
from tests.encoders.odd_checkpoints import LANGUAGE, VISION, make_all, spec_of

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    make_all(root)
    return root


def change(made: Path, folder: Path, kind: str, file: str, **fields: object) -> str:
    """Copy a checkpoint, set fields of one of its files, and return its spec."""
    shutil.copytree(made / kind, folder)
    path = folder / file
    content = json.loads(path.read_text()) if path.exists() else {}
    for name, value in fields.items():
        holder = content.get(name)
        content[name] = {**holder, **value} if isinstance(value, dict) and holder else value
    path.write_text(json.dumps(content))
    return spec_of(kind, folder)


CONFIG = "config.json"
OUTGROWN = r"the model would have [\d,]+ tensors and [\d,]+ numbers or more, where its weights are"
SHAPED = "config.json makes .* of GPT2LMHeadModel .* numbers where the weights have .*; expected"
IMAGES = "must be 3 colors, height and width, up to 2,048 pixels each, got "
ODD = [
    ("gpt2", CONFIG, {"n_embd": 32}, SHAPED),
    ("gpt2", CONFIG, {"vocab_size": 10**7}, OUTGROWN),
    ("gpt2", CONFIG, {"n_embd": "wide"}, "cannot be opened: "),
    ("gpt2", CONFIG, {"n_layer": 1_900}, OUTGROWN),
    ("gpt2", CONFIG, {"n_layer": 3}, "lacks weights of GPT2LMHeadModel: transformer.h.2"),
    ("gpt2", CONFIG, {"n_layer": 10**9}, "odd: n_layer is over 2,000; check its config.json"),
    ("bert", CONFIG, {"num_labels": 1 << 63}, "odd: num_labels is over 1,000,000; check"),
    ("gpt2", CONFIG, {"architectures": [7]}, "cannot be opened: "),
    ("gpt2", CONFIG, {"is_encoder_decoder": True}, "is an encoder-decoder; expected an encoder"),
    ("bert", "tokenizer_config.json", {"model_max_length": "long"}, "model_max_length as a number"),
    ("bert", "card.json", {"title": 7}, "must hold text for title"),
    ("bert", "card.json", {"training": {"config": {"size": 7}}}, "size must be text, got 7; check"),
    ("bert", "card.json", {"training": {"config": [1]}}, "config must be an object, got "),
    ("vit", "card.json", {"training": {"steps": "many"}}, "steps must be a whole number, got "),
    ("vit", CONFIG, {"model_args": {"embed_dim": 10**6}}, OUTGROWN),
    ("vit", CONFIG, {"model_args": {"num_heads": 0}}, "does not fit vit_tiny_patch16_224: ZeroDiv"),
    ("resnet", CONFIG, {"model_args": {"features_only": True}}, "read out: AttributeError"),
    ("vit", CONFIG, {"pretrained_cfg": {"mean": ["a"] * 3}}, "odd cannot be read out: "),
    ("vit", CONFIG, {"pretrained_cfg": {"classifier": 1}}, "classifier must be names of parts"),
    ("vit", CONFIG, {"pretrained_cfg": {"interpolation": "best"}}, "odd cannot be read out: "),
    ("vit", CONFIG, {"pretrained_cfg": {"input_size": [3, 10**6, 32]}}, f"input_size {IMAGES}"),
    ("vit", CONFIG, {"pretrained_cfg": {"crop_pct": 1e-9}}, "crop_pct must be a share of the imag"),
    ("split", INDEX, {"weight_map": []}, r"weight_map must be the file of each tensor, got \[\]"),
    ("split", INDEX, {"weight_map": {"x": "../x.safetensors"}}, "files of weights beside"),
    ("split", INDEX, {"weight_map": {"x": "gone.safetensors"}}, "lacks gone.safetensors, which"),
]


@pytest.mark.parametrize(("kind", "file", "fields", "said"), ODD)
def test_an_odd_field_is_a_sentence(made, tmp_path, kind, file, fields, said):
    with pytest.raises(EncoderError, match=said) as caught:
        open_encoder(change(made, tmp_path / "odd", kind, file, **fields), device=CPU)
    assert "\n" not in str(caught.value)


def test_a_deep_description_is_a_sentence(made, tmp_path):
    path = Path(change(made, tmp_path / "deep", "bert", CONFIG).partition(":")[2]) / "card.json"
    path.write_text("[" * 100_000)
    with pytest.raises(EncoderError, match=r"card.json cannot be read \(maximum recursion depth"):
        open_encoder(spec_of("bert", path.parent), device=CPU)


@pytest.mark.parametrize("listed", [b"", b"\x80\x02K\x01Q.", b"\x80\x02]N\x86R."])
def test_weights_whose_list_is_odd_are_a_sentence(tmp_path, listed):
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        archive.writestr("x/data.pkl", listed)
        archive.writestr("x/version", b"3")
    with pytest.raises(EncoderError, match=r"x\.pt (cannot be read|holds pickled objects)"):
        read_weights(tmp_path / "x.pt")


def test_weights_without_names_are_a_sentence(tmp_path):
    torch.save({1: torch.ones(2)}, tmp_path / "x.pt")
    with pytest.raises(EncoderError, match=r"holds no state dict; expected tensors by parameter"):
        read_weights(tmp_path / "x.pt")


def test_weights_of_a_byte_are_counted_in_the_type_that_they_are_held_in(tmp_path, monkeypatch):
    save_file({"a": torch.ones(100, dtype=torch.float8_e4m3fn)}, tmp_path / "x.safetensors")
    monkeypatch.setattr(placement, "free_on", lambda _: 150)
    monkeypatch.setattr(placement, "make_spill_folder", lambda: tmp_path)
    placed = placement.place([tmp_path / "x.safetensors"], torch.bfloat16, CPU)
    assert placed["offload_folder"] == str(tmp_path)  # 200 bytes do not fit in 85 % of 150


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


def test_models_of_other_threads_are_not_counted():
    with bounding("here", [[2, 2]]):
        other = Thread(target=lambda: torch.nn.Linear(2_000, 1_000))
        other.start()
        other.join()
        torch.nn.Linear(2, 2)
        with pytest.raises(EncoderError, match=r"here: the model would have 3 tensors.*"):
            torch.nn.Linear(2_000, 1_000)
    torch.nn.Linear(2_000, 1_000)


def test_tables_that_are_not_kept_are_bounded_too():
    with (
        bounding("here", [[2, 2]]),
        torch.device("meta"),
        pytest.raises(EncoderError, match="have 1 tensors and 268,435,456 numbers or more, where"),
    ):
        torch.nn.Module().register_buffer("mask", torch.empty(1 << 14, 1 << 14))


def test_a_config_alone_is_bounded_too(made, tmp_path):
    spec = change(made, tmp_path / "odd", "gpt2", CONFIG, n_layer=10**9)
    with pytest.raises(EncoderError, match="n_layer is over 2,000"):
        outline(spec)


def test_a_tokenizer_that_fails_over_a_text_is_a_sentence(made, tmp_path):
    single = [{"SpecialToken": {"id": "none", "type_id": 0}}]
    processor = {"post_processor": {"single": single}}
    spec = change(made, tmp_path / "odd", "gpt2", "tokenizer.json", **processor)
    with pytest.raises(EncoderError, match="the tokenizer cannot read a token of its own: Panic"):
        open_encoder(spec, device=CPU)


@pytest.mark.parametrize("spec", ["hf:~nobody-has-this-name/x", "timm:test_vit@~nobody-here/x"])
def test_nobodys_folder_is_a_sentence(spec):
    with pytest.raises(EncoderError, match=r"is no folder; expected|no checkpoint at ~nob"):
        open_encoder(spec, device=CPU)


def test_weights_that_fit_nowhere_are_refused_with_the_sizes(made, monkeypatch):
    memory = SimpleNamespace(available=10_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    language = (
        r"weights take [\d.]+ kB in float32, more than the [\d.]+ kB of memory and 0 bytes on the"
    )
    with pytest.raises(EncoderError, match=language):
        open_encoder(spec_of("gpt2", made / "gpt2"), device=CPU)
    with pytest.raises(DeviceError, match=r"the weights in .* take [\d.]+ .B of memory, but only"):
        open_encoder(spec_of("vit", made / "vit"), device=CPU)
    assert (made / "gpt2" / SINGLE).stat().st_size > 10_000


def test_weights_of_half_of_the_memory_are_read(tmp_path, monkeypatch):
    torch.save({"weight": torch.ones(9)}, tmp_path / "weights.pt")
    monkeypatch.setattr(userfile, "SMALL", 0)
    monkeypatch.setattr(userfile, "room", lambda: 9)
    assert read_weights(tmp_path / "weights.pt").keys() == {"weight"}


ENDS = {"works / works", "works / refused", "refused / works", "refused / refused"}


def fuzz(first: int, count: int) -> list[tuple[str, str]]:
    """Return how cases ended, in a process with little memory and time; the unchanged checkpoints
    come first.
    """
    paths = (CHECKOUT, CHECKOUT / "tests", CHECKOUT / "tests" / "encoders")
    ended = subprocess.run(
        [sys.executable, "-m", "tests.encoders.odd_checkpoints", str(first), str(count)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60 + 10 * count,
    )
    lines = ended.stdout.splitlines()
    assert ended.returncode == 0, (lines[-1:], ended.stderr[-2000:])
    return [tuple(json.loads(line)) for line in lines]


def ends_of(first: int, count: int) -> Counter[str]:
    """Return how so many changed checkpoints ended; the unchanged ones work."""
    cases, plain = fuzz(first, count), len(LANGUAGE) + len(VISION) + 1
    assert {end for _, end in cases[:plain]} == {"works / works"}
    changed = cases[plain:]
    print([case for case in changed if case[1] not in ENDS], Counter(end for _, end in changed))
    return Counter(end for _, end in changed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_thousands_of_changed_fields_are_refused_in_a_sentence_or_work(part):
    ends = ends_of(1_000 + 500 * part, 500)
    assert ends.keys() <= ENDS
    assert ends.total() == 500
