"""Checkpoints whose files say odd things are refused in a sentence before a model is built; none
takes memory that its weights do not.
"""

from __future__ import annotations

import functools
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
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import save_file

from core.encoders.building import bounding, read_shapes
from core.encoders.catalog import open_encoder
from core.encoders.checkpoint import read_weights
from core.encoders.downloads import INDEX, SINGLE
from core.encoders.language import placement
from core.encoders.outlines import outline
from core.errors import DeviceError, EncoderError
from core.files import userfile
from core.files.limits import HEADER
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
FLAT: dict[str, Any] = {"hidden_size": 8}
DEEP = functools.reduce(lambda part, _: {"a": part}, range(600), FLAT)
IMAGES = "must be 3 colors, height and width, up to 2,048 pixels each, got "
ODD = [
    ("gpt2", CONFIG, {"n_embd": 0}, "cannot be opened: |config.json makes |would have"),
    ("gpt2", CONFIG, {"n_embd": 32}, SHAPED),
    ("gpt2", CONFIG, {"vocab_size": 10**7}, OUTGROWN),
    ("gpt2", CONFIG, {"n_embd": 4_000_000}, OUTGROWN),
    ("gpt2", CONFIG, {"vocab_size": 10**9}, "vocab_size must be a number from 0 to 134,217,728, "),
    ("gpt2", CONFIG, {"n_embd": -16}, "n_embd must be a number from 0 to 134,217,728, got -16; "),
    ("gpt2", CONFIG, {"n_embd": 10**400}, "n_embd must be a number from 0 to .*, got 1000"),
    ("gpt2", CONFIG, {"n_embd": "wide"}, "n_embd must be a number from 0 to .*, got 'wide'; check"),
    ("gpt2", CONFIG, {"n_layer": 1_900}, OUTGROWN),
    ("gpt2", CONFIG, {"n_layer": 3}, "lacks weights of GPT2LMHeadModel: transformer.h.2"),
    ("gpt2", CONFIG, {"n_layer": 10**6}, "n_layer must be a number from 0 to 2,000, got 1000000"),
    ("gpt2", CONFIG, {"n_head": 0}, "cannot be opened: ZeroDivisionError"),
    ("gpt2", CONFIG, {"architectures": 7}, "architectures must be a list of names, got 7; check"),
    ("gpt2", CONFIG, {"architectures": [7]}, r"architectures must be a list of names, got \[7\]"),
    ("gpt2", CONFIG, {"is_encoder_decoder": True}, "is an encoder-decoder; expected an encoder"),
    ("gpt2", CONFIG, {"activation_function": "no"}, "cannot be opened: KeyError: 'no'"),
    ("bert", CONFIG, {"max_position_embeddings": "64"}, "max_position_embeddings must be a number"),
    ("bert", CONFIG, {"text_config": {"hidden_size": -1}}, "text_config.hidden_size must be a num"),
    ("bert", CONFIG, {"deep": DEEP}, "cannot be opened: RecursionError: maximum recursion depth"),
    (
        "bert",
        CONFIG,
        {"text_config": {"n_layer": 10**6}},
        "text_config.n_layer must be .* 2,000",
    ),
    ("bert", "tokenizer_config.json", {"model_max_length": "long"}, "model_max_length as a number"),
    ("bert", "card.json", {"title": 7}, "must hold text for title"),
    (
        "bert",
        "card.json",
        {"training": {"config": {"size": 7}}},
        "size must be text, got 7; check",
    ),
    (
        "bert",
        "card.json",
        {"training": {"config": [1]}},
        "config must be an object, got ",
    ),
    (
        "vit",
        "card.json",
        {"training": {"steps": "many"}},
        "steps must be a whole number, got ",
    ),
    (
        "vit",
        "card.json",
        {"training": {"config": {"options": []}}},
        "options must be an object, go",
    ),
    ("vit", CONFIG, {"model_args": {"embed_dim": 10**6}}, OUTGROWN),
    ("vit", CONFIG, {"model_args": {"depth": 10**5}}, OUTGROWN),
    (
        "vit",
        CONFIG,
        {"model_args": {"depth": "deep"}},
        "does not fit vit_tiny_patch16_224: TypeErr",
    ),
    ("vit", CONFIG, {"model_args": {"num_heads": 0}}, "does not fit vit_tiny_patch16_224: ZeroDiv"),
    ("resnet", CONFIG, {"model_args": {"features_only": True}}, "read out: AttributeError"),
    (
        "vit",
        CONFIG,
        {"pretrained_cfg": {"mean": [0.5]}},
        r"mean must be three numbers, got \[0.5\]",
    ),
    ("vit", CONFIG, {"pretrained_cfg": {"mean": [10**400, 0, 0]}}, "mean must be three numbers"),
    ("vit", CONFIG, {"pretrained_cfg": {"std": [0, 1, 1]}}, "std must be three numbers above 0"),
    ("vit", CONFIG, {"pretrained_cfg": {"interpolation": "best"}}, "one of nearest, bilinear, bic"),
    (
        "vit",
        CONFIG,
        {"pretrained_cfg": {"interpolation": [3]}},
        "one of nearest, bilinear, bicubic",
    ),
    ("vit", CONFIG, {"pretrained_cfg": {"input_size": [3, 10**6, 32]}}, f"input_size {IMAGES}"),
    ("vit", CONFIG, {"pretrained_cfg": {"input_size": [1, 32, 32]}}, f"input_size {IMAGES}"),
    ("vit", CONFIG, {"pretrained_cfg": {"crop_pct": 1e-9}}, "crop_pct must be a share of the imag"),
    ("vit", CONFIG, {"pretrained_cfg": {"crop_mode": 3}}, "one of center, squash, border, got 3"),
    ("vit", CONFIG, {"pretrained_cfg": {"num_classes": -1}}, "num_classes must be a whole number"),
    (
        "split",
        INDEX,
        {"weight_map": []},
        r"weight_map must be the file of each tensor, got \[\]; ch",
    ),
    ("split", INDEX, {"weight_map": {"x": "../x.safetensors"}}, "names of .safetensors files besi"),
    (
        "split",
        INDEX,
        {"weight_map": {"x": "gone.safetensors"}},
        "lacks gone.safetensors, which its",
    ),
]


