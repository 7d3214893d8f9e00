"""In a world whose nuisances are known: what one modality alone knows goes, what is real stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from core.cave.captions import DENSITIES, describe, frame_of
from core.cave.drawing import draw_look
from core.cave.events import event_rng
from core.cave.world import WORLD, CaveDataset
from core.encoders.encoder import ModelCard
from core.errors import InputError
from core.options import build as build_question
from core.questions import asking
from core.questions.adapters.lesson import prepare
from core.questions.adapters.maps import Parts, split
from core.questions.adapters.probes import (
    factor_labels,
    nuisance_labels,
    probe_findings,
    study_events,
)
from core.questions.adapters.question import Adaptation
from core.recipe import Recipe
from core.spaces.choices import Clamping
from core.store import Embedding, Store, add_dataset, write_embedding
from core.store.schema import VERSIONS
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

N = 160
ASKED = {
    "x": ("vit",),
    "y": ("gpt",),
    "ref": ("strong",),
    "width": 8,
    "k": 5,
    "seeds": 1,
    "of": "probes",
}


def one_hot(classes: np.ndarray) -> np.ndarray:
    return np.eye(int(classes.max()) + 1)[classes]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Return a Cave whose encoders hold scene and time, and louder their own nuisance."""
    root, dataset = tmp_path_factory.mktemp("store"), CaveDataset(N)
    add_dataset(root, dataset)
    rng, seen = np.random.default_rng(0), dataset._events
    factors, own = factor_labels(WORLD, seen), nuisance_labels(WORLD, seen, "vision", None)
    wording = nuisance_labels(WORLD, seen, "language", "20")["wording"]
    shared = np.hstack([one_hot(factors["scene"]), one_hot(factors["time"])])
    for name, modality, private in (
        ("vit", "vision", one_hot(own["palette"])),
        ("gpt", "language", one_hot(wording)),
        ("strong", "vision", one_hot(own["light"])),
    ):
        silent = np.zeros((N, 12))  # so that many principal directions can be kept
        space = np.hstack([shared, 2 * private, silent])
        space += 0.1 * rng.normal(size=space.shape)
        card = ModelCard(name, name, modality, f"hf:{name}", "F", "o", 1000, name, ("block 1",))
        write_embedding(
            root,
            Embedding(
                dataset=dataset.card,
                card=card,
                level="20" if modality == "language" else None,
                layers=[space.astype(np.float32)],
                bits=None,
                bytes=None,
                recipe=Recipe.of("embedding", version=VERSIONS["embedding"], model=name),
                device="cpu",
                seconds=0.1,
            ),
        )
    torch.set_num_threads(1)
    return Study(Store(root), "cave", Clamping(1.0))


@pytest.fixture(scope="module")
def table(study: Study) -> pd.DataFrame:
    return asking.ask(build_question(Adaptation, ASKED), study)


def test_nuisances_go_and_factors_stay(table: pd.DataFrame) -> None:
    rows = table.set_index(["space", "probe", "label"])
    for space, nuisance in (("vit:0", "palette"), ("gpt:0", "wording")):
        for probe in ("linear", "neighbors"):
            assert rows.loc[(space, probe, nuisance), "before"] > 0.75
            assert rows.loc[(space, probe, nuisance), "high"] < -0.3
            assert rows.loc[(space, probe, "scene"), "after"] > 0.8
        assert rows.loc[(space, "neighbors", "scene"), "low"] > 0.2
    strong = rows.loc["strong:0"]
    assert strong[["after", "change", "low"]].isna().all(axis=None)
    assert strong.loc[("linear", "light"), "before"] > 0.9
    light = rows.loc[("vit:0", "linear", "light")]
    assert light["before"] < light["chance"] + 0.15
    title = table.set_index("space").loc["vit:0", "title"].iloc[0]
    found = {one.claim: one for one in probe_findings(table)}
    named = f"Adapters lower the accuracy of linear probes for nuisances of {title}"
    named += " (light, palette, texture)"
    assert found[named].verdict == "supported"
    assert len(found) == 8
    figure = build_question(Adaptation, ASKED).plot(table).draw("light")
    assert sum(bool(trace.error_x.array is not None) for trace in figure.data) == 8


def test_probes_see_rows_of_length_1_before_and_after_whatever_the_loss_compares(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def remember(space: np.ndarray, _: np.ndarray, parts: Parts) -> np.ndarray:
        seen.append(space)
        return np.zeros(len(parts.test))

    monkeypatch.setattr("core.questions.adapters.probes.PROBES", {"linear": remember})
    asked = build_question(Adaptation, {**ASKED, "products": "raw"})
    asked.complete(study).answer(study)
    assert {space.shape[1] for space in seen} > {ASKED["width"]}
    for space in seen:
        np.testing.assert_allclose(np.linalg.norm(space, axis=1), 1, rtol=1e-5)


def test_a_neighbor_probe_is_the_literal_count(study: Study, table: pd.DataFrame) -> None:
    lesson = prepare(study, ("vit", "gpt"))
    scene, shares = factor_labels(*study_events(study))["scene"], []
    space = lesson.spaces["vit:0"].astype(np.float64)
    for draw in range(1):
        parts = split(study.size, draw=draw)
        for i in parts.test:
            cosine = [
                space[i] @ space[j] / np.linalg.norm(space[i]) / np.linalg.norm(space[j])
                for j in parts.train
            ]
            near = parts.train[np.argsort(cosine)[::-1][:10]]
            shares.append(np.mean([scene[j] == scene[i] for j in near]))
    row = table.query("space == 'vit:0' and probe == 'neighbors' and label == 'scene'").iloc[0]
    assert row["before"] == pytest.approx(np.mean(shares), abs=1e-6)


def test_labels_are_those_that_pictures_and_captions_were_made_with(study: Study) -> None:
    seen = study_events(study)[1][:20]
    frames = {level: [frame_of(event, level) for event in seen] for level in DENSITIES}
    for level, density in DENSITIES.items():
        assert set(frames[level]) <= set(density.frames)
    opening = next(i for i, frame in enumerate(frames["5"]) if frame == "{things}.")
    assert " " in describe(seen[opening], "5")
    looks = [draw_look(event_rng(event, purpose="image")) for event in seen]
    labels = nuisance_labels(WORLD, seen, "vision", None)
    pairs = zip(labels["light"], looks, strict=True)
    assert all(
        (label >= 2, label % 2 == 1) == (a.light[0] > 0, a.light[1] > 0) for label, a in pairs
    )
    assert nuisance_labels(WORLD, seen, "world", None) == {}
    assert nuisance_labels(WORLD, seen, "language", "summary") == {}


def test_other_stimuli_have_no_known_nuisances(tmp_path: Path) -> None:
    build(tmp_path, PaintedDataset(60), vision=VISION[3:4], language=LANGUAGE[2:3])
    asked = build_question(Adaptation, {**ASKED, "x": ("vit-clip-m",), "y": ("gpt-2-m",)})
    with pytest.raises(InputError, match="known of the Cave's stimuli alone; got 'cave'"):
        asking.ask(asked, Study(Store(tmp_path), "cave"))
