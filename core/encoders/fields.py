"""What the fields of a checkpoint's configs may hold: type and range are checked before any library
reads them.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from core.errors import EncoderError
from core.files.limits import CONFIG
from core.files.userfile import UserFile, said

MOST_PARTS = 50_000  # parameters of a model, as tensors: DeepSeek's largest has a third of these
DEEPEST = 2_000  # layers
LARGEST = 1 << 27  # of any other size: the longest text, of Llama 4, has 10 million tokens
DEPTHS = re.compile(r"(^|[_.])(depth|n_layers?|num_layers|hidden_layers)$")
SIZES = re.compile(
    r"(^|[_.])(heads?|size|dim|width|embd|model|inner|positions|position_embeddings|experts|labels)$"
)
WIDEST = 2_048  # pixels: an image's side
MOST_CROPPED = 0.1  # of an image's side, at least, is what is left of it
RESAMPLING = ("nearest", "bilinear", "bicubic", "lanczos", "box", "hamming", "random")
CROPS = ("center", "squash", "border")

Check = Callable[[Any], bool]


def check_language(path: Path, config: Mapping[str, Any]) -> None:
    """Raise EncoderError for fields of transformers' config.json that no model can have."""
    names = config.get("architectures")
    if not (names is None or _is_list(names, lambda name: isinstance(name, str))):
        raise _refused(path, "architectures", "a list of names", names)
    for name, value in _numbers(config):
        most = DEEPEST if DEPTHS.search(name) else LARGEST
        if not (_is_number(value) and 0 <= value <= most):
            raise _refused(path, name, f"a number from 0 to {most:,}", value)


def _numbers(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the sizes that a config names, those of its parts included, however deep they lie."""
    parts: list[tuple[str, Mapping[str, Any]]] = [("", config)]
    while parts:
        path, part = parts.pop()
        for name, value in part.items():
            if isinstance(value, dict):
                parts.append((f"{path}{name}.", value))
            elif (DEPTHS.search(name) or SIZES.search(name)) and value is not None:
                each = value if isinstance(value, list) else [value]
                yield from ((f"{path}{name}", one) for one in each)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; raise EncoderError for anything else."""
    file = UserFile(path, "a JSON object in UTF-8", EncoderError, most=CONFIG)
    try:
        value = json.loads(file.read().decode())
    except (ValueError, RecursionError) as error:
        raise EncoderError(
            f"{path} cannot be read ({said(error)}); expected a JSON object in UTF-8"
        ) from error
    if not isinstance(value, dict):
        raise EncoderError(f"{path} holds {type(value).__name__} where a JSON object was expected")
    return value


def check_vision(path: Path, settings: Mapping[str, Any]) -> None:
    """Raise EncoderError for what a `pretrained_cfg` of timm's says of images and cannot mean."""
    for name, (fits, expected) in PREPARED.items():
        if name in settings and not fits(settings[name]):
            raise _refused(path, f"pretrained_cfg.{name}", expected, settings[name])


def check_index(path: Path) -> list[str]:
    """Return the files that an index of weights names, all beside it; raises EncoderError for one
    that names none, or others.
    """
    parts = read_json(path).get("weight_map")
    if not isinstance(parts, dict) or not parts:
        raise _refused(path, "weight_map", "the file of each tensor", parts)
    for name in parts.values():
        if not (isinstance(name, str) and re.fullmatch(r"[\w.-]+\.safetensors", name)):
            raise _refused(path, "weight_map", "names of .safetensors files beside it", name)
    return sorted(set(parts.values()))


def check_training(training: Mapping[str, Any]) -> None:
    """Raise ValueError where a card says of a model's training what it cannot mean; fields that no
    page reads may be anything.
    """
    config = training.get("config") or {}
    options = config.get("options", {}) if isinstance(config, dict) else {}
    for part, holder, fields in (
        ("training", training, TRAINING),
        ("training.config", config, RUN),
        ("training.config.options", options, OPTIONS),
    ):
        if not isinstance(holder, dict):
            raise ValueError(f"{part} must be an object, got {reprlib.repr(holder)}")
        for name, (fits, expected) in fields.items():
            if name in holder and not fits(holder[name]):
                shown = reprlib.repr(holder[name])
                raise ValueError(f"{part}.{name} must be {expected}, got {shown}")


def _refused(path: Path, name: str, expected: str, value: object) -> EncoderError:
    shown = reprlib.repr(value)
    return EncoderError(f"{path}: {name} must be {expected}, got {shown}; check the file")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < math.inf  # isfinite takes no huge int


def _is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_list(value: Any, fits: Check, length: int | None = None) -> bool:
    is_list = isinstance(value, list | tuple) and length in (None, len(value))
    return is_list and all(fits(each) for each in value)


def _is_image(value: Any) -> bool:
    is_list = _is_list(value, lambda side: _is_whole(side, 1, WIDEST), 3)
    return bool(is_list and value[0] == 3)


def _is_color(least: float) -> Check:
    return lambda value: _is_list(value, lambda one: _is_number(one) and least <= one <= 1e3, 3)


def _is_share(value: Any) -> bool:
    return _is_number(value) and MOST_CROPPED <= value <= 2


def _or_none(fits: Check) -> Check:
    return lambda value: value is None or fits(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return _is_whole(value, 0, LARGEST**2)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) or _is_list(value, lambda one: isinstance(one, str))


IMAGE = f"3 colors, height and width, up to {WIDEST:,} pixels each"
SHARE = f"a share of the image from {MOST_CROPPED} to 2"
PREPARED: Mapping[str, tuple[Check, str]] = {
    "input_size": (_is_image, IMAGE),
    "test_input_size": (_or_none(_is_image), IMAGE),
    "min_input_size": (_or_none(_is_image), IMAGE),
    "mean": (_is_color(-1e3), "three numbers"),
    "std": (_is_color(1e-6), "three numbers above 0"),
    "interpolation": (lambda value: value in RESAMPLING, f"one of {', '.join(RESAMPLING)}"),
    "crop_pct": (_is_share, SHARE),
    "test_crop_pct": (_or_none(_is_share), SHARE),
    "crop_mode": (lambda value: value in CROPS, f"one of {', '.join(CROPS)}"),
    "num_classes": (lambda value: _is_whole(value, 0, LARGEST), "a whole number of classes"),
    "fixed_input_size": (lambda value: isinstance(value, bool), "true or false"),
    "classifier": (_or_none(_is_name), "the name of a part of the model"),
    "first_conv": (_or_none(_is_name), "the name of a part of the model"),
}

TEXT, COUNT, NUMBER = (_is_text, "text"), (_is_count, "a whole number"), (_is_number, "a number")
TRAINING: Mapping[str, tuple[Check, str]] = {"steps": COUNT, "seed": COUNT}
RUN: Mapping[str, tuple[Check, str]] = {
    **dict.fromkeys(("name", "size", "objective", "varies"), TEXT),
    **dict.fromkeys(("start", "teacher"), (_or_none(_is_text), "a model's name, or null")),
    **dict.fromkeys(("seed", "steps"), COUNT),
    **dict.fromkeys(("data", "decay"), NUMBER),
}
OPTIONS: Mapping[str, tuple[Check, str]] = {
    "tasks": (lambda value: _is_list(value, _is_text), "a list of names")
}
