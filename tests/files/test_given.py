"""What no command may be given: a device or a pipe in place of a file ends in a sentence and exit
code 2, and nothing waits for it.
"""

from __future__ import annotations

import os
import signal
from shutil import copytree

import pytest
from store_fakes import CountedDataset

from core.cli import main
from core.competence.language.texts import open_texts
from core.errors import InputError, StimuliError, StoreError
from core.questions.color.geometry.pictures import read_pictures
from core.stimuli.folder import FolderDataset
from core.store import Store, add_dataset
from core.store.listing import read_titles

COMMANDS = {
    "import": ("x.npy", "import {} --dataset counted --name n --modality vision"),
    "ratings": (
        "x.csv",
        "import {} --dataset counted --name n --modality people --dissimilarities",
    ),
    "scores": ("x.csv", "competence import {} --dataset counted"),
    "instruction": ("x.txt", "summarize --dataset counted --model hf:x --words 3 --instruction {}"),
    "plan": ("x.toml", "study show {}"),
    "score": ("x.npz", "score {} {} --metric cka"),
    "texts": ("x.txt", "bits-per-byte --dataset counted --text {}"),
    "table": ("x.csv", "dataset add n --folder {folder} --table x.csv --texts-only"),
}


@pytest.fixture(autouse=True)
def _alarm():
    """End the test where something is read without end."""
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("given") / "store"
    add_dataset(root, CountedDataset(4))
    return root


@pytest.fixture
def store(made, tmp_path):
    return copytree(made, tmp_path / "store")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_device_is_refused(command, store, tmp_path, capsys):
    name, words = COMMANDS[command]
    path = tmp_path / name
    path.symlink_to("/dev/zero")
    place = [] if command == "score" else ["--store", str(store)]
    assert main([*words.format(path, path, folder=tmp_path).split(), *place]) == 2
    error = capsys.readouterr().err
    assert error.startswith("platoscope: ")
    assert error.count("\n") == 1
    assert "expected" in error or "no such file" in error or "no text file named" in error


def test_titles_of_a_store_that_are_a_pipe(store):
    os.mkfifo(store / "titles.json")
    with pytest.raises(
        StoreError, match=r"json is a pipe or a device; expected .*, in JSON, as a regular"
    ):
        read_titles(store)


def test_saved_views_of_an_older_store_are_not_read(store):
    before = Store(store).digest("counted")
    os.mkfifo(store / "views.json")
    assert Store(store).digest("counted") == before
    assert Store(store).problems() == []


def test_folders_with_pipes_in_them(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    os.mkfifo(tmp_path / "data_batch_1.bin")
    (tmp_path / "t.csv").write_text("image,caption\na.png,one\n")
    with pytest.raises(StimuliError, match=r"a\.png is a pipe or a device; expected an image"):
        FolderDataset.open(tmp_path, name="d")
    with pytest.raises(
        StimuliError, match=r"data_batch_1\.bin is a pipe or a device; expected CIFAR-10"
    ):
        read_pictures(tmp_path)
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"a\.txt is a pipe or a device; expected texts"):
        open_texts(str(tmp_path / "a.txt"))
