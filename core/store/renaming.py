"""What a person says of what is in a store: titles, and facts of models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from core.encoders.encoder import with_facts
from core.encoders.requests import Facts
from core.errors import NotEmbeddedError, UnknownNameError
from core.stimuli.levels import offered_levels
from core.store.examine import examine_if_usable
from core.store.notes.titles import check_title, editing_titles
from core.store.publishing import locked
from core.store.reader import Store
from core.store.schema import embedding_file
from core.store.writer import rewrite_meta


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


def set_facts(
    root: Path, dataset: str, model: str, facts: Facts, *, title: str = "", level: str = ""
) -> None:
    """Write facts of a model, its own title and the caption level that it read into its file; facts
    hold for its embeddings at further levels, too. What is not said stays. Answers that rest on
    what changed are made again.

    Raises UnknownNameError for the model or the level, InputError for a text that is not one short
    line, NotEmbeddedError for a model that is still to be embedded.
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
                raise NotEmbeddedError(f"{name} is not embedded yet; embed it, then say its facts")
            card = vars(with_facts(meta.entry.card, facts, title))
            read = level if level and name == model else meta.level
            if card != vars(meta.entry.card) or read != meta.level:
                rewrite_meta(target, replace(meta, card=card, level=read))


def check_facts(
    store: Store, dataset: str, facts: Facts, *, title: str = "", level: str = ""
) -> None:
    """Raise as `set_facts` does for what is said, of a model that need not be there yet."""
    check_level(store, dataset, level)
    for text, kind in ((facts.family, "a family"), (facts.objective, "an objective")):
        check_title(text or kind, kind)
    check_title(title or "none")


def check_level(store: Store, dataset: str, level: str) -> None:
    """Raise UnknownNameError for a caption level that a dataset does not offer; "" is none."""
    offered = offered_levels(store.dataset(dataset).levels, tuple(store.summaries(dataset)))
    if level and level not in offered:
        raise UnknownNameError("caption level", level, offered)


def _put(titles: dict[str, str], name: str, title: str) -> None:
    if title:
        titles[name] = check_title(title)
    else:
        titles.pop(name, None)
