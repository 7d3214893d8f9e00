"""Published alignments: all that were gathered, each with its source, and beside one's own only
where models and stimuli are the very same.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator, Mapping
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
from core.study.parts import Comparison
from core.study.published import (
    COLUMNS,
    deviations_here,
    is_dataset,
    names_by_spec,
    published_alignments,
    published_pairs,
    put_beside,
    read_alignments,
)
from core.study.selections import encode
from core.study.study import Study
from tests.study.published_store import COCO, WIT, WIT_SOURCE, build_published, coco, embed

SIZE = 24
STATS = ("raw", "null_mean", "calibrated")
DINO, VIT, CLIP = (
    f"timm:vit_{name}"
    for name in (
        "small_patch14_dinov2.lvd142m",
        "small_patch16_224.augreg_in21k",
        "base_patch16_clip_224.laion2b",
    )
)
IDS = {  # of the short names that the replication's tables have
    "bloomz-560m": "hf:bigscience/bloomz-560m",
    "bloomz-1b1": "hf:bigscience/bloomz-1b1",
    "dinov2-small": DINO,
    "vit-in21k-small": VIT,
    "clip-laion-base": CLIP,
    "qwen2.5-0.5b": "hf:Qwen/Qwen2.5-0.5B",
    "qwen3-0.6b-base": "hf:Qwen/Qwen3-0.6B-Base",
    "qwen3-1.7b-base": "hf:Qwen/Qwen3-1.7B-Base",
    "qwen2-7b": "hf:Qwen/Qwen2-7B",
    "qwen2.5-7b": "hf:Qwen/Qwen2.5-7B",
    "qwen3-8b-base": "hf:Qwen/Qwen3-8B-Base",
    "olmo-1b-0724": "hf:allenai/OLMo-1B-0724-hf",
    "olmo-7b-0724": "hf:allenai/OLMo-7B-0724-hf",
    "olmo2-1124-7b": "hf:allenai/OLMo-2-1124-7B",
    "olmo-3-1025-7b": "hf:allenai/Olmo-3-1025-7B",
}
SIZED = {  # quantities of the table over the sample's size: metric, its k, its title
    "mknn_k10": ("mutual_knn", 10, "mutual k-NN"),
    "linear_cka": ("cka", None, "linear CKA"),
}
SAMPLES = {  # its columns: how many stimuli, and which
    "five_disjoint_1024": (1024, "mean over five disjoint sets"),
    "prh_wit_1024": (1024, "the published 1,024"),
    "n2048": (2048, "first 2,048"),
    "n4096": (4096, "first 4,096"),
    "n10240": (10240, "first 10,240"),
}
SWEPT = {  # metrics of the sweep over k: ours, "" where there is none, and its title
    "mutual_knn": ("mutual_knn", "mutual k-NN"),
    "cknna_paper_formula": ("cknna", "CKNNA by the paper's equations"),
    "cknna_centred": ("", "CKNNA centered as CKA is, then masked"),
    "cknna_released_code": ("cknna", "CKNNA of the released code"),
    "cknna_aristotelian_eq36": ("", "CKNNA of Gröger et al. 2026, equation 36"),
}
# stimuli, x, y, what ("" of a pair), metric, k, layers, value, chance
Row = tuple[int, str, str, str, str, int | None, str, float, float | None]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_published(tmp_path_factory.mktemp("published"), size=SIZE)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the published datasets as many stimuli as the test's."""
    table = published_alignments()
    monkeypatch.setattr(published, "read_alignments", lambda *_: table.assign(stimuli=SIZE))


