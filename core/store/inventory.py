"""What a store holds as files: how large each is, and on which embeddings a result depends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.recipe import Recipe
from core.store.examine import examine_if_usable
from core.store.schema import ModelEntry, dataset_file, embedding_file, published_files

Sort = tuple[str, str]  # one of them, several of them

ANSWER: Sort = ("kept answer", "kept answers")
MEASUREMENT: Sort = ("measurement of competence", "measurements of competence")
SORTS: dict[str, Sort] = {  # by the kind of its recipe, what a result is; others are answers
    "neighbors": ("list of neighbors", "lists of neighbors"),
    "refused": ("check of imports", "checks of imports"),
    "captions": ("level of written captions", "levels of written captions"),
    "competence": MEASUREMENT,
    "probe": MEASUREMENT,
    "bits per byte": MEASUREMENT,
    "head": ("fitted head", "fitted heads"),
    "stitches": ("table of stitches", "tables of stitches"),
    "imported-scores": ("table of imported scores", "tables of imported scores"),
}


@dataclass(frozen=True)
class KeptResult:
    """A result over a dataset: the name and size of its file, when it was made and by which
    recipe; reads: what an answer was computed from.
    """

    name: str
    size: int
    made_at: str
    recipe: Recipe
    reads: Mapping[str, str]

    @property
    def sort(self) -> Sort:
        """Return what it is."""
        return SORTS.get(self.recipe.kind, ANSWER)

    @property
    def models(self) -> frozenset[str]:
        """Return the names of the embeddings that it depends on."""
        if not self.reads:
            return models_in(self.recipe)
        keys = (key.split(":") for key in self.reads)
        return frozenset(names[-1] for kind, *names in keys if kind == "embedding")


def models_in(recipe: Recipe) -> frozenset[str]:
    """Return the names of the embeddings that a recipe names; a question's stamp may name other
    things too, such as files.
    """
    choices: dict[str, Any] = dict(recipe.choices)
    one = {choices["model"]} if isinstance(choices.get("model"), str) else set()
    return frozenset(one | set(choices.get("models") or ()) | set(choices.get("stamp") or ()))


def results_over(root: Path, dataset: str) -> list[KeptResult]:
    """Return the results over a dataset that can be used, of any revision, by name."""
    results = []
    for path in published_files(Path(root).absolute() / "results" / dataset):
        meta, size = examine_if_usable(path), file_size(path)
        if meta is not None and size is not None and meta.kind == "result":
            results.append(KeptResult(path.stem, size, meta.made_at, meta.recipe, meta.reads))
    return results


def seconds_of(entry: ModelEntry) -> float | None:
    """Return how long an embedding took to compute, None for vectors that were made elsewhere."""
    return entry.seconds if entry.recipe.kind == "embedding" else None


def device_of(entry: ModelEntry) -> str | None:
    """Return where an embedding was computed, None for vectors that were made elsewhere."""
    return entry.device if entry.recipe.kind == "embedding" else None


def widths_of(entry: ModelEntry) -> str:
    """Return the dimensions of an embedding's layers: 64, or 32 to 256 where they differ."""
    least, most = min(entry.dims), max(entry.dims)
    return str(least) if least == most else f"{least} to {most}"


def embedding_size(root: Path, dataset: str, model: str) -> int | None:
    """Return how many bytes an embedding takes, None where it is not there."""
    return file_size(embedding_file(Path(root).absolute(), dataset, model))


def file_size(path: Path) -> int | None:
    """Return how many bytes a file has, None where it is not there."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def dataset_sizes(root: Path, dataset: str) -> tuple[int, int, int]:
    """Return how many bytes a dataset takes: its stimuli, its embeddings and its results."""
    root = Path(root).absolute()
    embeddings, results = (
        total_size(published_files(root / folder / dataset)) for folder in ("embeddings", "results")
    )
    return file_size(dataset_file(root, dataset)) or 0, embeddings, results


def total_size(paths: Iterable[Path]) -> int:
    """Return how many bytes files take together."""
    return sum(file_size(path) or 0 for path in paths)
