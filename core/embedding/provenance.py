"""By which command an embedding came into its store, from what its file says."""

from __future__ import annotations

import re
from pathlib import PurePath

from core.encoders.encoder import IMPORTED, UNKNOWN, ModelCard
from core.encoders.imported import ENDINGS
from core.encoders.measured.cortex import SIMULATED
from core.encoders.requests import PROMPTS, pooling_of, precision_of
from core.modalities import find_modality
from core.store import ModelEntry

FILE = "FILE"  # stands for a file of features that has no known name


def command_of(dataset: str, entry: ModelEntry) -> list[str]:
    """Return the words, after `platoscope`, that make the same embedding again: `embed` for a
    model, `import` for features, with the name of their file, and `demo` for reality
    and the simulated cortex. Of features that came along to a subset it is that of their dataset.
    """
    card = entry.card
    if find_modality(card.modality).is_reality or card.spec.startswith(SIMULATED):
        return ["demo"]
    if card.spec.startswith("import:"):
        options = {"dataset": dataset, **entry.recipe.choices.get("options", {})}
        named = ["--dataset", options.pop("dataset"), "--name", card.name]
        named += ["--modality", card.modality]
        read = list[str]()
        for name, told in options.items():
            read += [f"--{name.replace('_', '-')}", *([told] if isinstance(told, str) else told)]
        return ["import", file_of(entry), *named, *_measured(card), *read, *_told(entry)]
    words = ["embed", "--dataset", dataset, "--model", card.pinned]
    level = [] if entry.level is None else ["--caption-level", entry.level]
    return [*words, *level, *reading_words(entry), *_precision(entry), *_name(entry)]


def file_of(entry: ModelEntry) -> str:
    """Return the name of the file that features were imported from, FILE where it is not known; the
    store keeps no path.
    """
    file = entry.card.spec.removeprefix("import:")
    return file if PurePath(file).suffix.lower() in ENDINGS else FILE


def reading_words(entry: ModelEntry) -> list[str]:
    """Return the options for how captions are read, where that is not the default: the pooling,
    such as the last token, and the prompt. What a folder itself says of either is the default.
    """
    if entry.level is None:
        return []
    encoder = entry.recipe.choices.get("encoder", {})
    how = pooling_of(encoder)
    pooling = [] if how == "auto" else ["--pooling", how]
    names = [name for name, text in PROMPTS.items() if text == encoder.get("prompt")]
    return [*pooling, *(["--prompt", *names] if names else [])]


def _measured(card: ModelCard) -> list[str]:
    """Return the options for what was measured and how: repeats or dissimilarities."""
    if card.over:
        return ["--repeats", card.over]
    return ["--dissimilarities"] if card.geometry == "dissimilarities" else []


def _told(entry: ModelEntry) -> list[str]:
    """Return the options for what a person said of an import."""
    card = entry.card
    said = {
        "--title": "" if card.title == card.name.partition("~")[0] else card.title,
        "--family": "" if card.family == IMPORTED else card.family,
        "--objective": "" if card.objective == UNKNOWN else card.objective,
        "--parameters": card.parameters,
        "--level": entry.level,
        "--seed": card.training.get("seed"),
    }
    return [
        word
        for flag, value in said.items()
        if value not in (None, "")
        for word in (flag, f"{value}")
    ]


def _precision(entry: ModelEntry) -> list[str]:
    """Return the option for the precision: always for weights of the hub, which are stored in any;
    for others where it is half, since they are stored in float32.
    """
    option = precision_of(str(entry.recipe.choices.get("encoder", {}).get("precision", "")))
    said = option in ("bf16", "fp16") or (option == "fp32" and entry.card.spec.startswith("hf:"))
    return ["--precision", option] if said else []


def _name(entry: ModelEntry) -> list[str]:
    """Return the option for a name that does not follow from the spec and the caption level."""
    spec = entry.card.spec.partition(":")[2]
    place = PurePath(spec.partition("@")[2] or spec)
    own = re.sub(r"[^A-Za-z0-9._-]+", "-", place.name)
    name, _, _ = entry.card.name.partition("~")
    return [] if name == own else ["--name", entry.card.name]
