"""What Git tracks of the weights gives back every byte, and says when a training changed them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cave.weights import PACKED, WEIGHTS, compress, expand, pack, unpack
from core.settings import CAVE_WEIGHTS, DEMO_ANSWERS


@given(st.binary(max_size=300))
def test_expanding_undoes_compressing(weights: bytes) -> None:
    assert expand(compress(weights)) == weights


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("gpt2-xs", "vit-clip-xs", "tokenizers"):
        shutil.copytree(CAVE_WEIGHTS / name, tmp_path / name)
    return tmp_path


def test_missing_and_changed_weights_are_unpacked(folder: Path) -> None:
    text, vision = folder / "gpt2-xs", folder / "vit-clip-xs"
    expected = (text / WEIGHTS).read_bytes()
    (text / WEIGHTS).unlink()
    (text / "tokenizer.json").unlink()
    kept = (vision / WEIGHTS).stat().st_ino
    unpack(folder)
    assert (text / WEIGHTS).read_bytes() == expected
    shared = folder / "tokenizers" / "language" / "tokenizer.json"
    assert (text / "tokenizer.json").read_bytes() == shared.read_bytes()
    assert (vision / WEIGHTS).stat().st_ino == kept

    (text / PACKED).write_bytes(compress(b"other"))
    unpack(folder)
    assert (text / WEIGHTS).read_bytes() == b"other"


def test_new_weights_are_packed(folder: Path) -> None:
    (folder / "gpt2-xs" / WEIGHTS).write_bytes(b"new weights")
    pack(folder)
    assert expand((folder / "gpt2-xs" / PACKED).read_bytes()) == b"new weights"
    unpack(folder)
    assert (folder / "gpt2-xs" / WEIGHTS).read_bytes() == b"new weights"


def test_another_tokenizer_is_refused(folder: Path) -> None:
    (folder / "gpt2-xs" / "tokenizer.json").write_text("{}")
    os.utime(folder / "gpt2-xs" / WEIGHTS)
    with pytest.raises(ValueError, match="train the other models again"):
        pack(folder)


def test_the_shipped_answers_are_about_these_weights() -> None:
    with tarfile.open(DEMO_ANSWERS) as answers:
        file = answers.extractfile("./embeddings/cave/expected.json")
        assert file is not None
        cards = [json.loads(rows["card"]) for rows in json.load(file)]
    folders = [path.parent for path in CAVE_WEIGHTS.glob(f"*/{PACKED}")]
    digests = {card["name"]: card["weights"] for card in cards}
    for folder in folders:
        digest = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
        assert digests[folder.name] == digest, folder.name
