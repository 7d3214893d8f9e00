"""Trends: alignment against competence, across and within modalities, and during training."""

from pages._parts.trends import across, training, within
from pages._shared import frame
from pages._shared.tabs import Tab, tabbed

frame.draw(
    "Do better models align more?",
    tabbed(
        {
            "across": Tab("Vision–language", across.show, across.is_offered),
            "within": Tab("By level", within.show),
            "training": Tab("During training", training.show, training.is_offered),
        }
    ),
)
