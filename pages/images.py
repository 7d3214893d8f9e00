"""Images: on which of them models agree, and one image with its neighbors."""

from core.study.models import reads
from core.study.spaces import LEAST
from pages._parts.images import explore, extremes, language
from pages._shared import address, frame, queries
from pages._shared.queries import Place
from pages._shared.tabs import Tab, tabbed


def has_consensus(at: Place) -> bool:
    """Return whether there are models enough for a consensus."""
    return queries.count_models(at) >= LEAST


def has_language(at: Place) -> bool:
    return has_consensus(at) and bool(reads(queries.models(at), "caption").any())


TABS = {
    "explore": Tab("Explore", explore.show),
    "extremes": Tab("Agree / disagree", extremes.show, has_consensus),
    "language": Tab("Effect on language", language.show, has_language),
}
MOVED = {"ends": ("tab", "extremes"), "gallery": ("map", "gallery")}  # what an old link says: view


def show(at: Place) -> None:
    for view in address.take("view"):
        if view in MOVED:
            key, value = MOVED[view]
            address.hand(key, [value])
    tabbed(TABS)(at)


frame.draw("On which images do models agree?", show)
