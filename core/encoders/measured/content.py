"""What a file holds of a model over a dataset: features, repeated measurements, dissimilarities, or
judgments that become a space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from core.encoders.encoder import Geometry, Over
from core.encoders.imported import Space, read_features
from core.encoders.measured.dissimilarities import read_dissimilarities
from core.encoders.measured.judgments import read_triplets
from core.encoders.measured.ordinal import fit_judgments
from core.encoders.measured.repeats import Repeats, read_repeats
from core.encoders.requests import ImportRequest
from core.errors import FeatureError, InputError
from core.progress import Progress


@dataclass(frozen=True)
class Content:
    """The layers of a model, and how they were measured.

    layers: one (n, d) matrix each, of dissimilarities (n, n). geometry: which of the two. over:
    what the measurements were repeated over, "" where they were not. repeats: (r, n, d) of each
    layer then. notes: for the model's card.
    """

    layers: Sequence[Space]
    geometry: Geometry = "vectors"
    over: Over = ""
    repeats: Sequence[Repeats] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


def read_content(
    request: ImportRequest, stimuli: Sequence[str], report: Progress | None = None
) -> Content:
    """Read a file as a request says. stimuli: their ids, in the dataset's order.

    Raises FeatureError for the file, InputError for options that exclude each other.
    """
    _check_options(request)
    content = _read(request, stimuli, report)
    if not content.layers:
        raise FeatureError(f"{request.file} holds no arrays; expected one per layer")
    return content


def _read(request: ImportRequest, stimuli: Sequence[str], report: Progress | None) -> Content:
    path = Path(request.file)
    if request.triplets:
        return _from_triplets(path, stimuli, request.seed, report)
    if request.dissimilarities:
        return Content(read_dissimilarities(path, stimuli), "dissimilarities")
    if request.repeats != "none":
        return from_repeats(read_repeats(path), request.repeats)
    return Content(read_features(path))


def _check_options(request: ImportRequest) -> None:
    ways = {
        "--triplets": request.triplets,
        "--dissimilarities": request.dissimilarities,
        "--repeats": request.repeats != "none",
    }
    if len(named := [name for name, chosen in ways.items() if chosen]) > 1:
        raise InputError(f"a file is read in one way; got {' and '.join(named)}: leave one out")
    if request.seed and not request.triplets:
        raise InputError("--seed draws which triplets are held out; give it with --triplets alone")


def from_repeats(repeats: Sequence[Repeats], over: Over) -> Content:
    """Return the space of repeated measurements: of trials their mean, since units stay the same;
    of subjects all units side by side, since those of two subjects do not correspond.
    """
    layers = [joined(each, over) for each in repeats]
    return Content(layers, over=over, repeats=repeats)


def joined(repeats: Repeats, over: Over) -> Float32[np.ndarray, "n _"]:
    """Return the space that some of the repeats make together."""
    if over == "trials":
        mean: np.ndarray = repeats.mean(axis=0)
        return mean
    return np.concatenate(list(repeats), axis=1)


def _from_triplets(
    path: Path, stimuli: Sequence[str], seed: int, report: Progress | None
) -> Content:
    pairs = read_triplets(path, stimuli)
    fitted = fit_judgments(pairs, stimuli=len(stimuli), seed=seed, report=report)
    notes = {
        "judgments": len(pairs),
        "dims": fitted.space.shape[1],
        "accuracy": fitted.accuracy,
        "chance": fitted.chance,
        "held_out": fitted.held_out,
        "tried": {str(dims): value for dims, value in fitted.tried.items()},
        "seed": seed,
    }
    return Content([fitted.space.astype(np.float32)], notes=notes)


def tell_judgments(notes: Mapping[str, Any]) -> str:
    """Say how large the space of judgments is, and how well it foretells others. notes: of the
    model's card.
    """
    return (
        f"{notes['dims']} dimensions from {notes['judgments']:,} judgments; of"
        f" {notes['held_out']:,} held out it foretells {100 * notes['accuracy']:.1f} %, chance is"
        f" {100 * notes['chance']:.1f} %"
    )
