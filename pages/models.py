"""Models: which of them are alike, and how two differ."""

from pages._parts.models import compare, table, views
from pages._shared import frame
from pages._shared.tabs import Tab, tabbed

frame.draw(
    "Which models are alike?",
    tabbed(
        {
            "map": Tab("Map", views.show_map),
            "table": Tab("Table", table.show),
            "tree": Tab("Tree", views.show_tree),
            "compare": Tab("Compare two", compare.show),
        },
        views={"table": "table", "tree": "tree"},
    ),
)
