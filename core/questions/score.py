"""Two feature files compared with no store: the same preprocessing and engine as a study's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float

from core.encoders.imported import read_features
from core.encoders.rows import LONGEST, rows_of
from core.errors import FeatureError, shortened
from core.files.ids import plain_name
from core.files.userfile import shown
from core.options import argument, part
from core.questions.finding import Finding
from core.questions.question import Answer, Question
from core.spaces.choices import Clamping
from core.spaces.preprocess import clamp_outliers
from core.study.comparing import engine_over
from core.study.layers import ALL, concatenate, pick
from core.study.parts import Comparison


@dataclass(frozen=True)
class Score(Question):
    """How alike are the features in two files, layer by layer?"""

    command = "score"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "layer_x": "layer of the one, from 0; all side by side come last",
        "layer_y": "layer of the other",
        "score": "alignment",
        "n": "stimuli",
    }

    x: str = argument(
        label="One file",
        metavar="FILE_X",
        help="features, of any kind that `import` reads",
    )
    y: str = argument(
        label="Another file",
        metavar="FILE_Y",
        help="features of the same stimuli: in the same order, or with ids of the rows in both",
    )
    comparison: Comparison = part(Comparison, layers="all")
    clamping: Clamping = part(Clamping, q=1.0)

    def answer(self, study: None) -> Answer:
        """Rows are matched by their ids if the files name them; findings say how."""
        x, y = (read_features(Path(file)) for file in (self.x, self.y))
        names = [Path(file).name for file in (self.x, self.y)]
        by = [shortened(plain_name(one.named_by), LONGEST) for one in (x, y)]
        if (x.ids is None) != (y.ids is None):
            has = int(x.ids is None)
            raise FeatureError(
                f"{names[has]} names its rows, by {by[has]}, and {names[1 - has]} does not;"
                " expected ids of the rows in both files, or in neither"
            )
        layers, notes = y.layers, ["The files name no rows: their order is taken to be the same."]
        if x.ids is not None and y.ids is not None:
            found = rows_of(y.ids, x.ids, file=names[1], by=by[1])
            layers = [layer[found.rows[:, 0]] for layer in layers]
            matched = f"Rows of {names[1]} are matched to those of {names[0]}"
            notes = [f"{matched} by {by[1]} and {by[0]}."]
            if out := found.strange:
                notes.append(f"{len(out):,} rows of {names[1]} are left out: {shown(out[0])}, …")
        for name, one in zip(names, (x, y), strict=True):
            notes += [f"{name}: {note}" for note in one.notes]
        table = score_layers(x.layers, layers, self.comparison, self.clamping)
        return Answer(table, [Finding(note.removesuffix(".")) for note in notes])


def score_layers(
    x: Sequence[Float[np.ndarray, "n _"]],
    y: Sequence[Float[np.ndarray, "m _"]],
    comparison: Comparison,
    clamping: Clamping,
) -> pd.DataFrame:
    """Score the layers of x with those of y, in order: layer_x, layer_y (counted from 0; all of
    them side by side come after the last), score, n, the metric's parameters.

    x, y: features of the same stimuli in the same order; values of each side are clamped as
    `core.spaces.preprocess.clamp_outliers` does, then rows scaled to length 1. A row for each two
    layers, or for the chosen ones. NaN for a degenerate layer. Raises FeatureError if the
    stimuli differ in number, UnknownNameError for the metric, MetricError for its parameters and
    for layers that are not there.
    """
    if len(x[0]) != len(y[0]):
        raise FeatureError(
            f"expected two files of the same stimuli; got {len(x[0])} and {len(y[0])} rows"
        )
    places = None if comparison.layers == ALL else comparison.read_layers()
    sides = [clamp_outliers(layers, **vars(clamping)) for layers in (x, y)]
    if comparison.concatenated:
        sides = [[*layers, concatenate(layers)] for layers in sides]
    engine = engine_over(len(x[0]), comparison, layers=sum(map(len, sides)))
    values = engine.scores(*(engine.prepare(layers) for layers in sides)).values
    chosen = (
        np.ndindex(values.shape) if places is None else [pick(values, places, spec=comparison.spec)]
    )
    rows = [(*place, float(values[place])) for place in chosen]
    table = pd.DataFrame(rows, columns=["layer_x", "layer_y", "score"])
    return table.assign(n=len(x[0]), **comparison.settings)
