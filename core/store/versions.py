"""Versions of what a store keeps and lists without asking its producer, by the kind of its recipe.

Raise a number by hand when its producer gives other results for the same choices. Recipes take it
in, so that whatever is made from the old results is made again, and a store leaves out files of any
other version. A comment or a faster way to the same results raises nothing.

What only its producer reads (neighbors, answers) is compared by its recipe, which takes in the
`VERSION` of the module that makes it.
"""

from __future__ import annotations

from pathlib import Path

from core.errors import StoreVersionError
from core.recipe import Recipe

VERSIONS = {
    "embedding": 1,  # core/encoders, core/embedding: vectors, bits and bytes
    "captions": 1,  # core/embedding/summaries.py, encoders/language/chat.py: fewer words
    "competence": 1,  # core/competence/suite.py, probes.py, completions.py: the Cave's suite
    "probe": 1,  # core/competence/transfer.py, labeled.py, probes.py: probes of labeled images
    "bits per byte": 3,  # core/competence/coding.py, bits_per_byte.py, suite.py: texts coded
}


def is_present(recipe: Recipe) -> bool:
    """Return whether the present version of its producer made this, or it has none."""
    now = VERSIONS.get(recipe.kind)
    return now is None or recipe.choices.get("version") == now


def check_version(path: Path, recipe: Recipe) -> None:
    """Raise StoreVersionError for a file that another version of its producer made."""
    if not is_present(recipe):
        now, was = VERSIONS[recipe.kind], recipe.choices.get("version")
        raise StoreVersionError(
            f"{path} is out of date: version {was or 'unknown'} of {recipe.kind!r} made it, and"
            f" this Platoscope has version {now}; make it again"
        )
