"""Groups of real models, whose names no palette knows, are told apart on every page."""

from __future__ import annotations

import json

import pytest

from tests.pages.world import PaintedDataset, build

FAMILIES = ("GPT-2", "OPT", "Mistral", "T5", "Pythia")
OBJECTIVES = ("DINOv2", "SimCLR", "SigLIP", "BYOL")


def legend_colors(app, names) -> dict[str, str]:
    specs = (json.loads(chart.proto.spec) for chart in app.get("plotly_chart"))
    traces = [trace for spec in specs for trace in spec["data"] if trace.get("showlegend", True)]
    return {
        trace["name"]: trace["marker"]["color"] for trace in traces if trace.get("name") in names
    }


@pytest.mark.slow
def test_families_and_objectives_have_a_color_each_and_the_same_on_every_page(opened, tmp_path):
    build(
        tmp_path,
        PaintedDataset(40),
        vision=[(name, "s", 0.5) for name in OBJECTIVES],
        language=[(name, "s", 0.2 + place / 8) for place, name in enumerate(FAMILIES)],
    )
    overview = opened(tmp_path, "overview")
    families = legend_colors(overview, FAMILIES)
    assert len(set(families.values())) == len(FAMILIES)
    assert legend_colors(opened(tmp_path, "alignment"), FAMILIES) == families
    objectives = legend_colors(opened(tmp_path, "models", layout="mds"), OBJECTIVES)
    assert len(set(objectives.values())) == len(OBJECTIVES)
