"""Imported scores: kept, replaced, never lost; models that are not embedded yet are told and
kept.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from competence.scored_models import write_model

from core.competence.records import COLUMNS, PERCENT, SCORE, USER
from core.competence.scores import RESULT, find_models, import_scores, imported_rows, read_scores
from core.errors import InputError, StoreBusyError, StoreError
from core.store import Store, add_dataset, locked
from core.study.scores import mean_scores
from tests.store_fakes import CountedDataset

HEADER = "model,task,value,unit\n"


def keep(root: Path, rows: str, *, header: str = HEADER, name: str = "mine.csv"):
    return import_scores(root, "counted", (header + rows).encode(), name=name)


def held(root: Path) -> list[tuple[str, str, float]]:
    return list(
        imported_rows(Store(root), "counted")[["model", "task", "value"]].itertuples(
            index=False, name=None
        )
    )


def test_what_is_not_told_stays_blank():
    (row,) = read_scores(f"{HEADER}mae,depth,0.5,top-1\n".encode(), name="mine.csv").to_dict(
        "records"
    )
    assert list(row) == list(COLUMNS)
    told = {name: value for name, value in row.items() if not pd.isna(value)}
    assert told == {
        "model": "mae",
        "task": "depth",
        "group": "own",
        "value": 0.5,
        "unit": "top-1",
        "split": "",
        "origin": "user",
        "source": "imported from mine.csv",
        "reason": "",
    }


def test_all_that_is_told_is_kept(root):
    header = "source,n,chance,high,low,split,group,unit,value,task,model\n"
    keep(root, '"Doe, 2024",512,0.25,0.6,0.4,test,mine,top-1,0.5,depth,mae\n', header=header)
    (row,) = imported_rows(Store(root), "counted").to_dict("records")
    assert row == {
        "model": "mae",
        "task": "depth",
        "group": "mine",
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "chance": 0.25,
        "n": 512,
        "unit": "top-1",
        "split": "test",
        "origin": "user",
        "source": "Doe, 2024",
        "reason": "",
    }


def test_another_import_replaces_equal_models_and_tasks_and_keeps_the_rest(root):
    first = keep(root, "mae,depth,0.5,top-1\nmae,pose,0.25,top-1\nuntold,depth,0.75,top-1\n")
    assert (len(first.table), first.replaced) == (3, 0)
    second = keep(root, "mae,depth,0.625,top-1\ntuned,depth,0.125,top-1\n", name="more.csv")
    assert (len(second.table), second.replaced) == (2, 1)
    assert held(root) == [
        ("mae", "pose", 0.25),
        ("untold", "depth", 0.75),
        ("mae", "depth", 0.625),
        ("tuned", "depth", 0.125),
    ]
    sources = imported_rows(Store(root), "counted")["source"].tolist()
    assert sources == ["imported from mine.csv"] * 2 + ["imported from more.csv"] * 2


def test_a_name_and_a_spec_mean_the_same_model(root):
    keep(root, "mae,depth,0.5,top-1\n")
    assert keep(root, "TIMM:vit_base_patch16_224.MAE,depth,0.25,top-1\n").replaced == 1
    assert len(held(root)) == 1
    with pytest.raises(
        InputError,
        match=(
            r"mine\.csv gives 'timm:vit_base_patch16_224\.mae' two values of 'depth', by its name"
        ),
    ):
        keep(root, "mae,depth,0.5,top-1\ntimm:vit_base_patch16_224.mae,depth,0.5,top-1\n")


def test_models_that_are_not_embedded_are_told_with_the_nearest_and_kept(root):
    done = keep(root, "tund,depth,0.5,top-1\ntund,pose,0.5,top-1\nmae,depth,0.5,top-1\n")
    told = (
        "'tund' is not embedded, and its scores are kept until it is: no model named 'tund';"
        " did you mean tuned or untold?"
    )
    assert done.notes == [told]
    assert len(held(root)) == 3
    write_model(root, "tund", "hf:tund", "language")
    assert keep(root, "hf:TUND,depth,0.25,top-1\n").notes == []
    assert held(root) == [("tund", "pose", 0.5), ("mae", "depth", 0.5), ("hf:TUND", "depth", 0.25)]


def test_a_spec_means_all_of_its_models_and_nothing_near_it(made):
    entries = Store(made).models("counted")
    assert find_models("hf:bigscience/bloomz-560m", entries) == ["again", "bloomz"]
    assert find_models("timm:vit_base_patch16_224.mae", entries) == ["mae"]
    assert (
        find_models("vit_base_patch16_224.mae", entries)
        == find_models("bigscience/bloomz-560m", entries)
        == []
    )
    assert find_models("MAE", entries) == []


def test_scores_that_cannot_be_read_any_more_are_not_written_over(root):
    keep(root, "mae,depth,0.5,top-1\n")
    file = root / "results" / "counted" / f"{RESULT}.parquet"
    whole = file.read_bytes()
    add_dataset(root, CountedDataset(revision="r2"))
    for said in ("was made over revision r1", "is damaged"):
        with pytest.raises(
            StoreError,
            match=(
                rf"the scores imported before are out of reach: .*({said}).*; then import them"
                r" again"
            ),
        ):
            keep(root, "tuned,depth,0.5,top-1\n")
        file.write_bytes(whole[:2000])


def test_two_imports_do_not_lose_each_other_s_scores(root):
    with (
        locked(root / "results" / "counted" / "importing-scores.duckdb"),
        pytest.raises(
            StoreBusyError, match=r"is writing 'importing-scores' .*; wait until it is done"
        ),
    ):
        keep(root, "mae,depth,0.5,top-1\n")
    assert keep(root, "mae,depth,0.5,top-1\n").replaced == 0


@pytest.mark.parametrize(
    ("columns", "counted"),
    [
        ("acc", "acc"),
        ("val_acc Top-1 accuracy", "val_acc, Top-1, accuracy"),
        ("WER% MSE FPR% EER% latency error% misses% acc", "acc"),
        ("year resolution dropout noise", ""),
        ("a% b% c% d% dropout", "a, b, c and 1 more"),
        ("acc% competence", "competence"),
    ],
)
def test_competence_is_the_mean_of_accuracies_and_percentages_alone(columns, counted):
    rows = pd.DataFrame(
        {"model": f"m{place}", "task": name.rstrip("%"), "value": 0.1 * place, "origin": USER}
        | {"unit": PERCENT if name.endswith("%") else SCORE, "reason": ""}
        for name in columns.split()
        for place in range(1, 7)
    )
    basis = set(mean_scores(rows)["basis"])
    several = ("mean of " if "," in counted else "") + counted
    assert basis == ({f"{several} (user)"} if counted else set())
