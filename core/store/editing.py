"""What a person changes of a store: giving titles, and deleting with all that depends on it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.errors import StoreBusyError, StoreError, UnknownNameError
from core.store.inventory import KeptResult, Sort, names_in_view, results_over, total_size
from core.store.publishing import is_locked, locked, writing
from core.store.reader import Store
from core.store.schema import ModelEntry, dataset_file, embedding_file, published_files, result_file
from core.store.titles import check_title, editing_titles
from core.store.views import read_views

EMBEDDING: Sort = ("embedding of a model", "embeddings of models")
UNUSABLE: Sort = ("result that cannot be used", "results that cannot be used")


@dataclass(frozen=True)
class Deletion:
    """What a deletion takes away, and what stays although it has to do with it.

    dataset, model: what is deleted; model is "" for the whole dataset. files: the dependent ones
    first, so that a deletion that is cut short can be repeated. goes, stays: in words, such as
    "12 kept answers".
    """

    dataset: str
    model: str
    files: tuple[Path, ...]
    goes: tuple[str, ...]
    stays: tuple[str, ...]

    @property
    def size(self) -> int:
        """Return how many bytes the files take."""
        return total_size(self.files)

    @property
    def sentences(self) -> list[str]:
        """Return what goes and what stays, a sentence each; none where nothing has to do with
        it.
        """
        goes, stays = ", ".join(self.goes), ", ".join(self.stays)
        return [
            *([f"Deleted with it: {goes}."] if goes else []),
            *([f"Kept: {stays}."] if stays else []),
        ]


def rename_dataset(root: Path, dataset: str, title: str) -> None:
    """Give a dataset a title; "" gives its own back. Raises UnknownNameError, InputError for a
    title that is not one short line, StoreError.
    """
    Store(root).dataset(dataset)
    with editing_titles(root) as titles:
        _put(titles.datasets, dataset, title)


def rename_model(root: Path, dataset: str, model: str, title: str) -> None:
    """Give a model of a dataset a title; see `rename_dataset`."""
    Store(root).model(dataset, model)
    with editing_titles(root) as titles:
        _put(titles.models.setdefault(dataset, {}), model, title)


def plan_model_deletion(root: Path, dataset: str, model: str) -> Deletion:
    """Return what goes with a model of a dataset: its embeddings at all caption levels, and every
    result that depends on one of them. Raises UnknownNameError.
    """
    store = Store(root)
    store.model(dataset, model)
    further = [name for name, of in store.retellings(dataset).items() if of == model]
    names = {model, *further}
    results = [one for one in results_over(root, dataset) if one.models & names]
    files = [result_file(store.root, dataset, one.name) for one in results]
    files += [embedding_file(store.root, dataset, name) for name in (*further, model)]
    levels = [f"its embeddings at other caption levels ({', '.join(further)})"] if further else []
    stays = _tuned_from(model, store.models(dataset)) + _views_of(root, names)
    return Deletion(dataset, model, tuple(files), (*levels, *_sorts(results)), tuple(stays))


def plan_dataset_deletion(root: Path, dataset: str) -> Deletion:
    """Return what goes with a dataset: all embeddings and results. Raises UnknownNameError."""
    store = Store(root)
    store.dataset(dataset)
    embeddings = published_files(store.root / "embeddings" / dataset)
    results = published_files(store.root / "results" / dataset)
    usable = results_over(root, dataset)
    goes = [_counted(len(embeddings), EMBEDDING)] if embeddings else []
    goes += _sorts(usable)
    if other := len(results) - len(usable):
        goes.append(_counted(other, UNUSABLE))
    files = (*results, *embeddings, dataset_file(store.root, dataset))
    return Deletion(dataset, "", files, tuple(goes), tuple(_views_of(root, {dataset})))


def carry_out(root: Path, deletion: Deletion) -> None:
    """Delete what a plan names, and titles with it.

    Raises StoreBusyError where something of it is being written, StoreWriteError where the disk
    refuses.
    """
    places = {path.parent for path in deletion.files}
    if not deletion.model:
        _check_idle(places)
    with editing_titles(root) as titles:
        _remove_files(deletion.files)
        if deletion.model:
            titles.models.get(deletion.dataset, {}).pop(deletion.model, None)
        else:
            _remove_folders(places, deletion.dataset)
            titles.datasets.pop(deletion.dataset, None)
            titles.models.pop(deletion.dataset, None)


def delete_results(root: Path, dataset: str, names: Sequence[str]) -> int:
    """Delete results over a dataset by name and return how many bytes they took.

    Raises UnknownNameError for one that is not there, StoreBusyError, StoreWriteError.
    """
    store = Store(root)
    held = {path.stem: path for path in published_files(store.root / "results" / dataset)}
    if unknown := [name for name in names if name not in held]:
        raise UnknownNameError("result", unknown[0], held)
    size = total_size(held[name] for name in names)
    for name in names:
        with locked(held[name]), writing(held[name]):
            held[name].unlink(missing_ok=True)
    return size


def _put(titles: dict[str, str], name: str, title: str) -> None:
    if title:
        titles[name] = check_title(title)
    else:
        titles.pop(name, None)


def _sorts(results: Iterable[KeptResult]) -> list[str]:
    """Say how many results of each sort there are."""
    return [_counted(count, sort) for sort, count in Counter(one.sort for one in results).items()]


def _counted(number: int, sort: Sort) -> str:
    one, several = sort
    return f"{number:,} {one if number == 1 else several}"


def _tuned_from(model: str, entries: Sequence[ModelEntry]) -> list[str]:
    """Say which models were trained on from this one, as their makers wrote it down."""
    starts = {
        entry.card.name: (entry.card.training.get("config") or {}).get("start") for entry in entries
    }
    names = [name for name, start in starts.items() if start == model]
    return [f"the models fine-tuned from it ({', '.join(names)})"] if names else []


def _views_of(root: Path, names: set[str]) -> list[str]:
    """Say which saved views name one of these; a file of views that cannot be read names none."""
    with suppress(StoreError):
        views = [view.name for view in read_views(root) if names_in_view(view) & names]
        return [f"the saved views that name it ({', '.join(views)})"] if views else []
    return []


def _check_idle(folders: Iterable[Path]) -> None:
    """Raise StoreBusyError where a file of these folders is being written."""
    for folder in folders:
        for lock in folder.glob("*.lock"):
            if is_locked(lock):
                raise StoreBusyError(
                    f"{lock.stem!r} in {folder} is being written; wait until it is done, or stop it"
                )


def _remove_files(files: Sequence[Path]) -> None:
    """Remove files, and what an unfinished run left beside each; the last one is locked."""
    with locked(files[-1]), writing(files[-1]):
        for path in files:
            path.unlink(missing_ok=True)
            shutil.rmtree(path.with_name(f"{path.stem}.parts"), ignore_errors=True)


def _remove_folders(folders: Iterable[Path], dataset: str) -> None:
    """Remove a dataset's own folders with what unfinished work left there; what a person put there
    keeps its folder.
    """
    for folder in folders:
        if folder.name == dataset:
            for part in folder.glob("*.parts"):
                shutil.rmtree(part, ignore_errors=True)
            for part in folder.glob("*.part.jsonl"):
                part.unlink(missing_ok=True)
            with suppress(OSError):
                folder.rmdir()