@pytest.mark.parametrize(("kind", "file", "fields", "said"), ODD)
def test_an_odd_field_is_a_sentence(made, tmp_path, kind, file, fields, said):
    with pytest.raises(EncoderError, match=said) as caught:
        open_encoder(change(made, tmp_path / "odd", kind, file, **fields), device=CPU)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("kind", "file"), [("bert", "card.json"), ("split", INDEX)])
def test_a_deep_or_endless_description_is_a_sentence(made, tmp_path, kind, file):
    path = Path(change(made, tmp_path / "deep", kind, CONFIG).partition(":")[2]) / file
    path.write_text("[" * 100_000)
    with pytest.raises(EncoderError, match=rf"{file} cannot be read \(maximum recursion depth"):
        open_encoder(spec_of(kind, path.parent), device=CPU)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(EncoderError, match=f"{file} is a device"):
        open_encoder(spec_of(kind, path.parent), device=CPU)


def test_weights_whose_list_asks_for_all_memory_are_refused_before_it_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        trap = b"\x80\x02c__builtin__\nbytearray\nK\x05\x85R."  # five bytes, of any number
        archive.writestr("x/data.pkl", trap)
        archive.writestr("x/version", b"3")
    with pytest.raises(EncoderError, match="it makes an array of bytes of any length"):
        read_weights(tmp_path / "x.pt")


@pytest.mark.parametrize(
    "listed", [b"", b"0", b"\x80\x02h\x07.", b"\x80\x02K\x01Q.", b"\x80\x02]N\x86R."]
)
def test_weights_whose_list_is_odd_are_a_sentence(tmp_path, listed):
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        archive.writestr("x/data.pkl", listed)
        archive.writestr("x/version", b"3")
    with pytest.raises(EncoderError, match=r"x\.pt (cannot be read|holds pickled objects)"):
        read_weights(tmp_path / "x.pt")


@pytest.mark.parametrize("read", [read_weights, lambda path: read_shapes([path])])
def test_weights_with_a_list_of_any_length_are_refused_before_it_is_read(tmp_path, read):
    listed = b"{" + b" " * HEADER + b"}"
    (tmp_path / "x.safetensors").write_bytes(len(listed).to_bytes(8, "little") + listed)
    sentence = (
        r"\(a header of 16,000,002 bytes\); expected whole weights, whose list .* 16 MB at most"
    )
    with pytest.raises(EncoderError, match=sentence):
        read(tmp_path / "x.safetensors")


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
    with pytest.raises(EncoderError, match="n_layer must be a number from 0 to 2,000"):
        outline(spec)


def test_a_tokenizer_that_fails_over_a_text_is_a_sentence(made, tmp_path):
    single = [{"SpecialToken": {"id": "none", "type_id": 0}}]
    processor = {"post_processor": {"single": single}}
    spec = change(made, tmp_path / "odd", "gpt2", "tokenizer.json", **processor)
    encoder = open_encoder(spec, device=CPU)
    with pytest.raises(EncoderError, match="the tokenizer of odd cannot read these texts: Panic"):
        encoder.encode(["a red disk"])


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


def test_any_changed_field_is_refused_in_a_sentence_or_works():
    ends = ends_of(0, 40)
    assert ends.keys() <= ENDS
    assert ends.total() == 40


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_thousands_of_changed_fields_are_refused_in_a_sentence_or_work(part):
    ends = ends_of(1_000 + 500 * part, 500)
    assert ends.keys() <= ENDS
    assert ends.total() == 500
