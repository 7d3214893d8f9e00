"""Reading a store: listings, tables and spaces. A file that cannot be used is left out of listings;
`Store.problems` says why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.errors import (
    NotEmbeddedError,
    PlatoscopeError,
    StimuliError,
    UnknownNameError,
)
from core.recipe import Recipe
from core.stimuli.dataset import DatasetCard, check_images
from core.store.files import as_matrix, has_table, read_frame, reading
from core.store.listing import all_usable, expected, text_costs, usable
from core.store.schema import (
    DERIVED,
    SUFFIX,
    SUMMARY,
    Kind,
    Meta,
    ModelEntry,
    dataset_card,
    dataset_file,
    embedding_file,
    find_caption_variants,
    layer_table,
    published_files,
    repeats_table,
    result_file,
)

T = TypeVar("T")


class Store:
    """A folder of datasets, embeddings and results, for reading; empty if the folder is missing.

    Safe to share between threads. Vectors and large tables are read at each call.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).absolute()

    def datasets(self) -> list[DatasetCard]:
        self.note_keys("datasets")
        return self._cards()

    def dataset(self, name: str) -> DatasetCard:
        """Return a dataset's card; raise UnknownNameError."""
        self.note_keys(f"dataset:{name}")
        cards = {card.name: card for card in self._cards()}
        if name not in cards:
            raise UnknownNameError("dataset", name, cards)
        return cards[name]

    def embeddings(self, dataset: str) -> list[ModelEntry]:
        """Return a dataset's embeddings by name; raise UnknownNameError."""
        self.dataset(dataset)
        return [meta.entry for meta in self._listed("embedding", dataset)]

    def models(self, dataset: str) -> list[ModelEntry]:
        """Return each model of a dataset once, without its embeddings at further caption levels;
        raise UnknownNameError.
        """
        entries = self.embeddings(dataset)
        variants = find_caption_variants(entries, self.dataset(dataset).levels)
        # embeddings of these at further caption levels do not count either
        without = variants.keys() | self._unusable(dataset)
        return [
            entry
            for entry in entries
            if without.isdisjoint({entry.card.name, entry.card.name.partition("~")[0]})
        ]

    def caption_variants(self, dataset: str) -> dict[str, str]:
        """See `find_caption_variants`."""
        return find_caption_variants(self.embeddings(dataset), self.dataset(dataset).levels)

    def model(self, dataset: str, name: str) -> ModelEntry:
        entries = {entry.card.name: entry for entry in self.embeddings(dataset)}
        if name not in entries:
            raise UnknownNameError("model", name, entries)
        return entries[name]

    def stimuli(self, dataset: str) -> pd.DataFrame:
        """Return a row per stimulus in order: `stimulus`, then the factors."""
        return self._frame(dataset, "stimuli")

    def captions(self, dataset: str) -> pd.DataFrame:
        """Return `index`, `level`, `text`, by index, then level."""
        return self._frame(dataset, "captions")

    def summaries(self, dataset: str) -> dict[str, Recipe]:
        """Return the caption levels that a model wrote after the dataset was added, and how."""
        names = self.results(dataset, SUMMARY)
        results = {name.removeprefix(SUMMARY): self.result(dataset, name) for name in names}
        return {level: kept[1] for level, kept in results.items() if kept}

    def summary(self, dataset: str, level: str) -> pd.DataFrame:
        kept = self.result(dataset, f"{SUMMARY}{level}")
        if kept is None:
            raise UnknownNameError("caption level", level, self.summaries(dataset))
        return kept[0]

    def thumbnails(self, dataset: str, indices: Sequence[int]) -> list[bytes]:
        """Return stimuli's images in order as WebP, the longer side at most 224 px; raise
        StimuliError.
        """
        card = self.dataset(dataset)
        check_images(card)
        if wrong := [index for index in indices if not 0 <= index < card.size]:
            raise StimuliError(
                f"stimulus {wrong[0]} is not in {dataset!r}, which has 0 … {card.size - 1}"
            )
        query = "SELECT index, webp FROM file.thumbnails WHERE list_contains(?, index)"
        with self.opened(dataset_file(self.root, card.name)) as connection:
            images = dict(connection.execute(query, [[int(index) for index in indices]]).fetchall())
        return [images[index] for index in indices]

    def image_sizes(self, dataset: str) -> pd.DataFrame:
        """Return `width` and `height` in pixels of every image."""
        return self._frame(dataset, "sizes")

    def space(self, dataset: str, model: str, layer: int) -> Float32[np.ndarray, "n dims"]:
        """Return one layer's vectors in the dataset's order, read-only; raise UnknownNameError."""
        return self._vectors(dataset, model, layer, layer_table(layer), "stimulus")

    def repeats(self, dataset: str, model: str, layer: int) -> Float32[np.ndarray, "r n d"]:
        """Return one layer's repeated measurements; raise UnknownNameError."""
        size = self.dataset(dataset).size
        rows = self._vectors(dataset, model, layer, repeats_table(layer), "row")
        return rows.reshape(-1, size, rows.shape[1])

    def _vectors(
        self, dataset: str, model: str, layer: int, table: str, order: str
    ) -> Float32[np.ndarray, "rows dims"]:
        dims = self.model(dataset, model).dims
        if not 0 <= layer < len(dims):
            raise UnknownNameError("layer", str(layer), map(str, range(len(dims))))
        with self._embedding(dataset, model) as connection:
            found = connection.sql(
                f"SELECT vector FROM file.{table} ORDER BY {order}"
            ).to_arrow_table()
        return as_matrix(found.column("vector"))

    def text_costs(self, dataset: str, model: str) -> pd.DataFrame | None:
        """Return `index`, `bits`, `bytes` per text, None for a model that does not code texts."""
        self.model(dataset, model)
        if self._is_expected(dataset, model):
            return text_costs(self.root / "embeddings" / dataset, model)
        query = "SELECT stimulus AS index, bits, bytes FROM file.texts ORDER BY stimulus"
        with self._embedding(dataset, model) as connection:
            if not has_table(connection, "texts"):
                return None
            costs: pd.DataFrame = connection.sql(query).to_arrow_table().to_pandas()
            return costs

    def result(self, dataset: str, name: str) -> tuple[pd.DataFrame, Recipe] | None:
        """Return a result and its recipe, None if there is none that can be used."""
        card = self.dataset(dataset)
        path = result_file(self.root, dataset, name)
        meta = usable(path, "result", card.revision, refused=[])
        return (read_frame(path, "result"), meta.recipe) if meta else None

    def results(self, dataset: str, beginning: str) -> list[str]:
        """Return the names of a dataset's results that begin so, usable or not."""
        self.note_keys(f"results:{dataset}:{beginning}")
        folder = self.root / "results" / self.dataset(dataset).name
        return [path.stem for path in published_files(folder) if path.stem.startswith(beginning)]

    def problems(self) -> list[str]:
        """Return a sentence for each file that is left out."""
        refused: list[str] = []
        metas = all_usable(self.root / "datasets", "dataset", None, refused)
        revisions = {meta.name: meta.revision for meta in metas}
        kinds: tuple[Kind, ...] = ("embedding", "result")
        for kind in kinds:
            for inside in sorted((self.root / f"{kind}s").glob("[!.]*/")):
                if inside.name in revisions:
                    all_usable(inside, kind, revisions[inside.name], refused)
                elif published_files(inside):
                    refused.append(
                        f"{inside} is left out: its dataset is not in the store; add it, or delete"
                        " the folder"
                    )
        refused += [
            f"{path} is a result of an earlier version, which is not read; import or compute it"
            " again, then delete this file"
            for path in sorted((self.root / "results").glob(f"*/*{SUFFIX}"))
        ]
        return refused

    def digest(self, dataset: str) -> str:
        """Return a name for all that is listed over a dataset, and for the other datasets.
        Derived results do not count: keeping one must not make cached answers stale.
        """
        self.dataset(dataset)
        datasets = [
            (meta.name, meta.recipe.digest, meta.made_at, meta.card["title"])
            for meta in self._datasets()
        ]
        embedded = [(meta.name, meta.digest_as_read) for meta in self._listed("embedding", dataset)]
        unusable = sorted(self._unusable(dataset))
        kept = [(meta.name, meta.recipe.digest) for meta in self._listed("result", dataset)]
        said = datasets, embedded, unusable, kept
        return hashlib.sha256(repr(said).encode()).hexdigest()[:16]

    def note_keys(self, *keys: str) -> None:
        """Do nothing; a `View` notes what is read, see `core.store.view`."""

    def note_files(self, *paths: Path) -> None:
        """Do nothing, as `note_keys`."""

    def note_failure(self, error: PlatoscopeError) -> None:
        """Do nothing, as `note_keys`."""

    def _embedding(
        self, dataset: str, model: str
    ) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        if self._is_expected(dataset, model):
            raise NotEmbeddedError(
                f"{model} is not embedded yet; the demo embeds its models in the background"
                " (platoscope demo): ask again in a few minutes"
            )
        return self.opened(embedding_file(self.root, dataset, model))

    def _is_expected(self, dataset: str, model: str) -> bool:
        path = embedding_file(self.root, dataset, model)
        return not path.exists() and any(meta.name == model for meta in expected(path.parent, ()))

    def opened(self, path: Path) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        return reading(path)

    def _frame(self, dataset: str, table: str) -> pd.DataFrame:
        return read_frame(dataset_file(self.root, self.dataset(dataset).name), table)

    def _once(self, _: Hashable, look: Callable[[], T]) -> T:
        return look()

    def _cards(self) -> list[DatasetCard]:
        cards = [dataset_card(meta) for meta in self._datasets()]
        for at, card in enumerate(cards):
            if "folder" in card.source:  # relative to the store if within it, else a full path
                folder = str(self.root.resolve() / card.source["folder"])
                cards[at] = replace(card, source={**card.source, "folder": folder})
        return cards

    def _datasets(self) -> list[Meta]:
        return self._once(
            "datasets", lambda: all_usable(self.root / "datasets", "dataset", None, [])
        )

    def _listed(self, kind: Kind, dataset: str) -> list[Meta]:
        def look() -> list[Meta]:
            revisions = {meta.name: meta.revision for meta in self._datasets()}
            if dataset not in revisions:
                return []
            folder, but = self.root / f"{kind}s" / dataset, DERIVED if kind == "result" else ()
            return all_usable(folder, kind, revisions[dataset], [], but=but)

        return self._once((kind, dataset), look)

    def _unusable(self, dataset: str) -> set[str]:
        def look() -> set[str]:
            files = {path.stem for path in published_files(self.root / "embeddings" / dataset)}
            return files.difference(meta.name for meta in self._listed("embedding", dataset))

        return self._once(("unusable", dataset), look)
