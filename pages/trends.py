"""Trends: alignment against competence, across and within modalities, and during training."""

from pages._parts.trends import across, competence, within
from pages._shared import frame
from pages._shared.tabs import Tab, tabbed

frame.draw(
    "Do better models align more?",
    tabbed(
        {
            "across": Tab("Vision–language", across.show),
            "within": Tab("Within a modality", within.show),
            "training": Tab("During training", competence.show),
        }
    ),
)
