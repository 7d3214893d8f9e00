"""What is written to a store comes back; leftovers go; a table is read once."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image
from store_fakes import CountedDataset, CountingEncoder, vectors

from core.errors import FeatureError, InputError, StimuliError, StoreError, UnknownNameError
from core.recipe import Recipe
from core.settings import READ_ONLY
from core.store import Embedding, Store, add_dataset, files, write_embedding, write_result, writer
from core.store.publishing import locked
from core.store.schema import VERSIONS
from core.store.writer import remove_leftovers

RECIPE = Recipe.of(
    "embedding", version=VERSIONS["embedding"], pooling="mean", nested={"rate": [1, 2.5, None]}
)


def write(
    root: Path, name: str = "counting", *, size: int = 20, layers: int = 3, costs: bool = True
) -> Path:
    return put(
        root,
        [vectors(range(size), layer=layer, dims=4 + layer) for layer in range(layers)],
        dataset=CountedDataset(size).card,
        card=replace(CountingEncoder(layers=layers).card, name=name),
        bits=np.arange(size) / 3 if costs else None,
        bytes=np.full(size, 9.0) if costs else None,
    )


def put(root: Path, layers: list[np.ndarray], **other: object) -> Path:
    """Write layers of the model `counting`; other: what differs from the usual fields."""
    fields = {
        "dataset": CountedDataset().card,
        "card": CountingEncoder(layers=1).card,
        "level": "20",
        "bits": None,
        "bytes": None,
        "recipe": RECIPE,
        "device": "cuda:0",
        "seconds": 12.5,
    }
    return write_embedding(root, Embedding(layers=layers, **(fields | other)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    add_dataset(root, CountedDataset())
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """Return a store of one's own with the dataset in it."""
    return shutil.copytree(made, tmp_path / "store")


def test_a_dataset_comes_back_as_it_was(root: Path) -> None:
    store, dataset = Store(root), CountedDataset()
    assert store.datasets() == [dataset.card]
    assert store.dataset("counted") == dataset.card
    pd.testing.assert_frame_equal(store.stimuli("counted"), dataset.stimuli)
    pd.testing.assert_frame_equal(store.captions("counted"), dataset.captions)


def test_thumbnails_are_small_webp_in_the_order_asked_for(root: Path) -> None:
    found = [Image.open(io.BytesIO(image)) for image in Store(root).thumbnails("counted", [19, 3])]
    assert [image.format for image in found] == ["WEBP", "WEBP"]
    assert [image.size for image in found] == [(224, 112), (224, 112)]
    assert [image.getpixel((5, 5))[0] for image in found] == pytest.approx([19, 3], abs=2)


def test_images_keep_the_size_that_they_had(root: Path) -> None:
    sizes = Store(root).image_sizes("counted")
    assert sizes[["width", "height"]].to_numpy().tolist() == [[320, 160]] * 20


@pytest.mark.parametrize("index", [-1, 20])
def test_a_stimulus_that_is_not_there_is_named(root: Path, index: int) -> None:
    with pytest.raises(
        StimuliError, match=f"stimulus {index} is not in 'counted', which has 0 … 19"
    ):
        Store(root).thumbnails("counted", [index])


def test_spaces_come_back_read_only_and_in_order(root: Path) -> None:
    write(root)
    for layer in range(3):
        space = Store(root).space("counted", "counting", layer)
        np.testing.assert_array_equal(space, vectors(range(20), layer=layer, dims=4 + layer))
        assert space.dtype == np.float32
        assert not space.flags.writeable


def test_every_float32_survives(root: Path) -> None:
    bits = np.random.default_rng(3).integers(
        0, 2**32, size=(20, 2_000), dtype=np.uint32
    )  # −0.0, subnormal and infinite ones too
    bits[0, :4] = np.array([-0.0, 0.0, np.inf, 1e-45], np.float32).view(np.uint32)
    space = np.where(np.isnan(bits.view(np.float32)), np.float32(1.0), bits.view(np.float32))
    put(root, [space])
    assert Store(root).space("counted", "counting", 0).tobytes() == space.tobytes()


def test_a_small_embedding_takes_little_more_than_its_vectors(root: Path) -> None:
    rng, encoder = np.random.default_rng(0), CountingEncoder(layers=4)
    layers = [rng.standard_normal((1_024, 96), np.float32) for _ in range(4)]
    path = put(root, layers, dataset=CountedDataset(1_024).card, card=encoder.card)
    assert path.stat().st_size < 1.2 * sum(layer.nbytes for layer in layers)


def test_rows_in_columns_and_slices_of_arrays_are_written_by_value(root: Path) -> None:
    whole = np.asfortranarray(np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32))
    put(root, [whole[::2, 1:4]])
    np.testing.assert_array_equal(Store(root).space("counted", "counting", 0), whole[::2, 1:4])


