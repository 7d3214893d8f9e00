"""Writing: a dataset, an embedding or a result becomes one immutable file."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as change
from itertools import chain, islice
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float32, Float64
from PIL import Image

from core.encoders.encoder import ModelCard
from core.errors import FeatureError, InputError, StimuliError, StoreError
from core.progress import Progress
from core.recipe import Recipe
from core.settings import is_read_only
from core.stimuli.catalog import SUBSET, some_captions
from core.stimuli.dataset import Dataset, DatasetCard
from core.store.files import examine_if_usable
from core.store.publishing import locked, publish, replace
from core.store.reader import Store
from core.store.schema import (
    META,
    ORDER,
    RESULT,
    SUFFIX,
    Meta,
    dataset_card,
    dataset_file,
    dump_meta,
    embedding_file,
    kept_card,
    layer_table,
    repeats_table,
    result_file,
)

THUMBNAIL = 224  # pixels of the longer side
QUALITY = 85
CHUNK = 256  # thumbnails that are written at a time
FEW = 2048  # stimuli, whose layers fill no block of the usual size
WIDEST = 100_000  # dimensions of a vector; the format takes no wider arrays


@dataclass(frozen=True)
class Embedding:
    """One model's spaces over a dataset.

    level: of the captions, None for other models. layers: read one at a time, so that a lazy
    sequence need not fit into memory. bits, bytes: each text's code length and UTF-8 length, of
    models that code texts. repeats: of each layer, if stimuli were measured several times.
    """

    dataset: DatasetCard
    card: ModelCard
    level: str | None
    layers: Sequence[Float32[np.ndarray, "n _"]]
    bits: Float64[np.ndarray, "n"] | None
    bytes: Float64[np.ndarray, "n"] | None
    recipe: Recipe
    device: str
    seconds: float
    repeats: Sequence[Float32[np.ndarray, "_ n _"]] = ()


def add_dataset(root: Path, dataset: Dataset, *, report: Progress | None = None) -> Path:
    """Publish a dataset's stimuli, factors, captions, thumbnails and image sizes, in place of an
    earlier revision. Raise StimuliError for repeated ids or captions and for a broken image.
    """
    card = dataset.card
    held = examine_if_usable(dataset_file(root, card.name))
    kept = kept_card(card, root)
    if held is not None and change(dataset_card(held), title=kept.title) == kept:
        return dataset_file(root, card.name)
    _check_dataset(dataset)

    def images() -> Iterator[tuple[bytes, tuple[int, int]]]:
        for index in range(card.size):
            image = dataset.image(index)
            yield thumbnail(image), image.size
            if report:
                report(index + 1, card.size, f"thumbnails of {card.name}")

    return _publish_dataset(root, card, dataset.stimuli, dataset.captions, images())


def add_subset(root: Path, card: DatasetCard) -> Path:
    """Publish some stimuli of a dataset of the store, named by `core.stimuli.catalog.subset_card`;
    raise StoreError if another dataset has the name.
    """
    target, store, chosen = dataset_file(root, card.name), Store(root), card.source[SUBSET]
    of, rows = chosen["of"], chosen["rows"]
    if held := examine_if_usable(target):
        if held.revision == card.revision:
            return target
        raise StoreError(
            f"{card.name!r} is another dataset of this store; give --subset a name of its own, or"
            " the same stimuli"
        )

    def images() -> Iterator[tuple[bytes, tuple[int, int]]]:
        sizes = store.image_sizes(of).to_numpy()
        for start in range(0, len(rows), CHUNK):
            some = rows[start : start + CHUNK]
            yield from zip(store.thumbnails(of, some), sizes[some].tolist(), strict=True)

    stimuli, captions = store.stimuli(of).iloc[rows], some_captions(store.captions(of), rows)
    return _publish_dataset(root, card, stimuli, captions, images())


def _publish_dataset(
    root: Path,
    card: DatasetCard,
    stimuli: pd.DataFrame,
    captions: pd.DataFrame,
    images: Iterator[tuple[bytes, tuple[int, int]]],
) -> Path:
    """Publish a dataset. images: of each its thumbnail and its size."""
    target, kept = dataset_file(root, card.name), kept_card(card, root)

    def fill(connection: duckdb.DuckDBPyConnection) -> None:
        _write_frame(connection, "stimuli", stimuli)
        _write_frame(connection, "captions", captions)
        sizes: list[tuple[int, int]] = []
        if card.has_images:
            connection.execute("CREATE TABLE thumbnails (index INTEGER, webp BLOB)")
        for start in range(0, card.size if card.has_images else 0, CHUNK):
            some = list(islice(images, CHUNK))
            indices = pa.array(range(start, start + len(some)), pa.int32())
            webp = pa.array([image for image, _ in some], pa.binary())
            connection.register("rows", pa.table({"index": indices, "webp": webp}))
            connection.execute("INSERT INTO thumbnails SELECT * FROM rows")
            connection.unregister("rows")
            sizes += [size for _, size in some]
        if sizes:
            _write_frame(connection, "sizes", pd.DataFrame(sizes, columns=["width", "height"]))
        recipe = Recipe.of(
            "dataset", name=kept.name, revision=kept.revision, source=dict(kept.source)
        )
        meta = Meta("dataset", kept.name, kept.name, kept.revision, recipe, vars(kept))
        _write_meta(connection, meta)

    with locked(target):
        return publish(target, fill)


def write_embedding(root: Path, embedding: Embedding) -> Path:
    """Publish one model's spaces over a dataset, in place of earlier ones; raise FeatureError if
    the layers do not fit the dataset or the card.
    """
    target = embedding_file(root, embedding.dataset.name, embedding.card.name)
    with locked(target):
        return publish_embedding(target, embedding)


def publish_embedding(target: Path, embedding: Embedding) -> Path:
    """Publish an embedding at `target`; the caller holds its lock."""
    card, dataset = embedding.card, embedding.dataset
    if len(embedding.layers) != len(card.layers):
        raise FeatureError(
            f"{card.name} names {len(card.layers)} layers, but {len(embedding.layers)} were given"
        )

    def fill(connection: duckdb.DuckDBPyConnection) -> None:
        layers = range(len(card.layers))
        dims = tuple(_write_layer(connection, index, embedding) for index in layers)
        if embedding.bits is not None and embedding.bytes is not None:
            stimulus = pa.array(np.arange(len(embedding.bits), dtype=np.int32))
            costs = {"bits": pa.array(embedding.bits), "bytes": pa.array(embedding.bytes)}
            _create(connection, "texts", pa.table({"stimulus": stimulus, **costs}))
        for index, repeats in enumerate(embedding.repeats):
            rows = repeats.reshape(-1, repeats.shape[2])  # one repeat after the other
            _create(connection, repeats_table(index), _table(rows, "row"))
        meta = Meta(
            kind="embedding",
            name=card.name,
            dataset=dataset.name,
            revision=dataset.revision,
            recipe=embedding.recipe,
            card=vars(card),
            level=embedding.level,
            dims=dims,
            device=embedding.device,
            seconds=embedding.seconds,
        )
        _write_meta(connection, meta)

    return publish(target, fill, small=dataset.size <= FEW)


def rewrite_meta(target: Path, meta: Meta) -> Path:
    """Replace the meta of a dataset's or an embedding's file; the caller holds its lock."""
    rows = [(value, key) for key, value in dump_meta(meta).items()]

    def fill(connection: duckdb.DuckDBPyConnection) -> None:
        connection.executemany("UPDATE meta SET value = ? WHERE key = ?", rows)

    return publish(target, fill, again=True)


def write_result(
    root: Path,
    *,
    dataset: DatasetCard,
    name: str,
    table: pd.DataFrame | pa.Table,
    recipe: Recipe,
    reads: Mapping[str, str] | None = None,
    findings: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Publish a table that was computed over a dataset; reads, findings: see `Meta`."""
    meta = Meta(
        "result",
        name,
        dataset.name,
        dataset.revision,
        recipe,
        card={},
        reads=reads or {},
        findings=findings,
    )
    target = result_file(root, dataset.name, name)
    with locked(target):
        return write_table(target, table, meta)


