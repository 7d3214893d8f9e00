"""Models: which of them are alike, and how two differ."""

from functools import partial

from pages._parts.models import neurons, views
from pages._shared import frame
from pages._shared.tabs import Tab, tabbed

frame.draw(
    "Which models are alike?",
    tabbed(
        {
            "map": Tab("Map", partial(views.show, view="map")),
            "table": Tab("Table", partial(views.show, view="table")),
            "tree": Tab("Tree", partial(views.show, view="tree")),
            "compare": Tab("Compare two", neurons.show),
        },
        views={"table": "table", "tree": "tree"},
    ),
)
