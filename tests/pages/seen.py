"""What a person sees of a page that was opened."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from streamlit.testing.v1 import AppTest

from pages._shared.frame import UNSEEN


def charts(app: AppTest) -> list[str]:
    return [chart.key for chart in app.get("plotly_chart")]


def tiles(app: AppTest, key: str) -> list[dict[str, Any]]:
    """Return the pictures of a grid with all that is drawn of each; none where it is not drawn."""
    ends = f"-tiles-{key}"
    grids = [one.proto for one in app.get("bidi_component") if one.proto.id.endswith(ends)]
    return [tile for grid in grids for tile in json.loads(grid.json)["tiles"]]


def shown(app: AppTest, key: str) -> list[int]:
    """Return the indices of the pictures of a grid."""
    return [tile["index"] for tile in tiles(app, key)]


def said(app: AppTest) -> str:
    return (
        " ".join(
            element.value for kind in ("info", "error", "warning") for element in app.get(kind)
        )
        .replace("\\", "")
        .replace(UNSEEN, "")
    )


def seen(app: AppTest) -> int:
    """Return how many figures have further results, folded away."""
    return [expander.label for expander in app.expander].count("Methods and results")


def dead_entries(app: AppTest) -> list[str]:
    """Return the legend entries of all charts that a click does not hide all of: no trace of the
    entry's group has data, or one of its name is of another group.
    """
    specs = (json.loads(chart.proto.spec) for chart in app.get("plotly_chart"))
    return [name for spec in specs for name in dead_of(spec["data"], spec["layout"])]


def dead_of(traces: list[Mapping[str, Any]], layout: Mapping[str, Any]) -> Iterator[str]:
    lines = {shape.get("legendgroup") for shape in layout.get("shapes", ())}
    for trace in traces:
        group = trace.get("legendgroup", "")
        if trace.get("showlegend", True) and "name" in trace:
            mates = [trace, *(one for one in traces if group and one.get("legendgroup") == group)]
            alike = [one for one in traces if one.get("name") == trace["name"] and one != trace]
            apart = any(_has_data(one) and one not in mates for one in alike)
            if apart or not (group in lines or any(map(_has_data, mates))):
                yield trace["name"]


def _has_data(trace: Mapping[str, Any]) -> bool:
    values = trace.get("y", trace.get("x", ()))
    if isinstance(values, dict):  # numbers in base64
        return bool(values["bdata"])
    return any(value is not None for value in values)
