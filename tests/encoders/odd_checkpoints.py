"""`python -m tests.encoders.odd_checkpoints FIRST COUNT`: open tiny checkpoints, a field of each
changed at random, in a process with little memory and time; print how each case ended.
"""

from __future__ import annotations

import json
import random
import reprlib
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from tiny_models import SIZE, make_language, make_vision

from core.encoders.catalog import open_encoder
from core.encoders.outlines import outline
from core.errors import PlatoscopeError

MEMORY = 2 << 30  # bytes that a case may take beyond what the libraries have
SECONDS = 20  # of the CPU, for a case
VIT = {"img_size": SIZE, "patch_size": 8, "embed_dim": 16, "depth": 2, "num_heads": 2}
LANGUAGE = ("gpt2", "llama", "bloom", "opt", "bert", "roberta")
VISION = {"vit": ("vit_tiny_patch16_224", VIT), "resnet": ("test_resnet", {})}
VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3, 7, 8, 32, 300, 5_000, 10**6, 10**9, 10**12, 1 << 63, 10**30),
    *(0.0, -0.5, 0.5, 1e-300, 1e308, float("nan"), float("inf"), float("-inf")),
    *("", "text", "16", "gpt2", "../../etc/passwd", "a" * 10_000, "\0", "é\u202e"),
    *(None, True, False, [], [1], [0, 0, 0], [1e9] * 3, ["text"], [None], [[]], {}, {"a": 1}),
)
ADDED = (  # by file: fields that the tiny models lack and their libraries read
    ("config.json", "quantization_config"),
    ("config.json", "auto_map"),
    ("config.json", "rope_scaling"),
    ("config.json", "head_dim"),
    ("config.json", "is_encoder_decoder"),
    ("config.json", "pruned_heads"),
    ("config.json", "num_labels"),
    ("config.json", "id2label"),
    ("config.json", "attn_implementation"),
    ("config.json", "text_config"),
    ("config.json", "max_position_embeddings"),
    ("config.json", "dtype"),
    ("config.json", "layer_types"),
    ("generation_config.json", "eos_token_id"),
    ("generation_config.json", "max_length"),
    ("tokenizer_config.json", "model_max_length"),
    ("tokenizer_config.json", "chat_template"),
    ("tokenizer_config.json", "added_tokens_decoder"),
    ("card.json", "title"),
    ("card.json", "modality"),
    ("card.json", "training"),
)
PREPARED = (  # of timm's pretrained_cfg
    *("input_size", "test_input_size", "fixed_input_size", "min_input_size", "interpolation"),
    *("crop_pct", "test_crop_pct", "crop_mode", "mean", "std", "num_classes", "pool_size"),
    *("first_conv", "classifier", "label_offset", "tag", "url", "file", "custom_load"),
    *("state_dict", "architecture", "unheard_of"),
)
ARGUMENTS = (  # of timm's models
    *("img_size", "patch_size", "embed_dim", "depth", "num_heads", "in_chans", "global_pool"),
    *("mlp_ratio", "class_token", "drop_rate", "num_classes", "layers", "channels", "block"),
    *("output_stride", "features_only", "out_indices", "scriptable", "unheard_of"),
)


@dataclass(frozen=True)
class Mutation:
    """One changed field. path: of keys and places in the file's JSON. removed: whether the field is
    taken out instead.
    """

    kind: str
    file: str
    path: tuple[str | int, ...]
    value: Any
    removed: bool = False

    def __str__(self) -> str:
        change = "removed" if self.removed else reprlib.repr(self.value)
        return f"{self.kind}/{self.file} {self.path} {change}"

    def apply(self, folder: Path) -> None:
        path = folder / self.file
        content = json.loads(path.read_text()) if path.exists() else {}
        holder = content
        for key in self.path[:-1]:
            if isinstance(holder, dict):
                holder.setdefault(key, {})
            holder = holder[key]
        if self.removed:
            del holder[self.path[-1]]
        else:
            holder[self.path[-1]] = self.value
        path.write_text(json.dumps(content))


def make_all(root: Path) -> None:
    """Make the tiny checkpoints that are changed."""
    for kind in LANGUAGE:
        make_language(root / kind, kind)
    for kind, (name, arguments) in VISION.items():
        make_vision(root / kind, name, **arguments)
    split(make_language(root / "split", "gpt2"))


