"""What a store holds as files, its deletion, and what a person adds to it: titles and facts."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.encoders.encoder import with_facts
from core.encoders.requests import Facts
from core.errors import NotEmbeddedError, StoreBusyError, UnknownNameError
from core.recipe import Recipe
from core.stimuli.captions import offered_levels
from core.store.files import examine, examine_if_usable
from core.store.listing import check_title, forget, remove
from core.store.publishing import is_locked, locked, writing
from core.store.reader import Store
from core.store.schema import ModelEntry, dataset_file, embedding_file, published_files, result_file
from core.store.writer import rewrite_meta

SORTS = {  # by the kind of its recipe, what a result is; others are answers
    "neighbors": "neighbors",
    "refused": "checks of imports",
    "captions": "written captions",
    **dict.fromkeys(("competence", "probe", "bits per byte"), "measured competence"),
    "head": "fitted heads",
    "stitches": "stitches",
    "imported-scores": "imported scores",
}
ANSWERS = "kept answers"
PATIENCE = 5.0  # seconds to wait for a result that is just being written


@dataclass(frozen=True)
class KeptResult:
    """A result over a dataset. size: bytes. reads: what an answer was computed from."""

    name: str
    size: int
    made_at: str
    recipe: Recipe
    reads: Mapping[str, str]

    @property
    def sort(self) -> str:
        return SORTS.get(self.recipe.kind, ANSWERS)

    @property
    def models(self) -> frozenset[str]:
        if self.reads:
            keys = (key.split(":") for key in self.reads)
            return frozenset(names[-1] for kind, *names in keys if kind == "embedding")
        choices: dict[str, Any] = dict(self.recipe.choices)
        one = {choices["model"]} if isinstance(choices.get("model"), str) else set()
        return frozenset(one | set(choices.get("models") or ()) | set(choices.get("stamp") or ()))


def results_over(root: Path, dataset: str) -> list[KeptResult]:
    """Return the results over a dataset that can be used, of any revision."""
    results = []
    for path in published_files(Path(root).absolute() / "results" / dataset):
        meta, size = examine_if_usable(path), file_size(path)
        if meta is not None and size is not None and meta.kind == "result":
            results.append(KeptResult(path.stem, size, meta.made_at, meta.recipe, meta.reads))
    return results


def seconds_of(entry: ModelEntry) -> float | None:
    """Return how long it took to compute; None for imported vectors."""
    return entry.seconds if entry.recipe.kind == "embedding" else None


def device_of(entry: ModelEntry) -> str | None:
    """Return where it was computed; None for imported vectors."""
    return entry.device if entry.recipe.kind == "embedding" else None


def widths_of(entry: ModelEntry) -> str:
    least, most = min(entry.dims), max(entry.dims)
    return str(least) if least == most else f"{least} to {most}"


def embedding_size(root: Path, dataset: str, model: str) -> int | None:
    return file_size(embedding_file(Path(root).absolute(), dataset, model))


def file_size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def dataset_sizes(root: Path, dataset: str) -> tuple[int, int, int]:
    """Return the bytes of a dataset's stimuli, embeddings and results."""
    root = Path(root).absolute()
    embeddings, results = (
        total_size(published_files(root / folder / dataset)) for folder in ("embeddings", "results")
    )
    return file_size(dataset_file(root, dataset)) or 0, embeddings, results


def total_size(paths: Iterable[Path]) -> int:
    return sum(file_size(path) or 0 for path in paths)


def rename_dataset(root: Path, dataset: str, title: str) -> None:
    """Give a dataset a title of one short line."""
    Store(root).dataset(dataset)
    target = dataset_file(Path(root).absolute(), dataset)
    with locked(target):
        meta = examine(target)
        rewrite_meta(target, replace(meta, card={**meta.card, "title": check_title(title)}))


def rename_model(root: Path, dataset: str, model: str, title: str) -> None:
    set_facts(root, dataset, model, Facts(), title=check_title(title))


def set_facts(
    root: Path, dataset: str, model: str, facts: Facts, *, title: str = "", level: str = ""
) -> None:
    """Write facts, a title and the caption level of a model into its file, facts also into those of
    its other caption levels; "" and None change nothing. Raise UnknownNameError for the model or
    the level, InputError for a text that is not one short line, NotEmbeddedError.
    """
    store = Store(root)
    store.model(dataset, model)
    check_facts(store, dataset, facts, title=title, level=level)
    own, _, _ = model.partition("~")
    for entry in store.embeddings(dataset):
        name = entry.card.name
        if name.partition("~")[0] != own:
            continue
        target = embedding_file(root, dataset, name)
        with locked(target):
            meta = examine_if_usable(target)
            if meta is None:
                raise NotEmbeddedError(f"{name} is not embedded yet; embed it, then add its facts")
            card = vars(with_facts(meta.entry.card, facts, title))
            read = level if level and name == model else meta.level
            if card != vars(meta.entry.card) or read != meta.level:
                rewrite_meta(target, replace(meta, card=card, level=read))


