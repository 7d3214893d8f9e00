"""Where adapters come from: what their file says, and whether it fits a study."""

from __future__ import annotations

from dataclasses import asdict
from typing import NamedTuple

from core.errors import FeatureError, InputError
from core.questions.adapters.maps.model import Adapters, Settings, split
from core.recipe import Recipe
from core.study.spaces import find_spaces
from core.study.study import Study


class Provenance(NamedTuple):
    """What a file says of its adapters: the spaces they are of, how they were trained, on how many
    pairs, and of which seed.

    stopped: the passes after which somebody ended the training, None where it came to its end.
    """

    spaces: tuple[str, ...]
    settings: Settings
    pairs: int
    seed: int
    stopped: int | None = None


def adapters_recipe(study: Study, provenance: Provenance) -> Recipe:
    """Return all that adapters depend on."""
    places, stopped = find_spaces(study, provenance.spaces), provenance.stopped
    return study.recipe(
        "adapters",
        [place.model for place in places],
        spaces=[str(place) for place in places],
        pairs=provenance.pairs,
        settings=asdict(provenance.settings),
        seed=provenance.seed,
        **({} if stopped is None else {"stopped": stopped}),
    )


def check_adapters(study: Study, adapters: Adapters, recipe: Recipe) -> Provenance:
    """Return what a recipe says of adapters that were trained on this study's data.

    Raises FeatureError where they were trained on other data (their test stimuli would be others),
    and for a recipe that says less or does not fit them; UnknownNameError and InputError for
    models and pairs that are not there.
    """
    provenance = _read(recipe)
    split(study.size, pairs=provenance.pairs, seed=provenance.seed)
    here = adapters_recipe(study, provenance)
    choices, own = recipe.choices, here.choices
    if other := sorted(name for name in {*choices, *own} if choices.get(name) != own.get(name)):
        raise FeatureError(
            f"these adapters were trained on other data: {', '.join(other)} differ from those of"
            f" {study.dataset.name!r} here; open the store they come from, or train them anew"
        )
    widths = {
        str(place): study.entry(place.model).dims[place.layer]
        for place in find_spaces(study, provenance.spaces)
    }
    if {
        name: len(adapter.weight) for name, adapter in adapters.maps.items()
    } != widths or adapters.width != provenance.settings.width:
        raise FeatureError(
            "these adapters are not those that their file describes: widths or encoders differ;"
            " train them anew"
        )
    return provenance


def _read(recipe: Recipe) -> Provenance:
    try:
        choices = recipe.choices
        stopped = [choices["stopped"]] if "stopped" in choices else []
        provenance = Provenance(
            tuple(choices["spaces"]),
            Settings(**choices["settings"]),
            choices["pairs"],
            choices["seed"],
            *stopped,
        )
        numbers = all(
            type(number) is int and number >= 0
            for number in (provenance.pairs, provenance.seed, *stopped)
        )
        words = all(isinstance(space, str) for space in provenance.spaces)
        whole = (
            recipe.kind == "adapters"
            and numbers
            and words
            and isinstance(provenance.settings.learned, bool)
        )
    except (KeyError, TypeError, InputError):
        whole = False
    if not whole:
        raise FeatureError(
            "this file's recipe is not one of adapters (spaces, settings, pairs, seed); train them"
            " anew"
        )
    return provenance
