"""The runner embeds every stimulus once, in order, and the file says how."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from store_fakes import CountedDataset, CountingEncoder, vectors

from core.embedding import shards
from core.embedding.features import embed_world, import_features
from core.embedding.runner import embed
from core.embedding.shards import parts_folder
from core.encoders.encoder import Encoding
from core.encoders.measured import Content
from core.errors import (
    FeatureError,
    StimuliError,
    StoreError,
    StoreVersionError,
    StoreWriteError,
    UnknownNameError,
)
from core.stimuli.dataset import DatasetCard
from core.store import Store
from core.store.schema import VERSIONS

ORDER = [*range(10, 20), *range(10)]  # captions of stimuli with two digits are longer: first


def added(sizes: Sequence[int]) -> np.ndarray:
    """Return what the last layer of a CountingEncoder adds for 20 stimuli in pieces of `sizes`."""
    values = np.empty(20, np.float32)
    values[ORDER] = np.repeat(sizes, sizes) / 1024
    return values


def test_every_vector_is_that_of_its_stimulus(tmp_path: Path) -> None:
    path = embed(tmp_path, CountedDataset(20), CountingEncoder(), batch_size=6)
    store = Store(tmp_path)
    assert path == tmp_path / "embeddings" / "counted" / "counting.duckdb"
    for layer in (0, 1):
        np.testing.assert_array_equal(
            store.space("counted", "counting", layer),
            vectors(range(20), layer=layer, dims=8 + layer),
        )
    last = vectors(range(20), layer=2, dims=10)
    last[:, 0] += added([6, 6, 6, 2])
    np.testing.assert_array_equal(store.space("counted", "counting", 2), last)
    np.testing.assert_array_equal(
        store.text_costs("counted", "counting")["bits"], np.arange(20) * 1.5
    )
    assert store.text_costs("counted", "counting")["bytes"][11] == len("event 11, 20 words")
    assert not parts_folder(path).exists()


def test_the_entry_says_how_it_was_made(tmp_path: Path) -> None:
    embed(tmp_path, CountedDataset(), CountingEncoder(pooling="last"))
    entry = Store(tmp_path).model("counted", "counting")
    assert entry.level == "20"
    assert entry.dims == (8, 9, 10)
    assert entry.device == "cpu"
    assert entry.card == CountingEncoder().card
    assert entry.digest == entry.recipe.digest
    assert entry.recipe.choices == {
        "version": VERSIONS["embedding"],
        "dataset": {"name": "counted", "revision": "r1"},
        "modality": "language",
        "weights": "w1",
        "level": "20",
        "encoder": {"pooling": "last"},
    }


@dataclass
class Half(CountedDataset):
    """Images alone, or texts alone."""

    images: bool = True

    @property
    def card(self) -> DatasetCard:
        card = super().card
        return replace(card, levels=() if self.images else card.levels, has_images=self.images)


def test_half_a_dataset_is_embedded_by_what_reads_it(tmp_path: Path) -> None:
    eye = CountingEncoder("vision", "eye")
    pictures, words = Half(name="pictures"), Half(name="words", images=False)
    assert embed(tmp_path, pictures, eye).stem == "eye"
    assert embed(tmp_path, words, CountingEncoder()).stem == "counting"
    with pytest.raises(StimuliError, match="'words' has texts and no images, which this needs"):
        embed(tmp_path, words, eye)
    with pytest.raises(StimuliError, match="'pictures' has images and no captions"):
        embed(tmp_path, pictures, CountingEncoder())


def test_another_level_has_a_name_of_its_own(tmp_path: Path) -> None:
    path = embed(tmp_path, CountedDataset(), CountingEncoder(), level="5")
    assert path.stem == "counting~5"
    assert Store(tmp_path).model("counted", "counting~5").level == "5"
    assert Store(tmp_path).text_costs("counted", "counting~5")["bytes"][3] == len(
        "event 3, 5 words"
    )


def test_a_level_that_some_stimuli_lack_is_refused(tmp_path: Path) -> None:
    dataset = CountedDataset()
    dataset.captions = dataset.captions.drop(index=[3, 7])
    with pytest.raises(
        StimuliError,
        match=r"2 of 20 stimuli have no caption of level '5': 's1', 's3'; add them, or .*20, 5",
    ):
        embed(tmp_path, dataset, CountingEncoder(), level="5")


def test_the_same_recipe_is_not_embedded_again(tmp_path: Path) -> None:
    path = embed(tmp_path, CountedDataset(), CountingEncoder())
    before = path.stat().st_mtime_ns
    assert embed(tmp_path, CountedDataset(), CountingEncoder(delay=60.0)) == path
    assert path.stat().st_mtime_ns == before


def test_other_weights_of_the_same_name_are_refused_unless_they_may_replace(tmp_path: Path) -> None:
    embed(tmp_path, CountedDataset(), CountingEncoder())
    other = CountingEncoder(weights="w2")
    with pytest.raises(
        StoreError,
        match="choose another name with --name: 'counting' is in the store, with other weights; or",
    ):
        embed(tmp_path, CountedDataset(), other)
    assert embed(tmp_path, CountedDataset(), other, name="counting-w2").stem == "counting-w2"
    embed(tmp_path, CountedDataset(), other, replace=True)
    assert Store(tmp_path).model("counted", "counting").card.weights == "w2"
    assert len(Store(tmp_path).models("counted")) == 2


def test_another_revision_of_the_dataset_must_be_added_first(tmp_path: Path) -> None:
    from core.store import add_dataset

    embed(tmp_path, CountedDataset(), CountingEncoder())
    newer = CountedDataset(30, revision="r2")
    with pytest.raises(
        StoreVersionError,
        match="the store has revision r1 of 'counted', this is r2; add the dataset again",
    ):
        embed(tmp_path, newer, CountingEncoder())
    add_dataset(tmp_path, newer)
    assert Store(tmp_path).models("counted") == []
    embed(tmp_path, newer, CountingEncoder())
    assert Store(tmp_path).space("counted", "counting", 0).shape == (30, 8)
    assert Store(tmp_path).problems() == []


@pytest.mark.parametrize(("largest", "piece"), [(3, 2), (1, 1), (8, 8)])
def test_a_batch_that_does_not_fit_is_halved(tmp_path: Path, largest: int, piece: int) -> None:
    embed(tmp_path, CountedDataset(20), CountingEncoder(largest=largest), batch_size=8)
    expected = vectors(range(20), layer=2, dims=10)
    piece_last = min(piece, 4)
    expected[:, 0] += added([piece] * (16 // piece) + [piece_last] * (4 // piece_last))
    np.testing.assert_array_equal(Store(tmp_path).space("counted", "counting", 2), expected)


@dataclass
class Failing(CountingEncoder):
    """Raises what it is given at its third batch."""

    error: Exception | None = None
    calls: int = 0

    def encode(self, items):
        self.calls += 1
        if self.calls == 3 and self.error:
            raise self.error
        return super().encode(items)


def test_memory_errors_halve_and_other_errors_pass(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        embed(
            tmp_path,
            CountedDataset(),
            Failing(error=RuntimeError("shapes cannot be multiplied")),
            batch_size=4,
        )
    path = embed(tmp_path, CountedDataset(), Failing(error=MemoryError()), batch_size=4)
    whole, halved = ORDER[8], ORDER[16]  # in the third batch of both runs, and of the second
    space = Store(tmp_path).space("counted", path.stem, 2)
    assert space[whole, 0] == whole * 64 + 32 + 4 / 1024
    assert space[halved, 0] == halved * 64 + 32 + 2 / 1024


@dataclass
class Broken(CountingEncoder):
    """Gives infinity in layer 1 for stimuli 7 and 8, or too few layers."""

    drop: int = 0

    def encode(self, items):
        encoding = super().encode(items)
        wrong = [row for row, item in enumerate(items) if item.split()[1] in ("7,", "8,")]
        encoding.layers[1][wrong, 2] = np.inf
        return Encoding(encoding.layers[self.drop :], encoding.bits, encoding.bytes)


def test_infinite_vectors_are_refused_by_layer_and_stimulus(tmp_path: Path) -> None:
    with pytest.raises(
        FeatureError,
        match="layer 'layer 1' of counting has NaN or infinity for stimulus 's7', 's8'",
    ):
        embed(tmp_path, CountedDataset(), Broken())
    assert Store(tmp_path).models("counted") == []


def test_an_encoder_that_drops_a_layer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        FeatureError,
        match=r"counting has 3 layers and was given 20 items, but returned \(20, 9\), \(20, 10\)",
    ):
        embed(tmp_path, CountedDataset(), Broken(drop=1))


def test_an_interrupted_run_goes_on_after_its_last_batch(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="power"):
        embed(tmp_path, CountedDataset(), Failing(error=RuntimeError("power")), batch_size=4)
    parts = next(parts_folder(tmp_path / "embeddings" / "counted" / "counting.duckdb").iterdir())
    assert sorted(path.name for path in parts.iterdir()) == ["00000000.npz", "00000004.npz"]
    (parts / "00000004.npz").write_bytes(
        (parts / "00000004.npz").read_bytes()[:-40]
    )  # a disk that lost its power too
    (parts / "00000016.npz").write_bytes((parts / "00000000.npz").read_bytes())  # beyond a gap
    rest = Failing()
    embed(tmp_path, CountedDataset(), rest, batch_size=4)
    assert rest.calls == 4
    np.testing.assert_array_equal(
        Store(tmp_path).space("counted", "counting", 0), vectors(range(20), layer=0)
    )


@pytest.fixture
def held(tmp_path: Path) -> Path:
    embed_world(tmp_path, CountedDataset())
    return tmp_path


def test_features_made_elsewhere_become_a_model(held: Path) -> None:
    layers = [vectors(range(20), layer=layer) for layer in range(2)]
    card = CountedDataset().card
    path = import_features(held, card, Content(layers), name="theirs", modality="vision")
    assert import_features(held, card, Content(layers), name="theirs", modality="vision") == path
    assert Store(held).model("counted", "theirs").card.spec == "import:theirs"
    np.testing.assert_array_equal(Store(held).space("counted", "theirs", 1), layers[1])


def test_features_of_the_wrong_length_are_refused(held: Path) -> None:
    with pytest.raises(
        FeatureError, match="layer 0 of theirs has 19 rows, but the dataset has 20 stimuli"
    ):
        import_features(
            held,
            CountedDataset().card,
            Content([vectors(range(19), layer=0)]),
            name="theirs",
            modality="vision",
        )
    with pytest.raises(FeatureError, match="theirs has no layers"):
        import_features(held, CountedDataset().card, Content([]), name="theirs", modality="vision")
    elsewhere = replace(CountedDataset().card, name="elsewhere")
    with pytest.raises(UnknownNameError, match="no dataset named 'elsewhere'"):
        import_features(
            held, elsewhere, Content([vectors(range(20), layer=0)]), name="a", modality="vision"
        )


def test_a_disk_that_fills_up_keeps_the_finished_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, calls = shards.sync, 0

    def fill_up(path: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        original(path)

    monkeypatch.setattr(shards, "sync", fill_up)
    with pytest.raises(
        StoreWriteError, match=r"the disk has no room for .*; free some and start again"
    ):
        embed(tmp_path, CountedDataset(), CountingEncoder(), batch_size=4)
    monkeypatch.undo()
    rest = Failing()
    embed(tmp_path, CountedDataset(), rest, batch_size=4)
    assert rest.calls == 3