def check_facts(
    store: Store, dataset: str, facts: Facts, *, title: str = "", level: str = ""
) -> None:
    """Raise as `set_facts`, for a model that need not be there yet."""
    offered = offered_levels(store.dataset(dataset).levels, tuple(store.summaries(dataset)))
    if level and level not in offered:
        raise UnknownNameError("caption level", level, offered)
    for text, kind in ((facts.family, "a family"), (facts.objective, "an objective")):
        check_title(text or kind, kind)
    check_title(title or "none")


@dataclass(frozen=True)
class Deletion:
    """What is deleted with a dataset, or with a model of it. files: the dependent ones first, so
    that a deletion that is cut short can be repeated. goes: in words, such as "kept answers (12)".
    """

    dataset: str
    model: str
    files: tuple[Path, ...]
    goes: tuple[str, ...]

    @property
    def size(self) -> int:
        return total_size(self.files)

    @property
    def sentences(self) -> list[str]:
        return [f"Also deletes: {', '.join(self.goes)}."] if self.goes else []


def plan_model_deletion(root: Path, dataset: str, model: str) -> Deletion:
    """Return what is deleted with a model: its embeddings and what depends on them."""
    store = Store(root)
    store.model(dataset, model)
    further = [name for name, of in store.caption_variants(dataset).items() if of == model]
    results = [one for one in results_over(root, dataset) if one.models & {model, *further}]
    files = [result_file(store.root, dataset, one.name) for one in results]
    files += [embedding_file(store.root, dataset, name) for name in (*further, model)]
    goes = [f"its embeddings at other caption levels ({', '.join(further)})"] if further else []
    return Deletion(dataset, model, tuple(files), (*goes, *_sorts(results)))


def plan_dataset_deletion(root: Path, dataset: str) -> Deletion:
    """Return what is deleted with a dataset: all embeddings and results."""
    store = Store(root)
    store.dataset(dataset)
    embeddings = published_files(store.root / "embeddings" / dataset)
    results = published_files(store.root / "results" / dataset)
    usable = results_over(root, dataset)
    goes = [f"embeddings ({len(embeddings):,})"] if embeddings else []
    goes += _sorts(usable)
    if other := len(results) - len(usable):
        goes.append(f"results that cannot be used ({other:,})")
    files = (*results, *embeddings, dataset_file(store.root, dataset))
    return Deletion(dataset, "", files, tuple(goes))


def _sorts(results: Iterable[KeptResult]) -> list[str]:
    return [f"{sort} ({count:,})" for sort, count in Counter(one.sort for one in results).items()]


def carry_out(root: Path, deletion: Deletion) -> None:
    """Delete a dataset or a model with what depends on it now. Raise
    StoreBusyError if something of it is being written, UnknownNameError if it is gone,
    StoreWriteError.
    """
    root, dataset, model = Path(root).absolute(), deletion.dataset, deletion.model
    embeddings, results = (root / folder / dataset for folder in ("embeddings", "results"))
    own = [dataset_file(root, dataset)]  # not to be written during the deletion
    if model:
        own = [path for path in deletion.files if path.parent == embeddings]
    names = {path.stem for path in own}
    with ExitStack() as held:
        for path in own:
            held.enter_context(locked(path))
        for lock in (*embeddings.glob("*.lock"), *results.glob("*.lock")):
            concerns = not model or model in (lock.stem, lock.stem.partition("~")[0])
            if concerns and lock.stem not in names and is_locked(lock):
                raise StoreBusyError(
                    f"{lock.stem!r} in {lock.parent} is being written; wait until it is done, or"
                    " stop it"
                )
        now = plan_dataset_deletion(root, dataset)
        if model:
            now = plan_model_deletion(root, dataset, model)
        *dependent, last = now.files
        for path in dependent:
            _delete(path, locked_already=path in own)
        if model:
            forget(embeddings, names)
        else:
            _clear(embeddings)
            _clear(results)
        _delete(last, locked_already=True)  # until here it can be repeated


def _delete(path: Path, *, locked_already: bool) -> None:
    with nullcontext() if locked_already else locked(path, patience=PATIENCE), writing(path):
        path.unlink(missing_ok=True)
        shutil.rmtree(path.with_name(f"{path.stem}.parts"), ignore_errors=True)


def _clear(folder: Path) -> None:
    """Remove a dataset's own folder with unfinished work; what a person put there keeps it."""
    remove(folder)
    for part in folder.glob("*.parts"):
        shutil.rmtree(part, ignore_errors=True)
    for old in (*folder.glob("*.duckdb"), *folder.glob("*.part.jsonl")):
        old.unlink(missing_ok=True)  # the former: a result of an earlier version
    with suppress(OSError):
        folder.rmdir()


def delete_results(root: Path, dataset: str, names: Sequence[str]) -> int:
    """Delete results over a dataset and return how many bytes they took; raise UnknownNameError,
    StoreBusyError, StoreWriteError.
    """
    store = Store(root)
    held = {path.stem: path for path in published_files(store.root / "results" / dataset)}
    if unknown := [name for name in names if name not in held]:
        raise UnknownNameError("result", unknown[0], held)
    chosen = [held[name] for name in names]
    size = total_size(chosen)
    for path in chosen:
        _delete(path, locked_already=False)
    return size
