"""By which command an embedding came in, and how much room one takes in the store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from core.encoders.arrays import ENDINGS
from core.encoders.encoder import IMPORTED, UNKNOWN
from core.encoders.measured import SIMULATED
from core.encoders.requests import PROMPTS, pooling_of, precision_of
from core.modalities import find_modality
from core.store import ModelEntry

FILE = "FILE"  # in place of an unknown name of a file of features


def command_of(dataset: str, entry: ModelEntry) -> list[str]:
    """Return the words, after `platoscope`, that make the same embedding again. Of features of a
    subset it is that of their dataset.
    """
    card = entry.card
    if find_modality(card.modality).is_reality or card.spec.startswith(SIMULATED):
        return ["demo"]
    if card.spec.startswith("import:"):
        return _import_of(dataset, entry)
    words = ["embed", "--dataset", dataset, "--model", card.pinned]
    words += [] if entry.level is None else ["--caption-level", entry.level]
    words += reading_words(entry)
    # weights of the hub are stored in any precision, others in float32
    option = precision_of(str(entry.recipe.choices.get("encoder", {}).get("precision", "")))
    if option in ("bf16", "fp16") or (option == "fp32" and card.spec.startswith("hf:")):
        words += ["--precision", option]
    spec = card.spec.partition(":")[2]
    place = PurePath(spec.partition("@")[2] or spec)
    own = re.sub(r"[^A-Za-z0-9._-]+", "-", place.name)
    return words if card.name.partition("~")[0] == own else [*words, "--name", card.name]


def _import_of(dataset: str, entry: ModelEntry) -> list[str]:
    card = entry.card
    options = {"dataset": dataset, **entry.recipe.choices.get("options", {})}
    words = ["import", file_of(entry), "--dataset", options.pop("dataset"), "--name", card.name]
    words += ["--modality", card.modality]
    if card.over:
        words += ["--repeats", card.over]
    elif card.geometry == "dissimilarities":
        words.append("--dissimilarities")
    for name, told in options.items():
        words += [f"--{name.replace('_', '-')}", *([told] if isinstance(told, str) else told)]
    said = {
        "--title": "" if card.title == card.name.partition("~")[0] else card.title,
        "--family": "" if card.family == IMPORTED else card.family,
        "--objective": "" if card.objective == UNKNOWN else card.objective,
        "--parameters": card.parameters,
        "--level": entry.level,
        "--seed": card.training.get("seed"),
    }
    for flag, value in said.items():
        words += [] if value in (None, "") else [flag, f"{value}"]
    return words


def file_of(entry: ModelEntry) -> str:
    """Return the name of the file that features were imported from, FILE if it is not known."""
    file = entry.card.spec.removeprefix("import:")
    return file if PurePath(file).suffix.lower() in ENDINGS else FILE


def reading_words(entry: ModelEntry) -> list[str]:
    """Return the options for how captions are read, if they are not the default: the pooling and
    the prompt.
    """
    if entry.level is None:
        return []
    encoder = entry.recipe.choices.get("encoder", {})
    how = pooling_of(encoder)
    pooling = [] if how == "auto" else ["--pooling", how]
    names = [name for name, text in PROMPTS.items() if text == encoder.get("prompt")]
    return [*pooling, *(["--prompt", *names] if names else [])]


def room_for(widths: Sequence[int], stimuli: int) -> int | None:
    """Return about how many bytes an embedding takes in the store, in float32; None if the widths
    of the layers are unknown.
    """
    if not widths:
        return None
    return 4 * stimuli * sum(widths)
