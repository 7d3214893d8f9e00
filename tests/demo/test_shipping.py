"""The answers that ship are true of the weights that ship, and a store takes them as its own."""

from __future__ import annotations

import re
import shutil
import tarfile
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from core.cave.demo import (
    DATASET,
    PLACE,
    answer_demo,
    build_demo,
    first_questions,
    install,
    measure_demo,
)
from core.cave.world import CaveDataset
from core.errors import NotEmbeddedError
from core.questions.asking import ask, recall
from core.recipe import Recipe
from core.settings import DEMO_ANSWERS
from core.store import Store, write_result
from core.store.listing import FILE
from core.study.study import Study

MEASURED = ("gpt2-xs", "vit-multitask-xs")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with all that ships, its pictures left blank, and no embedding."""
    root = tmp_path_factory.mktemp("shipped")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CaveDataset, "image", lambda *_: Image.new("RGB", (8, 8)))
        install(root)
    return root


def test_every_first_answer_is_there_before_anything_is_embedded(store: Path) -> None:
    study = Study(Store(store), DATASET)
    assert not list((store / "embeddings").rglob("*.duckdb"))
    for question in first_questions(DATASET):
        if question.complete(study).is_kept():
            assert recall(question, study) is not None, question
        else:
            assert len(ask(question, study)), question
    name = study.models()["model"].iloc[0]
    with pytest.raises(NotEmbeddedError, match=f"{name} is not embedded yet"):
        study.spaces(name)


def test_what_is_there_already_stays(store: Path) -> None:
    names = sorted(path.name for path in (store / "results" / DATASET).iterdir())
    first = store / "results" / DATASET / names[0]
    before = first.stat().st_mtime_ns
    own, card = pd.DataFrame({"a": [1.0]}), Store(store).dataset(DATASET)
    write_result(store, dataset=card, name="own", table=own, recipe=Recipe.of("imported-scores"))
    first_own = (store / "results" / DATASET / names[1]).read_bytes()
    shutil.copyfile(store / "results" / DATASET / "own.parquet", first.with_name(names[1]))
    install(store)
    assert first.stat().st_mtime_ns == before
    assert Store(store).result(DATASET, "own") is not None
    assert first.with_name(names[1]).read_bytes() == first_own  # made by another recipe: replaced


def build_again(root: Path) -> None:
    """Build the demo of the shipped scores but those of MEASURED, and answer its questions."""
    build_demo(root)
    install(root)
    for path in (root / "results" / DATASET).glob("*.parquet"):
        model = path.stem.removeprefix("competence-")
        if model == path.stem or model in MEASURED:
            path.unlink()
    measure_demo(root)
    answer_demo(root)


def test_no_path_of_another_machine_ships(tmp_path: Path) -> None:
    with tarfile.open(DEMO_ANSWERS) as answers:
        answers.extractall(tmp_path, filter="data")
    text = (tmp_path / "embeddings" / DATASET / FILE).read_text(encoding="utf-8")
    places = re.findall(r"[:@]([^\":@]*)/data/cave/", text)
    assert len(places) > 100
    assert set(places) == {PLACE}


@pytest.mark.slow
def test_shipped_answers_are_those_of_a_demo_built_from_nothing(tmp_path: Path) -> None:
    """Numbers to 1e-7 and coordinates to 1e-5, since processes differ in the order of their sums;
    texts as they are. Of the scores a sample is measured again.
    """
    with tarfile.open(DEMO_ANSWERS) as answers:
        answers.extractall(tmp_path / "shipped", filter="data")
    build = get_context("spawn").Process(target=build_again, args=(tmp_path,))
    build.start()  # without the checks of every call that tests may run with
    build.join()
    assert build.exitcode == 0
    folder, compared = tmp_path / "results" / DATASET, 0
    assert all((folder / f"competence-{model}.parquet").exists() for model in MEASURED)
    for path in sorted((tmp_path / "shipped" / "results" / DATASET).glob("*.parquet")):
        if not (folder / path.name).exists() or path.name.startswith("stitches-"):
            continue  # asked by a page alone, or grown with what pages ask
        shipped, made = pd.read_parquet(path), pd.read_parquet(folder / path.name)
        assert list(shipped.columns) == list(made.columns), path.name
        tolerance = 1e-5 if {"x", "y"} <= set(shipped) else 1e-9
        for column in shipped:
            if pd.api.types.is_numeric_dtype(shipped[column]):
                values = (table[column].astype(float) for table in (made, shipped))
                np.testing.assert_allclose(*values, rtol=1e-7, atol=tolerance, err_msg=path.name)
            else:
                assert shipped[column].astype(str).equals(made[column].astype(str)), path.name
        compared += 1
    assert compared > 100
