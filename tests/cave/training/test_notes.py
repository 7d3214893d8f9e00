"""A model of melodies from its training to its place in a store, by the usual code throughout."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.cave import tasks
from core.cave.events import draw_event
from core.cave.melodies import read, sing, write
from core.cave.training.configs import CONFIGS, CONTEXT
from core.cave.training.loop import open_feed, world_of
from core.cave.training.pool import SPLIT, Pool
from core.cave.training.train import train
from core.cave.world import WORLD, CaveDataset
from core.competence.suite import measure_all
from core.embedding.history import command_of
from core.embedding.runner import embed
from core.encoders.catalog import open_encoder, spec_of_folder
from core.errors import EncoderError, UnknownNameError
from core.store import Store
from core.study.study import Study
from tests.cave.training.conftest import CPU, tiny

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("notes")
    return train(tiny("note-gpt2-xs"), pool, device=CPU, runs=root / "runs", weights=root)


@pytest.fixture(scope="module")
def store(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose one model hears the first dozen of the Cave's events."""
    root = tmp_path_factory.mktemp("heard")
    embed(root, CaveDataset(12), open_encoder(f"hf:{folder}", device=CPU))
    return root


def test_a_concert_is_melodies_of_one_event(pool: Pool) -> None:
    concerts, tokenizer = pool.concerts(), pool.tokenizer(notes=True)
    assert concerts.shape == (32, CONTEXT)
    for index in (3, 17):
        row = concerts[index].long()
        tokens = tokenizer.convert_ids_to_tokens(row[row != 0])
        assert tokens[0] == "<s>"
        text = " ".join(map(":".join, zip(tokens[1::2], tokens[2::2], strict=True)))
        ends = [place for place, note in enumerate(read(text)) if note.length == 8]
        assert len(ends) > 1
        assert ends[-1] == len(read(text)) - 1  # whole melodies alone
    event = draw_event(SPLIT, 3)
    ids = tokenizer(write(sing(event)))["input_ids"]
    assert len(ids) == 2 * len(sing(event)) + 1


def test_notes_are_all_that_it_learns_from(pool: Pool) -> None:
    config = CONFIGS["note-gpt2-xs"]
    batch = open_feed(config, pool, CPU)(0)
    assert set(batch) == {"tokens", "present"}
    assert world_of(config, pool) == pool.sung
    assert pool.sung not in (pool.said, pool.shown)


def test_it_opens_as_a_music_model(folder: Path) -> None:
    encoder = open_encoder(spec_of_folder(folder), device=CPU)
    card = encoder.card
    assert (card.modality, card.family, card.objective) == ("music", "Note GPT-2", "next note")
    assert card.layers == ("embedding", "block 1", "block 2")
    texts = [write(sing(draw_event("test", index))) for index in range(3)]
    alone = [encoder.encode([text]).layers[-1][0] for text in texts]
    np.testing.assert_allclose(encoder.encode(texts).layers[-1], alone, rtol=1e-4, atol=1e-5)


def test_its_embedding_is_of_the_stimuli_s_melodies(folder: Path, store: Path) -> None:
    entry = Store(store).model("cave", "note-gpt2-xs")
    assert (entry.level, entry.recipe.choices["melodies"]) == (None, 1)
    card = Store(store).dataset("cave")
    encoder = open_encoder(f"hf:{folder}", device=CPU)
    wanted = encoder.encode([WORLD.melody(event) for event in WORLD.behind(card)]).layers[1]
    space = Store(store).space("cave", "note-gpt2-xs", 1)
    np.testing.assert_allclose(space, wanted, rtol=1e-4, atol=1e-5)
    assert command_of("cave", entry)[:3] == ["embed", "--dataset", "cave"]
    assert Study(Store(store), "cave").competence().empty  # it codes no captions


def test_it_is_probed_by_what_a_melody_can_tell(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SAMPLES", {"plain": 60})
    table = measure_all(store, "cave", ["note-gpt2-xs"], device=CPU)
    assert table["task"].tolist() == [task.name for task in tasks.SUNG]
    assert len(tasks.SUNG) == 11
    assert table["value"].between(0, 1).all()


def test_a_card_of_an_unknown_modality_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "smell"
    other.mkdir()
    for path in folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    card = json.loads((folder / "card.json").read_text())
    (other / "card.json").write_text(json.dumps(card | {"modality": "smell"}))
    with pytest.raises(UnknownNameError, match="no modality named 'smell'"):
        open_encoder(f"hf:{other}", device=CPU)
    (other / "card.json").write_text(json.dumps(card | {"modality": 3}))
    with pytest.raises(EncoderError, match="must hold text for title, family, objective, modality"):
        open_encoder(f"hf:{other}", device=CPU)
