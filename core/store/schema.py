"""The names of a store's files, and the meta of each.

ROOT/datasets/DATASET.duckdb             meta, stimuli, captions, thumbnails, sizes
ROOT/embeddings/DATASET/MODEL.duckdb     meta, layer_00 …, texts (code lengths), repeats_00 …
ROOT/results/DATASET/NAME.parquet        a table, with meta in the metadata of its schema
ROOT/uploads/DIGEST/…                    what people uploaded, see core/store/uploads.py
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from core.encoders.encoder import ModelCard
from core.errors import InputError
from core.recipe import Recipe
from core.settings import ROOT
from core.stimuli.dataset import DatasetCard

SCHEMA = 1
SUFFIX = ".duckdb"  # of datasets and embeddings
RESULT = ".parquet"  # of results: a small one takes 10 kB, a DuckDB file 800
META = b"platoscope"  # the key of `Meta` in the metadata of a result's schema
PACKAGES = ("platoscope", "numpy", "duckdb", "torch", "timm", "transformers", "pillow")
ORDER = "#"  # the column that keeps the order of a table's rows; a name that no factor bears

# beginnings of the names of results that follow from all else
DERIVED = ("neighbors-", "refused-", "answer-", "stitches-", "head-")

SUMMARY = "captions-"  # of results that are captions, written after the dataset was added

# By the kind of a recipe. Raise a number when its producer gives other results for the same
# choices: a store leaves out files of other versions, and what was made from them is made again.
# Neighbors and answers have the `VERSION` of their modules in their recipes.
VERSIONS = {
    "embedding": 1,  # core/encoders, core/embedding: vectors, bits and bytes
    "captions": 1,  # core/embedding/summaries.py, encoders/language/chat.py: fewer words
    "competence": 1,  # core/competence/suite.py, probes.py, completions.py: the Cave's suite
    "probe": 1,  # core/competence/transfer.py, labeled.py, probes.py: probes of labeled images
    "bits per byte": 3,  # core/competence/coding.py, bits_per_byte.py, suite.py: texts coded
}

Kind = Literal["dataset", "embedding", "result"]


@dataclass(frozen=True)
class Meta:
    """What a file says about itself.

    card: the DatasetCard or ModelCard as plain data, empty for a result. dims: of an embedding's
    layers. made_at: ISO 8601, UTC. versions: of packages. reads: what an answer was computed from,
    see `core.store.view`. findings: of an answer, as rows.
    """

    kind: Kind
    name: str
    dataset: str
    revision: str
    recipe: Recipe
    card: Mapping[str, Any]
    level: str | None = None
    dims: tuple[int, ...] = ()
    device: str = "cpu"
    seconds: float = 0.0
    made_at: str = ""
    versions: Mapping[str, str] | None = None
    reads: Mapping[str, str] = field(default_factory=dict)
    findings: Sequence[Mapping[str, Any]] = ()

    @cached_property
    def entry(self) -> ModelEntry:
        """Return an embedding's entry; raise TypeError or ValueError."""
        card = ModelCard(**{**self.card, "layers": tuple(self.card["layers"])})
        made = (self.dims, self.device, self.seconds, self.made_at)
        return ModelEntry(card, self.level, self.recipe.digest, self.recipe, *made)

    @cached_property
    def digest_as_read(self) -> str:
        """Return a digest of all that an answer may read of an embedding but its vectors, without
        the project's folder, which differs between machines.
        """
        said = self.recipe.digest, self.level, self.dims, sorted(map(repr, self.card.items()))
        return hashlib.sha256(repr(said).replace(str(ROOT), "").encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ModelEntry:
    """An embedding in the store: its model, what was read, how it was made."""

    card: ModelCard
    level: str | None
    digest: str
    recipe: Recipe
    dims: tuple[int, ...]
    device: str
    seconds: float
    made_at: str


def dataset_file(root: Path, dataset: str) -> Path:
    return root / "datasets" / f"{_safe(dataset)}{SUFFIX}"


def embedding_file(root: Path, dataset: str, model: str) -> Path:
    return root / "embeddings" / _safe(dataset) / f"{_safe(model)}{SUFFIX}"


def result_file(root: Path, dataset: str, name: str) -> Path:
    # a model's name with a word before it
    return root / "results" / _safe(dataset) / f"{_safe(name, most=160)}{RESULT}"


def layer_table(index: int) -> str:
    return f"layer_{index:02d}"


def repeats_table(index: int) -> str:
    return f"repeats_{index:02d}"


def published_files(folder: Path, *, but: tuple[str, ...] = ()) -> list[Path]:
    """Return the finished files of a folder by name. but: beginnings of names to leave out."""
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    suffix = RESULT if folder.parent.name == "results" else SUFFIX
    return [
        folder / name
        for name in names
        if name.endswith(suffix)
        and not name.endswith(f".new{suffix}")
        and not name.startswith((".", *but))
    ]


def dump_meta(meta: Meta) -> dict[str, str]:
    """Return `meta` as keys and JSON values, with schema, time and package versions."""
    stamped = {
        "schema": SCHEMA,
        "made_at": meta.made_at or now(),
        "versions": meta.versions or package_versions(),
    }
    recipe = {
        "recipe": meta.recipe.choices,
        "recipe_kind": meta.recipe.kind,
        "recipe_digest": meta.recipe.digest,
    }
    fields = {name: getattr(meta, name) for name in Meta.__dataclass_fields__}
    return {
        key: json.dumps(value, default=dict) for key, value in (fields | stamped | recipe).items()
    }


def load_meta(rows: Mapping[str, str]) -> Meta:
    """Return the Meta that `dump_meta` wrote; raise KeyError, TypeError or ValueError."""
    values = {key: json.loads(text) for key, text in rows.items()}
    recipe = Recipe.of(values["recipe_kind"], **values["recipe"])
    if recipe.digest != values["recipe_digest"]:
        raise ValueError("the recipe and its digest differ")
    values = {"reads": {}, "findings": (), **values}
    fields = {name: values[name] for name in Meta.__dataclass_fields__}
    meta = Meta(**(fields | {"recipe": recipe, "dims": tuple(fields["dims"])}))
    if meta.kind != "result":
        _ = dataset_card(meta) if meta.kind == "dataset" else meta.entry  # whether it can be read
    return meta


def dataset_card(meta: Meta) -> DatasetCard:
    return DatasetCard(**{**meta.card, "levels": tuple(meta.card["levels"])})


def kept_card(card: DatasetCard, root: Path) -> DatasetCard:
    """Return a card with a folder within the store relative to it, so that the store can move."""
    folder, home = Path(card.source.get("folder", "")), Path(root).resolve()
    if not folder.is_relative_to(home):
        return card
    return replace(card, source={**card.source, "folder": folder.relative_to(home).as_posix()})


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def package_versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # a checkout that was never installed
            versions[name] = "not installed"
    return versions


def _safe(name: str, *, most: int = 120) -> str:
    if (
        len(name) > most
        or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._~-]*", name)
        or name.endswith(".new")
    ):
        raise InputError(
            f"{name!r} cannot name a file of the store: use 1 to {most} letters, digits, '.', '_',"
            " '-' or '~', beginning with a letter, digit or '_' and not ending in '.new'"
        )
    return name