def test_an_entry_says_everything_of_its_embedding(root: Path) -> None:
    write(root)
    (entry,) = Store(root).models("counted")
    assert entry == Store(root).model("counted", "counting")
    assert (entry.card, entry.level, entry.dims) == (CountingEncoder().card, "20", (4, 5, 6))
    assert (entry.device, entry.seconds) == ("cuda:0", 12.5)
    assert (entry.recipe, entry.digest) == (RECIPE, RECIPE.digest)
    assert entry.made_at.endswith("+00:00")


def test_costs_of_texts_come_back_where_there_are_any(root: Path) -> None:
    write(root)
    write(root, "eye", costs=False)
    expected = pd.DataFrame(
        {"index": np.arange(20, dtype=np.int32), "bits": np.arange(20) / 3, "bytes": 9.0}
    )
    pd.testing.assert_frame_equal(Store(root).text_costs("counted", "counting"), expected)
    assert Store(root).text_costs("counted", "eye") is None


def test_a_cost_that_is_not_a_number_stays_one(root: Path) -> None:
    bits = np.array([np.nan, *range(1, 20)], np.float64)
    put(root, [vectors(range(20), layer=0)], bits=bits, bytes=np.ones(20))
    np.testing.assert_array_equal(Store(root).text_costs("counted", "counting")["bits"], bits)


def test_results_keep_order_columns_and_recipe(root: Path) -> None:
    table = pd.DataFrame(
        {
            "model": ["b", "a", None],
            "index": [3, 1, 2],
            "rowid": [9, 8, 7],
            "score": [0.5, np.nan, -0.0],
        }
    )
    recipe = Recipe.of("neighbors", k=3)
    path = write_result(
        root, dataset=CountedDataset().card, name="neighbors-x", table=table, recipe=recipe
    )
    found, how = Store(root).result("counted", "neighbors-x")
    assert path == root / "results" / "counted" / "neighbors-x.parquet"
    pd.testing.assert_frame_equal(found, table)
    assert how == recipe


def test_a_result_may_be_an_arrow_table_of_lists(root: Path) -> None:
    table = pa.table({"near": pa.array([[1, 2], [], [3]], pa.list_(pa.int32()))})
    write_result(root, dataset=CountedDataset().card, name="near", table=table, recipe=RECIPE)
    assert [list(row) for row in Store(root).result("counted", "near")[0]["near"]] == [
        [1, 2],
        [],
        [3],
    ]


def test_a_result_over_another_revision_is_left_out(root: Path) -> None:
    write_result(
        root,
        dataset=CountedDataset().card,
        name="old",
        table=pd.DataFrame({"a": [1]}),
        recipe=RECIPE,
    )
    add_dataset(root, CountedDataset(revision="r2"))
    assert Store(root).result("counted", "old") is None
    assert "was made over revision r1 of 'counted', which is at r2 now" in Store(root).problems()[0]


@pytest.mark.parametrize(
    "table", [pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.DataFrame({"a": [1, "x"]})]
)
def test_columns_of_one_name_or_of_mixed_types_are_refused(root: Path, table: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="the table of result has two columns of one name, or"):
        write_result(root, dataset=CountedDataset().card, name="a", table=table, recipe=RECIPE)


def test_repeated_ids_and_captions_are_refused(tmp_path: Path) -> None:
    dataset = CountedDataset()
    dataset.stimuli["stimulus"] = "same"
    with pytest.raises(StimuliError, match="dataset 'counted' has two stimuli of one id: 'same'"):
        add_dataset(tmp_path, dataset)
    dataset = CountedDataset()
    dataset.captions["level"] = "20"
    with pytest.raises(
        StimuliError, match="dataset 'counted' has two captions of level '20' for stimulus 0"
    ):
        add_dataset(tmp_path, dataset)


def test_a_table_of_another_length_than_the_card_is_refused(tmp_path: Path) -> None:
    dataset = CountedDataset()
    dataset.stimuli = dataset.stimuli[:19]
    with pytest.raises(
        StimuliError, match="dataset 'counted' states 20 stimuli, but its table has 19"
    ):
        add_dataset(tmp_path, dataset)


