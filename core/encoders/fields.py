"""JSON files next to a checkpoint's weights. Imports nothing that takes long."""

from __future__ import annotations

import json
import re
import reprlib
from pathlib import Path

from core.errors import EncoderError
from core.files.texts import Json
from core.files.userfile import CONFIG, UserFile, said

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"  # names the files of weights that are split
PICKLED = "pytorch_model.bin"
# of weights in transformers' form, best first: the file, what names the files of those that are
# split, and the pattern of both
FORMS = (
    (SINGLE, INDEX, "model*.safetensors"),
    (PICKLED, f"{PICKLED}.index.json", "pytorch_model*.bin"),
)
WEIGHTS = tuple(pattern for _, _, pattern in FORMS)


def read_json(path: Path) -> Json:
    file = UserFile(path, "a JSON object in UTF-8", EncoderError, most=CONFIG)
    try:
        value = json.loads(file.read().decode())
    except (ValueError, RecursionError) as error:
        raise EncoderError(
            f"{path} cannot be read ({said(error)}); expected a JSON object in UTF-8"
        ) from error
    if not isinstance(value, dict):
        raise EncoderError(f"{path} holds {type(value).__name__}; a JSON object was expected")
    return value


def check_index(path: Path) -> list[str]:
    """Return the files that an index of weights names; raise EncoderError if it names none, or
    others than files next to it.
    """
    parts = read_json(path).get("weight_map")
    names = sorted(set(map(str, parts.values()))) if isinstance(parts, dict) else []
    if not names or not all(re.fullmatch(r"[\w.-]+\.(safetensors|bin)", name) for name in names):
        raise EncoderError(
            f"{path}: weight_map must name the file of each tensor, next to it; got"
            f" {reprlib.repr(parts)}; check the file"
        )
    return names
