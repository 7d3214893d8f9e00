"""Transfer: what one model can use of another's representation."""

from pages._parts.adapters import tab as adapters
from pages._parts.reading import prefixes, swaps
from pages._parts.stitching import tab as stitching
from pages._parts.translation import tab as translation
from pages._shared import frame
from pages._shared.tabs import Tab, tabbed

frame.draw(
    "Can one model use another's representation?",
    tabbed(
        {
            "adapters": Tab("Adapters", adapters.show),
            "stitching": Tab("Stitching", stitching.show),
            "prefixes": Tab("Soft prompts", prefixes.show),
            "probes": Tab("Probes", swaps.show),
            "unpaired": Tab("Unpaired matching", translation.show),
        }
    ),
)