def write_table(target: Path, table: pd.DataFrame | pa.Table, meta: Meta) -> Path:
    """Publish a result at `target`; the caller holds its lock."""
    rows = _arrow("result", table)
    said = {**(rows.schema.metadata or {}), META: json.dumps(dump_meta(meta)).encode()}
    named = rows.replace_schema_metadata(said)
    return replace(target, lambda new: pq.write_table(named, new, compression="zstd"))


def thumbnail(image: Image.Image) -> bytes:
    """Return an image as WebP, its longer side at most 224 px; a smaller one keeps its size."""
    small = image.copy()
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    file = io.BytesIO()
    small.save(file, "WEBP", quality=QUALITY, method=2)  # 4: twice the time for 3% of the bytes
    return file.getvalue()


def _check_dataset(dataset: Dataset) -> None:
    card, stimuli, captions = dataset.card, dataset.stimuli, dataset.captions
    if not card.size:
        raise StimuliError(
            f"dataset {card.name!r} has no stimuli; give at least one image or caption"
        )
    if len(stimuli) != card.size:
        raise StimuliError(
            f"dataset {card.name!r} states {card.size} stimuli, but its table has {len(stimuli)}"
        )
    ids = stimuli["stimulus"]
    if len(twice := ids[ids.duplicated()].unique()[:3]):
        raise StimuliError(
            f"dataset {card.name!r} has two stimuli of one id: {', '.join(map(repr, twice))}; ids"
            " must differ"
        )
    if (again := captions.duplicated(["index", "level"])).any():
        index, level = captions.loc[again, ["index", "level"]].iloc[0]
        raise StimuliError(
            f"dataset {card.name!r} has two captions of level {level!r} for stimulus {index};"
            " levels must differ"
        )


