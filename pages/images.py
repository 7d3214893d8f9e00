"""Images: on which of them models agree, and one image with its neighbors."""

from pages._parts.images import explore, language
from pages._shared import frame
from pages._shared.tabs import Tab, tabbed

frame.draw(
    "On which images do models agree?",
    tabbed(
        {
            "explore": Tab("Explore", explore.show),
            "language": Tab("Effect on language", language.show),
        }
    ),
)
