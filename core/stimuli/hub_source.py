"""Where a hub data set comes from: its repository, revision, split and columns; and how a split of
it is loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import PlatoscopeError, StimuliError, quoted
from core.files.limits import IMAGE
from core.hub.repository import Repository
from core.machine.memory import size_text

if TYPE_CHECKING:
    import datasets

# Ids that stand for a repository and the choices that go with it. wit_1024: the 1,024 pairs of
# Wikipedia images and texts that Huh et al. (2024) measured on; its texts are lists, whose first
# one, level 0, is theirs. flickr30k: 31,783 photographs with five captions each, levels 0 to 4;
# `--split test[:5000]` takes the first 5,000.
PRESETS: Mapping[str, Mapping[str, str]] = {
    "wit_1024": {"hub_id": "minhuh/prh", "revision": "wit_1024"},
    "flickr30k": {"hub_id": "lmms-lab/flickr30k", "split": "test", "text_column": "caption"},
}
NO_TEXT = ""  # in place of a column of texts: images alone
NO_IMAGE = ""  # in place of a column of images: texts alone
DEFAULTS: Mapping[str, str] = {"split": "train", "image_column": "image", "text_column": "text"}
_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)


def check_id(hub_id: str) -> None:
    """Raise StimuliError for what is neither a preset nor `owner/name` on the hub: a local folder,
    or one word, by which `datasets` may mean the files where a command runs.
    """
    if os.path.isdir(hub_id) or not (hub_id in PRESETS or _ID.fullmatch(hub_id)):
        raise StimuliError(
            f"expected a data set of the hub, as owner/name or {' or '.join(PRESETS)}, got"
            f" {quoted(hub_id)}; for a local folder of data files, type the command in a terminal"
        )


def source_of(hub_id: str, values: Mapping[str, str | None], skip_broken: bool) -> dict[str, Any]:
    """Return every choice that opens the data set again: those given, else the preset's, else the
    defaults.
    """
    local = Path(hub_id).is_dir()
    if local and values["revision"] is not None:
        raise StimuliError(
            f"{hub_id} is a local folder and has no revision {values['revision']!r}; leave the"
            " revision out"
        )
    preset = {} if local else PRESETS.get(hub_id, {})
    place = str(Path(hub_id).resolve()) if local else preset.get("hub_id", hub_id)
    chosen = {
        name: preset.get(name) or DEFAULTS.get(name) if value is None else value
        for name, value in values.items()
    }
    return {"kind": "hub", "hub_id": place, **chosen, "skip_broken": skip_broken}


def _pinned(source: dict[str, Any]) -> dict[str, Any]:
    """Return a source at the commit that it stands for now, so that it is the same whenever it is
    opened again; as it is where nobody can tell.
    """
    from core.hub.fetch import commit_of  # half a second, only for those who use the hub

    wanted = _repository(source)
    if wanted is None or re.fullmatch("[0-9a-f]{40}", str(wanted.revision)):
        return source
    return {**source, "revision": commit_of(wanted) or wanted.revision}


def _repository(source: Mapping[str, Any]) -> Repository | None:
    """Return the hub's repository of a source, None for a local folder."""
    import datasets

    hub_id, revision = source["hub_id"], source["revision"]
    if Path(hub_id).is_dir():
        return None
    cache = datasets.config.HF_DATASETS_CACHE
    instead = f"HF_DATASETS_CACHE to name a cache that has it (now {cache})"
    return Repository(hub_id, hub_id, instead, "dataset", revision)


def own_folders(source: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return the folders, links followed, whose files belong to a data set: the local one, or what
    the hub's cache holds of the repository; and where `datasets` keeps what it downloads.
    """
    import datasets

    wanted = _repository(source)
    folder = wanted.cache if wanted else Path(source["hub_id"])
    folders = [folder, datasets.config.DOWNLOADED_DATASETS_PATH]
    if folder.parent.name == "snapshots":  # of the hub's cache, whose files are links to its blobs
        folders.append(folder.parent.parent / "blobs")
    return tuple(Path(os.path.realpath(each)) for each in folders)


def load_split(source: dict[str, Any]) -> tuple[datasets.Dataset, dict[str, Any]]:
    """Return a split, and its source at the commit that it was read at."""
    import datasets  # a second, only for those who use the hub

    from core.stimuli.hub_files import JudgedFiles

    with _explained(source):
        pinned = _pinned(source)
        builder = datasets.load_dataset_builder(pinned["hub_id"], revision=pinned["revision"])
        builder.download_and_prepare(
            dl_manager=JudgedFiles(
                dataset_name=builder.dataset_name,
                base_path=builder.base_path,
                download_config=datasets.DownloadConfig(use_etag=False),
            )
        )
        return builder.as_dataset(split=pinned["split"]), pinned


@contextmanager
def _explained(source: Mapping[str, Any], limit: float | None = None) -> Iterator[None]:
    """Turn what the library raises into a sentence: ValueError, FileNotFoundError, its own,
    pyarrow's … limit: see `asking`.
    """
    from core.hub.fetch import asking, mending  # as above

    wanted = _repository(source)
    if wanted is None:
        with _opened(source):
            yield
        return
    with mending(wanted), _opened(source), asking(wanted, limit):
        yield


@contextmanager
def _opened(source: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except PlatoscopeError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise StimuliError(
            f"cannot open {source['hub_id']} as a hub data set: {reason}; check the id, the"
            " revision and the split"
        ) from error


def load_first(source: Mapping[str, Any], most: int, seconds: float) -> datasets.Dataset:
    """Return the first rows of a split without those behind them; raises as `HubDataset.open` does,
    StimuliError for a split that does not begin at its first row, and OfflineError where the hub
    has not sent them within so many seconds.
    """
    import datasets

    name, _, part = source["split"].partition("[")
    if part and not part.startswith(":"):
        raise StimuliError(
            f"split {source['split']} begins in the middle, where it cannot be looked into; add it"
            " as it is"
        )
    with _explained(source, seconds):
        stream = datasets.load_dataset(
            source["hub_id"], revision=source["revision"], split=name, streaming=True
        )
        wanted = _repository(source)
        rows = [_fetched(row, wanted) for row in stream.decode(False).take(most)]
    return datasets.Dataset.from_list(rows)


def _fetched(row: Mapping[str, Any], wanted: Repository | None) -> dict[str, Any]:
    """Return a row with the bytes of images that are files of the repository."""
    return {
        name: _fetch(value, wanted) if isinstance(value, dict) else value
        for name, value in row.items()
    }


def _fetch(value: Mapping[str, Any], wanted: Repository | None) -> Mapping[str, Any]:
    from huggingface_hub import HfFileSystem

    path = value.get("path")
    if value.get("bytes") is not None or not (wanted and _is_of(path, wanted)):
        return value
    with HfFileSystem().open(path) as file:
        if file.size > IMAGE:
            raise StimuliError(
                f"{path} has {size_text(file.size)}; expected an image, of {size_text(IMAGE)} at"
                " most: save it smaller"
            )
        return {**value, "bytes": file.read()}


def _is_of(path: Any, wanted: Repository) -> bool:
    """Return whether a path names a file of a repository of data sets, which may be of any commit:
    `..` would lead to those of others.
    """
    own = f"hf://datasets/{wanted.id}@"
    return isinstance(path, str) and path.startswith(own) and ".." not in path.split("/")