def _write_meta(connection: duckdb.DuckDBPyConnection, meta: Meta) -> None:
    rows = dump_meta(meta)
    table = pa.table(
        {"key": pa.array(rows, pa.string()), "value": pa.array(rows.values(), pa.string())}
    )
    _create(connection, "meta", table)


def _write_frame(
    connection: duckdb.DuckDBPyConnection, name: str, frame: pd.DataFrame | pa.Table
) -> None:
    table = _arrow(name, frame)
    names = {ORDER}
    for column in table.column_names:
        if column.casefold() in names:
            raise InputError(
                f"the table of {name} has two columns {column!r}, or one {ORDER!r}; rename one"
                " (case does not count)"
            )
        names.add(column.casefold())
    order = pa.array(np.arange(table.num_rows, dtype=np.int32))
    _create(connection, name, table.add_column(0, ORDER, order))


def _arrow(name: str, frame: pd.DataFrame | pa.Table) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (ValueError, pa.ArrowTypeError) as error:
        raise InputError(
            f"the table of {name} has two columns of one name, or mixes text and numbers in one;"
            f" rename one, or make each one kind ({error})"
        ) from error


def _write_layer(connection: duckdb.DuckDBPyConnection, index: int, embedding: Embedding) -> int:
    space = embedding.layers[index]
    n, dims = space.shape
    if not 1 <= dims <= WIDEST:
        raise FeatureError(
            f"layer {index} of {embedding.card.name} has {dims} dimensions, not 1 … {WIDEST};"
            " project it first"
        )
    if n != embedding.dataset.size:
        raise FeatureError(
            f"layer {index} of {embedding.card.name} has shape ({n}, {dims}), but"
            f" {embedding.dataset.name!r} has {embedding.dataset.size} stimuli; give one vector per"
            " stimulus, in the dataset's order"
        )
    _create(connection, layer_table(index), _table(space, "stimulus"))
    return int(dims)


def _table(rows: Float32[np.ndarray, "n d"], order: str) -> pa.Table:
    values = pa.array(np.ascontiguousarray(rows).ravel())
    vectors = pa.FixedSizeListArray.from_arrays(values, rows.shape[1])
    return pa.table({order: pa.array(np.arange(len(rows), dtype=np.int32)), "vector": vectors})


def _create(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    connection.register("rows", table)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
    connection.unregister("rows")


def remove_leftovers(root: Path) -> None:
    """Remove what killed writers left; batches that a run continues from stay."""
    if is_read_only():
        return
    with suppress(OSError):
        for suffix in (SUFFIX, RESULT):
            built = (root.glob(f"{folders}/*.new{suffix}*") for folders in ("*", "*/*"))
            for new in chain(*built):  # DuckDB's log lies next to it
                name = new.name.partition(f".new{suffix}")[0]
                _remove(new, target=new.with_name(f"{name}{suffix}"))
        for parts in root.glob("embeddings/*/*.parts"):
            if (target := parts.with_suffix(SUFFIX)).exists():
                _remove(parts, target=target)


def _remove(path: Path, *, target: Path) -> None:
    with suppress(StoreError, OSError), locked(target):
        if not path.is_dir():
            path.unlink(missing_ok=True)
            return
        published = target.stat().st_mtime_ns
        if not any(batch.stat().st_mtime_ns > published for batch in path.glob("*/*")):
            shutil.rmtree(path, ignore_errors=True)  # else a batch is of the next file
