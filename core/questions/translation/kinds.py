"""What two models that are translated have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from core.encoders.encoder import REALITY
from core.study.spaces import Layer
from core.study.study import Study
from core.study.trainings import describe_trainings, kinship

ONE_RECIPE, DESCENT, ACROSS = "one recipe", "descent", "across modalities"
WITH_REALITY = f"with {REALITY}"
KINDS = (ONE_RECIPE, DESCENT, "vision", "language", ACROSS, WITH_REALITY)


def kinds_of(study: Study, places: Sequence[Layer]) -> Iterator[tuple[tuple[Layer, Layer], str]]:
    """Yield every two spaces with what their models have in common: one recipe (seeds, or layers of
    one model), descent, else their modality.
    """
    trainings = describe_trainings(study)
    row = {name: number for number, name in enumerate(trainings["model"])}
    recipe = dict(zip(trainings["model"], trainings["recipe"], strict=True))
    modality = study.models().set_index("model")["modality"]
    kin = kinship(trainings)
    for x, y in combinations(places, 2):
        both_listed = x.model in row and y.model in row
        modalities = {modality[x.model], modality[y.model]}
        if x.model == y.model or (both_listed and recipe[x.model] == recipe[y.model]):
            kind = ONE_RECIPE
        elif both_listed and kin[row[x.model], row[y.model]]:
            kind = DESCENT
        elif REALITY in (x.model, y.model):
            kind = WITH_REALITY
        else:
            kind = modalities.pop() if len(modalities) == 1 else ACROSS
        yield (x, y), kind
