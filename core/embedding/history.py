"""What the store's embeddings tell: by which command each came in, and how long similar models will
take.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from statistics import median

from core.encoders.arrays import ENDINGS
from core.encoders.encoder import IMPORTED, UNKNOWN
from core.encoders.measured import SIMULATED
from core.encoders.requests import PROMPTS, pooling_of, precision_of
from core.modalities import find_modality
from core.store import ModelEntry
from core.store.editing import seconds_of

FILE = "FILE"  # stands for a file of features that has no known name
BLOCK = 256 << 10  # bytes: DuckDB keeps the vectors of a layer in whole blocks
SIMILAR = 4.0  # times as many parameters, or as few


def command_of(dataset: str, entry: ModelEntry) -> list[str]:
    """Return the words, after `platoscope`, that make the same embedding again: `embed` for a
    model, `import` for features, with the name of their file, and `demo` for reality and the
    simulated cortex. Of features that came along to a subset it is that of their dataset.
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
    """Return the name of the file that features were imported from, FILE if it is not known; the
    store keeps no path.
    """
    file = entry.card.spec.removeprefix("import:")
    return file if PurePath(file).suffix.lower() in ENDINGS else FILE


def reading_words(entry: ModelEntry) -> list[str]:
    """Return the options for how captions are read, if that is not the default: the pooling, such
    as the last token, and the prompt. What a folder itself says of either is the default.
    """
    if entry.level is None:
        return []
    encoder = entry.recipe.choices.get("encoder", {})
    how = pooling_of(encoder)
    pooling = [] if how == "auto" else ["--pooling", how]
    names = [name for name, text in PROMPTS.items() if text == encoder.get("prompt")]
    return [*pooling, *(["--prompt", *names] if names else [])]


@dataclass(frozen=True)
class Measured:
    """An embedding that was timed. rate: seconds per stimulus and parameter."""

    modality: str
    device: str
    parameters: int
    rate: float


def measured(entries: Iterable[ModelEntry], stimuli: int) -> list[Measured]:
    """Return what the embeddings of a dataset of so many stimuli have taken, if it is known."""
    timed = []
    for entry in entries:
        card, seconds = entry.card, seconds_of(entry)
        if seconds and card.parameters and stimuli:
            rate = seconds / (stimuli * card.parameters)
            timed.append(Measured(card.modality, entry.device, card.parameters, rate))
    return timed


def seconds_for(
    parameters: int | None, stimuli: int, like: Sequence[Measured], *, modality: str, device: str
) -> float | None:
    """Return how long an embedding will take: the median rate of similar models, which are of this
    modality and device and have up to four times as many parameters or as few; None without one.

    device: that the embedding will run on; of several CUDA devices each counts for all.
    """
    if not parameters:
        return None
    rates = [
        one.rate
        for one in like
        if one.modality == modality
        and one.device.partition(":")[0] == device.partition(":")[0]
        and abs(math.log(one.parameters / parameters)) <= math.log(SIMILAR)
    ]
    return median(rates) * parameters * stimuli if rates else None


def room_for(widths: Sequence[int], stimuli: int) -> int | None:
    """Return about how many bytes an embedding will take in the store, in float32; None if the
    widths of the layers are unknown.
    """
    if not widths:
        return None
    return sum(BLOCK * math.ceil(4 * width * stimuli / BLOCK) for width in widths)