def gathered(facts: Path, name: str) -> list[dict[str, str]]:
    with (facts / "published_alignments" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def number(text: str) -> float | None:
    return float(text) if text else None


def gathered_pairs(facts: Path) -> Iterator[Row]:
    for row in gathered(facts, "mknn_coco_val2017_pairs.csv"):
        pair, layers = (IDS[row["a"]], IDS[row["b"]]), f"{row['layer_a']}:{row['layer_b']}"
        knn, chance = float(row["mknn_k10"]), number(row["mknn_shuffle_mean"])
        yield (1024, *pair, "", "mutual_knn", 10, layers, knn, chance)
        yield (1024, *pair, "", "cka", None, "best", float(row["linear_cka"]), None)
    for row in gathered(facts, "mknn_coco_final_layer_7b.csv"):
        pair = IDS[row["a"]], IDS[row["b"]]
        knn, chance = float(row["mnn_k10"]), number(row["mnn_shuffle"])
        yield (1024, *pair, "", "mutual_knn", 10, "last", knn, chance)
        yield (1024, *pair, "", "cka", None, "last", float(row["cka"]), number(row["cka_null"]))


def gathered_means(facts: Path) -> Iterator[Row]:
    sized = {row["quantity"]: row for row in gathered(facts, "sample_size_wit.csv")}
    for quantity, (metric, k, title) in SIZED.items():
        for column, (n, which) in SAMPLES.items():
            cells = {stat: sized[f"{quantity}_{stat}"][column] for stat in STATS}
            what = f"mean over 15 pairs of small models, {which}"
            yield from raw_and_calibrated(cells, n, (title, what), metric, k)
    rows = gathered(facts, "wit1024_k_sweep.csv")
    swept = {(row["metric"], row["stat"]): row for row in rows}
    for name, (metric, title) in SWEPT.items():
        for column in (one for one in rows[0] if one.startswith("k")):
            cells = {stat: swept.get((name, stat), {}).get(column, "") for stat in STATS}
            cells["calibrated"] = swept.get((name, "calibrated_g"), {}).get(column, "")
            what = "mean over 170 pairs"
            yield from raw_and_calibrated(cells, 1024, (title, what), metric, int(column[1:]))


def raw_and_calibrated(
    cells: Mapping[str, str], n: int, words: tuple[str, str], metric: str, k: int | None
) -> Iterator[Row]:
    (title, what), chance = words, number(cells["null_mean"])
    raw, calibrated = number(cells["raw"]), number(cells["calibrated"])
    if raw is not None:
        yield (n, "", "", f"{title}, {what}", metric, k, "best", raw, chance)
    if calibrated is not None:
        yield (n, "", "", f"{title} calibrated, {what}", metric, k, "best", calibrated, None)


def shipped_rows(table: pd.DataFrame) -> list[Row]:
    plain = table.astype(object).where(table.notna(), None)
    plain["what"] = plain["what"].mask(plain["y"] != "", "")
    names = ["stimuli", "x", "y", "what", "metric", "k", "layers", "value", "chance"]
    return list(plain[names].itertuples(index=False, name=None))


def test_every_gathered_value_is_shipped_and_nothing_more(facts: Path):
    table = published_alignments().dropna(subset="value")
    shipped = shipped_rows(table[table["work"].str.startswith("Geometry")])
    expected = [*gathered_pairs(facts), *gathered_means(facts)]
    assert len(shipped) == len(expected) == 189
    assert set(shipped) == set(expected)


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
    found = published_pairs(study, Comparison(k=10))
    assert {"bloomz-560m", "bloomz-1b1", "Qwen2-7B", "Qwen2.5-7B"} <= set(found["x"])
    assert len(found) == 11  # eight of language with vision, three within each
    assert published_pairs(study, Comparison(k=9)).empty
    assert len(published_pairs(study, Comparison(metric="cka"))) == 11
    assert deviations_here(study) == {}
    deviations = deviations_here(Study(Store(root), WIT))
    assert sorted(deviations.values()) == [0.21, 0.26, 0.33, 0.43]


@pytest.mark.usefixtures("small")
def test_a_part_of_the_stimuli_has_no_published_value(root: Path):
    part = encode(range(SIZE - 4), SIZE)
    assert published_pairs(Study(Store(root), COCO, stimuli=part), Comparison(k=10)).empty
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
    assert "bloomz-560m" not in set(published_pairs(study, Comparison(k=10))["x"])
    assert len(published_pairs(study, Comparison(k=10))) == 8


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
    assert published_pairs(study, Comparison(k=10)).empty


def test_a_pair_is_found_in_either_order_where_the_metric_is_symmetric():
    values = pd.DataFrame(
        [("a", "b", 0.2, "1:2", "s")], columns=["x", "y", "value", "layers", "source"]
    )
    table = pd.DataFrame({"model_x": ["b", "a"], "model_y": ["a", "c"]})
    beside = put_beside(table, values, METRICS["mutual_knn"].spec)
    assert beside["published"].iloc[0] == 0.2
    assert beside["published"].isna().tolist() == [False, True]
    assert "published" not in put_beside(table, values, METRICS["cycle_knn"].spec)
