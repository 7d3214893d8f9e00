"""What a file holds of a model over a dataset: features, repeated measurements, or
dissimilarities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from core.encoders.columns import Columns, plain_name
from core.encoders.encoder import Geometry, Over
from core.encoders.imported import Features, Space, read_features
from core.encoders.measured.dissimilarities import read_dissimilarities
from core.encoders.measured.repeats import Repeats, read_repeats
from core.encoders.requests import ImportRequest
from core.encoders.rows import rows_of
from core.errors import FeatureError, InputError


@dataclass(frozen=True)
class Content:
    """The layers of a model, and how they were measured.

    layers: one (n, d) matrix each, of dissimilarities (n, n). geometry: which of the two. over:
    what the measurements were repeated over, "" where they were not. repeats: (r, n, d) of each
    layer then. names: of the layers, () for numbers. notes: how the file was read, in sentences.
    """

    layers: Sequence[Space]
    geometry: Geometry = "vectors"
    over: Over = ""
    repeats: Sequence[Repeats] = ()
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_content(request: ImportRequest, stimuli: Sequence[str]) -> Content:
    """Read a file as a request says. stimuli: their ids, in the dataset's order.

    Raises FeatureError for the file, InputError for options that exclude each other.
    """
    _check_options(request)
    content = _read(request, stimuli)
    if not content.layers:
        raise FeatureError(f"{request.file} holds no arrays; expected one per layer")
    return content


def _read(request: ImportRequest, stimuli: Sequence[str]) -> Content:
    path = Path(request.file)
    if request.dissimilarities:
        return Content(read_dissimilarities(path, stimuli), "dissimilarities")
    if request.repeats != "none":
        return from_repeats(read_repeats(path), request.repeats)
    columns = Columns(request.id_column, request.feature_column, request.drop)
    return in_rows(read_features(path, columns), stimuli, path)


def in_rows(features: Features, stimuli: Sequence[str], path: Path) -> Content:
    """Return the layers in the dataset's order: by the ids of the rows, else as they are."""
    notes, layers = list[str](), features.layers
    if features.ids is not None:
        by = plain_name(features.named_by)
        rows, strange = rows_of(features.ids, stimuli, file=path.name, by=by)
        layers = [layer[rows] for layer in layers]
        notes.append(f"Rows are matched to stimuli by {by}.")
        if strange:
            notes.append(f"{len(strange):,} rows of no stimulus are left out ({strange[0]}, …).")
    elif len(layers[0]) == len(stimuli):
        notes.append(
            f"The file names no rows: its first is taken for {stimuli[0]}, its last for"
            f" {stimuli[-1]}."
        )
    if features.changed:
        notes.append(f"Layers are {' and '.join(features.changed)}, so that float32 holds them.")
    if features.left_out:
        out = ", ".join(map(plain_name, features.left_out))
        notes.append(f"Left out, since they are no features: {out}.")
    return Content(layers, names=features.names, notes=tuple(notes))


def _check_options(request: ImportRequest) -> None:
    ways = {
        "--dissimilarities": request.dissimilarities,
        "--repeats": request.repeats != "none",
    }
    if len(named := [name for name, chosen in ways.items() if chosen]) > 1:
        raise InputError(f"a file is read in one way; got {' and '.join(named)}: leave one out")


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
