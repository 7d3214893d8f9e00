"""How close models are to a center, and where the map puts them."""

from __future__ import annotations

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from core.errors import UnknownNameError
from core.figures.printing import WHITE, to_pdf
from core.questions.asking import ask
from core.questions.closeness import CENTER, ConvergenceMap, R, _distance, lay_out, to_svg
from core.store import Store
from core.study.comparing import align_models
from core.study.models import usual
from core.study.parts import Scope
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("closeness")
    return build(root, PaintedDataset(60), vision=VISION, language=LANGUAGE)


@pytest.fixture
def study(root: Path) -> Study:
    return Study(Store(root), "cave")


def near(study: Study, center: str = "") -> pd.DataFrame:
    return ask(ConvergenceMap(Scope("cave"), center), study)


def shared_neighbors(x: np.ndarray, y: np.ndarray, k: int = 10) -> float:
    """Mutual k-NN of two spaces, the slow way."""
    lists = []
    for space in (x, y):
        rows = space / np.linalg.norm(space, axis=1, keepdims=True)
        likeness = rows @ rows.T
        np.fill_diagonal(likeness, -np.inf)
        lists.append([set(np.argsort(-row, kind="stable")[:k]) for row in likeness])
    return float(np.mean([len(a & b) / k for a, b in zip(*lists, strict=True)]))


def test_closeness_to_reality_is_that_of_the_best_layer(study: Study) -> None:
    table = near(study)
    assert set(table["center"]) == {"reality"}
    (world,) = study.spaces("reality")
    for row in table.itertuples():
        scores = [shared_neighbors(layer, world) for layer in study.spaces(row.model)]
        assert row.score == pytest.approx(max(scores), abs=1e-6)
        assert scores[row.layer] == pytest.approx(row.score, abs=1e-6)
    assert table["chance"].tolist() == pytest.approx([10 / 59] * len(table))
    assert table.loc[table["untrained"], "model"].tolist() == ["vit-untrained-s"]


def test_closeness_to_a_modality_is_the_mean_over_its_other_models(study: Study) -> None:
    table = near(study, "vision").set_index("model")["score"]
    vision = usual(study.models()).query("modality == 'vision'")["model"].tolist()
    for name in ("gpt-2-m", "vit-clip-m"):
        others = [other for other in vision if other != name]
        pairs = align_models(study, [name], others)
        assert table[name] == pytest.approx(pairs["score"].mean())


def test_without_reality_the_center_is_the_first_modality(tmp_path: Path) -> None:
    root = build(
        tmp_path, PaintedDataset(20), vision=VISION[:2], language=LANGUAGE[:1], reality=False
    )
    table = near(Study(Store(root), "cave"))
    assert set(table["center"]) == {"vision"}
    assert table["score"].notna().all()


def test_a_center_that_is_not_there_is_refused(study: Study) -> None:
    with pytest.raises(UnknownNameError, match="no center named 'vison'"):
        near(study, "vison")


def test_partners_are_the_best_aligned_models_of_other_modalities(study: Study) -> None:
    table = near(study).set_index("model")
    models = study.models().set_index("model")
    row = table.loc["gpt-2-m"]
    pairs = align_models(study, ["gpt-2-m"], list(row["partners"]))
    assert set(models.loc[list(row["partners"]), "modality"]) == {"vision"}
    assert pairs["score"].tolist() == pytest.approx(list(row["partner_scores"]))
    assert list(row["partner_scores"]) == sorted(row["partner_scores"], reverse=True)


def test_distance_is_logarithmic_from_one_to_chance() -> None:
    assert [_distance(score, 0.01) for score in (1.0, 0.1, 0.01, 0.001, -1.0)] == pytest.approx(
        [0, 0.5, 1, 1, 1]
    )


def test_area_is_parameters_and_modalities_have_sectors_of_their_own(study: Study) -> None:
    table = near(study)
    titles = dict(zip(table["model"], table["title"], strict=True))
    scene = lay_out(table, ConvergenceMap(Scope("cave")), titles, "light")
    marks = {mark.id: mark for mark in scene.marks}
    rows = table.set_index("model")
    most = rows["parameters"].max()
    for name, mark in marks.items():
        share = rows.loc[name, "parameters"] / most
        assert mark.size == pytest.approx(max(3.0, 13.0 * math.sqrt(share)))
        assert math.hypot(*mark.place) / R == pytest.approx(
            _distance(rows.loc[name, "score"], rows["chance"].mean())
        )
    language = [marks[name].angle for name in marks if rows.loc[name, "modality"] == "language"]
    vision = [marks[name].angle for name in marks if rows.loc[name, "modality"] == "vision"]
    assert max(language) < min(vision)


def test_the_best_simple_feature_is_an_arc_over_its_sector(study: Study) -> None:
    features = pd.DataFrame(
        [("pixels", "image", 0.2), ("colors", "image", 0.1)], columns=["control", "of", "score"]
    )
    table = near(study)
    scene = lay_out(table, ConvergenceMap(Scope("cave")), {}, "light", features)
    ((distance, first, last, name),) = scene.levels
    assert name == "pixels 0.200"
    assert distance == _distance(0.2, table["chance"].mean())
    vision = set(table.loc[table["modality"] == "vision", "model"])
    inside = {mark.id for mark in scene.marks if first < mark.angle < last}
    assert inside == vision & {mark.id for mark in scene.marks}
    assert ">pixels 0.200<" in to_svg(scene, "light", title="Map")
    assert not lay_out(table, ConvergenceMap(Scope("cave")), {}, "light").levels


def test_the_svg_has_every_mark_where_the_scene_has_it(study: Study) -> None:
    table = near(study).assign(title=lambda models: "<" + models["title"])
    scene = lay_out(table, ConvergenceMap(Scope("cave")), {}, "dark")
    tree = ElementTree.fromstring(to_svg(scene, "dark", title="Map"))
    space = "{http://www.w3.org/2000/svg}"
    group = tree.find(f"{space}g")
    drawn = {
        dot.find(f"{space}title").text: (float(dot.get("cx")), float(dot.get("cy")))
        for dot in group.findall(f"{space}circle")
        if dot.find(f"{space}title") is not None
    }
    assert drawn == {mark.title: pytest.approx(mark.place, abs=0.06) for mark in scene.marks}


def test_the_map_is_printed_in_our_font_on_white_with_the_names_of_sectors_within(
    study: Study,
) -> None:
    scene = lay_out(near(study), ConvergenceMap(Scope("cave")), {}, "light")
    svg = to_svg(scene, "light", title="Map")
    left, _, width, _ = map(float, ElementTree.fromstring(svg).get("viewBox").split())
    keys = re.findall(r'translate\((\d+),\d+\)">.*?\n?<text x="16[^>]*>([^<]+)<', svg)
    assert len(keys) == len(scene.keys)
    for at, text in keys:
        assert int(at) + 16 + 6.5 * len(text) < left + width
    assert -60 < left < 0  # room for names, not blank paper
    for text in re.finditer(r'<text x="(-?[\d.]+)"[^>]*"end"[^>]*>([A-Z]+)</text>', svg):
        assert CENTER[0] + float(text[1]) - 10 * len(text[2]) > left
    assert f'fill="{WHITE}"' in svg
    pdf = to_pdf(svg, width=175, title="Map", caption="", recipe="{}")
    fonts = {*re.findall(rb"/FontName ?/([A-Z]+\+[\w-]+)", pdf)}
    assert {name.split(b"+")[1] for name in fonts} == {
        b"PlatoscopeSans-Regular",
        b"PlatoscopeSans-Bold",
    }
