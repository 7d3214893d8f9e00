"""How files name the rows of their arrays and tables: what features and datasets take for ids."""

from __future__ import annotations

import re
from math import isnan

INDEX = "__index_level_"  # how pandas begins the name of a column that is its index
UNNAMED = re.compile(r"(\d+__)?")  # what follows if it has no name of its own
# what names of ids are made of: image_path, nsdId, Stim Names
IDS = re.compile(
    r"axis1|((u?uid|id|idx|ind(ex|ices)|key|name|path|url|number|num|row|item|sample|image|img|pic"
    r"|picture|photo|file|stim(ulus|uli)?|cond(ition)?|coco|nsd)s?)+"
)
OTHERS = ("channel_descriptors/", "rdm_descriptors/")  # of rsatoolbox: names of other axes


def leaf(name: str) -> str:
    """Return a name without the groups that it lies in, in small letters."""
    return name.rpartition("/")[2].lower()


def plain_name(name: str) -> str:
    """Return what people call a column: an index by its own name, or "index"."""
    plain = name.removeprefix(INDEX)
    return plain if plain == name or not UNNAMED.fullmatch(plain) else "index"


def names_rows(name: str) -> bool:
    if name.startswith(OTHERS):
        return False
    return name.startswith(INDEX) or bool(IDS.fullmatch(re.sub(r"[ _.-]", "", leaf(name))))


def is_index(name: str) -> bool:
    """Return whether what is called so may only count rows, as pandas' index does."""
    return name.startswith(INDEX) or leaf(name) == "index"


def is_number(text: str) -> bool:
    try:
        return "_" not in text and not isnan(float(text))
    except ValueError:
        return False
