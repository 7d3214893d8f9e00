"""Why: the published explanations of convergence, each with its test."""

from pages._parts.why import captions, hypotheses
from pages._shared import frame
from pages._shared.tabs import Tab, tabbed

frame.draw(
    "Why do models converge?",
    tabbed(
        {
            "hypotheses": Tab("Tasks, capacity, simplicity", hypotheses.show),
            "captions": Tab("Captions", captions.show, captions.is_offered),
        }
    ),
)
