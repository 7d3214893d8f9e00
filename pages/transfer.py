"""Transfer: what one model can use of another's representation."""

from pages._parts.transfer import adapters, prefixes, probes, unpaired
from pages._shared import frame, queries
from pages._shared.queries import Place
from pages._shared.tabs import Tab, tabbed


def has_world(at: Place) -> bool:
    """Return whether stitches can be fitted: they need new events of a dataset's world."""
    return queries.study(at).dataset.world is not None


def stitch(at: Place) -> None:
    from pages._parts.transfer import stitching  # torch and timm take seconds

    stitching.show(at)


frame.draw(
    "Can one model use another’s representation?",
    tabbed(
        {
            "adapters": Tab("Adapters", adapters.show),
            "stitching": Tab("Stitching", stitch, has_world),
            "prefixes": Tab("Soft prompts", prefixes.show, prefixes.offered),
            "probes": Tab("Probes", probes.show, probes.offered),
            "unpaired": Tab("Unpaired matching", unpaired.show),
        }
    ),
)
