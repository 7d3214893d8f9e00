"""What stands beside a checkpoint's weights: its JSON files, and fields that no library checks."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from core.errors import EncoderError
from core.files.userfile import CONFIG, UserFile, said

WIDEST = 2_048  # pixels: an image's side
MOST_CROPPED = 0.1  # of an image's side, at least, is what is left of it

Check = Callable[[Any], bool]


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
    """Raise EncoderError where a `pretrained_cfg` of timm's would have images enlarged until they
    take all memory, or names no part of a model.
    """
    for names, fits, expected in (
        (("input_size", "test_input_size"), _is_image, IMAGE),
        (("crop_pct", "test_crop_pct"), _is_share, SHARE),
        (("classifier",), lambda value: _is_text(value) or _are_texts(value), "names of parts"),
    ):
        for name in names:
            if settings.get(name) is not None and not fits(settings[name]):
                raise _refused(path, f"pretrained_cfg.{name}", expected, settings[name])


def check_index(path: Path) -> list[str]:
    """Return the files that an index of weights names, all beside it; raises EncoderError for one
    that names none, or others.
    """
    parts = read_json(path).get("weight_map")
    if not isinstance(parts, dict) or not parts:
        raise _refused(path, "weight_map", "the file of each tensor", parts)
    for name in parts.values():
        if not (isinstance(name, str) and re.fullmatch(r"[\w.-]+\.(safetensors|bin)", name)):
            raise _refused(path, "weight_map", "files of weights beside it", name)
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


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_image(value: Any) -> bool:
    is_list = isinstance(value, list | tuple) and len(value) == 3
    return is_list and value[0] == 3 and all(_is_count(side) and side <= WIDEST for side in value)


def _is_share(value: Any) -> bool:
    return _is_number(value) and MOST_CROPPED <= value <= 2


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


IMAGE = f"3 colors, height and width, up to {WIDEST:,} pixels each"
SHARE = f"a share of the image from {MOST_CROPPED} to 2"

TEXT, COUNT, NUMBER = (_is_text, "text"), (_is_count, "a whole number"), (_is_number, "a number")
TRAINING: Mapping[str, tuple[Check, str]] = {"steps": COUNT, "seed": COUNT}
RUN: Mapping[str, tuple[Check, str]] = {
    **dict.fromkeys(("name", "size", "objective", "varies"), TEXT),
    **dict.fromkeys(
        ("start", "teacher"),
        (lambda value: value is None or _is_text(value), "a model's name, or null"),
    ),
    **dict.fromkeys(("seed", "steps"), COUNT),
    **dict.fromkeys(("data", "decay"), NUMBER),
}
OPTIONS: Mapping[str, tuple[Check, str]] = {"tasks": (_are_texts, "a list of names")}