def is_present(recipe: Recipe) -> bool:
    """Return whether the present version of its producer made this."""
    now = VERSIONS.get(recipe.kind)
    return now is None or recipe.choices.get("version") == now


def find_caption_variants(entries: Sequence[ModelEntry], levels: Sequence[str]) -> dict[str, str]:
    """Return, for each embedding of a model at a further caption level, the name of that at its
    first. Equal weights, pooling and prompt are one model; of imports, equal names before `~`.
    levels: the dataset's, the default first.
    """
    order = {level: place for place, level in enumerate(levels)}

    def reader(entry: ModelEntry) -> tuple[str, ...]:
        if entry.card.spec.startswith("import:"):
            return entry.card.modality, entry.card.name.partition("~")[0], "import"
        encoder: dict[str, Any] = entry.recipe.choices.get("encoder", {})
        return entry.card.weights, str(encoder.get("pooling")), str(encoder.get("prompt"))

    def rank(entry: ModelEntry) -> tuple[int, str]:
        return order.get(str(entry.level), len(order)), str(entry.level)

    captioned = [entry for entry in entries if entry.level is not None]
    captioned.sort(key=lambda entry: (*reader(entry), entry.card.name))
    variants: dict[str, str] = {}
    for _, group in groupby(captioned, key=reader):
        first, *others = sorted(group, key=rank)
        same = [entry.card.name for entry in others if entry.level != first.level]
        variants |= dict.fromkeys(same, first.card.name)
    return variants
