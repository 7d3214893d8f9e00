"""Published alignments: all that were gathered, each with its source, and next to one's own only
where models and stimuli are the very same.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from core.encoders.requests import PROMPTS
from core.errors import InputError
from core.metrics import METRICS
from core.plans.reading import open_plan
from core.store import Store
from core.study import published
from core.study.published import (
    COLUMNS,
    deviations_here,
    is_dataset,
    names_by_spec,
    published_alignments,
    published_here,
    read_alignments,
)
from core.study.selections import encode
from core.study.study import Study
from tests.study.published_store import COCO, WIT, WIT_SOURCE, build_published, coco, embed

SIZE = 24
DINO, VIT, CLIP = (
    f"timm:vit_{name}"
    for name in (
        "small_patch14_dinov2.lvd142m",
        "small_patch16_224.augreg_in21k",
        "base_patch16_clip_224.laion2b",
    )
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_published(tmp_path_factory.mktemp("published"), size=SIZE)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the published datasets as many stimuli as the test's."""
    table = published_alignments()
    monkeypatch.setattr(published, "read_alignments", lambda *_: table.assign(stimuli=SIZE))


def test_what_the_studies_state_is_the_same():
    finding = {one.source: one.value for one in open_plan("prh-vision-language").published}
    table = published_alignments().set_index("source")["value"]
    assert all(table[source] == value for source, value in finding.items())
    stated = {one.what: one.value for one in open_plan("dispersion").published if one.value}
    shipped = published_alignments().query("page == 'dispersion'")["value"]
    assert sorted(shipped) == sorted(stated.values())


def test_every_value_has_a_source_and_a_known_metric():
    table = published_alignments()
    assert tuple(table) == COLUMNS
    assert (table["source"] != "").all()
    assert set(table["metric"]) - {""} <= set(METRICS)
    alone = table[table["ask"] == ""]  # compared pair by pair, or by no metric here
    variants = alone[alone["metric"] == ""]
    assert (alone.drop(variants.index)["y"] != "").all()
    heads = variants["what"].str.partition(",")[0].str.removesuffix(" calibrated")
    assert set(heads) == {"CKNNA centered as CKA is", "CKNNA of Gröger et al. 2026"}
    assert len(variants) == 27


def pairs_here(study: Study, metric: str = "mutual_knn") -> pd.DataFrame:
    """Return the published alignments of two models by a metric."""
    here = published_here(study)
    return here[(here["metric"] == metric) & (here["y"] != "")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.assign(source=" "), "line 2: a published value needs a source"),
        (lambda table: table.drop(columns="ask"), "has the columns page, work"),
    ],
)
def test_a_value_without_a_source_is_refused(change, message: str, tmp_path: Path):
    change(published_alignments().head(1)).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InputError, match=message):
        read_alignments(tmp_path / "a.csv")


@pytest.mark.usefixtures("small")
def test_values_are_of_these_very_models_and_stimuli(root: Path):
    study = Study(Store(root), COCO)
    found = pairs_here(study)
    assert {"bloomz-560m", "bloomz-1b1", "Qwen2-7B", "Qwen2.5-7B"} <= set(found["x"])
    assert len(found) == 11  # eight of language with vision, three within each
    assert len(pairs_here(study, "cka")) == 11
    assert deviations_here(study) == {}
    deviations = deviations_here(Study(Store(root), WIT))
    assert sorted(deviations.values()) == [0.21, 0.26, 0.33, 0.43]


@pytest.mark.usefixtures("small")
def test_a_part_of_the_stimuli_has_no_published_value(root: Path):
    part = encode(range(SIZE - 4), SIZE)
    assert published_here(Study(Store(root), COCO, stimuli=part)).empty
    assert deviations_here(Study(Store(root), WIT, stimuli=part)) == {}


@pytest.mark.usefixtures("small")
def test_only_the_usual_embedding_of_a_model_has_its_published_values(root: Path, tmp_path: Path):
    """Other pooling and a prompt are told apart; two embeddings in one way are not."""
    shutil.copytree(root, tmp_path / "store")
    store, spec = tmp_path / "store", "hf:bigscience/bloomz-560m"
    prompted = {"pooling": "last token", "prompt": PROMPTS["paper"]}
    embed(store, coco(SIZE), spec, "language", "language", name="prompted", **prompted)
    assert names_by_spec(Study(Store(store), COCO))[spec] == "bloomz-560m"
    halved = {"pooling": "mean of tokens", "precision": "bfloat16"}
    embed(store, coco(SIZE), spec, "language", "language", name="halved", **halved)
    study = Study(Store(store), COCO)
    assert spec not in names_by_spec(study)
    assert "bloomz-560m" not in set(pairs_here(study)["x"])
    assert len(pairs_here(study)) == 8


def test_a_dataset_is_known_by_its_id_and_revision_or_else_by_its_name(root: Path):
    wit, plain = (Store(root).dataset(name) for name in (WIT, COCO))
    published = "minhuh/prh@wit_1024"
    assert is_dataset(wit, published, SIZE)
    assert not is_dataset(wit, published, 1024)
    for changed, same in (("a" * 40, True), ("main", False), (None, False)):
        card = replace(wit, source={**WIT_SOURCE, "revision": changed})
        assert is_dataset(card, published, SIZE) == same
    assert is_dataset(plain, COCO, SIZE)
    assert not is_dataset(replace(wit, name=COCO), COCO, SIZE)  # it has an id


def test_another_number_of_stimuli_has_no_published_value(root: Path):
    study = Study(Store(root), COCO)
    assert published_here(study).empty
