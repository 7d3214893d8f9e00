"""Where a hub data set comes from: its repository, revision, split and columns; and what is said
where it cannot be opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.errors import PlatoscopeError, StimuliError, quoted
from core.hub.repository import Repository
from core.machine.memory import is_out_of_memory
from core.stimuli.table import missing_column, role_of

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
    """Return every choice that opens the data set again: those given, else the preset's. What is
    None then is found in the data set: see `completed`.
    """
    local = Path(hub_id).is_dir()
    if local and values["revision"] is not None:
        raise StimuliError(
            f"{hub_id} is a local folder and has no revision {values['revision']!r}; leave the"
            " revision out"
        )
    preset = {} if local else PRESETS.get(hub_id, {})
    place = str(Path(hub_id).resolve()) if local else preset.get("hub_id", hub_id)
    chosen = {name: preset.get(name) if value is None else value for name, value in values.items()}
    return {"kind": "hub", "hub_id": place, **chosen, "skip_broken": skip_broken}


def completed(source: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return a source with the columns of a data set that hold its images and its texts: those of
    DEFAULTS, else those of another usual name; raises StimuliError where there is none.
    """
    chosen = dict(source)
    for role, name in (("image", "image_column"), ("caption", "text_column")):
        wanted = DEFAULTS[name] if source[name] is None else source[name]
        if not wanted:  # NO_IMAGE, NO_TEXT
            continue
        found = wanted if wanted in columns else None
        if found is None and source[name] is None:
            found = role_of(columns, role)
        if found is None:
            raise missing_column("the data set", wanted, columns, role)
        chosen[name] = found
    return chosen


def pinned(source: dict[str, Any]) -> dict[str, Any]:
    """Return a source at the commit that it stands for now, so that it is the same whenever it is
    opened again; as it is where nobody can tell.
    """
    from core.hub.fetch import commit_of  # half a second, only for those who use the hub

    wanted = repository(source)
    if wanted is None or re.fullmatch("[0-9a-f]{40}", str(wanted.revision)):
        return source
    return {**source, "revision": commit_of(wanted) or wanted.revision}


def repository(source: Mapping[str, Any]) -> Repository | None:
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

    wanted = repository(source)
    folder = wanted.cache if wanted else Path(source["hub_id"])
    folders = [folder, datasets.config.DOWNLOADED_DATASETS_PATH]
    if folder.parent.name == "snapshots":  # of the hub's cache, whose files are links to its blobs
        folders.append(folder.parent.parent / "blobs")
    return tuple(Path(os.path.realpath(each)) for each in folders)


@contextmanager
def explained(source: Mapping[str, Any]) -> Iterator[None]:
    """Turn what the library raises into a sentence: ValueError, FileNotFoundError, its own,
    pyarrow's …
    """
    from core.hub.fetch import asking  # as above

    wanted = repository(source)
    if wanted is None:
        with _opened(source):
            yield
        return
    with _opened(source), asking(wanted):
        yield


@contextmanager
def _opened(source: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except PlatoscopeError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        reason = " ".join(str(error).split())[:300]
        raise StimuliError(
            f"cannot open {source['hub_id']} as a hub data set: {reason}; check the id, the"
            " revision (--revision) and the split (--split)"
        ) from error
