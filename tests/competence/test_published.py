"""Published figures: all that were gathered, nothing else, each with its source; a figure without
one is refused.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from core.competence.records import COLUMNS
from core.competence.scores import (
    FOLDER,
    SCORES,
    published_models,
    published_rows,
    read_published,
    vtab_tasks,
)
from core.errors import InputError

HEADER = "model,checkpoint,task,group,value,unit,split,source\n"
TASKS = {"linear_probe": "ImageNet-1k linear probe", "zero_shot": "ImageNet-1k zero-shot"}


def gathered(facts: Path, name: str) -> list[dict[str, str]]:
    with (facts / name).open(newline="") as file:
        return list(csv.DictReader(file))


def figures() -> set[tuple[str, str, float]]:
    return set(published_rows()[["model", "task", "value"]].itertuples(index=False, name=None))


def of_language(row: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return the figures of a language model: task, figure, where it is from."""
    return [
        ("HellaSwag", row["hellaswag_10shot_pct"], row["benchmark_source"]),
        ("GSM8K", row["gsm8k_5shot_pct"], row["benchmark_source"]),
    ]


def of_vision(row: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return the figures of a Vision Transformer, those that its source mentions besides
    included.
    """
    probe, source = TASKS.get(row["in1k_metric"], ""), row["in1k_source"]
    again, near = re.search(r"re-run ([\d.]+)", source), re.search(r"k-NN ([\d.]+)", source)
    beside = [(f"{probe}, re-run", again), ("ImageNet-1k k-NN", near)]
    return [
        (probe, row["in1k_top1"], source),
        *((task, found[1], source) for task, found in beside if found),
        ("ImageNet-1k fine-tuned", row["sibling_finetuned_in1k_top1"], row["sibling_source"]),
    ]


def test_every_gathered_figure_is_shipped_and_nothing_more(facts):
    language = {
        ("hf:" + row["hf_id"], *found)
        for row in gathered(facts, "language_models.csv")
        for found in of_language(row)
    }
    vision = {
        ("timm:" + row["timm_id"], *found)
        for row in gathered(facts, "vision_models.csv")
        for found in of_vision(row)
    }
    valued = {found for found in language | vision if found[2]}
    assert figures() == {(model, task, float(value)) for model, task, value, _ in valued}
    assert len(published_rows()) == len(valued) == 78


def test_every_gathered_model_is_listed_with_its_size(facts):
    language = [
        (
            "hf:" + row["hf_id"],
            row["family"],
            "language",
            row["params_total"],
            row["hidden_size"],
            row["num_hidden_layers"],
        )
        for row in gathered(facts, "language_models.csv")
    ]
    vision = [
        (
            "timm:" + row["timm_id"],
            row["family"],
            "vision",
            row["params_with_head"],
            row["embed_dim"],
            row["depth"],
        )
        for row in gathered(facts, "vision_models.csv")
    ]
    models = published_models()
    assert models.drop(columns="source").astype(str).to_numpy().tolist() == [
        list(row) for row in language + vision
    ]
    assert (len(language), len(vision)) == (26, 17)
    assert models["source"].str.len().min() > 10


def test_every_gathered_task_is_listed(facts):
    names = {
        "task": "task",
        "group": "group",
        "num_classes": "classes",
        "task_adaptation_name": "adaptation",
        "hf_hub_id": "hub",
        "image_key": "image",
        "label_key": "label",
    }
    tasks = vtab_tasks()
    expected = [[row[name] for name in names] for row in gathered(facts, "vtab_tasks.csv")]
    assert tasks[list(names.values())].astype(str).to_numpy().tolist() == expected
    assert tasks["group"].value_counts().to_dict() == {
        "structured": 8,
        "natural": 7,
        "specialized": 4,
    }
    assert (tasks["source"] != "").all()


def test_every_shipped_figure_has_a_source_and_a_listed_model():
    rows = published_rows()
    assert list(rows.columns) == [*COLUMNS, "checkpoint"]
    assert rows["source"].str.contains("://|github:").sum() == len(rows)
    assert set(rows["model"]) <= set(published_models()["model"])
    assert set(rows["origin"]) == {"published"}
    assert rows[["low", "high", "chance", "n"]].isna().all(axis=None)
    assert {path.name for path in FOLDER.glob("*.csv")} == {
        *SCORES,
        "models.csv",
        "vtab_tasks.csv",
        "alignments.csv",
        "ours.csv",
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "hf:a/b,,HellaSwag,common sense,50,%,,",
            r"nothing of f\.csv was taken: line 2: source is empty",
        ),
        ("hf:a/b,,HellaSwag,common sense,50,%,, ", "line 2: source is empty"),
        ("hf:a/b,,HellaSwag,common sense,,%,,x", "line 2: value is empty"),
        (
            "hf:a/b,,HellaSwag,common sense,50,percent,,x",
            r"f\.csv has the unit 'percent'; expected one of top-1, %, bits per byte",
        ),
        ("hf:a/b,,HellaSwag,common sense,500,%,,x", r"line 2: value 500 is outside 0 … 100"),
        (
            "hf:a/b,,H,g,50,%,,x\nhf:a/b,,H,g,51,%,,y",
            "line 3: 'hf:a/b' has a value of 'H' in line 2 already",
        ),
    ],
)
def test_a_figure_without_a_source_or_otherwise_wrong_is_refused(row, message, tmp_path):
    (tmp_path / "f.csv").write_text(f"{HEADER}{row}\n")
    with pytest.raises(InputError, match=message):
        read_published(tmp_path / "f.csv")
