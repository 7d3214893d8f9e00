"""Fetching files of the hub, or finding them in its cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path

from huggingface_hub import HfApi, hf_hub_download, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import (
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
)

from core.errors import InputError, PlatoscopeError
from core.hub.client import use_patient_client
from core.hub.content import files_of, remove_damaged
from core.hub.faults import SENTENCES, explain, explain_download, refused
from core.hub.patience import Patience, waiting
from core.hub.repository import Repository
from core.progress import ConsoleProgress
from core.settings import check_readable

README = "README.md"
ODD = (OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError)  # of odd answers


@contextmanager
def asking(wanted: Repository, limit: float | None = None) -> Iterator[Patience]:
    """Ask the hub for something within the time limit. limit: the seconds that all of it may take,
    as where a page asks.

    Says what went wrong and what to do: raises OfflineError where the hub is out of reach or does
    not do its part; EncoderError for a model, StimuliError for a dataset, that it does not have or
    keeps closed, or whose files came with wrong content, which are removed; InputError where the
    store is only shown: nobody is asked then.
    """
    check_readable(wanted.title)
    use_patient_client()
    report = None if limit else ConsoleProgress()
    before = files_of(wanted)
    with waiting(wanted.title, report, most=limit or inf) as patience:
        try:
            yield patience
        except PlatoscopeError:
            raise
        except Exception as error:  # of any library that asks
            damaged = remove_damaged(wanted, files_of(wanted) - before)
            if sentence := explain(patience.trouble or error, wanted):
                raise sentence from error
            if damaged:
                raise _damage(wanted, damaged) from error
            raise
    _refuse(wanted, remove_damaged(wanted, files_of(wanted) - before))


@contextmanager
def mending(wanted: Repository) -> Iterator[None]:
    """Use files of the cache: where they cannot be used, and one does not hold what the hub has, it
    is removed and named in the error.
    """
    try:
        yield
    except InputError as error:
        try:
            _refuse(wanted, remove_damaged(wanted, files_of(wanted)))
        except InputError as damage:
            raise damage from error
        raise


def _refuse(wanted: Repository, files: Sequence[str]) -> None:
    if files:
        raise _damage(wanted, files)


def _damage(wanted: Repository, files: Sequence[str]) -> InputError:
    return refused(
        wanted,
        f"is damaged in the cache: what was kept there of {', '.join(files)} is not what the hub"
        " has, and has been removed; run this again to fetch it anew",
    )


def fetch_snapshot(wanted: Repository, patterns: Sequence[str]) -> Path:
    """Return the folder of a repository's files that match any of the patterns, named by its
    commit; raises as `asking` does.
    """
    with asking(wanted), _downloading(wanted):
        folder = snapshot_download(
            wanted.id,
            repo_type=wanted.kind,
            revision=wanted.revision,
            allow_patterns=list(patterns),
        )
        return Path(folder)


def fetch_file(wanted: Repository, name: str, limit: float | None = None) -> Path:
    """Return where a file of a repository lies in the cache, in a folder named by its commit;
    raises as `asking` does.
    """
    with asking(wanted, limit), _downloading(wanted):
        return Path(
            hf_hub_download(wanted.id, name, repo_type=wanted.kind, revision=wanted.revision)
        )


def commit_of(wanted: Repository) -> str | None:
    """Return the commit that a repository's revision stands for now, or did when it was fetched;
    None where neither the hub nor its cache says. To be called within `asking`.
    """
    kind, revision = wanted.kind, wanted.revision
    try:
        file = hf_hub_download(wanted.id, README, repo_type=kind, revision=revision)
        return Path(file).parent.name
    except RemoteEntryNotFoundError:
        return HfApi().repo_info(wanted.id, repo_type=kind, revision=revision).sha
    except (LocalEntryNotFoundError, OfflineModeIsEnabled):
        return None


def cached(wanted: Repository, file: str) -> Path | None:
    """Return where a file of a repository lies on this machine, None where it does not."""
    path = try_to_load_from_cache(wanted.id, file, revision=wanted.revision, repo_type=wanted.kind)
    return Path(path) if isinstance(path, str) else None


@contextmanager
def _downloading(wanted: Repository) -> Iterator[None]:
    """Explain what the library raises where an answer is not what it should be."""
    try:
        yield
    except tuple(SENTENCES):
        raise
    except ODD as error:
        raise explain_download(error, wanted) from error
