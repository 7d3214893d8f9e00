"""Robustness: does the answer depend on the metric, the neighbors k, or the number of images?"""

from pages._parts.robustness import controls, metrics, pair
from pages._shared import frame
from pages._shared.tabs import Tab, tabbed

frame.draw(
    "Does the answer depend on the metric?",
    tabbed(
        {
            "metrics": Tab("Metrics", metrics.show),
            "k": Tab("Neighbors k", pair.show_over_k),
            "n": Tab("Number of images", pair.show_over_n),
            "controls": Tab("Controls", controls.show, controls.is_offered),
        }
    ),
)
