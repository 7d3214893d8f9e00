"""A device or a pipe in place of a file ends in a sentence and exit code 2, and is not read."""

from __future__ import annotations

import os
import signal

import pytest
from store_fakes import CountedDataset

from core.cli import main
from core.errors import StimuliError
from core.stimuli.folder import open_folder
from core.store import add_dataset


@pytest.fixture(autouse=True)
def _alarm():
    """End the test if something is read without end."""
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x.npy", "import {} --dataset counted --name n --modality vision"),
        ("x.toml", "study show {}"),
    ],
)
def test_a_device_is_refused(name, words, tmp_path, capsys):
    add_dataset(tmp_path / "store", CountedDataset(4))
    (tmp_path / name).symlink_to("/dev/zero")
    words = words.format(tmp_path / name).split()
    assert main([*words, "--store", str(tmp_path / "store")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("platoscope: ")
    assert error.count("\n") == 1
    assert "expected" in error or "no such file" in error


def test_folders_with_pipes_in_them(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    (tmp_path / "t.csv").write_text("image,caption\na.png,one\n")
    with pytest.raises(StimuliError, match=r"a\.png is a pipe or a device; expected an image"):
        open_folder(tmp_path, name="d")