def split(folder: Path) -> None:
    """Name a checkpoint's weights in an index, as those in several files are."""
    part = "model-00001-of-00001.safetensors"
    (folder / "model.safetensors").rename(folder / part)
    from safetensors import safe_open

    with safe_open(folder / part, "pt") as file:
        names = dict.fromkeys(file.keys(), part)
    index = {"metadata": {"total_size": 1}, "weight_map": names}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def mutations(root: Path) -> list[tuple[str, str, tuple[str | int, ...], bool]]:
    """Return every field that can be changed: kind of checkpoint, file, path and whether it is
    there.
    """
    fields = []
    for kind in (*LANGUAGE, *VISION, "split"):
        for file in sorted((root / kind).glob("*.json")):
            places = paths(json.loads(file.read_text()))
            # of the hundreds of tokens a few will do
            few = [each for each in places if len(each) < 3 or not str(each[-2]).startswith("voc")]
            fields += [(kind, file.name, each, True) for each in few if "vocab" not in each[:-1]]
    fields += [(kind, file, (name,), False) for kind in LANGUAGE for file, name in ADDED]
    for name in PREPARED:
        fields += [(kind, "config.json", ("pretrained_cfg", name), False) for kind in VISION]
    for name in ARGUMENTS:
        fields += [(kind, "config.json", ("model_args", name), False) for kind in VISION]
    return fields


def paths(value: Any) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every field of a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (key,)
        if isinstance(inner, dict | list):
            yield from ((key, *rest) for rest in paths(inner))


def choose(seed: int, fields: list[tuple[str, str, tuple[str | int, ...], bool]]) -> Mutation:
    """Return the mutation of a seed."""
    chance = random.Random(seed)
    files = sorted({field[:2] for field in fields})  # as often, however many fields they have
    own = chance.choice(files)
    kind, file, path, is_there = chance.choice([field for field in fields if field[:2] == own])
    if is_there and chance.random() < 0.1:
        return Mutation(kind, file, path, None, removed=True)
    return Mutation(kind, file, path, chance.choice(VALUES))


class TooLongError(BaseException):
    """A case takes too long; no library catches it."""


def attempt(spec: str) -> str:
    """Outline and open a checkpoint, and encode with it; return how that ended."""
    ended = []
    for use in (outline, encode):
        try:
            use(spec)
            ended.append("works")
        except PlatoscopeError as error:
            ended.append("refused" if is_sentence(str(error)) else f"no sentence: {error}")
        except TooLongError:
            ended.append("too long")
        except BaseException as error:
            ended.append(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
    return " / ".join(ended)


def is_sentence(text: str) -> bool:
    return "\n" not in text and 20 < len(text) < 1_500


def encode(spec: str) -> None:
    encoder = open_encoder(spec, device=torch.device("cpu"))
    vision = spec.startswith("timm:")
    encoder.encode([Image.new("RGB", (40, 30)) if vision else "a red disk"])


def spec_of(kind: str, folder: Path) -> str:
    return f"timm:{VISION[kind][0]}@{folder}" if kind in VISION else f"hf:{folder}"


def stop(*_: object) -> None:
    raise TooLongError


def main() -> None:
    """Print the cases of so many seeds, one JSON list a line: mutation, then how it ended."""
    first, count = (int(word) for word in sys.argv[1:])
    root = Path(tempfile.mkdtemp(prefix="odd-"))
    try:
        make_all(root / "made")
        for kind in (*LANGUAGE, *VISION, "split"):
            print(json.dumps([kind, attempt(spec_of(kind, root / "made" / kind))]), flush=True)
        fields = mutations(root / "made")
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY,) * 2)
        signal.signal(signal.SIGPROF, stop)
        for seed in range(first, first + count):
            mutation = choose(seed, fields)
            folder = root / "case"
            shutil.copytree(root / "made" / mutation.kind, folder)
            mutation.apply(folder)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            ended = attempt(spec_of(mutation.kind, folder))
            signal.setitimer(signal.ITIMER_PROF, 0)
            print(json.dumps([f"{seed}: {mutation}", ended]), flush=True)
            shutil.rmtree(folder)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
