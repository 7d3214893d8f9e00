"""Measurements of some stimuli: a dataset of these, to which all embeddings come along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.cli import main
from core.embedding.history import command_of
from core.embedding.runner import name_data
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.stimuli.catalog import open_dataset
from core.stimuli.dataset import DatasetCard
from core.stimuli.folder import open_folder
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
    assert card.world is None  # no event is found by its place
    assert store.model("seen", "twice").recipe.choices["dataset"] == name_data(card)

    np.save(tmp_path / "other.npy", values[:12])
    assert imported(root, tmp_path / "other.npy", "seen", "v2") == 0
    np.savez(tmp_path / "v4.npz", x=values[:9], stimulus=ids[ROWS[:9]])
    assert imported(root, tmp_path / "v4.npz", "cave", "v4", "--subset", "seen") == 2
    assert "'seen' is another dataset of this store" in capsys.readouterr().err


def test_a_subset_opens_again(tmp_path: Path) -> None:
    paint_photos(tmp_path / "photos", 5)
    photos = open_folder(tmp_path / "photos", name="photos", images_only=True)
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


def held(root: Path) -> set[Path]:
    return {path for path in root.rglob("*.duckdb") if "results" not in path.parts}


@pytest.mark.parametrize(
    "words",
    [
        "import sub.npz --name b --subset five --level nope",
        f"import sub.npz --name b --subset five --family {'F' * 500}",
        "import sub.npz --name was --subset five",  # taken by what comes along
        "import sub.npz --name ../b --subset five",
        "import sub.npz --name b --subset ../five",
        f"import all.npy --name b --family {'F' * 500}",
        f"import all.npy --name b --title {'T' * 500}",
        f"import all.npy --name b --objective {'O' * 500}",
        "import all.npy --name b --competence much",
        f"embed --model timm:vit_tiny_patch16_224@untrained --family {'F' * 500}",
        "embed --model timm:vit_tiny_patch16_224@untrained --caption-level 1 nope",
        f"embed --model timm:vit_tiny_patch16_224@untrained --title {'T' * 500}",
    ],
)
def test_what_fails_leaves_nothing_behind(tmp_path, monkeypatch, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ids.txt").write_text("\n".join("abcdefgh"))
    store, rng = ["--store", "s"], np.random.default_rng(0)
    assert main(["dataset", "add", "mine", "--ids", "ids.txt", *store]) == 0
    np.save("all.npy", rng.normal(size=(8, 3)))
    np.savez("sub.npz", x=rng.normal(size=(5, 3)), id=np.array([*"abcde"]))
    assert imported(Path("s"), Path("all.npy"), "mine", "was") == 0
    before = held(tmp_path)
    kind = ["--modality", "brain"] if words.startswith("import") else []
    assert main([*words.split(), *kind, "--dataset", "mine", *store]) == 2
    assert held(tmp_path) == before


def test_the_command_of_an_import_makes_it_again(tmp_path, monkeypatch) -> None:
    """With all that it said, and over a subset as it came there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ids.txt").write_text("\n".join("abcdefgh"))
    store, rng = ["--store", "s"], np.random.default_rng(0)
    assert main(["dataset", "add", "mine", "--ids", "ids.txt", *store]) == 0
    arrays = {name: rng.normal(size=(5, 3)) for name in "xyz"}
    np.savez("sub.npz", id=np.array([*"bdfhj"]), who=np.array([*"hgcba"]), **arrays)
    np.save("all.npy", rng.normal(size=(8, 3)))
    assert imported(Path("s"), Path("all.npy"), "mine", "whole", "--title", "All of it") == 0
    assert imported(Path("s"), Path("all.npy"), "mine", "whole", "--drop", "none") == 0  # the same
    said = "--title My_model --drop z --id-column who --feature-column y x --subset five"
    assert imported(Path("s"), Path("sub.npz"), "mine", "b", *said.split()) == 0
    for name in ("whole", "b"):
        words = command_of("five", Store(Path("s")).model("five", name))
        again = ["--store", f"s-{name}"]
        assert main(["dataset", "add", "mine", "--ids", "ids.txt", *again]) == 0
        assert main([*words, *again]) == 0
        of = "five" if name == "b" else "mine"
        one, other = (Store(Path(root)) for root in ("s", f"s-{name}"))
        assert one.model(of, name).card == other.model(of, name).card
        assert one.model(of, name).recipe == other.model(of, name).recipe
