"""Transfer: what one model can use of another's representation."""

from pages._parts.transfer import adapters, prefixes, probes, stitching, unpaired
from pages._shared import frame
from pages._shared.tabs import Tab, tabbed

frame.draw(
    "Can one model use another’s representation?",
    tabbed(
        {
            "adapters": Tab("Adapters", adapters.show),
            "stitching": Tab("Stitching", stitching.show, stitching.offered),
            "prefixes": Tab("Soft prompts", prefixes.show, prefixes.offered),
            "probes": Tab("Probes", probes.show, probes.offered),
            "unpaired": Tab("Unpaired matching", unpaired.show),
        }
    ),
)
