"""Measurements of some stimuli: a dataset of these, to which all embeddings come along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.cli import main
from core.embedding.holdings import name_data
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.stimuli.catalog import open_dataset
from core.stimuli.dataset import DatasetCard
from core.stimuli.folder import FolderDataset
from core.store import Store, add_dataset
from core.study.selections import encode
from core.study.study import Study
from tests.cli.photos import paint_photos
from tests.pages.world import SMALL, PaintedDataset, build

ROWS = [1, 2, 3, 5, 7, 8, 11, 12, 13, 17, 18, 19]
OUT = np.random.default_rng(0).permutation(np.repeat(ROWS, 2))


def imported(root: Path, file: Path, dataset: str, name: str, *more: str) -> int:
    words = ["import", str(file), "--dataset", dataset, "--name", name, "--modality", "brain"]
    return main([*words, *more, "--store", str(root)])


def test_models_of_a_subset_score_as_over_these_stimuli(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, rng = build(tmp_path / "s", PaintedDataset(20), **SMALL), np.random.default_rng(1)
    store, values = Store(root), rng.normal(size=(24, 4)).astype(np.float32)
    np.save(tmp_path / "whole.npy", rng.normal(size=(2, 20, 3)))
    np.save(tmp_path / "rdm.npy", np.abs(np.subtract.outer(range(20), range(20))))
    assert imported(root, tmp_path / "whole.npy", "cave", "twice", "--repeats", "trials") == 0
    assert imported(root, tmp_path / "rdm.npy", "cave", "people", "--dissimilarities") == 0
    ids = store.stimuli("cave")["stimulus"].to_numpy(str)
    np.savez(tmp_path / "v1.npz", x=values, stimulus=ids[OUT])
    brain = ("v1", "--repeats", "trials", "--subset", "seen")
    assert imported(root, tmp_path / "v1.npz", "cave", *brain) == 0
    assert "of 12 of 20 stimuli, 4 dims, measured over 2 trials" in capsys.readouterr().out
    right = [values[row == OUT].mean(axis=0) for row in ROWS]
    np.testing.assert_allclose(store.space("seen", "v1", 0), right, rtol=1e-6)

    for read in (store.stimuli, store.image_sizes):
        pd.testing.assert_frame_equal(read("seen"), read("cave").iloc[ROWS].reset_index(drop=True))
    assert store.thumbnails("seen", range(12)) == store.thumbnails("cave", ROWS)
    text = store.captions("cave").groupby("index")["text"].agg(list)
    assert [*store.captions("seen").groupby("index")["text"].agg(list)] == [*text[ROWS]]
    costs = store.text_costs("cave", "gpt-2-s")["bits"].to_numpy()
    assert [*store.text_costs("seen", "gpt-2-s")["bits"]] == [*costs[ROWS]]
    assert (store.repeats("seen", "twice", 0) == store.repeats("cave", "twice", 0)[:, ROWS]).all()
    across = np.ix_(ROWS, ROWS)
    assert (store.space("seen", "people", 0) == store.space("cave", "people", 0)[across]).all()

    of, asked = ["model_x", "model_y", "score"], Alignment(axis="")
    some = ask(asked, Study(store, "cave", stimuli=encode(ROWS, 20)))[of]
    pd.testing.assert_frame_equal(some, ask(asked, Study(store, "seen"))[of])
    card = store.dataset("seen")
    assert not card.knows_factors  # no event is found by its place
    assert store.model("seen", "twice").recipe.choices["dataset"] == name_data(card)

    np.save(tmp_path / "other.npy", values[:12])
    assert imported(root, tmp_path / "other.npy", "seen", "v2") == 0
    np.savez(tmp_path / "v4.npz", x=values[:9], stimulus=ids[ROWS[:9]])
    assert imported(root, tmp_path / "v4.npz", "cave", "v4", "--subset", "seen") == 2
    assert "'seen' is another dataset of this store" in capsys.readouterr().err


def test_a_subset_opens_again(tmp_path: Path) -> None:
    paint_photos(tmp_path / "photos", 5)
    photos = FolderDataset.open(tmp_path / "photos", name="photos", images_only=True)
    add_dataset(tmp_path / "s", photos)
    values = np.random.default_rng(0).normal(size=(3, 4))
    pd.DataFrame(values, ["4.png", "0.png", "2.png"]).to_csv(tmp_path / "x.csv")
    assert imported(tmp_path / "s", tmp_path / "x.csv", "photos", "v1", "--subset", "some") == 0
    store = Store(tmp_path / "s")
    np.testing.assert_allclose(store.space("some", "v1", 0), values[[1, 2, 0]], rtol=1e-6)
    card: DatasetCard = store.dataset("some")
    again = open_dataset(card)
    assert again.card == card
    assert [*again.stimuli["stimulus"]] == ["0.png", "2.png", "4.png"]
    assert (np.asarray(again.image(1)) == np.asarray(photos.image(2))).all()