def test_layers_that_do_not_fit_are_refused_and_leave_nothing(root: Path) -> None:
    with pytest.raises(
        FeatureError, match=r"layer 0 of counting has shape \(19, 4\), but 'counted' has 20 stimuli"
    ):
        put(root, [vectors(range(19), layer=0, dims=4)])
    with pytest.raises(
        FeatureError,
        match="layer 0 of counting has 100001 dimensions, not 1 … 100000; project it first",
    ):
        put(root, [np.zeros((20, 100_001), np.float32)])
    with pytest.raises(FeatureError, match="counting names 3 layers, but 1 were given"):
        put(root, [vectors(range(20), layer=0)], card=CountingEncoder().card)
    assert list((root / "embeddings" / "counted").iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../up", "a/b", "", ".hidden", "a.new", "x" * 121, "nul\0", "a b"]
)
def test_a_name_that_could_leave_its_folder_is_refused(root: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot name a file of the store: use 1 to 120 letters"):
        write(root, name)


def test_unknown_names_name_the_nearest(root: Path) -> None:
    write(root)
    store = Store(root)
    with pytest.raises(UnknownNameError, match="no dataset named 'countd'; did you mean counted"):
        store.models("countd")
    with pytest.raises(UnknownNameError, match="no model named 'countin'; did you mean counting"):
        store.space("counted", "countin", 0)
    with pytest.raises(UnknownNameError, match="no layer named '7'; there are: 0, 1, 2"):
        store.space("counted", "counting", 7)
    with pytest.raises(UnknownNameError, match="no layer named '-1'"):
        store.space("counted", "counting", -1)


def test_a_store_that_is_not_there_is_empty(tmp_path: Path) -> None:
    store = Store(tmp_path / "nowhere")
    assert (store.datasets(), store.problems()) == ([], [])
    with pytest.raises(UnknownNameError, match="no dataset named 'cave'; there are none yet"):
        store.models("cave")
    assert not (tmp_path / "nowhere").exists()


def test_the_digest_follows_all_that_is_listed(root: Path) -> None:
    seen = [Store(root).digest("counted")]
    assert Store(root).digest("counted") == seen[0]
    write(root)
    seen.append(Store(root).digest("counted"))
    write(root)  # the same again
    assert Store(root).digest("counted") == seen[1]
    write_result(
        root, dataset=CountedDataset().card, name="a", table=pd.DataFrame({"a": [1]}), recipe=RECIPE
    )
    seen.append(Store(root).digest("counted"))
    (root / "embeddings" / "counted" / "counting.duckdb").unlink()
    seen.append(Store(root).digest("counted"))
    assert len(set(seen)) == 4


def test_adding_the_same_dataset_again_changes_nothing(root: Path) -> None:
    before = Store(root).digest("counted")
    add_dataset(root, CountedDataset())
    assert Store(root).digest("counted") == before


def test_a_replaced_file_is_seen_at_once_by_the_same_process(root: Path) -> None:
    write(root)
    store = Store(root)
    assert store.model("counted", "counting").dims == (4, 5, 6)
    write(root, layers=1)
    assert store.model("counted", "counting").dims == (4,)
    assert store.space("counted", "counting", 0).shape == (20, 4)


def touch(path: Path, *, age: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    os.utime(path, (1e9 - age, 1e9 - age))
    return path


def stored_files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_what_is_half_built_goes_with_its_log(tmp_path: Path) -> None:
    kept = touch(tmp_path / "results" / "photos" / "neighbors-vit.parquet")
    touch(kept.with_name("neighbors-vit.new.parquet"))
    touch(kept.with_name("head-vit.new.duckdb"))
    touch(kept.with_name("head-vit.new.duckdb.wal"))
    remove_leftovers(tmp_path)
    assert stored_files(tmp_path) == {"results/photos/neighbors-vit.parquet"}


def test_what_somebody_writes_stays(tmp_path: Path) -> None:
    new = touch(tmp_path / "results" / "photos" / "head.new.duckdb")
    with locked(new.with_name("head.duckdb")):
        remove_leftovers(tmp_path)
        assert new.exists()
    remove_leftovers(tmp_path)
    assert stored_files(tmp_path) == set()


@pytest.mark.parametrize(
    ("published", "age", "stays"),
    [(True, 5.0, False), (True, -5.0, True), (False, 5.0, True)],
    ids=["of the file", "of the next one", "of none yet"],
)
def test_batches_go_once_their_file_is_there(
    tmp_path: Path, published: bool, age: float, stays: bool
) -> None:
    folder = tmp_path / "embeddings" / "photos"
    batch = touch(folder / "vit.parts" / "d323" / "00000000.npz", age=age)
    if published:
        touch(folder / "vit.duckdb")
    remove_leftovers(tmp_path)
    assert batch.exists() == stays
    assert (folder / "vit.duckdb").exists() == published


def test_batches_that_come_before_the_lock_is_held_stay(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "embeddings" / "photos"
    old = touch(folder / "vit.parts" / "d323" / "00000000.npz", age=5.0)
    touch(folder / "vit.duckdb")

    @contextmanager
    def locked_late(target: Path) -> Iterator[None]:
        touch(old.with_name("00000001.npz"), age=-5.0)
        with locked(target):
            yield

    monkeypatch.setattr(writer, "locked", locked_late)
    remove_leftovers(tmp_path)
    assert old.exists()


def test_a_store_that_is_only_shown_keeps_them(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(READ_ONLY, "1")
    new = touch(tmp_path / "results" / "photos" / "head.new.duckdb")
    remove_leftovers(tmp_path)
    assert new.exists()


NEAR = Recipe.of("near", k=3)


def keep(root: Path, values: list[float]) -> Store:
    card = CountedDataset().card
    write_result(root, dataset=card, name="near", table=pd.DataFrame({"v": values}), recipe=NEAR)
    return Store(root)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    add_dataset(tmp_path, CountedDataset())
    return keep(tmp_path, [1.0, 2.0])


def test_a_table_that_was_removed_is_said_to_be(store):
    path = store.root / "results" / "counted" / "near.parquet"
    path.unlink()
    with pytest.raises(StoreError, match="was removed while it was read; list the store again"):
        files.read_frame(path, "result")
